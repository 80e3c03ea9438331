"""Finds tables without rules: rows of short segments that are aligned in columns.

Most things that look like this are not tables: running text with wide gaps, tables of contents, list markers and their
text. So a table needs several consecutive rows, the same columns in nearly all of them, and a clear gap between columns
through nearly all rows. Everything else stays text.
"""

import re
from collections.abc import Iterator, Sequence

from inorder.documents.model import Table
from inorder.documents.readers.pdf.segments import Row

from .grid import (
    COLUMNS_MAX,
    MARK,
    PlacedRow,
    build_table,
    count_header_rows,
    find_column_extents,
    is_numeric,
    join_continuations,
    place_row,
)

ROWS_MIN = 3
ROWS_MIN_OF_TWO = 4
"""Rows of a table with only two columns, which many other things look like."""
CHARACTERS_MAX = 40
"""Average per cell. Columns of text have more."""
FILLED_SHARE = 0.6
SPANNING_ROWS_MAX = 2
SINGLE_ROWS_MAX = 2
"""Rows with a single segment within a table, one after the other."""

FULL_SHARE_OF_CODE = 0.8
NUMBER_DIGITS_MAX = 6

_LEADER = re.compile(r"[.\u2026_]{4,}|(?:\. ){3,}")


def find_unruled_tables(rows: Sequence[Row], page: int, *, is_typed: bool) -> Iterator[tuple[int, int, Table]]:
    """Tables, each with the range of rows that it replaces. `is_typed`: the document has a font of fixed width, which
    is one of code otherwise."""
    if max(map(len, rows), default=0) < 2:
        return
    for start, end in _find_runs(rows, SINGLE_ROWS_MAX):
        table = _build(rows[start:end], page, is_typed=is_typed)
        if table is not None:
            yield start, end, table
            continue
        for part_start, part_end in _find_runs(rows[start:end], 0):
            table = _build(rows[start + part_start : start + part_end], page, is_typed=is_typed)
            if table is not None:
                yield start + part_start, start + part_end, table


def _find_runs(rows: Sequence[Row], singles_max: int) -> Iterator[tuple[int, int]]:
    """Ranges of rows with several segments, and few rows with one between them."""
    start = end = -1
    for index, row in enumerate(rows):
        is_near = start >= 0 and _is_adjacent(rows[index - 1], row)
        if len(row) > 1 and row[0].table is None:
            if not is_near or index - end > singles_max:
                if end - start >= ROWS_MIN:
                    yield start, end
                start = index
            end = index + 1
        elif not is_near or row[0].table is not None:
            if end - start >= ROWS_MIN:
                yield start, end
            start = end = -1
    if end - start >= ROWS_MIN:
        yield start, end


def _is_adjacent(before: Row, row: Row) -> bool:
    """Whether a row is close enough to the one before."""
    return row[0].top - before[0].bottom < 2 * row[0].size


def _build(lines: Sequence[Row], page: int, *, is_typed: bool) -> Table | None:
    """The table of these lines; None if they are not a table."""
    extents = find_column_extents(lines)
    count = len(extents)
    if not 2 <= count <= COLUMNS_MAX or len(lines) < (ROWS_MIN_OF_TWO if count == 2 else ROWS_MIN):
        return None
    pieces = [segment for row in lines for segment in row]
    if sum(len(segment.text) for segment in pieces) > CHARACTERS_MAX * len(pieces):
        return None
    if any(_LEADER.search(piece.text) for piece in pieces):
        return None
    if not is_typed and all(piece.is_mono for piece in pieces) and not _is_grid_of_code(lines, count):
        return None
    if sum(bool(MARK.fullmatch(row[0].text)) for row in lines) > 0.5 * len(lines):
        return None
    placed = [place_row(row, extents) for row in lines]
    known = [row for row in placed if row is not None]
    if len(known) < len(placed):
        return None
    spanning = [at for at, row in enumerate(known) if any(cell.last > cell.first for cell in row)]
    if len(spanning) > SPANNING_ROWS_MAX or any(at >= SPANNING_ROWS_MAX for at in spanning):
        return None
    rows = join_continuations(known, extents)
    if len(rows) < ROWS_MIN or not _is_filled(rows, count):
        return None
    return build_table(rows, count, count_header_rows(rows, 0), page)


def _is_grid_of_code(lines: Sequence[Row], columns: int) -> bool:
    """Whether code is the output of a program: nearly all lines have several columns, and the first does not count."""
    full = [row for row in lines if len(row) == columns]
    numbers = [int(row[0].text) for row in full if row[0].text.isdecimal() and len(row[0].text) < NUMBER_DIGITS_MAX]
    is_counted = numbers == list(range(numbers[0], numbers[0] + len(numbers))) if len(numbers) > 1 else False
    return columns > 2 and len(full) >= FULL_SHARE_OF_CODE * len(lines) and not is_counted


def _is_filled(rows: Sequence[Sequence[PlacedRow]], columns: int) -> bool:
    """Whether most cells have text, and every column has some in several rows. Numbers are certain enough for less."""
    cells = [cell for lines in rows for line in lines for cell in line]
    numbers = sum(is_numeric(cell.segment.text) for cell in cells)
    share = 0.75 * FILLED_SHARE if 2 * numbers > len(cells) else FILLED_SHARE
    covered = sum(cell.last - cell.first + 1 for cell in cells)
    return covered >= share * columns * len(rows)
