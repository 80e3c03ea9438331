"""Cells of a table: which of them are headers, and the grid as DocTags."""

from inorder.documents.model import Cell, Table


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
        if cell.rows == cell.columns == 1 and cell.row < table.rows and cell.column < table.columns:
            places[cell.row][cell.column] = cell
            continue
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
    row_count, column_count = table.rows, table.columns
    places = [["<ecel>"] * column_count for _ in range(row_count)]
    for cell in table.cells:
        tag = cell.text.strip()
        if not tag:
            tag = "<ecel>"
        elif cell.is_header:
            tag = ("<ched>" if is_column_header(cell, header_rows) else "<rhed>") + tag
        else:
            tag = "<fcel>" + tag
        row, column = cell.row, cell.column
        if cell.rows == cell.columns == 1 and row < row_count and column < column_count:
            places[row][column] = tag
        else:
            _place_spanning(cell, tag, places, column_count)
    return "".join([f"{''.join(row)}<nl>" for row in places])


def _place_spanning(cell: Cell, tag: str, places: list[list[str]], column_count: int) -> None:
    """Place a cell on all positions that it covers, clipped to the table."""
    left, up = ("<lcel>" if cell.rows == 1 else "<xcel>"), ("<ucel>" if cell.columns == 1 else "<xcel>")
    columns = range(cell.column, min(cell.column + cell.columns, column_count))
    for number, row in enumerate(places[cell.row : cell.row + cell.rows]):
        for column in columns:
            row[column] = up if number else tag if column == cell.column else left
