"""The tables in documents, as columns and rows of text."""

import csv
import io
from collections.abc import Iterator
from typing import NamedTuple

from inorder.documents.doctags.cells import count_header_rows, expand_grid
from inorder.documents.model import Cell, Document, Heading, Table, Title

_REPEATED_CHARACTERS_MAX = 100
"""Of a header above several columns, in the names of those after the first."""


class ContentTable(NamedTuple):
    """A table in a document. The text of a cell that spans several places is at the first of them.

    >>> import inorder
    >>> table = inorder.dataset.ContentTable("docs/a.md", 1, 0, "", [], ["port", "metres"], [["Brest", "6.1"]])
    >>> table.to_csv()
    'port,metres\\nBrest,6.1\\n'
    """

    doc_id: str
    number: int
    """The number of the table in its document, from 1."""
    page: int
    """0 if the format has no pages."""
    caption: str
    section_path: list[str]
    """The headings above the table."""
    columns: list[str]
    """The name of each column: its headers from top to bottom, joined by ` / `. A column without a header is named
    after its number, and one whose name another column has gets a number."""
    rows: list[list[str]]
    """The rows below the headers."""

    def to_csv(self) -> str:
        """Return the table as CSV. The first line has the names of the columns."""
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(self.rows)
        return file.getvalue()


def list_content_tables(doc_id: str, document: Document) -> Iterator[ContentTable]:
    """Yield the tables of a document, in reading order."""
    headings: list[tuple[int, str]] = []
    number = 0
    for block in document.blocks:
        if isinstance(block, Title | Heading):
            level = block.level if isinstance(block, Heading) else 0
            headings = [each for each in headings if each[0] < level]
            headings.append((level, block.text))
        elif isinstance(block, Table) and block.cells and block.rows and block.columns:
            number += 1
            path = [text for _, text in headings]
            columns, rows = _read_grid(block)
            yield ContentTable(doc_id, number, block.page or 0, block.caption, path, columns, rows)


def _read_grid(table: Table) -> tuple[list[str], list[list[str]]]:
    """The names of the columns, and the rows."""
    grid, header_rows = expand_grid(table), count_header_rows(table)
    names = _name_columns(grid[:header_rows], table.columns)
    return names, [
        [_text_at(cell, row, column) for column, cell in enumerate(cells)]
        for row, cells in enumerate(grid[header_rows:], header_rows)
    ]


def _text_at(cell: Cell | None, row: int, column: int) -> str:
    """The text of a cell at its first place, and nothing at the others."""
    return cell.text if cell is not None and (cell.row, cell.column) == (row, column) else ""


def _name_columns(header: list[list[Cell | None]], count: int) -> list[str]:
    taken: set[str] = set()
    names = []
    for column in range(count):
        parts: dict[int, str] = {}
        for cells in header:
            cell = cells[column]
            if cell is not None and cell.text.strip():
                is_first = cell.column == column
                parts[id(cell)] = cell.text if is_first else cell.text[:_REPEATED_CHARACTERS_MAX]
        name = unique = " / ".join(parts.values()) or f"column {column + 1}"
        repeats = 1
        while unique in taken:
            repeats += 1
            unique = f"{name} ({repeats})"
        taken.add(unique)
        names.append(unique)
    return names
