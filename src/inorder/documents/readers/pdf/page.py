"""Reads everything that is needed from an open page, so that it can be closed.

Text is always read. Graphics are read only if they may matter: short pieces of text side by side may be a table, and a
line that begins with "Figure" may belong to a picture.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import pairwise
from operator import attrgetter

from inorder.documents.readers.legibility import UNDECODED, find_unreadable

from .accents import join_accents
from .coordinates import SegmentReader
from .furniture.line_numbers import remove_line_numbers
from .furniture.listing_numbers import remove_listing_numbers
from .graphics import read_graphics
from .headings.captions import CAPTION
from .headings.leads import mark_leads
from .headings.tags import read_tagged_headings
from .lines import group_rows
from .pdfium import PdfPage
from .segments import Extent, Graphics, PageText, Row, Rule, Segment, Span
from .tables.banded import group_rules
from .text import NUMBERS, by_span, cut_at_gaps, cut_beside, cut_numbers, cut_segments, read_segments

SIDE_POINTS_MAX = 200_000.0
"""The format allows 14,400. PDFium needs time and memory that grow with the size of a page."""
CELLS_MIN = 4
CELL_CHARACTERS_MAX = 30
CELLS_PER_ROW_MIN = 3
"""Rows with fewer do not show where the cells of others are."""
ROUNDS_MAX = 3
NUMBER_ROWS_MIN = 3
ALIGNED_POINTS = 2.0
SCANNED = " (a scanned page?)"
PICTURE_SHARE = 0.8
"""How much of a page an image must cover."""
PICTURE_CHARACTERS_MAX = 150
"""A page with more text has a background."""
PICTURE_OBJECTS_MAX = 200
LINE_CHARACTERS_MAX = 70
"""A longer line between rules is running text."""


def read_page(page: PdfPage) -> PageText:
    """Read the text of a page and, if they may matter, its graphics."""
    found = PageText(number=page.number, width=page.width, height=page.height)
    if not (0 < page.width <= SIDE_POINTS_MAX and 0 < page.height <= SIDE_POINTS_MAX):
        found.width = found.height = 0.0
        found.problem = "has an invalid size"
        return found
    found.text = join_accents(page, page.text())
    reader = SegmentReader(page, found.text)
    segments = read_segments(reader)
    if not segments:
        found.is_empty = page.object_count() == 0
        found.unreadable = UNDECODED if found.text.strip() else f"has no text layer{SCANNED}"
        return found
    found.unreadable, lost = find_unreadable(found.text)
    found.lost += [lost] if lost else []
    if not found.unreadable and _is_picture(page, found.text):
        found.unreadable = f"is an image with little text{SCANNED}"
    _set_segments(found, remove_listing_numbers(reader, remove_line_numbers(reader, segments)))
    has_tables = _may_have_tables(found)
    if has_tables and not page.rotation:
        _cut_number_columns(reader, found)
        _cut_beside_rows(reader, found)
    if has_tables or CAPTION.search(found.text):
        found.graphics = read_graphics(page)
        if not page.rotation:
            _cut_at_rules(reader, found, found.graphics)
            _cut_between_rules(reader, found, found.graphics)
    mark_leads(reader, found.segments)
    if page.is_tagged:
        found.tagged_headings = read_tagged_headings(page, found.segments)
    return found


def _is_picture(page: PdfPage, text: str) -> bool:
    """Whether an image covers nearly all of a page that has little text, such as a scan with a stamp."""
    if len(text) > PICTURE_CHARACTERS_MAX or page.object_count() > PICTURE_OBJECTS_MAX:
        return False
    area = page.width * page.height * PICTURE_SHARE
    return any((right - left) * (bottom - top) >= area for left, top, right, bottom in read_graphics(page).pictures)


def _set_segments(found: PageText, segments: list[Segment]) -> None:
    for order, segment in enumerate(segments):
        segment.order = order
    found.segments = segments
    found.rows = group_rows([segment for segment in segments if not segment.direction])


def _may_have_tables(page: PageText) -> bool:
    """Whether several short segments are side by side, in two rows one below the other."""
    total = before = 0
    is_together = False
    for row in page.rows:
        count = 0
        if len(row) > 1:
            for segment in row:
                count += len(segment.text) < CELL_CHARACTERS_MAX
        total += count
        is_together = is_together or (count > 0 < before)
        if is_together and total >= CELLS_MIN:
            return True
        before = count
    return False


def _cut_at_rules(reader: SegmentReader, found: PageText, graphics: Graphics) -> None:
    """Split segments that contain the text of several table cells."""
    if len(graphics.down) < 3 or len(graphics.across) < 3:
        return
    crossing = list(_find_crossings(found.segments, graphics.down))
    if not crossing:
        return
    _replace_segments(found, [segment for segment, _ in crossing], cut_segments(reader, crossing))


def _cut_between_rules(reader: SegmentReader, found: PageText, graphics: Graphics) -> None:
    """Split segments between horizontal rules that contain the text of several table cells.

    Where there are vertical rules too, these show where the cells are.
    """
    inside: dict[Span, Segment] = {}
    for rules in group_rules(graphics.across):
        (top, left, right), bottom = rules[0], rules[-1][0]
        if any(left + 5 < x < right - 5 and start < bottom and top < end for x, start, end in graphics.down):
            continue
        for segment in found.segments:
            is_beside = left - 5 <= segment.x0 and segment.x1 <= right + 5
            is_between = top <= segment.top and segment.bottom <= bottom + 5
            if is_beside and is_between and " " in segment.text and len(segment.text) < LINE_CHARACTERS_MAX:
                inside[segment.span] = segment
    if inside:
        segments = [inside[span] for span in sorted(inside)]
        pieces = cut_at_gaps(reader, segments)
        if pieces is not segments:
            _replace_segments(found, segments, pieces)


def _cut_number_columns(reader: SegmentReader, found: PageText) -> None:
    """Split segments that contain the numbers of several table columns, which are close to each other."""
    glued = [
        segment
        for row in found.rows
        if len(row) > 1
        for segment in row
        if " " in segment.text and not segment.is_mono and NUMBERS.fullmatch(segment.text)
    ]
    if len(glued) < NUMBER_ROWS_MIN:
        return
    glued.sort(key=attrgetter("x1"))
    start = 0
    for end in range(1, len(glued) + 1):
        if end < len(glued) and glued[end].x1 - glued[end - 1].x1 < ALIGNED_POINTS:
            continue
        column = sorted(glued[start:end], key=by_span)
        start = end
        if len(column) >= NUMBER_ROWS_MIN and len({segment.text.count(" ") for segment in column}) == 1:
            pieces = cut_numbers(reader, column)
            if pieces is not None:
                _replace_segments(found, column, pieces)


def _cut_beside_rows(reader: SegmentReader, found: PageText) -> None:
    """Split segments that contain several table cells, where rows above and below have gaps."""
    for _ in range(ROUNDS_MAX):
        crossing = _find_glued_cells(found.rows)
        if not crossing:
            return
        pieces = cut_beside(reader, crossing)
        if pieces is None:
            return
        _replace_segments(found, [segment for segment, _ in crossing], pieces)


def _find_glued_cells(rows: list[Row]) -> list[tuple[Segment, list[Extent]]]:
    """Segments beside rows of several cells that extend over gaps of these, and the gaps."""
    found: dict[Span, tuple[Segment, list[Extent]]] = {}
    glued = [[part for part in row if " " in part.text and len(part.text) <= LINE_CHARACTERS_MAX] for row in rows]
    for index, row in enumerate(rows):
        if len(row) < CELLS_PER_ROW_MIN:
            continue
        gaps = [(before.x1, after.x0) for before, after in pairwise(row)]
        for near in (index - 2, index - 1, index + 1, index + 2):
            if not 0 <= near < len(rows):
                continue
            for segment in glued[near]:
                crossed = [gap for gap in gaps if segment.x0 < gap[0] and gap[1] < segment.x1]
                if crossed:
                    found.setdefault(segment.span, (segment, []))[1].extend(crossed)
    return [found[span] for span in sorted(found)]


def _replace_segments(found: PageText, old: list[Segment], new: list[Segment]) -> None:
    cut = {segment.span for segment in old}
    segments = [segment for segment in found.segments if segment.span not in cut] + new
    segments.sort(key=by_span)
    _set_segments(found, segments)


def _find_crossings(segments: Iterable[Segment], down: list[Rule]) -> Iterator[tuple[Segment, list[float]]]:
    """Segments that vertical rules cross, and the positions of these rules."""
    places = [place for place, _, _ in down]
    for segment in segments:
        first, end = bisect_right(places, segment.x0 + 1), bisect_right(places, segment.x1 - 1)
        if first < end and " " in segment.text:
            middle = (segment.top + segment.bottom) / 2
            walls = [place for place, start, stop in down[first:end] if start <= middle <= stop]
            if walls:
                yield segment, walls
