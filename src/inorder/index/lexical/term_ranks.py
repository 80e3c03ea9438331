"""Rank the terms of many files."""

from collections.abc import Iterator, Sequence
from itertools import count

import numpy as np
import numpy.typing as npt

from .file_terms import NUMBER_TYPE, FileTerms

Ranks = npt.NDArray[np.int32]


def rank_terms(files: Sequence[FileTerms]) -> tuple[list[str], Ranks]:
    """All terms of these files in ascending order; and for each term of each chunk, its place among them."""
    number_of: dict[str, int] = {}
    new = count()
    numbers = [_number_terms(each, number_of, new) for each in files]
    order = sorted(number_of)
    ranks = np.empty(next(new), np.int32)
    ranks[np.fromiter(map(number_of.__getitem__, order), np.int64, len(order))] = np.arange(len(order))
    return order, ranks[np.concatenate(numbers)]


def _number_terms(terms: FileTerms, number_of: dict[str, int], new: Iterator[int]) -> Ranks:
    """The number of each term of each chunk of a file. A term that has none yet gets a new one."""
    known = np.fromiter(map(number_of.setdefault, terms.vocabulary.split(), new), np.int32)
    found: Ranks = known[np.frombuffer(terms.terms, NUMBER_TYPE)]
    return found
