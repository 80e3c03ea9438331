"""The Markdown parser (pyromark), and the delimiters of numbered lists, which its events do not have.

The parser returns events lazily: the start of an element, text, the end of an element.
"""

import re
from collections.abc import Iterator
from itertools import repeat
from typing import Any

from pyromark import Markdown, Options

_parser = Markdown(
    options=Options.ENABLE_TABLES | Options.ENABLE_STRIKETHROUGH | Options.ENABLE_FOOTNOTES | Options.ENABLE_MATH
)
_MAYBE_PARENTHESIS = re.compile(r"\n[ \t>*+\d.)-]*\d\)")
_PARENTHESIS = re.compile(rb"[ \t]*\d+\)")


class UnparsableError(Exception):
    """The text must be read as plain text; the message says why."""


def parse(text: str) -> Iterator[Any]:
    """The events: a dictionary with one key, or a string if the event has no value. Adjacent texts stay apart, which
    takes a seventh less time."""
    return _parser.events(text, merge_text=False)


def is_parser_panic(error: BaseException) -> bool:
    """Whether the parser crashed. Its panic is not an `Exception`, and its class cannot be imported."""
    return type(error).__name__ == "PanicException"


def list_delimiters(text: str) -> Iterator[str]:
    """For every numbered list, in order, the delimiter after its numbers: a period or a parenthesis.

    Events do not have it. It is found by their positions in the text, which cost more than the events themselves: they
    are requested only if some line may begin with a number and a parenthesis.
    """
    return _list_delimiters(text) if _MAYBE_PARENTHESIS.search(f"\n{text}") else repeat(".")


def _list_delimiters(text: str) -> Iterator[str]:
    encoded = text.encode()
    for event, place in _parser.events_with_range(text):
        match event:
            case {"Start": {"List": int()}}:
                yield ")" if _PARENTHESIS.match(encoded, place["start"]) else "."
