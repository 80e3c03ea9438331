"""From the lines that were found in a picture to paragraphs, in reading order.

The rules are those for text that was written, but for one thing: the height of a line in a picture depends on its
letters, so lines about as high as most are taken to have the same size. No heading follows from a height like that.
"""

from collections.abc import Sequence
from itertools import chain
from statistics import median

import msgspec

from inorder.documents.model import AnyBlock

from .pdf_facts import PdfFacts
from .pdf_layout import regions_of
from .pdf_lines import line_of
from .pdf_paragraphs import Gatherer
from .pdf_segments import Segment

SAME_SIZE = 1.35
"""Heights that differ by less are of one size: those of lines with and without long letters do."""
_NO_HEADINGS = PdfFacts(body_size=1000.0, body_is_bold=True, body_is_mono=True)


def blocks_of_lines(lines: Sequence[Segment], page: int) -> list[AnyBlock]:
    """The blocks of a page."""
    usual = median(line.size for line in lines)
    evened = [_evened(line, usual, order) for order, line in enumerate(lines)]
    gatherer = Gatherer(_NO_HEADINGS, page, "\n".join(line.text for line in lines))
    return list(chain.from_iterable(gatherer.blocks(list(map(line_of, region))) for region in regions_of(evened)))


def _evened(line: Segment, usual: float, order: int) -> Segment:
    is_usual = usual / SAME_SIZE < line.size < usual * SAME_SIZE
    return msgspec.structs.replace(line, size=usual if is_usual else line.size, order=order)
