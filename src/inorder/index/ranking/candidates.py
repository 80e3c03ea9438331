"""The chunks that may be in an answer, and their scores in each list."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .fusion import Scores


class CandidateRow(NamedTuple):
    """What ranking needs to know of a chunk."""

    item_id: str
    position: int
    """The number of the chunk in its file."""
    file_kind: str
    name: str


class Candidates:
    """Chunks by their number in the index."""

    def __init__(self) -> None:
        self.lists: dict[str, dict[int, float]] = {}
        """The score of each candidate that a list has."""
        self._found: dict[str, dict[int, float]] = {}
        self._sorted: dict[str, list[float]] = {}
        self._rows: dict[int, CandidateRow] = {}

    @property
    def numbers(self) -> npt.NDArray[np.int64]:
        """The numbers of all candidates."""
        return np.array(list(self._rows), np.int64)

    def add(self, name: str, numbers: npt.NDArray[np.int64], scores: Scores, rows: Mapping[int, CandidateRow]) -> None:
        """Add a list: its best chunks and their scores."""
        self.lists[name] = dict(zip(numbers.tolist(), scores.tolist(), strict=True))
        self._found[name] = dict(self.lists[name])
        self._sorted[name] = sorted(self._found[name].values())
        self._rows.update({number: rows[number] for number in self.lists[name]})

    def complete(self, name: str, scores: Scores) -> None:
        """Take the scores of candidates of other lists from all scores of this one, where they are known."""
        numbers = self.numbers
        found = scores[numbers]
        known = ~np.isnan(found)
        self.lists[name].update(zip(numbers[known].tolist(), found[known].tolist(), strict=True))

    def sort(self) -> tuple[list[int], list[CandidateRow]]:
        """The numbers and rows of all candidates in the order of item ids and positions, which does not depend on how
        the index was built."""
        numbers = sorted(self._rows, key=lambda number: self._rows[number][:2])
        return numbers, [self._rows[number] for number in numbers]

    def list_scores(self, name: str, numbers: Iterable[int]) -> Scores:
        """The scores of these candidates in a list; NaN where it has none."""
        return np.array([self.lists[name].get(number, np.nan) for number in numbers])

    def list_best(self, name: str, count: int) -> list[int]:
        """The numbers of the best candidates of a list, if there is such a list."""
        scores = self.lists.get(name, {})
        return sorted(scores, key=lambda number: (-scores[number], self._rows[number][:2]))[:count]

    def list_ranks(self, number: int) -> dict[str, int]:
        """The rank of a candidate in each list that it was found by, from 1."""
        return {
            name: 1 + len(found) - bisect_right(self._sorted[name], found[number])
            for name, found in self._found.items()
            if number in found
        }
