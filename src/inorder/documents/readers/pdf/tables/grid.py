"""Places pieces of text on the columns and rows of a table.

The columns of a table are where most of its rows have text; the gaps between them are where few rows have any. Rows
with few pieces are left out when columns are looked for: they are headers that span columns. A piece over several
columns is a cell that spans them. A line whose first column is empty may continue the cells of the line above.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from inorder.documents.model import Cell, Table
from inorder.documents.readers.pdf.columns import bounding_box
from inorder.documents.readers.pdf.lines import join_text
from inorder.documents.readers.pdf.segments import Extent, Row, Rule, Segment
from inorder.documents.readers.unicode import is_right_to_left

FULL_SHARE = 0.67
"""Rows with at least this share of the largest number of pieces show where the columns are."""
CROSSING_SHARE = 0.15
"""Share of rows that may have text between two columns."""
GAP_POINTS_MIN = 1.0
OVERLAP_SHARE_MIN = 0.3
COLUMNS_MAX = 60
"""What has more is a drawing, or text with a gap after every letter."""
HEADER_ROWS_MAX = 3
WIDE_SHARE = 0.75
"""A cell that fills this share of its column may continue on the next line."""

MARK = re.compile(r"[^\w\s]{1,2}|o|\(?(?:\d{1,3}|\w)[.)]|\[\d{1,3}\]")
"""A list marker by itself."""


class PlacedCell(NamedTuple):
    """A piece of text with the columns that it covers."""

    first: int
    last: int
    segment: Segment


PlacedRow = list[PlacedCell]


def find_column_extents(rows: Sequence[Row]) -> list[Extent]:
    """Where the columns of these rows are, from left to right."""
    most = max(map(len, rows), default=0)
    full = [row for row in rows if len(row) >= max(2, FULL_SHARE * most)]
    limit = int(CROSSING_SHARE * len(full))
    edges = sorted(
        [(segment.x0, 1) for row in full for segment in row] + [(segment.x1, -1) for row in full for segment in row]
    )
    extents: list[Extent] = []
    covered, start = 0, 0.0
    for place, change in edges:
        before, covered = covered, covered + change
        if before <= limit < covered:
            start = place
        elif covered <= limit < before:
            if extents and start - extents[-1][1] < GAP_POINTS_MIN:
                extents[-1] = extents[-1][0], place
            else:
                extents.append((start, place))
    return extents


def place_row(row: Row, extents: Sequence[Extent], rules: Sequence[Rule] = ()) -> PlacedRow | None:
    """The pieces of a row on the columns; None if two of them are in the same column.

    `rules` are horizontal rules below parts of the row: a piece above one spans the columns above it.
    """
    if is_full_row(row, extents):
        return [PlacedCell(at, at, segment) for at, segment in enumerate(row)]
    placed: PlacedRow = []
    single = [rule for rule in rules if sum(_is_above(segment, rule) for segment in row) == 1]
    for segment in row:
        first, last = _find_spanned(segment, extents, single) or _find_columns(segment, extents)
        if last > first and not rules and (pieces := _split_words(segment, first, extents[first : last + 1])):
            placed += pieces
            continue
        if placed and first <= placed[-1].last:
            before = placed[-1]
            if before.last == before.first and last == first:
                return None
            if last > before.last:
                first = before.last + 1
            elif first > before.first:
                placed[-1] = before._replace(last=first - 1)
            else:
                return None
        placed.append(PlacedCell(first, last, segment))
    return placed


def _split_words(segment: Segment, first: int, extents: Sequence[Extent]) -> PlacedRow:
    """The words of a piece, one in each column that it covers from edge to edge; empty if there is not one for each."""
    words = segment.text.split(" ")
    if len(words) != len(extents) or segment.x0 > extents[0][0] + 3 or segment.x1 < extents[-1][1] - 3:
        return []
    if is_right_to_left(segment.text):
        words.reverse()
    return [
        PlacedCell(first + at, first + at, msgspec.structs.replace(segment, text=word, x0=x0, x1=x1))
        for at, (word, (x0, x1)) in enumerate(zip(words, extents, strict=True))
    ]


def is_full_row(row: Row, extents: Sequence[Extent]) -> bool:
    """Whether a row has one piece in each column."""
    return len(row) == len(extents) and all(_is_nearest(segment, extents, at) for at, segment in enumerate(row))


def _is_nearest(segment: Segment, extents: Sequence[Extent], at: int) -> bool:
    """Whether no other column has more of a piece than the one at this position."""
    own = _overlap(segment, extents[at])
    return all(_overlap(segment, extent) <= own for extent in extents)


def _overlap(segment: Segment, extent: Extent) -> float:
    left, right = extent
    x0, x1 = segment.x0, segment.x1
    shared = (right if right < x1 else x1) - (left if left > x0 else x0)
    return shared if shared > 0.0 else 0.0


def _find_spanned(segment: Segment, extents: Sequence[Extent], rules: Sequence[Rule]) -> tuple[int, int] | None:
    """The first and the last column above the rule below a piece; None if there is no rule."""
    for rule in rules:
        _, left, right = rule
        if _is_above(segment, rule):
            below = [at for at, (x0, x1) in enumerate(extents) if left - 2 <= (x0 + x1) / 2 <= right + 2]
            if below:
                return below[0], below[-1]
    return None


def _is_above(segment: Segment, rule: Rule) -> bool:
    return rule[1] - 2 <= segment.x0 and segment.x1 <= rule[2] + 2


def _find_columns(segment: Segment, extents: Sequence[Extent]) -> tuple[int, int]:
    """The first and the last column that a piece covers."""
    covered = [at for at, extent in enumerate(extents) if _covers(segment, extent)]
    if covered:
        return covered[0], covered[-1]
    middle = (segment.x0 + segment.x1) / 2
    nearest = min(range(len(extents)), key=lambda at: max(extents[at][0] - middle, middle - extents[at][1]))
    return nearest, nearest


def _covers(segment: Segment, extent: Extent) -> bool:
    share = _overlap(segment, extent)
    return share > OVERLAP_SHARE_MIN * min(segment.x1 - segment.x0, extent[1] - extent[0]) and share > 0


def join_continuations(lines: Sequence[PlacedRow], extents: Sequence[Extent]) -> list[list[PlacedRow]]:
    """The rows of a table: each line with those that continue its cells."""
    rows: list[list[PlacedRow]] = []
    for line in lines:
        if rows and is_continuation(line, rows[-1][-1], extents):
            rows[-1].append(line)
        else:
            rows.append([line])
    return rows


def is_continuation(row: PlacedRow, before: PlacedRow, extents: Sequence[Extent]) -> bool:
    """Whether a line continues cells of the line before: its first column is empty, and those cells are full."""
    right_to_left = is_right_to_left(" ".join([cell.segment.text for cell in row]))
    has_first = row[-1].last == len(extents) - 1 if right_to_left else row[0].first == 0
    if has_first or 2 * len(row) > len(extents):
        return False
    above = {cell.first: cell.segment for cell in before}
    return all(
        cell.first == cell.last
        and (upper := above.get(cell.first)) is not None
        and (cell.segment.text[0].islower() or is_wide(upper, extents[cell.first]))
        for cell in row
    )


def is_wide(segment: Segment, extent: Extent) -> bool:
    """Whether a piece fills most of its column, so that its text may go on in the next line."""
    return segment.x1 - segment.x0 > WIDE_SHARE * (extent[1] - extent[0])


def build_table(rows: Sequence[Sequence[PlacedRow]], columns: int, header_rows: int, page: int) -> Table:
    """The table of these rows. A row has one line or several; cells of its lines in the same column are joined."""
    cells: list[Cell] = []
    for at, lines in enumerate(rows):
        texts: dict[tuple[int, int], str] = {}
        for line in lines:
            for first, last, segment in line:
                key = next((key for key in texts if key[0] <= last and first <= key[1]), (first, last))
                texts[key] = join_text(texts.get(key, ""), segment.text)
        cells += [
            Cell(text, at, first, columns=last - first + 1, is_header=at < header_rows)
            for (first, last), text in sorted(texts.items())
        ]
    segments = [cell.segment for lines in rows for line in lines for cell in line]
    return Table(rows=len(rows), columns=columns, cells=cells, page=page, box=bounding_box(segments))


def is_numeric(text: str) -> bool:
    """Whether a text is a number, with signs and units at most."""
    return 0 < sum(map(str.isdigit, text)) >= 0.5 * len(text.replace(" ", ""))


def count_header_rows(rows: Sequence[Sequence[PlacedRow]], first_band: int) -> int:
    """How many rows are the header: those above the first rule in the table, or first rows that are bold or have no
    numbers where most others have. Cells of all but the last of the latter span columns."""
    if 0 < first_band <= HEADER_ROWS_MAX and first_band < len(rows):
        return first_band
    for count in range(min(HEADER_ROWS_MAX, len(rows) - 1), 0, -1):
        first = [cell.segment for lines in rows[:count] for line in lines for cell in line]
        others = [cell.segment for lines in rows[count:] for line in lines for cell in line]
        if all(segment.is_bold for segment in first) and not all(segment.is_bold for segment in others):
            return count
        if not all(any(cell.last > cell.first for line in lines for cell in line) for lines in rows[: count - 1]):
            continue
        numbers = sum(is_numeric(segment.text) for segment in others)
        if len(first) > 1 and not any(is_numeric(segment.text) for segment in first) and 2 * numbers >= len(others):
            return count
    return 0
