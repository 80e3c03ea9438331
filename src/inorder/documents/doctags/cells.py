"""Cells of a table: which of them are headers, and the grid as DocTags."""

from inorder.documents.model import Cell, Table

BRACKET = "\uff1c"
"""Written in place of a `<` that would be read as the start of a tag."""


def count_header_rows(table: Table) -> int:
    """How many rows at the top consist of headers only. Those are column headers; all other headers are row headers."""
    first_plain = min([cell.row for cell in table.cells if not cell.is_header and cell.text.strip()], default=None)
    if first_plain is None:
        return max((cell.row + cell.rows for cell in table.cells), default=0)
    return first_plain


def is_column_header(cell: Cell, header_rows: int) -> bool:
    """Whether a cell is a column header: a header that does not reach below the header rows."""
    return cell.is_header and cell.row + cell.rows <= header_rows


def expand_grid(table: Table) -> list[list[Cell | None]]:
    """The cell that covers each position. Of overlapping cells the later wins; cells are clipped to the table."""
    places: list[list[Cell | None]] = [[None] * table.columns for _ in range(table.rows)]
    for cell in table.cells:
        for row in places[cell.row : cell.row + cell.rows]:
            for column in range(cell.column, min(cell.column + cell.columns, table.columns)):
                row[column] = cell
    return places


def grid_tags(table: Table) -> str:
    """The table in the OTSL notation of DocTags, row by row.

    A position that a spanning cell covers refers to it: `lcel` to the left, `ucel` up, `xcel` both. A cell that spans
    rows and columns has `xcel` even in its first row and column, as docling-core writes it.
    """
    if not table.cells:
        return ""
    header_rows = count_header_rows(table)
    lines = (
        "".join(_tag_place(cell, row, column, header_rows) for column, cell in enumerate(cells))
        for row, cells in enumerate(expand_grid(table))
    )
    return "".join(f"{line}<nl>" for line in lines)


def _tag_place(cell: Cell | None, row: int, column: int, header_rows: int) -> str:
    if cell is None:
        return "<ecel>"
    if row > cell.row:
        return "<ucel>" if cell.columns == 1 else "<xcel>"
    if column > cell.column:
        return "<lcel>" if cell.rows == 1 else "<xcel>"
    text = cell.text.strip().replace("<", BRACKET)
    if not text:
        return "<ecel>"
    if not cell.is_header:
        return f"<fcel>{text}"
    return f"<ched>{text}" if is_column_header(cell, header_rows) else f"<rhed>{text}"
