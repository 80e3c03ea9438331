"""Units into chunks.

Chunks follow the sections: a heading begins a new one as soon as the one before is large enough, and ends one only
where it does not fit together with what follows it. A chunk takes units while they fit. What comes out too small is
joined to its neighbour where both fit together, and otherwise evened out with it; crumbs are left only where a document
is one, or where the neighbours are full.

A chunk fits if its text does. The tokens of its units are added up to come close quickly, and that is all they are good
for: a tokenizer may find more in a text than in its parts, and then the chunk takes less.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, pairwise

from .tokens import Count
from .units import Unit


class Row:
    """Units side by side, and how large any stretch of them is."""

    def __init__(self, text: str, units: Sequence[Unit], count: Count, tokens_max: int) -> None:
        self.units = units
        self._text = text
        self._count = count
        self._tokens_max = tokens_max
        self._sums = list(accumulate((unit.tokens for unit in units), initial=0))
        self._counted: dict[tuple[int, int], int] = {}

    def size(self, first: int, last: int) -> int:
        """Tokens of the units from `first` to before `last`, added up."""
        return self._sums[last] - self._sums[first]

    def text(self, first: int, last: int) -> str:
        """What they say."""
        return self._text[self.units[first].start : self.units[last - 1].end].strip()

    def tokens(self, first: int, last: int) -> int:
        """Tokens of their text."""
        if (first, last) not in self._counted:
            self._counted[first, last] = self._count(self.text(first, last))
        return self._counted[first, last]

    def fits(self, first: int, last: int) -> bool:
        """Whether they can be one chunk."""
        return self.tokens(first, last) <= self._tokens_max

    def reach(self, first: int) -> int:
        """How far a chunk that begins there can go: as far as it fits, and by one unit at least."""
        near, far = first + 1, bisect_right(self._sums, self._sums[first] + self._tokens_max) - 1
        if far <= near or self.fits(first, far):
            return max(near, far)
        while far - near > 1:
            middle = (near + far) // 2
            if self.fits(first, middle):
                near = middle
            else:
                far = middle
        return near


def pack(row: Row, tokens_min: int) -> list[tuple[int, int]]:
    """Where each chunk begins and ends, in units."""
    cuts = [0]
    while cuts[-1] < len(row.units):
        cuts.append(_next_cut(row, cuts[-1], tokens_min))
    cuts = _joined(row, cuts, tokens_min)
    for number in range(1, len(cuts) - 1):
        cuts[number] = _evened_out(row, cuts[number - 1], cuts[number], cuts[number + 1], tokens_min)
    cuts = _joined(row, cuts, tokens_min)
    return list(pairwise(cuts))


def _next_cut(row: Row, first: int, tokens_min: int) -> int:
    last = row.reach(first)
    for at in range(first + 1, last):
        if row.units[at].is_heading and row.size(first, at) >= tokens_min:
            return _before_headings(row, first, at)
    return last if last == len(row.units) else _before_headings(row, first, last)


def _before_headings(row: Row, first: int, last: int) -> int:
    """Headings at the end of a chunk belong to the next one, as many as fit there; but not if there is nothing else."""
    cut = last
    while cut - 1 > first and row.units[cut - 1].is_heading and row.fits(cut - 1, last + 1):
        cut -= 1
    return last if row.units[cut - 1].is_heading and cut - 1 == first else cut


def _joined(row: Row, cuts: Sequence[int], tokens_min: int) -> list[int]:
    """Without the cuts beside what is too small, where both sides fit together."""
    kept: list[int] = []
    for cut in cuts:
        while len(kept) > 1 and _is_needless(row, kept[-2], kept[-1], cut, tokens_min):
            kept.pop()
        kept.append(cut)
    return kept


def _is_needless(row: Row, first: int, cut: int, last: int, tokens_min: int) -> bool:
    return min(row.tokens(first, cut), row.tokens(cut, last)) < tokens_min and row.fits(first, last)


def _evened_out(row: Row, first: int, cut: int, last: int, tokens_min: int) -> int:
    """The cut, moved back until what follows it is large enough, as far as what comes before stays so; never to behind
    a heading. It need not move forward: what follows a chunk that is too small did not fit into it."""
    places = []
    at = cut
    while row.size(at, last) < tokens_min and at - 1 > first and row.size(first, at - 1) >= tokens_min:
        at -= 1
        if not row.units[at - 1].is_heading:
            places.append(at)
    return next((at for at in reversed(places) if row.fits(first, at) and row.fits(at, last)), cut)
