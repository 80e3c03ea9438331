"""The chunks that may be in an answer, and their scores in each list."""

import numpy as np
import numpy.typing as npt

from .fusion import Scores

Numbers = npt.NDArray[np.int64]


LIST_MAX = 400
"""Length of each list before fusion."""


class Candidates:
    """Chunks by their number in the index, in ascending order."""

    def __init__(self, length: int) -> None:
        self.length = length
        """How many of the best chunks each list has."""
        self.is_cut = False
        """Whether a list would have more chunks if it could be longer."""
        self.numbers: Numbers = np.zeros(0, np.int64)
        self.lists: dict[str, Scores] = {}
        """The score of each candidate in each list; NaN where it has none."""

    def add(self, name: str, numbers: Numbers, scores: Scores) -> None:
        """Add a list: its chunks, in ascending order, and their scores."""
        known, self.numbers = self.numbers, np.union1d(self.numbers, numbers)
        lists = {**{each: (known, found) for each, found in self.lists.items()}, name: (numbers, scores)}
        self.lists = {each: spread(self.numbers, *found) for each, found in lists.items()}

    def take(self, scores: Scores) -> Numbers:
        """The positions of the best scores of a list, as `take_best` returns them."""
        best = take_best(scores, self.length)
        self.is_cut |= len(best) < len(scores) - int(np.isnan(scores).sum())
        return best

    def list_ranks(self, at: int) -> dict[str, int]:
        """The rank of a candidate in each list that has it, from 1."""
        found = {name: scores for name, scores in self.lists.items() if not np.isnan(scores[at])}
        return {name: 1 + int((scores > scores[at]).sum()) for name, scores in found.items()}


def take_best(scores: Scores, count: int) -> Numbers:
    """The positions of the best scores, with all that are equal to the last one, in ascending order. NaN is none."""
    known: Numbers = np.flatnonzero(~np.isnan(scores))
    if len(known) <= count:
        return known
    found = scores[known]
    best: Numbers = known[found >= np.partition(found, -count)[-count]]
    return best


def spread(wider: Numbers, numbers: Numbers, scores: Scores) -> Scores:
    """The scores of some numbers as those of more numbers; NaN for the others. Both are in ascending order."""
    found = np.full(len(wider), np.nan)
    found[np.searchsorted(wider, numbers)] = scores
    return found
