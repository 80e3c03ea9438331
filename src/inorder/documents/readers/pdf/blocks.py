"""Builds the blocks of a page in reading order.

Furniture is separated at the edges, then ruled tables; the rest is read region by region. Within a region, runs of
aligned rows become tables, all other lines paragraphs, headings, list items or code. A paragraph that continues in the
next column is joined. Rotated text comes last, in blocks of its own.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import chain
from typing import Literal

from inorder.documents.model import AnyBlock, Box, Furniture, Paragraph, Picture, Table
from inorder.documents.readers.unicode import is_right_to_left

from .columns import bounding_box
from .document_stats import DocumentStats
from .figures import CAPTION_POINTS, find_figures, insert_figures
from .formulas import join_formulas
from .furniture.edges import count_furniture_rows
from .headings.captions import CAPTION
from .lines import group_rows, is_continued, join_text, merge_row
from .paragraphs import ParagraphBuilder
from .reading_order.regions import Region, split_regions
from .reading_order.vertical import read_vertical
from .segments import ASKEW, PageText, Row, Segment
from .tables.banded import insert_banded_tables
from .tables.direction import order_columns
from .tables.pages import join_tables
from .tables.ruled import insert_ruled_tables
from .tables.unruled import find_unruled_tables

PlacedTable = tuple[int, int, Table]
"""A table with the range of rows that it replaces."""

DIRECTION_SAMPLE_CHARACTERS = 1000
"""How much text is examined to find the writing direction of a page."""
WATERMARK_RATIO = 2.5
"""Size of a watermark, compared with the text."""
MARGIN_CHARACTERS_MAX = 150
MARGIN_LINES_MIN = 5
MARGIN_LINE_CHARACTERS_MIN = 30
"""Lines with fewer characters do not show where the text begins and ends."""


def build_blocks(page: PageText, stats: DocumentStats) -> list[AnyBlock]:
    """The blocks of a page."""
    vertical = read_vertical(page)
    if vertical:
        return [*vertical]
    rows = page.rows
    headers, footers = count_furniture_rows(page, stats.edges)
    inner = rows[headers : len(rows) - footers]
    figures = find_figures(page)
    if figures:
        labels = {label.order for figure in figures for label in figure.labels}
        inner = [kept for row in inner if (kept := [segment for segment in row if segment.order not in labels])]
    found: list[AnyBlock] = [_make_furniture(row, "header", page.number) for row in rows[:headers]]
    rotated = _group_by_direction(page)
    if figures:
        kept_parts = ((way, [each for each in parts if each.order not in labels]) for way, parts in rotated.items())
        rotated = {way: parts for way, parts in kept_parts if parts}
    main = _find_main_direction(inner, rotated)
    if main:
        found += _build_plain_paragraphs(inner, page)
        found += _rotate_back(build_body([*rotated.pop(main)], [], page, stats), main, page)
    elif inner:
        found += build_body(list(chain.from_iterable(inner)), inner, page, stats)
    found = insert_figures(found, figures, page.number)
    for direction, segments in sorted(rotated.items()):
        found += _build_rotated(segments, direction, page, stats)
    found += [_make_furniture(row, "footer", page.number) for row in rows[len(rows) - footers :]]
    return found


def _make_furniture(row: Row, kind: Literal["header", "footer"], page: int) -> Furniture:
    return Furniture(text=merge_row(row).text, kind=kind, page=page, box=bounding_box(row))


def _group_by_direction(page: PageText) -> dict[int, list[Segment]]:
    rotated: defaultdict[int, list[Segment]] = defaultdict(list)
    if len(page.segments) > sum(map(len, page.rows)):
        for segment in page.segments:
            if segment.direction:
                rotated[segment.direction].append(segment)
    return rotated


def _find_main_direction(inner: Sequence[Row], rotated: dict[int, list[Segment]]) -> int:
    """The direction of most of the text of a page."""
    if not rotated:
        return 0
    letters = Counter({0: sum(len(segment.text) for row in inner for segment in row)})
    for direction, segments in rotated.items():
        if direction != ASKEW:
            letters[direction] = sum(len(segment.text) for segment in segments)
    return max(letters, key=lambda direction: (letters[direction], -direction))


def build_body(segments: list[Segment], rows: list[Row], page: PageText, stats: DocumentStats) -> list[AnyBlock]:
    """The blocks of the main text: everything except furniture and rotated text."""
    if page.graphics and not segments[0].direction:
        with_tables = segments
        if page.graphics.down:
            with_tables = insert_ruled_tables(segments, page.graphics, page.number)
        with_tables = insert_banded_tables(with_tables, page.graphics, page.number)
        if len(with_tables) < len(segments):
            segments, rows = with_tables, _replace_rows(rows, with_tables)
    right_to_left = is_right_to_left(page.text[:DIRECTION_SAMPLE_CHARACTERS])
    builder = ParagraphBuilder(stats, page, right_to_left=right_to_left)
    found: list[AnyBlock] = []
    for region in split_regions(segments, rows or group_rows(segments), right_to_left=right_to_left):
        tables = _find_tables(region, page.number, is_typed=stats.body_is_mono)
        blocks = _build_region(region, tables, builder, right_to_left=right_to_left)
        _join_regions(found, blocks, page.text)
        found += blocks
    if page.graphics:
        found = _attach_captions(found, page.graphics.pictures + page.graphics.drawings)
    return join_formulas(found)


def _replace_rows(rows: Sequence[Row], segments: Sequence[Segment]) -> list[Row]:
    """The rows without segments that are now in tables, and with the tables."""
    kept = {segment.order for segment in segments if segment.table is None}
    found = [[segment for segment in row if segment.order in kept] for row in rows]
    found += [[segment] for segment in segments if segment.table is not None]
    return sorted(filter(None, found), key=lambda row: min([segment.top for segment in row]))


def _build_region(
    region: Region, tables: Sequence[PlacedTable], builder: ParagraphBuilder, *, right_to_left: bool
) -> list[AnyBlock]:
    found: list[AnyBlock] = []
    done = 0
    for start, end, table in tables:
        found += builder.build(_merge_rows(region[done:start]))
        found.append(order_columns(table, right_to_left=right_to_left))
        done = end
    found += builder.build(_merge_rows(region[done:]))
    return found


def _merge_rows(rows: Sequence[Row]) -> list[Segment]:
    return list(map(merge_row, rows))


def _find_tables(region: Region, page: int, *, is_typed: bool) -> list[PlacedTable]:
    """The tables of a region."""
    found = [(index, index + 1, row[0].table) for index, row in enumerate(region) if row[0].table is not None]
    tables: list[PlacedTable] = [(start, end, table) for start, end, table in found if table is not None]
    tables += find_unruled_tables(region, page, is_typed=is_typed)
    return sorted(tables, key=lambda found: found[0])


def _join_regions(found: list[AnyBlock], blocks: list[AnyBlock], page_text: str) -> None:
    """If the first new block continues the last paragraph or table, append it to that."""
    if not found or not blocks:
        return
    last, first = found[-1], blocks[0]
    if isinstance(last, Paragraph) and isinstance(first, Paragraph) and is_continued(last.text, first.text):
        last.text = join_text(last.text, first.text, page_text)
        del blocks[0]
    elif isinstance(last, Table) and (joined := join_tables(last, first)):
        found[-1] = joined
        del blocks[0]


def _attach_captions(blocks: list[AnyBlock], pictures: list[Box]) -> list[AnyBlock]:
    """Give captions to the pictures and tables beside them."""
    found: list[AnyBlock] = []
    for index, block in enumerate(blocks):
        if not isinstance(block, Paragraph) or not CAPTION.match(block.text):
            found.append(block)
            continue
        table = _find_table(blocks, index)
        picture = _find_picture(block, pictures)
        if table is not None:
            table.caption = block.text
        elif picture is not None:
            found.append(Picture(caption=block.text, page=block.page, box=picture))
        else:
            found.append(block)
    return found


def _find_table(blocks: list[AnyBlock], index: int) -> Table | None:
    for block in blocks[index + 1 : index + 2] + blocks[max(0, index - 1) : index]:
        if isinstance(block, Table) and not block.caption:
            return block
    return None


def _find_picture(block: Paragraph, pictures: list[Box]) -> Box | None:
    if block.box is None:
        return None
    left, top, right, bottom = block.box
    for picture in pictures:
        apart = max(top - picture[3], picture[1] - bottom)
        if picture[0] < right and left < picture[2] and -5 < apart < CAPTION_POINTS and picture[3] - picture[1] > 10:
            return picture
    return None


def _build_plain_paragraphs(rows: Sequence[Row], page: PageText) -> list[AnyBlock]:
    return [Paragraph(text=line.text, page=page.number, box=bounding_box([line])) for line in map(merge_row, rows)]


def _build_rotated(segments: list[Segment], direction: int, page: PageText, stats: DocumentStats) -> list[AnyBlock]:
    """The blocks of text in another direction than the main text."""
    if direction == ASKEW:
        return [_make_askew(segment, page, stats) for segment in segments]
    plain = DocumentStats(body_size=1000.0, body_is_bold=True, body_is_mono=True)
    blocks = _rotate_back(ParagraphBuilder(plain, page).build(_merge_rows(group_rows(segments))), direction, page)
    return [_as_margin(block, page) for block in blocks]


def _make_askew(segment: Segment, page: PageText, stats: DocumentStats) -> AnyBlock:
    """Text that is neither horizontal nor vertical. In large letters across the page it is a watermark."""
    box = bounding_box([segment])
    if segment.size >= WATERMARK_RATIO * stats.body_size:
        return Furniture(text=segment.text, kind="header", page=page.number, box=box)
    return Paragraph(text=segment.text, page=page.number, box=box)


def _as_margin(block: AnyBlock, page: PageText) -> AnyBlock:
    """A rotated line beside all of the text is furniture: the stamp of an archive, or the name of a journal."""
    if not isinstance(block, Paragraph) or block.box is None or len(block.text) > MARGIN_CHARACTERS_MAX:
        return block
    lines = [row for row in page.rows if sum(len(segment.text) for segment in row) >= MARGIN_LINE_CHARACTERS_MIN]
    if len(lines) < MARGIN_LINES_MIN:
        return block
    left, right = min(row[0].x0 for row in lines), max(row[-1].x1 for row in lines)
    if left < block.box[2] and block.box[0] < right:
        return block
    return Furniture(text=block.text, kind="header", page=page.number, box=block.box)


def _rotate_back(blocks: list[AnyBlock], direction: int, page: PageText) -> list[AnyBlock]:
    """Convert boxes from the frame of rotated text to the page."""
    for block in blocks:
        if block.box is None:
            continue
        left, top, right, bottom = block.box
        if direction == 1:
            block.box = top, page.height - right, bottom, page.height - left
        elif direction == 2:
            block.box = page.width - right, page.height - bottom, page.width - left, page.height - top
        else:
            block.box = page.width - bottom, left, page.width - top, right
    return blocks
