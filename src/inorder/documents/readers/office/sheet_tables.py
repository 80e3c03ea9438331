"""The tables of a sheet, and the text around them.

Empty rows separate tables, and a block of a single column is text. Tables that lie side by side are told apart if an
empty column is between them, each begins with a row of texts, and they are not equally high or have the same header.
Single texts above a table are its titles. The header is the first row, if that has no numbers, and as many rows as its
merged cells reach down; below a cell that is merged across columns, it is one row more.
"""

from collections.abc import Iterator, Mapping

from inorder.documents.model import AnyBlock, Link, Paragraph
from inorder.documents.readers.table_grid import TableBudget, TableGrid

Row = dict[int, tuple[str, bool]]
"""Text of each cell by column, and whether it is a number."""
Spans = dict[tuple[int, int], tuple[int, int]]
"""Rows and columns of each merged cell, by its first row and column."""
CellLinks = dict[tuple[int, int], list[Link]]
"""The links of each cell, by its row and column."""
_TITLES_MAX = 4
_HEADER_ROWS_MAX = 8
_HEIGHTS_MIN = 2
"""By how many rows tables side by side differ if they have different headers."""
_YEAR_DIGITS = 4


def make_sheet_blocks(rows: Mapping[int, Row], spans: Spans, budget: TableBudget, links: CellLinks) -> list[AnyBlock]:
    """The tables and paragraphs of a sheet."""
    blocks: list[AnyBlock] = []
    for group in _split_rows(rows, spans):
        for part in _split_columns(group, spans):
            blocks += _make_part(part, spans, budget, links)
    return blocks


def _split_rows(rows: Mapping[int, Row], spans: Spans) -> Iterator[dict[int, Row]]:
    """The rows between empty ones, block by block."""
    group: dict[int, Row] = {}
    reached = -1
    for number in sorted(rows):
        if group and number > reached + 1:
            yield group
            group = {}
        group[number] = rows[number]
        heights = [spans[number, column][0] for column in rows[number] if (number, column) in spans]
        reached = max(number, reached, number + max(heights, default=1) - 1)
    if group:
        yield group


def _split_columns(group: dict[int, Row], spans: Spans) -> list[dict[int, Row]]:
    """The tables that lie side by side in a block of rows."""
    parts: list[dict[int, Row]] = []
    for first, last in _find_column_runs(group, spans):
        found = {
            number: cells
            for number, row in group.items()
            if (cells := {column: cell for column, cell in row.items() if first <= column <= last})
        }
        if parts and not _is_beside(parts[-1], found):
            for number, cells in found.items():
                parts[-1].setdefault(number, {}).update(cells)
            parts[-1] = dict(sorted(parts[-1].items()))
        else:
            parts.append(found)
    return parts


def _find_column_runs(group: dict[int, Row], spans: Spans) -> Iterator[tuple[int, int]]:
    """The first and last column of each run of columns in which some row has a cell."""
    ranges = {
        (column, column + spans.get((number, column), (1, 1))[1] - 1) for number, row in group.items() for column in row
    }
    first, reached = min(ranges)
    for begin, end in sorted(ranges):
        if begin > reached + 1:
            yield first, reached
            first = begin
        reached = max(reached, end)
    yield first, reached


def _is_beside(left: dict[int, Row], right: dict[int, Row]) -> bool:
    """Whether these are two tables, and not columns of one."""
    headers = [next(iter(part.values())) for part in (left, right)]
    if any(len(header) < 2 or _has_number(header) for header in headers):
        return False
    [one, other] = [[text for text, _ in header.values()] for header in headers]
    if one == other or min(left) != min(right):
        return True
    is_dense = all(len(part) == max(part) - min(part) + 1 for part in (left, right))
    return is_dense and abs(len(left) - len(right)) >= _HEIGHTS_MIN


def _make_part(rows: dict[int, Row], spans: Spans, budget: TableBudget, links: CellLinks) -> list[AnyBlock]:
    if len({column for row in rows.values() for column in row}) == 1:
        return _make_texts(rows, links)
    titles = _count_titles(list(rows), rows)
    above = dict(list(rows.items())[:titles])
    below = dict(list(rows.items())[titles:])
    return [*_make_texts(above, links), *_make_table(below, spans, budget, links)]


def _make_texts(rows: dict[int, Row], links: CellLinks) -> list[AnyBlock]:
    return [
        Paragraph(text=text, links=links.get((number, column), []))
        for number, row in rows.items()
        for column, (text, _) in row.items()
    ]


def _count_titles(numbers: list[int], rows: dict[int, Row]) -> int:
    """How many rows at the top are a single text each, above a row that can be a header."""
    for count, number in enumerate(numbers[:_TITLES_MAX]):
        row = rows[number]
        if len(row) > 1:
            return count if not _has_number(row) and number != numbers[-1] else 0
        if _has_number(row):
            return 0
    return 0


def _make_table(rows: dict[int, Row], spans: Spans, budget: TableBudget, links: CellLinks) -> list[AnyBlock]:
    grid = TableGrid()
    left, first, last = min(min(row) for row in rows.values()), min(rows), max(rows)
    header_end = first + _count_header_rows(rows, spans)
    for number in range(first, last + 1):
        grid.new_row()
        reached = left
        for column, (text, _) in sorted(rows.get(number, {}).items()):
            height, width = spans.get((number, column), (1, 1))
            grid.skip(column - reached)
            grid.add(text, min(height, last - number + 1), width, is_header=number < header_end)
            grid.set_links(links.get((number, column), ()))
            reached = column + width
    return grid.finish(budget)


def _count_header_rows(rows: dict[int, Row], spans: Spans) -> int:
    number = min(rows)
    top = rows[number]
    if len(rows) == 1 or len(top) == 1 or _has_number(top):
        return 0
    merged = [spans[number, column] for column in top if (number, column) in spans]
    count = max((height for height, _ in merged), default=1)
    if count == 1 and any(width > 1 for _, width in merged) and _is_subheader(rows.get(number + 1, {})):
        count = 2
    return count if count <= min(_HEADER_ROWS_MAX, max(rows) - number) else 1


def _is_subheader(row: Row) -> bool:
    """Whether the cells of a row may be headers: texts, and years."""
    return bool(row) and all(not is_number or _is_year(text) for text, is_number in row.values())


def _is_year(text: str) -> bool:
    return len(text) == _YEAR_DIGITS and text.isdigit()


def _has_number(row: Row) -> bool:
    return any(is_number for _, is_number in row.values())
