"""Finds tables that are drawn with rules: a grid of lines with text in its cells.

Rules that touch form a grid. Its columns and rows are between the positions of rules. Two neighbouring positions of the
grid are one cell if no rule is between them. A grid is a table only if it has at least two rows and two columns, all
cells are rectangles, and several have text. Otherwise its text stays text.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import msgspec

from inorder.documents.model import Cell, Table
from inorder.documents.readers.pdf.graphics import NEAR_POINTS, merge_positions
from inorder.documents.readers.pdf.lines import group_rows, join_lines, merge_row
from inorder.documents.readers.pdf.segments import Graphics, Rule, Segment

from .grid import HEADER_ROWS_MAX, is_numeric
from .stripes import join_stripes

RULES_MAX = 300
"""A page with more rules is a drawing."""
CELLS_MAX = 4_000
CELLS_MIN = 4
STACKED_RULES_MIN = 3
"""Vertical rules of each of two tables that touch."""
FRAME_POINTS_MAX = 8.0
"""A narrower column without text is the edge of a frame."""
TEXTS_MIN = 3
"""A grid with fewer cells with text is a box around something."""

FilledCell = tuple[Cell, list[Segment]]
"""A cell and the lines of its text."""
PlacedSegment = tuple[int, Segment]
"""A segment with the number of its position in a grid."""


def insert_ruled_tables(segments: list[Segment], graphics: Graphics, page: int) -> list[Segment]:
    """Replace the segments in each ruled table by one segment that holds the table."""
    tables: list[Segment] = []
    for across, down in _split_stacked(join_stripes(_find_grids(graphics), segments)):
        grid = RuledGrid(across, down)
        if not grid.is_plausible:
            continue
        inside, outside = grid.partition(segments)
        table = grid.table(inside, page)
        if table is not None:
            order = min([segment.order for _, segment in inside])
            tables.append(Segment("", *grid.box, 1.0, order=order, table=table))
            segments = outside
    return segments + tables


def _find_grids(graphics: Graphics) -> Iterable[tuple[list[Rule], list[Rule]]]:
    """Groups of rules that touch each other."""
    across, down = graphics.across, graphics.down
    if not (2 <= len(across) <= RULES_MAX and 2 <= len(down) <= RULES_MAX):
        return
    groups = _DisjointSets(len(across) + len(down))
    parent = groups.parent
    places = [place for place, _, _ in down]
    for index, (y, left, right) in enumerate(across):
        first, end = bisect_left(places, left - NEAR_POINTS), bisect_right(places, right + NEAR_POINTS)
        for other, (_, top, bottom) in enumerate(down[first:end], len(across) + first):
            if parent[index] != parent[other] and top - NEAR_POINTS <= y <= bottom + NEAR_POINTS:
                groups.union(index, other)
    members: defaultdict[int, tuple[list[Rule], list[Rule]]] = defaultdict(lambda: ([], []))
    for index, rule in enumerate(across):
        members[groups.find(index)][0].append(rule)
    for index, rule in enumerate(down, len(across)):
        members[groups.find(index)][1].append(rule)
    for flats, uprights in members.values():
        if len(flats) > 1 and len(uprights) > 1:
            yield flats, uprights


def _split_stacked(grids: Iterable[tuple[list[Rule], list[Rule]]]) -> Iterator[tuple[list[Rule], list[Rule]]]:
    """Split grids that are two tables one directly below the other: their columns differ."""
    for across, down in grids:
        start, first, last = float("-inf"), across[0][0], across[-1][0]
        if all(top <= first + NEAR_POINTS and last - NEAR_POINTS <= bottom for _, top, bottom in down):
            yield across, down
            continue
        for y in merge_positions([place for place, _, _ in across])[1:-1]:
            above = merge_positions([x for x, top, bottom in down if top < y - NEAR_POINTS <= bottom])
            below = merge_positions([x for x, top, bottom in down if top <= y + NEAR_POINTS < bottom])
            shared = sum(any(abs(x - other) <= NEAR_POINTS for other in below) for x in above)
            if shared <= 1 and len(above) >= STACKED_RULES_MIN <= len(below):
                yield _select_between(across, down, start, y)
                start = y
        yield _select_between(across, down, start, float("inf")) if start > 0 else (across, down)


def _select_between(
    across: Iterable[Rule], down: Iterable[Rule], top: float, bottom: float
) -> tuple[list[Rule], list[Rule]]:
    """The rules of a grid between two heights."""
    return (
        [rule for rule in across if top - NEAR_POINTS <= rule[0] <= bottom + NEAR_POINTS],
        [
            (x, max(start, top), min(end, bottom))
            for x, start, end in down
            if start < bottom - NEAR_POINTS and top + NEAR_POINTS < end
        ],
    )


class _DisjointSets:
    """Union-find over the numbers below `count`."""

    def __init__(self, count: int) -> None:
        self.parent = list(range(count))
        """Of each number. Numbers with the same parent are in one set."""

    def find(self, index: int) -> int:
        parent = self.parent
        while parent[index] != index:
            parent[index] = parent[parent[index]]
            index = parent[index]
        return index

    def union(self, one: int, other: int) -> None:
        one, other = self.find(one), self.find(other)
        if one < other:
            self.parent[other] = one
        else:
            self.parent[one] = other


def _group_by_position(rules: Iterable[Rule], places: list[float]) -> list[list[Rule]]:
    """The rules at each position."""
    found: list[list[Rule]] = [[] for _ in places]
    for rule in rules:
        found[bisect_right(places, rule[0]) - 1].append(rule)
    return found


def _has_rule_at(rules: Iterable[Rule], place: float) -> bool:
    return any(start <= place <= end for _, start, end in rules)


class RuledGrid:
    """The grid between rules."""

    def __init__(self, across: Sequence[Rule], down: Sequence[Rule]) -> None:
        self.xs = merge_positions([place for place, _, _ in down])
        self.ys = merge_positions([place for place, _, _ in across])
        self._flat = _group_by_position(across, self.ys)
        self._upright = _group_by_position(down, self.xs)
        self.columns, self.rows = len(self.xs) - 1, len(self.ys) - 1
        self.box = self.xs[0], self.ys[0], self.xs[-1], self.ys[-1]

    @property
    def is_plausible(self) -> bool:
        """Whether it is large enough for a table, and not as large as a drawing."""
        return self.columns >= 2 and self.rows >= 2 and self.columns * self.rows <= CELLS_MAX

    def partition(self, segments: Iterable[Segment]) -> tuple[list[PlacedSegment], list[Segment]]:
        """Segments whose centre is inside the grid, with its position there; and all other segments."""
        inside: list[PlacedSegment] = []
        outside: list[Segment] = []
        left, top, right, bottom = self.box
        for segment in segments:
            y = (segment.top + segment.bottom) / 2
            if top <= y < bottom and left <= (x := (segment.x0 + segment.x1) / 2) < right:
                row, column = bisect_right(self.ys, y) - 1, bisect_right(self.xs, x) - 1
                inside.append((row * self.columns + column, segment))
            else:
                outside.append(segment)
        return inside, outside

    def table(self, inside: list[PlacedSegment], page: int) -> Table | None:
        """The table of the segments inside the grid; None if they do not form a table."""
        if len(inside) < TEXTS_MIN or self._count_crossing(inside) > 0.1 * len(inside):
            return None
        areas, roots = self._find_areas()
        texts: defaultdict[int, list[Segment]] = defaultdict(list)
        for place, segment in inside:
            texts[roots[place]].append(segment)
        if len(areas) < CELLS_MIN or len(texts) < TEXTS_MIN or self._is_box(inside):
            return None
        found: list[FilledCell] = []
        for root, area in areas.items():
            filled = _make_cell(area, texts.get(root, []))
            if filled is None:
                return None
            found.append(filled)
        cells = split_rows(found)
        _mark_header(cells)
        rows = max([cell.row + cell.rows for cell, _ in cells])
        return Table(rows=rows, columns=self.columns, cells=[cell for cell, _ in cells], page=page, box=self.box)

    def _is_box(self, inside: Iterable[PlacedSegment]) -> bool:
        """Whether it is a frame or a shade, drawn in pieces: its text is in one column, and is code, or the others are
        too narrow for text."""
        columns = {place % self.columns for place, _ in inside}
        if len(columns) > 1:
            return False
        if all(segment.is_mono for _, segment in inside):
            return True
        widths = [right - left for left, right in pairwise(self.xs)]
        return all(width < FRAME_POINTS_MAX for column, width in enumerate(widths) if column not in columns)

    def _find_areas(self) -> tuple[dict[int, list[tuple[int, int]]], Sequence[int]]:
        """The positions of each cell, and the number of the cell of each position."""
        positions = [(row, column) for row in range(self.rows) for column in range(self.columns)]
        if self._is_complete():
            return {place: [position] for place, position in enumerate(positions)}, range(len(positions))
        groups = self._merge_cells()
        roots = [groups.find(place) for place in range(len(positions))]
        areas: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        for root, position in zip(roots, positions, strict=True):
            areas[root].append(position)
        return areas, roots

    def _is_complete(self) -> bool:
        """Whether all rules go from edge to edge, so that no cell spans several positions."""
        left, top, right, bottom = self.box
        return all(
            len(rules) == 1 and rules[0][1] <= left + NEAR_POINTS and right - NEAR_POINTS <= rules[0][2]
            for rules in self._flat
        ) and all(
            len(rules) == 1 and rules[0][1] <= top + NEAR_POINTS and bottom - NEAR_POINTS <= rules[0][2]
            for rules in self._upright
        )

    def _count_crossing(self, inside: Iterable[PlacedSegment]) -> int:
        """How many segments cross a vertical rule."""
        xs, count = self.xs, 0
        for _, segment in inside:
            start, end = bisect_right(xs, segment.x0 + NEAR_POINTS), bisect_right(xs, segment.x1 - NEAR_POINTS)
            if start < end:
                middle = (segment.top + segment.bottom) / 2
                count += any(_has_rule_at(self._upright[place], middle) for place in range(start, end))
        return count

    def _merge_cells(self) -> _DisjointSets:
        """Merge positions of the grid that have no rule between them."""
        groups = _DisjointSets(self.rows * self.columns)
        for row in range(self.rows):
            y = (self.ys[row] + self.ys[row + 1]) / 2
            for column in range(self.columns):
                x = (self.xs[column] + self.xs[column + 1]) / 2
                here = row * self.columns + column
                if column + 1 < self.columns and not _has_rule_at(self._upright[column + 1], y):
                    groups.union(here, here + 1)
                if row + 1 < self.rows and not _has_rule_at(self._flat[row + 1], x):
                    groups.union(here, here + self.columns)
        return groups


def _make_cell(area: list[tuple[int, int]], segments: list[Segment]) -> FilledCell | None:
    """A cell and its lines; None if its area is not a rectangle."""
    top, left = area[0]
    bottom, right = area[-1]
    if len(area) != (bottom - top + 1) * (right - left + 1):
        return None
    rows, columns = bottom - top + 1, right - left + 1
    if len(segments) < 2:
        return Cell(segments[0].text if segments else "", top, left, rows, columns), segments
    lines = list(map(merge_row, group_rows(segments)))
    return Cell(join_lines([line.text for line in lines]), top, left, rows, columns), lines


def split_rows(cells: list[FilledCell]) -> list[FilledCell]:
    """Split rows of a grid that are several rows of text: every cell has as many lines, at the same heights."""
    if max([len(lines) for _, lines in cells], default=0) < 2:
        return cells
    by_row: defaultdict[int, list[FilledCell]] = defaultdict(list)
    for filled in cells:
        for row in range(filled[0].row, filled[0].row + filled[0].rows):
            by_row[row].append(filled)
    counts = {row: _count_text_rows(filled) for row, filled in by_row.items()}
    if max(counts.values(), default=1) == 1:
        return cells
    starts, done = {}, 0
    for row in sorted(by_row):
        starts[row] = done
        done += counts[row]
    found: list[FilledCell] = []
    for cell, lines in cells:
        count = counts[cell.row]
        if count > 1 and len(lines) == count:
            found += [
                (Cell(line.text, starts[cell.row] + at, cell.column, columns=cell.columns), [line])
                for at, line in enumerate(lines)
            ]
        else:
            last = cell.row + cell.rows - 1
            rows = starts[last] + counts[last] - starts[cell.row]
            found.append((msgspec.structs.replace(cell, row=starts[cell.row], rows=rows), lines))
    return sorted(found, key=lambda filled: (filled[0].row, filled[0].column))


def _count_text_rows(cells: Sequence[FilledCell]) -> int:
    """How many rows of text a row of the grid has; 1 if its cells do not have the same lines.

    A cell with a single line may stand beside them: it spans the rows.
    """
    filled = [lines for _, lines in cells if lines]
    several = [lines for lines in filled if len(lines) > 1]
    if len(several) < max(2, 0.6 * len(cells)) or any(cell.rows > 1 and lines for cell, lines in cells):
        return 1
    first = several[0]
    if any(len(lines) != len(first) for lines in several):
        return 1
    is_aligned = all(
        abs(line.bottom - other.bottom) < 0.3 * line.size
        for lines in several[1:]
        for line, other in zip(first, lines, strict=True)
    )
    numbers = sum(is_numeric(line.text) for lines in several for line in lines)
    return len(first) if is_aligned and (numbers >= len(first) or len(several) > 2) else 1


class _HeaderRow:
    """What shows whether a row is a header: how many cells begin in it, and lines of text, bold ones and numbers."""

    __slots__ = ("bold", "cells", "end", "has_spans", "lines", "numbers")

    def __init__(self, row: int) -> None:
        self.cells = self.lines = self.bold = self.numbers = 0
        self.has_spans = False
        self.end = row + 1
        """The end of the cells that begin in it."""

    def add(self, cell: Cell, lines: Iterable[Segment]) -> None:
        """Count a cell that begins in this row."""
        self.cells += 1
        for line in lines:
            self.lines += 1
            self.bold += line.is_bold
            self.numbers += is_numeric(line.text)
        if cell.rows + cell.columns > 2:
            self.has_spans = True
            self.end = max(self.end, cell.row + cell.rows)


def _mark_header(cells: list[FilledCell]) -> None:
    """Make the first rows a header if they are bold and not all others are, or if they alone have no numbers."""
    rows = [_HeaderRow(row) for row in range(max([cell.row for cell, _ in cells], default=-1) + 1)]
    for cell, lines in cells:
        rows[cell.row].add(cell, lines)
    for count in range(min(HEADER_ROWS_MAX, len(rows) - 1), 0, -1):
        if _is_header(rows, count):
            for cell, _ in cells:
                cell.is_header = cell.row < count
            return


def _is_header(rows: list[_HeaderRow], count: int) -> bool:
    """Whether the header has this number of rows. Several are one if they are bold, or if cells of the first ones span
    rows or columns. A cell of its own below them is the title of a part of the table."""
    first, others = rows[:count], rows[count:]
    if (count > 1 and first[-1].cells == 1) or max([row.end for row in first]) > count:
        return False
    lines, other_lines = sum([row.lines for row in first]), sum([row.lines for row in others])
    if not lines or not other_lines:
        return False
    if sum([row.bold for row in first]) == lines and sum([row.bold for row in others]) < other_lines:
        return all(row.lines for row in first)
    if not all(row.has_spans for row in first[:-1]) or any(row.numbers for row in first):
        return False
    return lines > 1 and 2 * sum([row.numbers for row in others]) >= other_lines
