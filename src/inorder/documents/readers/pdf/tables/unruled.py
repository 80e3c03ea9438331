"""Finds tables without rules: rows of short segments that are aligned in columns.

Most things that look like this are not tables: running text with wide gaps, tables of contents, list markers and their
text. So a table needs several consecutive rows, the same columns in nearly all of them, and a clear gap between columns
through all rows. Everything else stays text.
"""

import re
from collections.abc import Iterator, Sequence

from inorder.documents.model import Cell, Table
from inorder.documents.readers.pdf.segments import Row, Segment

ROWS_MIN = 3
ROWS_MIN_OF_TWO = 4
"""Rows of a table with only two columns, which many other things look like."""
CHARACTERS_MAX = 40
"""Average per cell. Columns of text have more."""
FILLED_SHARE = 0.7

_MARK = re.compile(r"[^\w\s]{1,2}|o|\(?(?:\d{1,3}|\w)[.)]|\[\d{1,3}\]")
_LEADER = re.compile(r"[.\u2026_]{4,}|(?:\. ){3,}")


def find_row_runs(rows: Sequence[Row]) -> Iterator[tuple[int, int]]:
    """Ranges of rows that may be tables: the first row, and the row after the last."""
    if max(map(len, rows), default=0) < 2:
        return
    start = 0
    for index in range(len(rows) + 1):
        if index < len(rows) and len(rows[index]) > 1 and _is_adjacent(rows, start, index):
            continue
        if index - start >= ROWS_MIN:
            yield start, index
        start = index if index < len(rows) and len(rows[index]) > 1 else index + 1


def _is_adjacent(rows: Sequence[Row], start: int, index: int) -> bool:
    """Whether a row is close enough to the one before."""
    if index == start:
        return True
    before, row = rows[index - 1][0], rows[index][0]
    return row.top - before.bottom < 2 * row.size


def build_table(rows: Sequence[Row], page: int) -> Table | None:
    """The table of these rows; None if they are not a table."""
    columns = _find_columns(rows)
    count = len(columns)
    if count < 2 or len(rows) < (ROWS_MIN_OF_TWO if count == 2 else ROWS_MIN):
        return None
    pieces = [segment for row in rows for segment in row]
    if sum(len(segment.text) for segment in pieces) > CHARACTERS_MAX * len(pieces):
        return None
    if len(pieces) < FILLED_SHARE * count * len(rows) or any(_LEADER.search(piece.text) for piece in pieces):
        return None
    if sum(bool(_MARK.fullmatch(row[0].text)) for row in rows) > 0.5 * len(rows):
        return None
    places = [[_column_of(columns, segment) for segment in row] for row in rows]
    if any(len(set(row)) < len(row) for row in places):
        return None
    return _make_table(rows, places, count, page)


def _find_columns(rows: Sequence[Row]) -> list[tuple[float, float]]:
    """The extents of the columns, from left to right."""
    columns: list[tuple[float, float]] = []
    for segment in sorted((segment for row in rows for segment in row), key=lambda segment: segment.x0):
        if columns and segment.x0 < columns[-1][1] + 0.5 * segment.size:
            columns[-1] = columns[-1][0], max(columns[-1][1], segment.x1)
        else:
            columns.append((segment.x0, segment.x1))
    return columns


def _column_of(columns: Sequence[tuple[float, float]], segment: Segment) -> int:
    return next(index for index, (_, end) in enumerate(columns) if segment.x0 <= end)


def _make_table(rows: Sequence[Row], places: Sequence[Sequence[int]], columns: int, page: int) -> Table:
    has_header = all(segment.is_bold for segment in rows[0]) and not all(
        segment.is_bold for row in rows[1:] for segment in row
    )
    cells = [
        Cell(segment.text, index, column, is_header=has_header and index == 0)
        for index, (row, where) in enumerate(zip(rows, places, strict=True))
        for segment, column in zip(row, where, strict=True)
    ]
    pieces = [segment for row in rows for segment in row]
    box = (
        min(segment.x0 for segment in pieces),
        min(segment.top for segment in pieces),
        max(segment.x1 for segment in pieces),
        max(segment.bottom for segment in pieces),
    )
    return Table(rows=len(rows), columns=columns, cells=cells, page=page, box=box)
