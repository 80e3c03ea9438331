"""Tables of a DOCX file. A nested table becomes text of its cell."""

from inorder.documents.model import AnyBlock
from inorder.documents.readers.table_grid import TableBudget, TableGrid

COLUMNS_MAX = 1_000


class _OpenCell:
    __slots__ = ("columns", "continues", "is_header", "restarts", "rows", "texts")

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.columns = 1
        self.rows = 1
        self.restarts = False
        self.continues = False
        self.is_header = False


class OpenTable:
    """A table whose end has not been reached."""

    def __init__(self) -> None:
        self._rows: list[list[_OpenCell]] = []
        self._skipped_columns: list[int] = []
        self._open_merges: dict[int, _OpenCell] = {}
        """By column, the cells that may continue in the next row."""
        self._column = 0
        self._has_head = False
        self._in_head = False
        self.cell: _OpenCell | None = None
        self.depth = 1
        """Levels of nested tables, including this one."""

    def mark_first_row(self) -> None:
        """Make the first row a header row."""
        self._has_head = True

    def new_row(self) -> None:
        self._rows.append([])
        self._skipped_columns.append(0)
        self._column = 0
        self._in_head = False

    def skip(self, columns: int) -> None:
        self._skipped_columns[-1] = min(columns, COLUMNS_MAX)
        self._column = self._skipped_columns[-1]

    def mark_header(self) -> None:
        """Make the current row a header row."""
        self._in_head = True

    def open_cell(self) -> None:
        if not self._rows:
            self.new_row()
        self.cell = _OpenCell()
        self.cell.is_header = self._in_head

    def close_cell(self) -> None:
        cell = self.cell
        if cell is None:
            return
        self.cell = None
        above = self._open_merges.get(self._column)
        if cell.continues and above is not None:
            above.rows += 1
            above.texts += cell.texts
        else:
            self._rows[-1].append(cell)
            for column in range(self._column, self._column + cell.columns):
                self._open_merges.pop(column, None)
            if cell.restarts:
                self._open_merges[self._column] = cell
        self._column += cell.columns

    def finish(self, budget: TableBudget, caption: str) -> list[AnyBlock]:
        grid = TableGrid()
        for number, (cells, skipped) in enumerate(zip(self._rows, self._skipped_columns, strict=True)):
            grid.new_row()
            grid.skip(skipped)
            is_head = number == 0 and self._has_head and len(self._rows) > 1
            for cell in cells:
                text = " ".join(filter(None, cell.texts))
                grid.add(text, cell.rows, cell.columns, is_head or cell.is_header)
        return grid.finish(budget, caption)
