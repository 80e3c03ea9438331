"""Tables of AsciiDoc, with cells separated by `|`, or as CSV."""

import csv
import re

from inorder.documents.model import AnyBlock
from inorder.documents.readers.table_grid import COLUMNS_MAX, TableBudget, TableGrid
from inorder.documents.readers.whitespace import collapse_whitespace

from .asciidoc_inline import AsciidocInline

_CELL = re.compile(r"(?:(\d{1,4})?(?:\.(\d{1,4}))?([+*]))?[<^>]?(?:\.[<^>])?([adehlms]?)")
_LAST_WORD = re.compile(r"(?:\A|\s)(\S+)\Z")
_STATED = re.compile(r'\bcols="([^"]*)"|\bcols=([^,]+)')
_REPEATED = re.compile(r"(\d{1,4})\*")


def read_table(
    kind: str, body: list[str], attributes: list[str], caption: str, inline: AsciidocInline, budget: TableBudget
) -> list[AnyBlock]:
    """The table between two fences; `kind` is the first sign of the fence."""
    has_header = any("header" in each for each in attributes) or (
        len(body) > 1 and bool(body[0]) and not body[1] and kind == "|"
    )
    rows = _read_separated(kind, body) if kind in ",:" else _read_cells(kind, body, attributes)
    grid = TableGrid()
    for number, row in enumerate(rows):
        grid.new_row()
        for text, height, width, is_head in row:
            stripped, _ = inline.strip(collapse_whitespace(text))
            grid.add(stripped, height, width, is_header=is_head or (has_header and number == 0))
    return grid.finish(budget, caption)


_ParsedCell = tuple[str, int, int, bool]
"""Text, rows, columns, and whether it is a header."""


def _read_separated(kind: str, body: list[str]) -> list[list[_ParsedCell]]:
    try:
        rows = list(csv.reader(filter(None, body), delimiter=kind))
    except csv.Error:
        return []
    return [[(cell, 1, 1, False) for cell in row] for row in rows]


def _read_cells(kind: str, body: list[str], attributes: list[str]) -> list[list[_ParsedCell]]:
    """Cells are put into rows by the number of columns: the one that is stated, else that of the first line."""
    parts = "\n".join(body).split(kind)
    cells: list[_ParsedCell] = []
    for number, part in enumerate(parts[1:]):
        cells += _make_cells(parts[number], part, is_last=number == len(parts) - 2)
    first_line = next((line.count(kind) for line in body if kind in line), 0)
    columns = min(_find_columns(attributes) or first_line or 1, COLUMNS_MAX)
    rows: list[list[_ParsedCell]] = []
    free = covered = 0
    ends: dict[int, int] = {}
    """Columns that a cell from above covers, by the first row that it does not reach."""
    for cell in cells:
        if free <= 0:
            covered -= ends.pop(len(rows), 0)
            free = columns - covered if covered < columns else columns
            rows.append([])
        rows[-1].append(cell)
        _, height, width, _ = cell
        free -= width
        if height > 1:
            covered += width
            end = len(rows) - 1 + height
            ends[end] = ends.get(end, 0) + width
    return rows


def _make_cells(before: str, text: str, *, is_last: bool) -> list[_ParsedCell]:
    """The cell after a separator. What stands directly before the separator says how it spans or repeats."""
    before_it = _LAST_WORD.search(before)
    match = _CELL.fullmatch(before_it.group(1)) if before_it else None
    width = height = repeats = 1
    is_head = False
    if match is not None:
        number, rows, sign, style = match.groups()
        if sign == "*":
            repeats = min(int(number or 1), COLUMNS_MAX)
        elif sign == "+":
            width, height = max(int(number or 1), 1), max(int(rows or 1), 1)
        is_head = style == "h"
    if not is_last:
        last = _LAST_WORD.search(text)
        text = text[: last.start()] if last and last.start() and _CELL.fullmatch(last.group(1)) else text
    return [(text.strip(), height, width, is_head)] * repeats


def _find_columns(attributes: list[str]) -> int:
    """The number of columns that `cols` states: a number with a star, or a list with an entry for each."""
    match = _STATED.search(",".join(attributes))
    if match is None:
        return 0
    stated = match.group(1) or match.group(2) or ""
    columns = 0
    for each in stated.split(","):
        repeated = _REPEATED.match(each.strip())
        columns += int(repeated.group(1)) if repeated else 1
    return min(columns, COLUMNS_MAX)
