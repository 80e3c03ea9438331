"""Tables of reStructuredText: grids drawn with `+`, simple ones with columns of `=`, CSV, and lists of lists."""

import csv
import re

from inorder.documents.model import AnyBlock
from inorder.documents.readers.table_grid import TableBudget, TableGrid
from inorder.documents.readers.whitespace import collapse_whitespace

from .lines import take_indented
from .rst_inline import strip_inline

_GRID_RULE = re.compile(r"\+(?:[-=]+\+)+")
_RULE_PART = re.compile("[-=+]+")
_ITEM = re.compile(r"[-*+\u2022\u2023\u2043](?: +|$)")
_SIMPLE_RULE = re.compile(r"={2,}(?: +={2,})+")
_SIMPLE_SPANS = re.compile(r"-{2,}(?: +-{2,})*")
LINES_MAX = 2_000
"""Lines of a row of a grid in which rules are looked for."""


def is_table_start(lines: list[str], at: int) -> bool:
    """Whether a table begins at a line."""
    return bool(_GRID_RULE.fullmatch(lines[at]) or _SIMPLE_RULE.fullmatch(lines[at]))


def read_table(lines: list[str], at: int, budget: TableBudget) -> tuple[list[AnyBlock], int]:
    """The table that begins at a line, and the position after it."""
    if lines[at][0] == "+":
        end = at
        while end < len(lines) and lines[end][:1] in ("+", "|"):
            end += 1
        return _read_grid(lines[at:end], budget), end
    rules = [at]
    end = at + 1
    while end < len(lines) and len(rules) < 3:
        if _SIMPLE_RULE.fullmatch(lines[end]):
            rules.append(end)
            if len(rules) > 1 and (end + 1 >= len(lines) or not lines[end + 1]):
                break
        end += 1
    return _read_simple(lines, rules, budget), min(rules[-1] + 1 if len(rules) > 1 else at + 1, len(lines))


def _read_grid(lines: list[str], budget: TableBudget) -> list[AnyBlock]:
    """A cell spans columns if there is no `|` at the edge of a column, and rows if there is no rule between them."""
    rules = [number for number, line in enumerate(lines) if _GRID_RULE.fullmatch(line)]
    edges = sorted({n for number in rules for n, sign in enumerate(lines[number]) if sign == "+"})
    head = next((number for number in rules[1:] if "=" in lines[number]), 0)
    grid = TableGrid()
    for above, below in zip(rules, [*rules[1:], len(lines)], strict=True):
        starts = _find_partial_rules(lines, edges, above, below)
        if not starts:
            _add_grid_row(lines[above + 1 : below], edges, grid, is_header=below <= head)
        else:
            _add_spanning_rows(lines, [above, *starts, below], edges, grid, is_header=below <= head)
    return grid.finish(budget)


def _find_partial_rules(lines: list[str], edges: list[int], above: int, below: int) -> list[int]:
    """The lines between two rules in which only some of the columns have a rule."""
    between = range(above + 1, min(below, above + 1 + LINES_MAX))
    return [at for at in between if any(_is_ruled(lines[at], edges, column) for column in range(len(edges) - 1))]


def _is_ruled(line: str, edges: list[int], column: int) -> bool:
    """Whether a line has a rule from edge to edge of a column."""
    part = line[edges[column] : edges[column + 1] + 1]
    return (
        len(part) > 2
        and part[0] in "+|"
        and part[-1] in "+|"
        and "+" in part[0] + part[-1]
        and set(part[1:-1]) == {"-"}
    )


def _add_grid_row(lines: list[str], edges: list[int], grid: TableGrid, *, is_header: bool) -> None:
    """A row without cells that end within it."""
    cells: dict[int, list[str]] = {}
    for line in lines:
        _collect_cells(line, edges, cells)
    if not cells:
        return
    grid.new_row()
    starts = sorted(cells)
    for first, last in zip(starts, [*starts[1:], len(edges) - 1], strict=True):
        text, _ = strip_inline(collapse_whitespace(" ".join(cells[first])))
        grid.add(text, 1, last - first, is_header=is_header)


def _add_spanning_rows(
    lines: list[str], rules: list[int], edges: list[int], grid: TableGrid, *, is_header: bool
) -> None:
    """Rows in which cells end at rules that do not go through all columns."""
    for row, above in enumerate(rules[:-1]):
        grid.new_row()
        column, first = 0, lines[above + 1] if above + 1 < len(lines) else ""
        while column < len(edges) - 1:
            end = column + 1
            while end < len(edges) - 1 and first[edges[end] : edges[end] + 1] not in ("|", "+"):
                end += 1
            if row == 0 or _is_ruled(lines[above], edges, column):
                last = row + 1
                while last < len(rules) - 1 and not _is_ruled(lines[rules[last]], edges, column):
                    last += 1
                inside = [line[edges[column] + 1 : edges[end]].strip() for line in lines[above + 1 : rules[last]]]
                text, _ = strip_inline(collapse_whitespace(" ".join(inside)))
                grid.add(text, last - row, end - column, is_header=is_header)
            column = end


def _collect_cells(line: str, edges: list[int], open_cells: dict[int, list[str]]) -> None:
    """Add one line of text to the cells that it crosses."""
    begin = 0
    for number in range(1, len(edges)):
        at = edges[number]
        if at >= len(line) or line[at] in "|+":
            text = line[edges[begin] + 1 : at].strip()
            open_cells.setdefault(begin, []).append("" if _RULE_PART.fullmatch(text) else text)
            begin = number


def _read_simple(lines: list[str], rules: list[int], budget: TableBudget) -> list[AnyBlock]:
    columns = [match.start() for match in re.finditer("=+", lines[rules[0]])]
    has_header = len(rules) > 2
    grid = TableGrid()
    row: list[list[str]] | None = None
    is_header = has_header

    def end_row() -> None:
        if row is not None:
            texts = [strip_inline(collapse_whitespace(" ".join(texts)))[0] for texts in row]
            grid.add_row(texts, is_header=is_header)

    for number in range(rules[0] + 1, rules[-1]):
        line = lines[number]
        if number in rules:
            end_row()
            row, is_header = None, False
        elif line and not _SIMPLE_SPANS.fullmatch(line):
            cells = [line[begin:end].strip() for begin, end in zip(columns, [*columns[1:], None], strict=True)]
            if cells[0] or row is None:
                end_row()
                row = [[cell] for cell in cells]
            else:
                for texts, cell in zip(row, cells, strict=True):
                    texts.append(cell)
    end_row()
    return grid.finish(budget)


def read_csv_table(body: list[str], options: dict[str, str], caption: str, budget: TableBudget) -> list[AnyBlock]:
    """The table of the directive `csv-table`."""
    grid = TableGrid()
    rows = [(options["header"], True)] if "header" in options else []
    rows += [(line, False) for line in body if line]
    try:
        header_rows = int(options.get("header-rows", "0") or "0") + len(rows[:1]) * ("header" in options)
        for number, cells in enumerate(csv.reader([line for line, _ in rows], skipinitialspace=True)):
            texts = [strip_inline(collapse_whitespace(cell))[0] for cell in cells]
            grid.add_row(texts, is_header=number < header_rows)
    except (csv.Error, ValueError):
        return []
    return grid.finish(budget, caption)


def read_list_table(body: list[str], options: dict[str, str], caption: str, budget: TableBudget) -> list[AnyBlock]:
    """The table of the directive `list-table`: each item of the list is a list of cells. Empty if it is not."""
    rows = [_take_items([first, *rest]) for first, rest in _take_items(body)]
    header_rows, stub_columns = (_read_number(options.get(name, "")) for name in ("header-rows", "stub-columns"))
    grid = TableGrid()
    for number, row in enumerate(rows):
        grid.new_row()
        for column, (first, rest) in enumerate(row):
            text, _ = strip_inline(collapse_whitespace(" ".join([first, *rest])))
            grid.add(text, is_header=number < header_rows or column < stub_columns)
    return grid.finish(budget, caption)


def _take_items(lines: list[str]) -> list[tuple[str, list[str]]]:
    """The items of a list: the first line of each without its marker, and the others."""
    found: list[tuple[str, list[str]]] = []
    at = 0
    while at < len(lines):
        if match := _ITEM.match(lines[at]):
            rest, end = take_indented(lines, at + 1)
            found.append((lines[at][match.end() :], rest))
            at = end
        else:
            at += 1
    return found


def _read_number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 4 else 0
