"""Tables of a DOCX file. A nested table follows the table that it is in."""

from collections.abc import Callable

from inorder.documents.model import AnyBlock
from inorder.documents.readers.office.package import Attributes
from inorder.documents.readers.table_grid import CellText, TableBudget, TableGrid

from .styles import OFF, parse_int

COLUMNS_MAX = 1_000
_FIRST_ROW = 0x20


class _OpenCell(CellText):
    def __init__(self) -> None:
        super().__init__()
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
        """Levels of nested tables, including this one, that are read as one."""
        self.nested: list[AnyBlock] = []
        """Tables and charts in its cells."""

    def mark_first_row(self, attributes: Attributes) -> None:
        """Make the first row a header row, if the look of the table has one."""
        is_set = attributes.get("firstRow", "") in ("1", "true", "on")
        if is_set or ("firstRow" not in attributes and _has_first_row_flag(attributes.get("val", ""))):
            self._has_head = True

    def begin_row(self, _: Attributes) -> None:
        self._rows.append([])
        self._skipped_columns.append(0)
        self._column = 0
        self._in_head = False

    def skip(self, attributes: Attributes) -> None:
        """Leave out columns at the beginning of the current row."""
        self._skipped_columns[-1] = min(parse_int(attributes.get("val", "")), COLUMNS_MAX)
        self._column = self._skipped_columns[-1]

    def mark_header(self, attributes: Attributes) -> None:
        """Make the current row a header row."""
        self._in_head = self._in_head or attributes.get("val", "1") not in OFF

    def begin_cell(self, attributes: Attributes) -> None:
        if not self._rows:
            self.begin_row(attributes)
        self.cell = _OpenCell()
        self.cell.is_header = self._in_head

    def set_span(self, attributes: Attributes) -> None:
        """Set the columns that the current cell spans."""
        if self.cell is not None:
            self.cell.columns = min(max(parse_int(attributes.get("val", ""), 1), 1), COLUMNS_MAX)

    def set_merge(self, attributes: Attributes) -> None:
        """Note whether the current cell begins a merged one, or continues that above it."""
        if self.cell is not None:
            self.cell.restarts = attributes.get("val") == "restart"
            self.cell.continues = not self.cell.restarts

    def close_cell(self) -> None:
        cell = self.cell
        if cell is None:
            return
        self.cell = None
        above = self._open_merges.get(self._column)
        if cell.continues and above is not None:
            above.rows += 1
            above.add(cell.text, cell.spans, cell.links)
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
                grid.add(cell.text, cell.rows, cell.columns, is_head or cell.is_header)
                grid.set_links(cell.links)
                grid.set_spans(cell.spans)
        return grid.finish(budget, caption)


TABLE_HANDLERS: dict[str, Callable[[OpenTable, Attributes], None]] = {
    "w:tblLook": OpenTable.mark_first_row,
    "w:tr": OpenTable.begin_row,
    "w:tblHeader": OpenTable.mark_header,
    "w:gridBefore": OpenTable.skip,
    "w:tc": OpenTable.begin_cell,
    "w:gridSpan": OpenTable.set_span,
    "w:vMerge": OpenTable.set_merge,
}


def _has_first_row_flag(flags: str) -> bool:
    """Whether a mask of four hexadecimal digits has the bit for a header row."""
    try:
        return bool(int(flags[:8], 16) & _FIRST_ROW)
    except ValueError:
        return False
