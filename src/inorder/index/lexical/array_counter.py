"""Count terms with arrays, where inorder was built without a C compiler; see `terms`."""

from collections.abc import Iterable, Sequence
from itertools import accumulate, repeat

import numpy as np

from .analysis import split_encoded_words
from .file_terms import COUNT_MAX, LENGTH_MAX, LENGTH_TYPE, NUMBER_TYPE, FileTerms
from .word_table import Numbers, WordTable

_TERM_MASK = (1 << 32) - 1
_FEW_CHARACTERS = 2000
"""The words of shorter texts are looked up one by one: below this, that is as fast."""


class ArrayCounter:
    """Counts the terms of texts in one language. Its length is the number of words that it knows."""

    def __init__(self, language: str) -> None:
        self._table = WordTable(language)

    def __len__(self) -> int:
        return len(self._table)

    def count(self, fields: Sequence[str]) -> FileTerms:
        """Count the terms of chunks, given by turns as the text of a chunk and its headings."""
        words, owners = _number_words(self._table, fields)
        return _count(self._table, words, owners, len(fields))


def _number_words(table: WordTable, fields: Sequence[str]) -> tuple[Numbers, Numbers]:
    """The numbers of the words of all fields, and the field of each."""
    whole = "\n".join(fields)
    if len(whole) < _FEW_CHARACTERS:
        return _number_one_by_one(table, enumerate(fields))
    if whole.isascii():
        return _number_together(table, fields, whole)
    others = [(at, field) for at, field in enumerate(fields) if not field.isascii()]
    fields = [field if field.isascii() else "" for field in fields]
    found = _number_together(table, fields, "\n".join(fields)), _number_one_by_one(table, others)
    return np.concatenate([words for words, _ in found]), np.concatenate([field for _, field in found])


def _number_together(table: WordTable, fields: Sequence[str], whole: str) -> tuple[Numbers, Numbers]:
    """As `_number_words`, of fields in ASCII, and of the lines that they are together."""
    starts, words = table.number_words(whole.encode("ascii"))
    ends = np.fromiter(accumulate(map(len, fields)), np.int64, len(fields)) + np.arange(len(fields))
    counts = np.diff(np.searchsorted(starts, ends), prepend=0)
    return words, np.repeat(np.arange(len(fields)), counts)


def _number_one_by_one(table: WordTable, fields: Iterable[tuple[int, str]]) -> tuple[Numbers, Numbers]:
    """As `_number_words`, of numbered fields."""
    number_of = table.__getitem__
    words: list[int] = []
    owners: list[int] = []
    for at, field in fields:
        words += map(number_of, split_encoded_words(field))
        owners += repeat(at, len(words) - len(owners))
    return np.array(words, np.int64), np.array(owners, np.int64)


def _find_runs(values: Numbers) -> Numbers:
    """Where each run of equal values begins."""
    is_first = np.ones(len(values), np.bool_)
    np.not_equal(values[1:], values[:-1], out=is_first[1:])
    return np.flatnonzero(is_first)


def _count(table: WordTable, words: Numbers, fields: Numbers, fields_count: int) -> FileTerms:
    """Count the terms of the words in each field: the text of a chunk, then its headings."""
    starts = np.frombuffer(table.starts, np.int32)
    first_terms = starts[words]
    counts = starts[words + 1] - first_terms
    field = np.repeat(fields, counts)
    at = np.arange(len(field)) + np.repeat(first_terms - np.cumsum(counts) + counts, counts)
    lengths = np.minimum(np.bincount(field, minlength=fields_count), LENGTH_MAX).astype(LENGTH_TYPE)
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
        np.minimum(body, COUNT_MAX).astype(np.uint8).tobytes(),
        np.minimum(head, COUNT_MAX).astype(np.uint8).tobytes(),
        lengths[0::2].tobytes(),
        lengths[1::2].tobytes(),
    )
