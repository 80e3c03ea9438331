"""Joins the parts of a table that goes on over pages and repeats its header on each."""

import msgspec

from inorder.documents.model import Cell, Table


def join_tables(before: Table, after: Table) -> Table | None:
    """The table of both parts, with one header; None if the second does not begin with the header of the first.

    Whether two parts are joined depends on their headers alone, so that it does not matter which are joined first.
    """
    header = _header(before)
    if not header or header != _header(after) or before.columns != after.columns or after.caption:
        return None
    count = 1 + max(row for row, *_ in header)
    shift = before.rows - count
    rows = [msgspec.structs.replace(cell, row=cell.row + shift) for cell in after.cells if cell.row >= count]
    return msgspec.structs.replace(before, rows=shift + after.rows, cells=before.cells + rows)


def _header(table: Table) -> list[tuple[int, int, int, int, str]]:
    return [_describe(cell) for cell in table.cells if cell.is_header]


def _describe(cell: Cell) -> tuple[int, int, int, int, str]:
    return cell.row, cell.column, cell.rows, cell.columns, cell.text
