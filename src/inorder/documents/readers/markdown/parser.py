"""The Markdown parser, and what it does not tell by itself.

It hands over a text as a series of events: something begins, some text, something ends. Each becomes a Python value
only when it is asked for.
"""

import re
from collections.abc import Iterator
from itertools import repeat
from typing import Any

from pyromark import Markdown, Options

_parser = Markdown(options=Options.ENABLE_TABLES | Options.ENABLE_STRIKETHROUGH)
_MAYBE_PARENTHESIS = re.compile(r"\n[ \t>*+\d.)-]*\d\)")
_PARENTHESIS = re.compile(rb"[ \t]*\d+\)")


class UnparsableError(Exception):
    """Markdown that had better be read as plain text, and why."""


def parse(text: str) -> Iterator[Any]:
    """The events, one by one: a dictionary with one key, or a mere word where there is no more to say."""
    return _parser.events(text)


def is_parser_panic(error: BaseException) -> bool:
    """Whether the parser itself is at fault. What it raises then is no `Exception`, and is known by its name only."""
    return type(error).__name__ == "PanicException"


def list_delimiters(text: str) -> Iterator[str]:
    """For every numbered list, in order, what stands after its numbers: a period or a bracket.

    Events do not say. Their places in the text do, but cost more than the events themselves: they are asked for only
    if there is a line that may begin with a number and a bracket.
    """
    return _list_delimiters(text) if _MAYBE_PARENTHESIS.search(f"\n{text}") else repeat(".")


def _list_delimiters(text: str) -> Iterator[str]:
    encoded = text.encode()
    for event, place in _parser.events_with_range(text):
        match event:
            case {"Start": {"List": int()}}:
                yield ")" if _PARENTHESIS.match(encoded, place["start"]) else "."
