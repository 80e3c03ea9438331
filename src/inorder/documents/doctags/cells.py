"""Cells of a table in the two forms they are written in: which are headers of what, and the grid row by row."""

from inorder.documents.model import Cell, Table


def count_header_rows(table: Table) -> int:
    """How many rows at the top have nothing but headers: those head columns, any other header heads its row."""
    first_plain = min((cell.row for cell in table.cells if not cell.is_header and cell.text.strip()), default=None)
    if first_plain is None:
        return max((cell.row + cell.rows for cell in table.cells), default=0)
    return first_plain


def is_column_header(cell: Cell, header_rows: int) -> bool:
    """Whether a header heads columns: it does not reach below the rows of headers."""
    return cell.is_header and cell.row + cell.rows <= header_rows


def expand_grid(table: Table) -> list[list[Cell | None]]:
    """The cell that covers each place; a later one wins, and nothing stands outside."""
    places: list[list[Cell | None]] = [[None] * table.columns for _ in range(table.rows)]
    for cell in table.cells:
        for row in places[cell.row : cell.row + cell.rows]:
            for column in range(cell.column, min(cell.column + cell.columns, table.columns)):
                row[column] = cell
    return places


def grid_tags(table: Table) -> str:
    """The table as DocTags write it, row after row.

    A place that a cell spans says where to look for it: left, up, or across. What spans both ways says across even in
    its first row and column, as the defining library does.
    """
    if not table.cells:
        return ""
    header_rows = count_header_rows(table)
    tags: list[str] = []
    for row_number, row in enumerate(expand_grid(table)):
        for column_number, cell in enumerate(row):
            if cell is None:
                tags.append("<ecel>")
            elif cell.row == row_number and cell.column == column_number:
                tags.append(_cell_tag(cell, header_rows))
            elif cell.row != row_number:
                tags.append("<ucel>" if cell.columns == 1 else "<xcel>")
            else:
                tags.append("<lcel>" if cell.rows == 1 else "<xcel>")
        tags.append("<nl>")
    return "".join(tags)


def _cell_tag(cell: Cell, header_rows: int) -> str:
    text = cell.text.strip()
    if not text:
        return "<ecel>"
    if not cell.is_header:
        return "<fcel>" + text
    return ("<ched>" if is_column_header(cell, header_rows) else "<rhed>") + text
