"""The order of the columns of a table: in scripts that are written from right to left, the first is the rightmost."""

import msgspec

from inorder.documents.model import Table
from inorder.documents.readers.unicode import is_right_to_left


def order_columns(table: Table, *, right_to_left: bool) -> Table:
    """The table with its columns in the order in which they are read.

    `right_to_left` is the direction of the page, which counts for a table without letters.
    """
    text = " ".join([cell.text for cell in table.cells])
    if not (is_right_to_left(text) if any(map(str.isalpha, text)) else right_to_left):
        return table
    cells = [msgspec.structs.replace(cell, column=table.columns - cell.column - cell.columns) for cell in table.cells]
    cells.sort(key=lambda cell: (cell.row, cell.column))
    return msgspec.structs.replace(table, cells=cells)
