"""Which rows of a table are its header."""

from inorder.documents.doctags.cells import count_header_rows, is_column_header
from inorder.documents.model import Cell, Table


def test_the_header_ends_at_the_first_cell_with_text_that_is_none() -> None:
    head, tall = Cell("a", 0, 0, is_header=True), Cell("b", 0, 1, is_header=True, rows=2)
    side, plain = Cell("c", 1, 0, is_header=True), Cell("1", 2, 0)
    table = Table(rows=4, columns=2, cells=[head, tall, side, plain])
    assert count_header_rows(table) == 2
    assert all(is_column_header(cell, 2) for cell in (head, tall, side))
    assert not is_column_header(plain, 2)
    assert not is_column_header(tall, 1), "it reaches below the header"


def test_a_table_of_headers_alone_is_header_down_to_its_last_row() -> None:
    cells = [Cell("a", 0, 0, is_header=True), Cell("b", 1, 0, is_header=True, rows=3), Cell(" ", 1, 1)]
    assert count_header_rows(Table(rows=4, columns=2, cells=cells)) == 4
    assert count_header_rows(Table(rows=0, columns=0, cells=[])) == 0
