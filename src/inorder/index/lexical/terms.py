"""Count the terms of the chunks of a file.

The counter is compiled (`_counter.c`). Where inorder was built without a C compiler, Python does the same, which takes
several times as long (`plain_counter`).
"""

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from .analysis import CACHED_WORDS_MAX, add_joined_digits
from .file_terms import FileTerms

DOCUMENT_WORDS_MAX = CACHED_WORDS_MAX // 4
"""A text has fewer words that return than program code, and every document has a few that do not, such as its name."""


class Counter(Protocol):
    """Counts the terms of texts in one language. Its length is the number of words that it knows."""

    def __len__(self) -> int: ...

    def count(self, fields: Sequence[str], /) -> FileTerms:
        """Count the terms of chunks, given by turns as the text of a chunk and its headings."""


def _find_type() -> Callable[[str], Counter]:
    try:
        from .compiled_counter import CompiledCounter
    except ImportError:
        from .plain_counter import PlainCounter

        return PlainCounter
    return CompiledCounter


_open_counter = _find_type()


class _Counters(threading.local):
    """The counters of a thread, by language; None: that of program code."""

    def __init__(self) -> None:
        self.by_language: dict[str | None, Counter] = {}


_counters = _Counters()


def _find_counter(language: str | None) -> Counter:
    """The counter of a language. One that knows too many words is replaced: the words in use return soon."""
    counter = _counters.by_language.get(language)
    words_max = CACHED_WORDS_MAX if language is None else DOCUMENT_WORDS_MAX
    if counter is None or len(counter) >= words_max:
        counter = _counters.by_language[language] = _open_counter(language or "")
    return counter


def count_file_terms(chunks: Iterable[tuple[str, str, str]], language: str | None) -> FileTerms:
    """Count the terms of the chunks of a file, given as text, name and context. `language` is that of the document;
    empty if it is not known, and None for program code."""
    counter = _find_counter(language)
    fields = (field for text, name, context in chunks for field in (text, f"{name} {context}"))
    return counter.count([add_joined_digits(field) for field in fields])
