"""Converts positions of text from the coordinates of a PDF page to those of a reader.

A PDF page counts upwards from its lower left corner, and may be rotated for display; so may text on it. A reader counts
downwards from the upper left corner of the displayed page. Text in another direction gets a frame of its own, rotated
so that the text is upright in it. Directions are counted in quarter turns.
"""

from bisect import bisect_left

from .pdfium import PdfPage
from .segments import ASKEW, Segment, Span
from .style import PdfStyle

COORDINATE_MAX = 1_000_000.0


class SpanBoxes:
    """Where spans of text begin and end on a page."""

    def __init__(self, page: PdfPage, spans: list[Span]) -> None:
        self.page = page
        self.spans = spans
        self._first = page.boxes(page.character_indices([start for start, _ in spans]))
        self._last = page.boxes(page.character_indices([last for _, last in spans]))
        self._edges: dict[int, tuple[list[float], list[float]]] = {}

    def extents(self, quarter: int) -> tuple[list[float], list[float]]:
        """Where each span begins and ends in a direction."""
        if quarter not in self._edges:
            low = list(map(min, self._first.low(quarter), self._last.low(quarter)))
            high = list(map(max, self._first.high(quarter), self._last.high(quarter)))
            self._edges[quarter] = low, high
        return self._edges[quarter]

    def split(self, gaps: list[Span]) -> None:
        """Split spans at gaps. A gap is the last character before it and the first after it."""
        starts, lasts = [start for start, _ in self.spans], [last for _, last in self.spans]
        begins, ends = sorted([begin for _, begin in gaps]), sorted([end for end, _ in gaps])
        page = self.page
        more_first, more_last = page.boxes(page.character_indices(begins)), page.boxes(page.character_indices(ends))
        self._first = self._first.insert([bisect_left(starts, begin) for begin in begins], more_first)
        self._last = self._last.insert([bisect_left(lasts, end) for end in ends], more_last)
        self.spans = list(zip(sorted(starts + begins), sorted(lasts + ends), strict=True))
        self._edges.clear()


class ReadingFrame:
    """The coordinates of a reader, for the spans of a page."""

    def __init__(self, boxes: SpanBoxes) -> None:
        page = boxes.page
        self._left, self._bottom, self._right, self._top = page.bounds
        self._rotation = page.rotation
        self._boxes = boxes
        self._edges = boxes.extents(self._rotation)

    def segments(self, texts: list[str], styles: list[PdfStyle]) -> list[Segment]:
        """The segments of all spans that have text."""
        if self._is_plain() and all(map(_is_upright, styles)):
            return self._make_upright_segments(texts, styles)
        spans = self._boxes.spans
        return [
            self._make_segment(text, index, style, span)
            for text, index, style, span in zip(texts, range(len(texts)), styles, spans, strict=True)
            if text
        ]

    def _is_plain(self) -> bool:
        """Whether the page is not rotated, and all positions are finite and of normal size."""
        low, high = self._edges
        total = sum(low) + sum(high)
        return not self._rotation and total == total and min(low) > -COORDINATE_MAX and max(high) < COORDINATE_MAX

    def _make_upright_segments(self, texts: list[str], styles: list[PdfStyle]) -> list[Segment]:
        """The same for a page without rotation: the usual case, so there is no call per segment."""
        left, top = self._left, self._top
        return [
            Segment(
                text,
                x0 - left,
                (base := top - style.y) - 0.8 * (size := style.size),
                x1 - left,
                base + 0.2 * size,
                size,
                style.is_bold,
                style.is_mono,
                0,
                index,
                span,
                style.face,
            )
            for text, x0, x1, index, style, span in zip(
                texts, *self._edges, range(len(texts)), styles, self._boxes.spans, strict=True
            )
            if text
        ]

    def _make_segment(self, text: str, index: int, style: PdfStyle, span: Span) -> Segment:
        """The segment of one span."""
        quarter, direction, edge, base = self._find_orientation(style)
        low, high = self._boxes.extents(quarter)
        x0, x1, base = _clamp(low[index] - edge), _clamp(high[index] - edge), _clamp(base)
        size = style.size
        return Segment(
            text,
            x0,
            base - 0.8 * size,
            x1,
            base + 0.2 * size,
            size,
            style.is_bold,
            style.is_mono,
            direction,
            index,
            span,
            style.face,
        )

    def _find_orientation(self, style: PdfStyle) -> tuple[int, int, float, float]:
        """Quarter turns and direction of a text, the edge of its frame, and its baseline."""
        quarter = self._rotation if style.is_askew else style.quarter
        direction = ASKEW if style.is_askew else (quarter - self._rotation) % 4
        if quarter == 0:
            return quarter, direction, self._left, self._top - style.y
        if quarter == 1:
            return quarter, direction, self._bottom, style.x - self._left
        if quarter == 2:
            return quarter, direction, -self._right, style.y - self._bottom
        return quarter, direction, -self._top, self._right - style.x


def _is_upright(style: PdfStyle) -> bool:
    return not style.quarter and not style.is_askew and -COORDINATE_MAX < style.y < COORDINATE_MAX


def _clamp(number: float) -> float:
    """A coordinate within bounds: damaged pages have huge ones, and NaN."""
    return max(-COORDINATE_MAX, min(COORDINATE_MAX, number)) if number == number else 0.0
