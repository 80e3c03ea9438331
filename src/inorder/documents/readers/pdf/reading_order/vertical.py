"""Reads vertical text: Chinese and Japanese whose lines go down, and follow each other from right to left.

PDFium returns each character as a line, or a whole line as one that is as narrow as a character. Characters that
follow each other downwards, as they were drawn, are one line. The lines keep the order in which they were drawn. One
that begins lower than those before is the first of a paragraph.
"""

from collections.abc import Iterator, Sequence

from inorder.documents.model import Paragraph
from inorder.documents.readers.pdf.columns import bounding_box
from inorder.documents.readers.pdf.segments import PageText, Segment
from inorder.documents.readers.unicode import is_cjk

CHARACTERS_MAX = 4
"""Of a segment: a character, and marks that stand beside it."""
LINE_CHARACTERS_MIN = 4
LINES_MIN = 2
VERTICAL_SHARE_MIN = 0.5
"""Share of the characters of a page that must be in vertical lines."""
WIDTH_SIZES_MAX = 1.5
"""Of a segment that is a whole line."""
GAP_SIZES_MAX = 3.0


def read_vertical(page: PageText) -> list[Paragraph]:
    """The paragraphs of a page with vertical text; empty if it has none. Other lines come as they were drawn."""
    upright = [segment for segment in page.segments if not segment.direction]
    if 2 * sum(_is_narrow(segment) and is_cjk(segment.text[0]) for segment in upright) < len(upright):
        return []
    lines = list(_find_lines(upright))
    vertical = [length for line in lines if _is_narrow(line[0]) and (length := _count(line)) >= LINE_CHARACTERS_MIN]
    if len(vertical) < LINES_MIN or sum(vertical) < VERTICAL_SHARE_MIN * _count(upright):
        return []
    return list(_join_lines(lines, page.number))


def _is_narrow(segment: Segment) -> bool:
    return len(segment.text) < 2 or segment.x1 - segment.x0 < WIDTH_SIZES_MAX * segment.size


def _count(segments: Sequence[Segment]) -> int:
    return sum(len(segment.text) for segment in segments)


def _find_lines(segments: Sequence[Segment]) -> Iterator[list[Segment]]:
    line: list[Segment] = []
    for segment in sorted(segments, key=lambda segment: segment.order):
        if line and not _is_below(line[-1], segment):
            yield line
            line = []
        line.append(segment)
    if line:
        yield line


def _is_below(before: Segment, segment: Segment) -> bool:
    if max(len(before.text), len(segment.text)) > CHARACTERS_MAX or abs(before.size - segment.size) > 1:
        return False
    is_aligned = abs(before.x0 - segment.x0) < 0.3 * segment.size
    return is_aligned and -0.3 * segment.size < segment.top - before.bottom < GAP_SIZES_MAX * segment.size


def _join_lines(lines: Sequence[list[Segment]], page: int) -> Iterator[Paragraph]:
    paragraph: list[list[Segment]] = []
    for line in lines:
        if paragraph and _is_new(paragraph[-1], line):
            yield _make(paragraph, page)
            paragraph = []
        paragraph.append(line)
    if paragraph:
        yield _make(paragraph, page)


def _is_new(before: Sequence[Segment], line: Sequence[Segment]) -> bool:
    """Whether a line does not go on to the left of the one before, or is set in."""
    if min(_count(before), _count(line)) < 2:
        return True
    size, is_whole = line[0].size, len(line) == 1 or len(before) == 1
    if not 0 < before[0].x0 - line[0].x0 < 3 * size:
        return True
    return not is_whole and line[0].top > before[0].top + 0.7 * size


def _make(lines: Sequence[list[Segment]], page: int) -> Paragraph:
    segments = [segment for line in lines for segment in line]
    return Paragraph(text="".join(each.text for each in segments), page=page, box=bounding_box(segments))
