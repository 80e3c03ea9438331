"""Makes segments of pieces of the text of a page, in the coordinates of a reader.

A PDF page counts upwards from its lower left corner, and may be rotated for display; so may text on it. A reader counts
downwards from the upper left corner of the displayed page. Text in another direction gets a frame of its own, rotated
so that the text is upright in it. Directions are counted in quarter turns.

A call costs as much as the work it does, so per piece we ask for the boxes of the first and last character and for the
style of one in the middle, not for every character.
"""

from array import array
from collections import Counter
from collections.abc import Sequence
from math import isfinite
from operator import mul

import msgspec

from inorder.documents.readers.unicode import clean

from .pdfium import CharacterBox, PdfPage, turn_box
from .segments import ASKEW, Extent, Segment, Span
from .style import SIZE_POINTS_MAX, SIZE_POINTS_MIN, FontReader, Rotation, Traits, measure_rotation

COORDINATE_MAX = 1_000_000.0


class SegmentReader:
    """Reads segments of a page."""

    def __init__(self, page: PdfPage, text: str) -> None:
        self.page = page
        self.text = text
        self._fonts = FontReader(page)
        self._left, self._bottom, self._right, self._top = page.bounds

    def read(self, spans: list[Span], texts: list[str]) -> list[Segment]:
        """The segments of these spans with their texts, without those that have no visible text."""
        if not spans:
            return []
        page, text = self.page, self.text
        middles = page.character_indices(
            [middle + 1 if text[middle := (start + last) >> 1] == " " else middle for start, last in spans]
        )
        boxes = page.box_numbers(page.character_indices([start for start, _ in spans] + [last for _, last in spans]))
        texts = list(map(clean, texts))
        traits, sizes, matrices = self._fonts.traits_of(middles), page.font_sizes(middles), page.matrix_numbers(middles)
        upright = _find_upright_sizes(sizes, matrices, boxes) if not page.rotation and all(texts) else []
        rotations = [(size, 0, False) for size in upright] or [
            measure_rotation(size, *matrices[6 * index : 6 * index + 4]) for index, size in enumerate(sizes)
        ]
        return self._make_segments(texts, traits, rotations, matrices, boxes, spans)

    def split(self, segments: list[Segment], gaps: Sequence[Span]) -> tuple[list[Segment], list[CharacterBox]]:
        """The pieces of these segments, in order, and the box of the first character of each. A gap is the last
        character before it and the first after it. Pieces have the style and the height of the whole."""
        starts = sorted([segment.span[0] for segment in segments] + [begin for _, begin in gaps])
        lasts = sorted([segment.span[1] for segment in segments] + [end for end, _ in gaps])
        boxes = self.page.boxes(self.page.character_indices(starts + lasts))
        wholes = {segment.span[0]: segment for segment in segments}
        whole = segments[0]
        found: list[Segment] = []
        first_boxes: list[CharacterBox] = []
        for start, last, first_box, last_box in zip(starts, lasts, boxes, boxes[len(starts) :], strict=False):
            whole = wholes.get(start, whole)
            text = clean(self.text[start : last + 1])
            if not text:
                continue
            x0, x1 = self._find_extent(whole.direction, first_box, last_box)
            found.append(msgspec.structs.replace(whole, text=text, x0=x0, x1=x1, span=(start, last)))
            first_boxes.append(first_box)
        return found, first_boxes

    def _find_extent(self, direction: int, first: CharacterBox, last: CharacterBox) -> Extent:
        """Where text in a direction begins and ends, from the boxes of its first and its last character."""
        quarter = (self.page.rotation + max(0, direction)) % 4
        edge, _ = self._find_frame(quarter, 0.0, 0.0)
        if quarter:
            first, last = turn_box(first, quarter), turn_box(last, quarter)
        return _clamp(min(first[0], last[0]) - edge), _clamp(max(first[2], last[2]) - edge)

    def traits_at(self, places: list[int]) -> list[Traits]:
        """The traits of the fonts at these places of the text."""
        return self._fonts.traits_of(self.page.character_indices(places))

    def font_sizes_at(self, places: list[int]) -> list[float]:
        """The font sizes at these places of the text, before the matrix scales them."""
        return self.page.font_sizes(self.page.character_indices(places))

    def clear_partial_styles(self, segments: list[Segment]) -> None:
        """Clear the bold flag and the font of segments that begin or end in another font.

        A segment in the usual font of the page is not checked. A number at the beginning may have another font. A
        segment that neither begins nor ends in a font of fixed width has only a word of code in its middle.
        """
        counts = Counter([segment.face for segment in segments])
        usual = max(counts, key=counts.__getitem__)
        unusual = [segment for segment in segments if segment.face != usual or segment.is_bold]
        if not unusual:
            return
        traits = self.traits_at([segment.span[0] for segment in unusual] + [segment.span[1] for segment in unusual])
        for segment, first, last in zip(unusual, traits, traits[len(unusual) :], strict=False):
            segment.is_bold = segment.is_bold and first[0] and last[0]
            segment.is_mono = segment.is_mono and (first[1] or last[1])
            face = segment.face
            if face != last[2] or (face != first[2] and not self.text[segment.span[0]].isdigit()):
                segment.face = ""

    def _make_segments(
        self,
        texts: list[str],
        traits: list[Traits],
        rotations: list[Rotation],
        matrices: "array[float]",
        boxes: "array[float]",
        spans: list[Span],
    ) -> list[Segment]:
        found: list[Segment] = []
        count, rotation = len(spans), self.page.rotation
        for index, text in enumerate(texts):
            if not text:
                continue
            size, quarter, is_askew = rotations[index]
            if is_askew:
                quarter = rotation
            _, base = self._find_frame(quarter, *matrices[6 * index + 4 : 6 * index + 6])
            l0, t0, r0, b0 = boxes[4 * index : 4 * index + 4]
            l1, t1, r1, b1 = boxes[4 * (count + index) : 4 * (count + index) + 4]
            direction = ASKEW if is_askew else (quarter - rotation) % 4
            x0, x1 = self._find_extent(direction, (l0, t0, r0, b0), (l1, t1, r1, b1))
            bold, mono, face = traits[index]
            base = _clamp(base)
            top, bottom = base - 0.8 * size, base + 0.2 * size
            found.append(Segment(text, x0, top, x1, bottom, size, bold, mono, direction, index, spans[index], face))
        return found

    def _find_frame(self, quarter: int, x: float, y: float) -> tuple[float, float]:
        """The edge of the frame of text in a direction, and the baseline in it of text that begins at a position."""
        if quarter == 0:
            return self._left, self._top - y
        if quarter == 1:
            return self._bottom, x - self._left
        if quarter == 2:
            return -self._right, y - self._bottom
        return -self._top, self._right - x


def _find_upright_sizes(sizes: list[float], matrices: "array[float]", boxes: "array[float]") -> list[float]:
    """The sizes of text that is not rotated: the usual case. Empty if it is not, or if its numbers are too large."""
    if any(matrices[1::6]) or any(matrices[2::6]) or min(matrices[0::6]) <= 0:
        return []
    found = list(map(mul, sizes, matrices[3::6]))
    lows, highs = [*boxes[0::4], *matrices[5::6]], [*boxes[2::4], *matrices[5::6]]
    is_within = min(lows) > -COORDINATE_MAX and max(highs) < COORDINATE_MAX and isfinite(sum(lows) + sum(highs))
    return found if is_within and SIZE_POINTS_MIN < min(found) <= max(found) < SIZE_POINTS_MAX else []


def _clamp(number: float) -> float:
    """A coordinate within bounds: damaged pages have huge ones, and NaN."""
    if -COORDINATE_MAX < number < COORDINATE_MAX:
        return number
    return max(-COORDINATE_MAX, min(COORDINATE_MAX, number)) if number == number else 0.0
