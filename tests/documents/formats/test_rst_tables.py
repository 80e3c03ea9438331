"""Tables of reStructuredText with cells that span rows, and those that are written as lists."""

import contextlib

import pytest

from inorder.documents.model import ListItem, Table
from inorder.documents.readers.registry import load_reader
from inorder.errors import ReadError

pytestmark = pytest.mark.req("DOC-1")

GRID = """\
+-------+-------+-------+
| Lamp  | Oil   | Hours |
+=======+=======+=======+
| great | 12    | 9     |
|       +-------+-------+
| hall  | 3     | 11    |
+       +-------+-------+
|       | by the month  |
+-------+---------------+
| boat  | 1     | 2     |
+-------+-------+-------+
"""
LIST = """\
.. list-table:: Stores of the *tower*
   :header-rows: 1
   :widths: 20 20

   * - Lamp
     - Oil
   * - great
       lamp
     - ``12``
   *  -  boat
      -

After it.
"""


def read_table(text: str) -> Table:
    found = [block for block in load_reader("rst")(text.encode(), "name").blocks if isinstance(block, Table)]
    assert len(found) == 1
    return found[0]


def test_cells_of_a_grid_that_span_rows_are_found() -> None:
    table = read_table(GRID)
    assert (table.rows, table.columns) == (5, 3)
    cells = {(cell.row, cell.column): (cell.text, cell.rows, cell.columns) for cell in table.cells}
    assert cells[1, 0] == ("great hall", 3, 1)
    assert cells[2, 1] == ("3", 1, 1)
    assert cells[3, 1] == ("by the month", 1, 2)
    assert cells[4, 0] == ("boat", 1, 1)
    assert [cell.text for cell in table.cells if cell.is_header] == ["Lamp", "Oil", "Hours"]


def test_a_table_that_is_a_list_of_lists_is_a_table() -> None:
    table = read_table(LIST)
    assert table.caption == "Stores of the tower"
    assert [cell.text for cell in table.cells if cell.is_header] == ["Lamp", "Oil"]
    texts = [(cell.row, cell.column, cell.text) for cell in table.cells if cell.row]
    assert texts[:3] == [(1, 0, "great lamp"), (1, 1, "12"), (2, 0, "boat")]


def test_a_list_table_without_a_list_is_read_as_text() -> None:
    document = load_reader("rst")(b".. list-table::\n\n   only text\n", "name")
    assert not any(isinstance(block, Table | ListItem) for block in document.blocks)
    assert "only text" in str(document.blocks)


@pytest.mark.req("ROB-1")
@pytest.mark.parametrize("text", [GRID, LIST])
def test_a_table_that_is_cut_off_anywhere_is_read(text: str) -> None:
    for end in range(len(text)):
        with contextlib.suppress(ReadError):
            load_reader("rst")(text[:end].encode(), "name")
        with contextlib.suppress(ReadError):
            load_reader("rst")((text[:end] + text[end + 7 :]).encode(), "name")
