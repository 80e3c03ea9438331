"""Where pieces of text stand, from the coordinates of a page to those of a reader.

A page counts upwards from its lower left corner, and may be turned before it is looked at; so may text on it. A reader
counts downwards from the upper left corner of what is seen. Text that runs in another direction gets a frame of its
own, turned so that it stands upright there.
"""

from bisect import bisect_left

from .pdfium import PdfPage
from .segments import ASKEW, Segment, Span
from .style import Style

COORDINATE_MAX = 1_000_000.0


class Outlines:
    """Where spans of text begin and end."""

    def __init__(self, page: PdfPage, spans: list[Span]) -> None:
        self.page = page
        self.spans = spans
        self._first = page.boxes(page.places([start for start, _ in spans]))
        self._last = page.boxes(page.places([last for _, last in spans]))
        self._edges: dict[int, tuple[list[float], list[float]]] = {}

    def along(self, quarter: int) -> tuple[list[float], list[float]]:
        """Where each begins and ends in a direction."""
        if quarter not in self._edges:
            low = list(map(min, self._first.low(quarter), self._last.low(quarter)))
            high = list(map(max, self._first.high(quarter), self._last.high(quarter)))
            self._edges[quarter] = low, high
        return self._edges[quarter]

    def cut(self, gaps: list[Span]) -> None:
        """Cut spans at gaps: the last character before one and the first after it."""
        starts, lasts = [start for start, _ in self.spans], [last for _, last in self.spans]
        begins, ends = sorted([begin for _, begin in gaps]), sorted([end for end, _ in gaps])
        page = self.page
        more_first, more_last = page.boxes(page.places(begins)), page.boxes(page.places(ends))
        self._first = self._first.with_inserted([bisect_left(starts, begin) for begin in begins], more_first)
        self._last = self._last.with_inserted([bisect_left(lasts, end) for end in ends], more_last)
        self.spans = list(zip(sorted(starts + begins), sorted(lasts + ends), strict=True))
        self._edges.clear()


class Frame:
    """The coordinates of a reader."""

    def __init__(self, outlines: Outlines) -> None:
        page = outlines.page
        self._left, self._bottom, self._right, self._top = page.bounds
        self._rotation = page.rotation
        self._outlines = outlines
        self._edges = outlines.along(self._rotation)

    def segments(self, texts: list[str], looks: list[Style]) -> list[Segment]:
        """All pieces that have text as segments."""
        if self._is_plain() and all(map(_is_upright, looks)):
            return self._upright_segments(texts, looks)
        spans = self._outlines.spans
        return [
            self._segment(text, index, look, span)
            for text, index, look, span in zip(texts, range(len(texts)), looks, spans, strict=True)
            if text
        ]

    def _is_plain(self) -> bool:
        """Whether the page is not turned, and nothing stands at a place that cannot be reckoned with."""
        low, high = self._edges
        total = sum(low) + sum(high)
        return not self._rotation and total == total and min(low) > -COORDINATE_MAX and max(high) < COORDINATE_MAX

    def _upright_segments(self, texts: list[str], looks: list[Style]) -> list[Segment]:
        """The same, where all is upright: nearly always, so it is done without a call for each."""
        left, top = self._left, self._top
        return [
            Segment(
                text,
                x0 - left,
                (base := top - look.y) - 0.8 * (size := look.size),
                x1 - left,
                base + 0.2 * size,
                size,
                look.bold,
                look.mono,
                0,
                index,
                span,
            )
            for text, x0, x1, index, look, span in zip(
                texts, *self._edges, range(len(texts)), looks, self._outlines.spans, strict=True
            )
            if text
        ]

    def _segment(self, text: str, index: int, look: Style, span: Span) -> Segment:
        """The piece of that number as a segment."""
        quarter, direction, edge, base = self._turned(look)
        low, high = self._outlines.along(quarter)
        x0, x1, base = _sane(low[index] - edge), _sane(high[index] - edge), _sane(base)
        size = look.size
        return Segment(
            text, x0, base - 0.8 * size, x1, base + 0.2 * size, size, look.bold, look.mono, direction, index, span
        )

    def _turned(self, look: Style) -> tuple[int, int, float, float]:
        """Quarter and direction of turned text, and where its frame begins and its baseline lies."""
        quarter = self._rotation if look.is_askew else look.quarter
        direction = ASKEW if look.is_askew else (quarter - self._rotation) % 4
        if quarter == 0:
            return quarter, direction, self._left, self._top - look.y
        if quarter == 1:
            return quarter, direction, self._bottom, look.x - self._left
        if quarter == 2:
            return quarter, direction, -self._right, look.y - self._bottom
        return quarter, direction, -self._top, self._right - look.x


def _is_upright(look: Style) -> bool:
    return not look.quarter and not look.is_askew and -COORDINATE_MAX < look.y < COORDINATE_MAX


def _sane(number: float) -> float:
    """Any number that a broken page gives, as one that can be reckoned with."""
    return max(-COORDINATE_MAX, min(COORDINATE_MAX, number)) if number == number else 0.0
