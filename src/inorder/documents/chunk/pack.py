"""Pack units into chunks.

Chunks follow the sections: a heading starts a new chunk as soon as the previous one is large enough, and ends a chunk
only if it does not fit together with what follows it. A chunk takes units as long as they fit. A chunk that is too
small is joined to a neighbour if both fit together, and otherwise takes units from the previous one. Small chunks
remain only if the document itself is small or the neighbours are full.

A chunk fits if its text does. The sum of the tokens of its units is only an estimate that narrows the search: a
tokenizer may find more tokens in a text than in its parts.

A chunk that begins within a table begins with the header of the table, if the header takes at most a quarter of the
largest chunk and fits together with the first row.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, pairwise

from .tokens import TokenCounter
from .units import Unit

_HEADER_SHARE_MAX = 4
"""A repeated header takes at most this part of a chunk."""


class UnitSequence:
    """Consecutive units, and the size of any range of them. Ranges are half-open: `first` to before `last`."""

    def __init__(self, text: str, units: Sequence[Unit], count: TokenCounter, tokens_max: int) -> None:
        self.units = units
        self._text = text
        self._count = count
        self._tokens_max = tokens_max
        self._sums = list(accumulate((unit.tokens for unit in units), initial=0))
        self._counted: dict[tuple[int, int], int] = {}
        self._headers: dict[int, str] = {}

    def estimate(self, first: int, last: int) -> int:
        """The sum of the tokens of these units."""
        return self._sums[last] - self._sums[first]

    def text(self, first: int, last: int) -> str:
        """The text of these units, after the header of the table if they begin below it."""
        text = self._text[self.units[first].start : self.units[last - 1].end].strip()
        return self._find_header(first) + text if self.units[first].header else text

    def _find_header(self, first: int) -> str:
        """The header that a chunk repeats if it begins with this unit; empty: it would be too large."""
        if first not in self._headers:
            start, end = self.units[first].header or (0, 0)
            header = self._text[start:end]
            unit = self._text[self.units[first].start : self.units[first].end].strip()
            is_short = self._count(header.strip()) * _HEADER_SHARE_MAX <= self._tokens_max
            self._headers[first] = header if is_short and self._count(header + unit) <= self._tokens_max else ""
        return self._headers[first]

    def find_text(self, first: int) -> int:
        """Where the text of units begins whose first one is this: after white space, and before a header that is
        repeated."""
        start, end = self.units[first].start, self.units[first].end
        header = self._find_header(first) if self.units[first].header else ""
        return end - len(self._text[start:end].lstrip()) - len(header)

    def tokens(self, first: int, last: int) -> int:
        """The tokens of the text of these units."""
        if (first, last) not in self._counted:
            self._counted[first, last] = self._count(self.text(first, last))
        return self._counted[first, last]

    def is_within_limit(self, first: int, last: int) -> bool:
        """Whether these units fit into one chunk."""
        return self.tokens(first, last) <= self._tokens_max

    def reach(self, first: int) -> int:
        """The end of the longest chunk that begins at `first`. It has at least one unit."""
        near, far = first + 1, bisect_right(self._sums, self._sums[first] + self._tokens_max) - 1
        if far <= near or self.is_within_limit(first, far):
            return max(near, far)
        while far - near > 1:
            middle = (near + far) // 2
            if self.is_within_limit(first, middle):
                near = middle
            else:
                far = middle
        return near


def pack(sequence: UnitSequence, tokens_min: int) -> list[tuple[int, int]]:
    """The first unit of each chunk, and the end of it."""
    cuts = [0]
    while cuts[-1] < len(sequence.units):
        cuts.append(_next_cut(sequence, cuts[-1], tokens_min))
    cuts = _remove_needless_cuts(sequence, cuts, tokens_min)
    for number in range(1, len(cuts) - 1):
        cuts[number] = _balance_cut(sequence, cuts[number - 1], cuts[number], cuts[number + 1], tokens_min)
    cuts = _remove_needless_cuts(sequence, cuts, tokens_min)
    return list(pairwise(cuts))


def _next_cut(sequence: UnitSequence, first: int, tokens_min: int) -> int:
    last = sequence.reach(first)
    for at in range(first + 1, last):
        if sequence.units[at].is_heading and sequence.estimate(first, at) >= tokens_min:
            return _move_before_headings(sequence, first, at)
    return last if last == len(sequence.units) else _move_before_headings(sequence, first, last)


def _move_before_headings(sequence: UnitSequence, first: int, last: int) -> int:
    """Move headings at the end of a chunk to the next one, as many as fit there, unless the chunk has nothing else."""
    cut = last
    while cut - 1 > first and sequence.units[cut - 1].is_heading and sequence.is_within_limit(cut - 1, last + 1):
        cut -= 1
    return last if sequence.units[cut - 1].is_heading and cut - 1 == first else cut


def _remove_needless_cuts(sequence: UnitSequence, cuts: Sequence[int], tokens_min: int) -> list[int]:
    """Join chunks that are too small to a neighbour if both fit together."""
    kept: list[int] = []
    for cut in cuts:
        while len(kept) > 1 and _is_needless(sequence, kept[-2], kept[-1], cut, tokens_min):
            kept.pop()
        kept.append(cut)
    return kept


def _is_needless(sequence: UnitSequence, first: int, cut: int, last: int, tokens_min: int) -> bool:
    smaller = min(sequence.tokens(first, cut), sequence.tokens(cut, last))
    return smaller < tokens_min and sequence.is_within_limit(first, last)


def _balance_cut(sequence: UnitSequence, first: int, cut: int, last: int, tokens_min: int) -> int:
    """Move the cut back until the second chunk is large enough, as long as the first one stays so, and never to right
    after a heading. It never moves forward: what follows a chunk that is too small did not fit into it."""
    candidates = []
    at = cut
    while (
        sequence.estimate(at, last) < tokens_min and at - 1 > first and sequence.estimate(first, at - 1) >= tokens_min
    ):
        at -= 1
        if not sequence.units[at - 1].is_heading:
            candidates.append(at)
    return next(
        (
            at
            for at in reversed(candidates)
            if sequence.is_within_limit(first, at) and sequence.is_within_limit(at, last)
        ),
        cut,
    )
