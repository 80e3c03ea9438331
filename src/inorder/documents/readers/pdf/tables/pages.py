"""Joins the parts of a table that goes on over pages or columns.

The next part may repeat the header, or have none. A part of few rows is not found as a table: it is text. Lines of text
continue a table of numbers if they have a number for each of its columns of numbers.

Whether two parts are joined depends on the first part, its columns and the next part alone, so that it does not matter
which parts of a document are joined first.
"""

import msgspec

from inorder.documents.model import AnyBlock, Box, Cell, Paragraph, Table

from .grid import is_numeric

WIDTH_SHARE_MIN = 0.6
"""How wide the narrower part is at least, compared with the wider one."""
SAME_EDGE_POINTS = 2.0
NAME_WORDS_MAX = 8
"""Words of the first cell of a row that was read as text."""


def join_tables(before: Table, after: AnyBlock) -> Table | None:
    """The table of both parts, with one header; None if the second does not continue the first."""
    if isinstance(after, Paragraph):
        rows = _split_lines(before, after.text)
        return _append(before, rows, len(rows) // before.columns) if rows else None
    if not isinstance(after, Table) or before.columns != after.columns or after.caption:
        return None
    header, other = _header(before), _header(after)
    if header and header == other:
        count = 1 + max(row for row, *_ in header)
        rows = [msgspec.structs.replace(cell, row=cell.row - count) for cell in after.cells if cell.row >= count]
        return _append(before, rows, after.rows - count)
    if other or not _is_same_shape(before.box, after.box, has_header=bool(header)):
        return None
    return _append(before, after.cells, after.rows)


def _append(before: Table, cells: list[Cell], rows: int) -> Table:
    """A table with more rows, whose cells count from 0."""
    more = [msgspec.structs.replace(cell, row=cell.row + before.rows) for cell in cells]
    return msgspec.structs.replace(before, rows=before.rows + rows, cells=before.cells + more)


def _header(table: Table) -> list[tuple[int, int, int, int, str]]:
    return [_describe(cell) for cell in table.cells if cell.is_header]


def _describe(cell: Cell) -> tuple[int, int, int, int, str]:
    return cell.row, cell.column, cell.rows, cell.columns, cell.text


def _is_same_shape(one: Box | None, other: Box | None, *, has_header: bool) -> bool:
    """Whether two parts may be of one table: without a header, their edges are the same."""
    if one is None or other is None:
        return False
    if not has_header:
        return abs(one[0] - other[0]) <= SAME_EDGE_POINTS and abs(one[2] - other[2]) <= SAME_EDGE_POINTS
    narrow, wide = sorted((one[2] - one[0], other[2] - other[0]))
    return narrow >= WIDTH_SHARE_MIN * wide


def _split_lines(table: Table, text: str) -> list[Cell]:
    """The cells of rows that were read as text: a name and numbers. Empty if they do not fit."""
    if table.columns < 2 or not _has_numbers(table):
        return []
    numbers = table.columns - 1
    cells: list[Cell] = []
    name: list[str] = []
    words = text.split()
    place = row = 0
    while place < len(words):
        values = words[place : place + numbers]
        if name and len(values) == numbers and all(map(is_numeric, values)):
            texts = [" ".join(name), *values]
            cells += [Cell(text, row, column) for column, text in enumerate(texts)]
            name, row, place = [], row + 1, place + numbers
        elif is_numeric(words[place]) or len(name) >= NAME_WORDS_MAX:
            return []
        else:
            name.append(words[place])
            place += 1
    return [] if name else cells


def _has_numbers(table: Table) -> bool:
    """Whether all columns but the first are of numbers."""
    body = [cell for cell in table.cells if not cell.is_header and cell.column and cell.text]
    named = [cell for cell in table.cells if not cell.is_header and not cell.column]
    return (
        any(cell.is_header for cell in table.cells)
        and len({cell.column for cell in body}) == table.columns - 1
        and all(is_numeric(cell.text) and cell.columns == 1 for cell in body)
        and not any(is_numeric(cell.text) for cell in named)
    )
