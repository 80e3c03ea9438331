"""Builds blocks from the lines that OCR found, in reading order.

The rules are those for PDF text, with two differences. The height of a recognized line depends on its letters, so lines
of about the usual height get the same size, and larger ones are headings, whose sizes are counted in steps. And the
draw order, which tells columns from tables in a PDF, is not known: stretches of a page with many long lines, one beside
the other, are taken for columns. The rules of tables are those that the pixels show.
"""

from collections.abc import Sequence
from itertools import pairwise
from statistics import mean, median

import msgspec

from inorder.documents.model import AnyBlock, Formula, Heading, ListItem, Paragraph
from inorder.documents.readers.pdf.blocks import build_body
from inorder.documents.readers.pdf.document_stats import DocumentStats
from inorder.documents.readers.pdf.headings.numbering import parse_number
from inorder.documents.readers.pdf.headings.styles import LEVELS_MAX, is_plain_heading
from inorder.documents.readers.pdf.lines import group_rows
from inorder.documents.readers.pdf.segments import Graphics, PageText, Segment

SAME_SIZE = 1.35
"""Heights within this ratio count as one size: ascenders and descenders make a line higher."""
SIZE_STEP = 0.35
"""Larger sizes are told apart by this share of the usual one."""
COLUMN_CHARACTERS_MIN = 20
"""Average per line of a column. Cells of tables have fewer."""
COLUMN_LINES_MIN = 4
COLUMNS_MAX = 6
CROSSING_SHARE_MAX = 0.2
"""Share of lines that cross columns: titles, footers, and pairs of lines recognized as one."""
SURE = 0.8
"""Confidence of a block that is not marked. Printed text has 0.95 and more; patterns without text have 0.5 to 0.75."""


class OcrLine(msgspec.Struct, frozen=True):
    """A recognized line, and how sure the recognition was, from 0 to 1."""

    segment: Segment
    confidence: float


def build_blocks(lines: Sequence[OcrLine], page: PageText) -> list[AnyBlock]:
    """The blocks of the lines of a page. Those that are not sure are paragraphs that say so."""
    segments = [line.segment for line in lines]
    usual = median(segment.size for segment in segments)
    ordered = _order_columns(segments, usual)
    evened = [_even_out_size(segment, usual, order) for order, segment in enumerate(ordered)]
    page.text = "\n".join(segment.text for segment in segments)
    page.graphics = page.graphics or Graphics()
    sizes = sorted({segment.size for segment in evened if segment.size > usual}, reverse=True)
    stats = DocumentStats(body_size=usual, body_is_bold=True, body_is_mono=True, heading_sizes=tuple(sizes))
    return [_mark(block, lines) for block in build_body(evened, group_rows(evened), page, stats)]


def _mark(block: AnyBlock, lines: Sequence[OcrLine]) -> AnyBlock:
    """The block; if its lines are not sure, a paragraph that says so. A line by itself that begins with the number of a
    section is a heading: bold type is not recognized."""
    if block.box is None or not isinstance(block, Formula | Heading | ListItem | Paragraph):
        return block
    left, top, right, bottom = block.box
    inside = [
        line
        for line in lines
        if top <= (line.segment.top + line.segment.bottom) / 2 <= bottom
        and left <= (line.segment.x0 + line.segment.x1) / 2 <= right
    ]
    if find_confidence(inside) < SURE:
        return Paragraph(text=block.text, page=block.page, box=block.box, source="unsure")
    number = parse_number(block.text) if isinstance(block, Paragraph) and len(inside) == 1 else None
    if number is None or number.scheme not in ("1", "I") or not is_plain_heading(block.text):
        return block
    return Heading(text=block.text, level=min(LEVELS_MAX, len(number.path)), page=block.page, box=block.box)


def find_confidence(lines: Sequence[OcrLine]) -> float:
    """The average over all characters."""
    letters = sum(len(line.segment.text) for line in lines)
    return sum(len(line.segment.text) * line.confidence for line in lines) / letters if letters else 1.0


def _order_columns(lines: Sequence[Segment], usual: float) -> list[Segment]:
    """Sort the lines of columns that stand beside each other: one column after the other, then what is below them."""
    for count in range(COLUMNS_MAX, 1, -1):
        gutters = _find_gutters(lines, count, usual)
        if gutters is None:
            continue
        edges = [float("-inf"), *gutters, float("inf")]
        columns = [
            [line for line in lines if left - usual < line.x0 and line.x1 < right + usual]
            for left, right in pairwise(edges)
        ]
        crossing = len(lines) - sum(map(len, columns))
        if crossing > CROSSING_SHARE_MAX * len(lines) or not all(map(_is_column, columns)):
            continue
        last = max(line.top for column in columns for line in column)
        return sorted(
            lines, key=lambda line: (line.top > last, sum(line.x0 > gutter - usual for gutter in gutters), line.top)
        )
    return list(lines)


def _find_gutters(lines: Sequence[Segment], count: int, usual: float) -> list[float] | None:
    """The middle of each gap between so many columns of about the same width; None if lines are in one of them."""
    left, right = min(line.x0 for line in lines), max(line.x1 for line in lines)
    found = []
    for number in range(1, count):
        ideal = left + (right - left) * number / count
        near = [line.x0 for line in lines if abs(line.x0 - ideal) < 2 * usual]
        found.append(median(near) if len(near) >= COLUMN_LINES_MIN else ideal)
        if sum(line.x0 + usual < found[-1] < line.x1 - usual for line in lines) > CROSSING_SHARE_MAX * len(lines):
            return None
    return found


def _is_column(side: Sequence[Segment]) -> bool:
    return len(side) >= COLUMN_LINES_MIN and mean(len(line.text) for line in side) >= COLUMN_CHARACTERS_MIN


def _even_out_size(line: Segment, usual: float, order: int) -> Segment:
    ratio = line.size / usual
    if ratio >= SAME_SIZE:
        size = usual * (1 + SIZE_STEP * round((ratio - 1) / SIZE_STEP))
    else:
        size = usual if ratio > 1 / SAME_SIZE else line.size
    return msgspec.structs.replace(line, size=size, order=order)
