"""Tables of an OpenDocument file. Rows and cells that are repeated to the end of a sheet cost nothing."""

from inorder.documents.model import AnyBlock, Link
from inorder.documents.readers.table_grid import COLUMNS_MAX, TableBudget, TableGrid

from .cell_budget import CellBudget
from .package import Attributes
from .sheet_tables import CellLinks, Row, Spans, make_sheet_blocks

_ROWS_MAX = 1 << 20
_REPEATED_MAX = 100
"""How often a cell or row with text is repeated at most."""
_NUMBERS = ("float", "currency", "percentage", "date", "time")


class OdfTable:
    """A table whose end has not been reached. A nested table becomes text of its cell."""

    def __init__(self, cells: CellBudget) -> None:
        self.depth = 1
        self._cells = cells
        self._is_shortened = False
        """Whether a cell or row with text is repeated more often than it is read."""
        self._is_in_head = False
        self._rows: dict[int, Row] = {}
        self._spans: Spans = {}
        self._links: CellLinks = {}
        self._head: set[int] = set()
        self._row = self._column = 0
        self._row_repeats = 1
        self._texts: list[str] = []
        self._cell: Attributes = {}

    def begin_head(self, _: Attributes) -> None:
        self._is_in_head = True

    def end_head(self) -> None:
        self._is_in_head = False

    def begin_row(self, attributes: Attributes) -> None:
        self._column = 0
        self._row_repeats = _parse_count(attributes.get("number-rows-repeated", ""), _ROWS_MAX)
        if self._is_in_head:
            self._head.add(self._row)

    def begin_cell(self, attributes: Attributes) -> None:
        self._cells.see()
        self._cell, self._texts = attributes, []

    def add_text(self, text: str, links: list[Link]) -> None:
        if text:
            self._texts.append(text)
            if links:
                self._links.setdefault((self._row, self._column), []).extend(links)

    def end_cell(self) -> None:
        text, cell = " ".join(self._texts), self._cell
        repeats = _parse_count(cell.get("number-columns-repeated", ""), COLUMNS_MAX)
        if text and self._row < _ROWS_MAX:
            is_number = cell.get("value-type") in _NUMBERS
            self._is_shortened |= repeats > _REPEATED_MAX
            for column in range(self._column, min(self._column + min(repeats, _REPEATED_MAX), COLUMNS_MAX)):
                if self._cells.take(len(text)):
                    self._rows.setdefault(self._row, {})[column] = text, is_number
        spans = (
            _parse_count(cell.get("number-rows-spanned", ""), _ROWS_MAX),
            _parse_count(cell.get("number-columns-spanned", ""), COLUMNS_MAX),
        )
        if spans != (1, 1):
            self._spans[self._row, self._column] = spans
        self._column += repeats
        self._texts, self._cell = [], {}

    def end_row(self) -> None:
        row = self._rows.get(self._row)
        self._is_shortened |= row is not None and self._row_repeats > _REPEATED_MAX
        for number in range(self._row + 1, self._row + min(self._row_repeats, _REPEATED_MAX)):
            if row is None or not all(self._cells.take(len(text)) for text, _ in row.values()):
                break
            self._rows[number] = row
        self._row += self._row_repeats

    def finish(self, budget: TableBudget, *, is_sheet: bool) -> list[AnyBlock]:
        """The table; of a sheet, a table for each block of rows."""
        if warning := self._cells.take_warning():
            budget.warnings.append(f"a table {warning}")
        if self._is_shortened:
            budget.warnings.append(f"repeated cells and rows were read up to {_REPEATED_MAX} times")
        if is_sheet:
            return make_sheet_blocks(self._rows, self._spans, budget, self._links)
        grid = TableGrid()
        for number in range(min(self._row, max(self._rows, default=-1) + 1)):
            grid.new_row()
            reached = 0
            for column, (text, _) in sorted(self._rows.get(number, {}).items()):
                height, width = self._spans.get((number, column), (1, 1))
                grid.skip(column - reached)
                grid.add(text, height, width, is_header=number in self._head)
                grid.set_links(self._links.get((number, column), ()))
                reached = column + width
        return grid.finish(budget)


def _parse_count(text: str, limit: int) -> int:
    return min(max(int(text), 1), limit) if text.isascii() and text.isdigit() and len(text) < 10 else 1
