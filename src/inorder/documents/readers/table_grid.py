"""Places cells on the grid of a table, row by row, each with the rows and columns that it claims to span.

Spans are clipped where they would cover another cell or leave the table. A table whose grid would be huge, such as one
with a cell that spans thousands of columns, becomes paragraphs, one per row: no text is lost, and empty positions cost
nothing.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import attrgetter

from inorder.documents.model import AnyBlock, Cell, Link, Paragraph, Span, Table

from .spans import move_spans

COLUMNS_MAX = 16_384
"""As many as Excel and LibreOffice have."""
POSITIONS_MAX = 1_000_000
"""Grid positions per table. Readers of the JSON refuse larger tables."""
POSITIONS_TOTAL_MAX = 4_000_000
"""Grid positions of all tables of a document."""


class TableBudget:
    """Grid positions that the tables of a document may still use, and warnings about tables that were too large."""

    def __init__(self) -> None:
        self.positions_left = POSITIONS_TOTAL_MAX
        self.warnings: list[str] = []


class CellText:
    """The text of a cell whose end has not been reached: its paragraphs, with their links and spans."""

    def __init__(self) -> None:
        self.text = ""
        self.links: list[Link] = []
        self.spans: list[Span] = []

    def add(self, text: str, spans: Iterable[Span], links: Iterable[Link]) -> None:
        """Add a paragraph."""
        if text:
            self.spans += move_spans(spans, len(self.text) + 1 if self.text else 0)
            self.text = f"{self.text} {text}" if self.text else text
        self.links += links


class TableGrid:
    """A table that is being built."""

    def __init__(self) -> None:
        self._cells: list[Cell] = []
        self._row = -1
        self._column = 0
        self._columns = 0
        self._occupied_until: list[int] = []
        """Per column, the first row that no cell above covers."""
        self._is_huge = False
        self._has_spans = False

    def new_row(self) -> None:
        self._row += 1
        self._column = 0

    def skip(self, columns: int) -> None:
        """Leave positions of the row empty."""
        self._column += min(max(columns, 0), COLUMNS_MAX)

    def add(self, text: str, rows: int = 1, columns: int = 1, is_header: bool = False) -> None:
        """Add the next cell of the row. With `rows=0` it spans all rows to the end of the table."""
        if self._row < 0:
            self.new_row()
        row, column, occupied = self._row, self._column, self._occupied_until
        if rows == columns == 1 and column < len(occupied) and occupied[column] <= row and not self._is_full(row):
            occupied[column] = row + 1  # the usual case: a plain cell below another one
            self._cells.append(Cell(text, row, column, 1, 1, is_header))
            self._column = column + 1
            return
        self._has_spans |= rows != 1
        while column < len(occupied) and occupied[column] > row:
            column += 1
        end = min(column + max(columns, 1), column + COLUMNS_MAX)
        for covered in range(column + 1, min(end, len(occupied))):
            if occupied[covered] > row:
                end = covered
                break
        if not self._is_huge:
            self._occupy(column, end, row + rows if rows > 0 else POSITIONS_MAX)
        self._cells.append(Cell(text, row, column, rows if rows > 0 else POSITIONS_MAX, end - column, is_header))
        self._column = end

    def add_row(self, texts: list[str], *, is_header: bool) -> None:
        """Add a row of plain cells."""
        self.new_row()
        row, occupied = self._row, self._occupied_until
        if not self._cells and len(texts) <= COLUMNS_MAX:
            self._columns = len(texts)
            occupied[:] = [row] * len(texts)
        if self._has_spans or len(texts) != len(occupied) or self._is_full(row):
            for text in texts:
                self.add(text, is_header=is_header)
            return
        occupied[:] = [row + 1] * len(texts)  # the usual case: as many cells as in the rows above
        self._cells += [Cell(text, row, column, 1, 1, is_header) for column, text in enumerate(texts)]
        self._column = len(texts)

    def set_links(self, links: Sequence[Link], back: int = 1) -> None:
        """Set the links of the last cell, or of one before it."""
        if links:
            self._cells[-back].links = tuple(links)

    def set_spans(self, spans: Sequence[Span], back: int = 1) -> None:
        """Set the spans of the last cell, or of one before it."""
        if spans:
            self._cells[-back].spans = tuple(spans)

    def _is_full(self, row: int) -> bool:
        """Whether the grid with this row is too large."""
        return self._is_huge or (row + 1) * self._columns > POSITIONS_MAX

    def _occupy(self, column: int, end: int, until: int) -> None:
        occupied = self._occupied_until
        if end > COLUMNS_MAX or (self._row + 1) * max(end, self._columns) > POSITIONS_MAX:
            self._is_huge = True
            occupied.clear()
            return
        if end > len(occupied):
            occupied.extend([0] * (end - len(occupied)))
            self._columns = end
        occupied[column:end] = [until] * (end - column)

    def finish(self, budget: TableBudget, caption: str = "") -> list[AnyBlock]:
        """The table; paragraphs if it is too large; nothing if no cell has text."""
        if not caption and not any(cell.text for cell in self._cells):
            return []
        rows, columns = self._row + 1, self._columns
        if self._has_spans and not self._is_huge:
            for cell in self._cells:
                cell.rows = min(cell.rows, rows - cell.row)
        table = Table(rows=rows, columns=columns, cells=self._cells, caption=caption)
        return _split_rows(table, budget) if self._is_huge else limit_table(table, budget)


def limit_table(table: Table, budget: TableBudget) -> list[AnyBlock]:
    """The table; paragraphs if it is too large."""
    positions = table.rows * table.columns
    if positions > min(POSITIONS_MAX, budget.positions_left):
        return _split_rows(table, budget)
    budget.positions_left -= positions
    return [table]


def _split_rows(table: Table, budget: TableBudget) -> list[AnyBlock]:
    """A paragraph per row, and a warning."""
    budget.warnings.append(f"a table with {table.rows:,} rows is too large and was read as paragraphs")
    blocks: list[AnyBlock] = [Paragraph(text=table.caption)] if table.caption else []
    for _, cells in groupby(table.cells, key=attrgetter("row")):
        found = [cell for cell in cells if cell.text]
        if found:
            links = [link for cell in found for link in cell.links]
            blocks.append(Paragraph(text=" ".join([cell.text for cell in found]), links=links))
    return blocks
