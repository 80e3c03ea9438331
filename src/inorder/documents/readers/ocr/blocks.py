"""Builds blocks from the lines that OCR found, in reading order.

The rules are those for PDF text, with two differences. The height of a recognized line depends on its letters, so lines
of about the usual height get the same size, and there are no headings. And the draw order, which tells columns from
tables in a PDF, is not known: two halves of a page full of long lines are taken for columns.
"""

from collections.abc import Sequence
from itertools import chain
from statistics import mean, median

import msgspec

from inorder.documents.model import AnyBlock
from inorder.documents.readers.pdf.document_stats import DocumentStats
from inorder.documents.readers.pdf.layout import split_regions
from inorder.documents.readers.pdf.lines import merge_row
from inorder.documents.readers.pdf.paragraphs import ParagraphBuilder
from inorder.documents.readers.pdf.segments import PageText, Segment

SAME_SIZE = 1.35
"""Heights within this ratio count as one size: ascenders and descenders make a line higher."""
COLUMN_CHARACTERS_MIN = 20
"""Average per line of a column. Cells of tables have fewer."""
COLUMN_LINES_MIN = 4
CROSSING_SHARE_MAX = 0.2
"""Share of lines that cross both columns: titles, footers, and pairs of lines recognized as one."""
_NO_HEADINGS = DocumentStats(body_size=1000.0, body_is_bold=True, body_is_mono=True)


def build_blocks(lines: Sequence[Segment], page: int) -> list[AnyBlock]:
    """The blocks of the lines of a page."""
    usual = median(line.size for line in lines)
    evened = [_even_out_size(line, usual, order) for order, line in enumerate(_order_columns(lines, usual))]
    text = "\n".join(line.text for line in lines)
    builder = ParagraphBuilder(_NO_HEADINGS, PageText(number=page, width=0.0, height=0.0, text=text))
    return list(chain.from_iterable(builder.build(list(map(merge_row, region))) for region in split_regions(evened)))


def _order_columns(lines: Sequence[Segment], tolerance: float) -> list[Segment]:
    """Sort the lines of two columns: the left column, then the right one, then what is below both."""
    middle = (min(line.x0 for line in lines) + max(line.x1 for line in lines)) / 2
    left = [line for line in lines if line.x1 < middle + tolerance]
    right = [line for line in lines if line.x0 > middle - tolerance]
    crossing = len(lines) - len(left) - len(right)
    if crossing > CROSSING_SHARE_MAX * len(lines) or not (_is_column(left) and _is_column(right)):
        return list(lines)
    last = max(line.top for line in left + right)
    return sorted(lines, key=lambda line: (line.top > last, line.x0 > middle - tolerance))


def _is_column(side: Sequence[Segment]) -> bool:
    return len(side) >= COLUMN_LINES_MIN and mean(len(line.text) for line in side) >= COLUMN_CHARACTERS_MIN


def _even_out_size(line: Segment, usual: float, order: int) -> Segment:
    is_usual = usual / SAME_SIZE < line.size < usual * SAME_SIZE
    return msgspec.structs.replace(line, size=usual if is_usual else line.size, order=order)
