"""Count the terms of the chunks of a file."""

import threading
from array import array
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from .analysis import CACHED_WORDS_MAX, open_term_cache, split_encoded_words
from .file_terms import FileTerms

_COUNT_MAX = 255
_LENGTH_MAX = 65_535
NUMBER_TYPE, LENGTH_TYPE = "<u4", "<u2"
"""The NumPy types of the columns of `FileTerms` that are not single bytes."""


_TERM_MASK = (1 << 32) - 1

Numbers = npt.NDArray[np.int64]


class TermNumbers(dict[str, int]):
    """Numbers terms in the order in which they are first looked up."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        """The terms in the order of their numbers."""

    def __missing__(self, term: str) -> int:
        self[term] = number = len(self.names)
        self.names.append(term)
        return number


class _WordTable(dict[bytes | str, int]):
    """Numbers the words and the terms of a language in the order in which they are first looked up, so that terms can
    be counted as numbers. One that is full is replaced before the next file: the words in use return soon."""

    def __init__(self, language: str) -> None:
        super().__init__()
        self._derive_terms = open_term_cache(language).derive_terms
        self.numbers = TermNumbers()
        self.starts = array("i", [0])
        """For each word, where its terms begin, and at last where those of the last word end."""
        self.terms = array("i")
        """The numbers of the terms of each word, word after word."""
        self._ranks = np.zeros(0, NUMBER_TYPE)
        """Space for a number per term."""

    def __missing__(self, word: bytes | str) -> int:
        terms = self._derive_terms(word if isinstance(word, str) else word.decode("ascii"))
        self.terms.extend([self.numbers[term] for term in terms])
        self.starts.append(len(self.terms))
        self[word] = number = len(self)
        return number

    def renumber(self, terms: Numbers) -> tuple[str, npt.NDArray[np.uint32]]:
        """The vocabulary of these terms, and the number of each in it."""
        names = self.numbers.names
        if len(self._ranks) < len(names):
            self._ranks = np.zeros(2 * len(names), NUMBER_TYPE)
        ordered = np.sort(terms)
        present = ordered[_find_runs(ordered)]  # `np.unique` takes four times as long
        self._ranks[present] = np.arange(len(present), dtype=NUMBER_TYPE)
        return " ".join([names[number] for number in present.tolist()]), self._ranks[terms]


class _Tables(threading.local):
    """The tables of a thread, by language."""

    def __init__(self) -> None:
        self.by_language: dict[str, _WordTable] = {}


_tables = _Tables()


def _find_table(language: str) -> _WordTable:
    """The table of a language; an empty one if it is full."""
    table = _tables.by_language.get(language)
    if table is None or len(table) >= CACHED_WORDS_MAX:
        _tables.by_language[language] = table = _WordTable(language)
    return table


def count_file_terms(chunks: Iterable[tuple[str, str, str]], language: str) -> FileTerms:
    """Count the terms of the chunks of a file, given as text, name and context. `language` is that of the document;
    empty for program code."""
    table = _find_table(language)
    number_of = table.__getitem__
    words: list[int] = []
    """The words of all chunks: of each its text, then its headings."""
    ends = [0]
    known_context, context_words = "", list[int]()
    for text, name, context in chunks:
        words += map(number_of, split_encoded_words(text))
        ends.append(len(words))
        if context != known_context:  # it is the same for all chunks of a source file
            known_context, context_words = context, list(map(number_of, split_encoded_words(context)))
        words += map(number_of, split_encoded_words(name))
        words += context_words
        ends.append(len(words))
    return _count(table, np.array(words, np.int64), np.diff(ends))


def _find_runs(values: Numbers) -> Numbers:
    """Where each run of equal values begins."""
    is_first = np.ones(len(values), np.bool_)
    np.not_equal(values[1:], values[:-1], out=is_first[1:])
    return np.flatnonzero(is_first)


def _count(table: _WordTable, words: Numbers, words_of_field: Numbers) -> FileTerms:
    """Count the terms of the words in each field: the text of a chunk, then its headings."""
    fields_count = len(words_of_field)
    starts = np.frombuffer(table.starts, np.int32)
    first_terms = starts[words]
    counts = starts[words + 1] - first_terms
    field = np.repeat(np.repeat(np.arange(fields_count), words_of_field), counts)
    at = np.arange(len(field)) + np.repeat(first_terms - np.cumsum(counts) + counts, counts)
    lengths = np.minimum(np.bincount(field, minlength=fields_count), _LENGTH_MAX).astype(LENGTH_TYPE)
    keys = np.sort((field >> 1) << 33 | np.frombuffer(table.terms, np.int32)[at].astype(np.int64) << 1 | field & 1)
    both = keys >> 1
    runs = _find_runs(both)
    head = np.add.reduceat(keys & 1, runs) if len(runs) else runs
    body = -runs - head
    body[:-1] += runs[1:]
    body[-1:] += len(keys)
    found = both[runs]
    vocabulary, terms = table.renumber(found & _TERM_MASK)
    return FileTerms(
        vocabulary,
        np.bincount(found >> 32, minlength=fields_count // 2).astype(NUMBER_TYPE).tobytes(),
        terms.tobytes(),
        np.minimum(body, _COUNT_MAX).astype(np.uint8).tobytes(),
        np.minimum(head, _COUNT_MAX).astype(np.uint8).tobytes(),
        lengths[0::2].tobytes(),
        lengths[1::2].tobytes(),
    )
