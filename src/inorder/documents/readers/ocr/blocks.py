"""From the lines that were found in a picture to paragraphs, in reading order.

The rules are those for text that was written, but for two things. The height of a line in a picture depends on its
letters, so lines about as high as most are taken to have the same size, and no heading follows from it. And nobody
knows in which order the page was drawn, which else tells columns from tables: two halves full of long lines are taken
to have been drawn one after the other.
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
from inorder.documents.readers.pdf.segments import Segment

SAME_SIZE = 1.35
"""Heights that differ by less are of one size: those of lines with and without long letters do."""
COLUMN_CHARACTERS_MIN = 20
"""In a line of a column on average; cells of tables have fewer."""
COLUMN_LINES_MIN = 4
CROSSING_SHARE_MAX = 0.2
"""Of lines that run over both columns: titles, footers, and what was found as one line though it is two."""
_NO_HEADINGS = DocumentStats(body_size=1000.0, body_is_bold=True, body_is_mono=True)


def build_blocks(lines: Sequence[Segment], page: int) -> list[AnyBlock]:
    """The blocks of a page."""
    usual = median(line.size for line in lines)
    evened = [_even_out_size(line, usual, order) for order, line in enumerate(_order_columns(lines, usual))]
    builder = ParagraphBuilder(_NO_HEADINGS, page, "\n".join(line.text for line in lines))
    return list(chain.from_iterable(builder.build(list(map(merge_row, region))) for region in split_regions(evened)))


def _order_columns(lines: Sequence[Segment], tolerance: float) -> list[Segment]:
    """The lines, those of the right one of two columns behind those of the left, and then what stands below both."""
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
