"""Completes the grids of tables in which every other row is shaded: only the shaded cells have edges.

Grids with the same columns that are one below the other, with cells of text in the gaps between them, are one grid.
First and last rows that are not shaded belong to it.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from inorder.documents.readers.pdf.graphics import NEAR_POINTS, merge_positions
from inorder.documents.readers.pdf.lines import group_rows
from inorder.documents.readers.pdf.segments import Row, Rule, Segment

Grid = tuple[list[Rule], list[Rule]]
"""Horizontal and vertical rules, each sorted."""

GAP_RATIO_MAX = 3.0
"""Height of the gap between two stripes, compared with the higher one of them."""
OUTER_ROWS_MAX = 2
"""Rows without edges above the first stripe, such as a header and the first row, or below the last."""
CELLS_SHARE = 0.6
"""Share of the columns that have text in a row without edges."""


def join_stripes(grids: Iterable[Grid], segments: Sequence[Segment]) -> Iterator[Grid]:
    """The grids, with those that are stripes of one table joined."""
    run: list[Grid] = []
    for grid in sorted(grids, key=lambda grid: grid[0][0][0]):
        if run and not _is_next_stripe(run[-1], grid, segments):
            yield _complete(run, segments)
            run = []
        run.append(grid)
    if run:
        yield _complete(run, segments)


def _is_next_stripe(above: Grid, below: Grid, segments: Sequence[Segment]) -> bool:
    """Whether two grids have the same columns, and cells of text between them."""
    (top, end), (start, bottom) = _extent(above), _extent(below)
    if not NEAR_POINTS < start - end <= GAP_RATIO_MAX * max(end - top, bottom - start):
        return False
    columns = _columns(above)
    if len(columns) < 3 or not _are_same(columns, _columns(below)):
        return False
    rows = _rows_between(segments, columns, end, start)
    return bool(rows) and all(_are_cells(row, columns, 2) for row in rows)


def _complete(run: list[Grid], segments: Sequence[Segment]) -> Grid:
    """One grid of all stripes, with vertical rules in the gaps."""
    if len(run) == 1:
        return run[0]
    across = [rule for rules, _ in run for rule in rules]
    down = [rule for _, rules in run for rule in rules]
    columns = _columns(run[0])
    for above, below in pairwise(run):
        down += [(x, _extent(above)[1], _extent(below)[0]) for x in columns]
    top, bottom = _extent(run[0])[0], _extent(run[-1])[1]
    outer = _rows_between(segments, columns, 0.0, top)[::-1], _rows_between(segments, columns, bottom, float("inf"))
    for edge, outside in zip((top, bottom), outer, strict=True):
        reached = edge
        for row in outside[:OUTER_ROWS_MAX]:
            first, last = min(part.top for part in row), max(part.bottom for part in row)
            near, far = (last, first) if edge == top else (first, last)
            if abs(near - reached) > last - first or not _are_cells(
                row, columns, int(CELLS_SHARE * (len(columns) - 1))
            ):
                break
            across.append((far, columns[0], columns[-1]))
            down += [(x, min(reached, far), max(reached, far)) for x in columns]
            reached = far
    return sorted(across), sorted(down)


def _extent(grid: Grid) -> tuple[float, float]:
    return grid[0][0][0], grid[0][-1][0]


def _columns(grid: Grid) -> list[float]:
    return merge_positions([place for place, _, _ in grid[1]])


def _are_same(columns: Sequence[float], others: Sequence[float]) -> bool:
    return len(columns) == len(others) and all(
        abs(one - two) <= NEAR_POINTS for one, two in zip(columns, others, strict=True)
    )


def _rows_between(segments: Sequence[Segment], columns: Sequence[float], top: float, bottom: float) -> list[Row]:
    inside = [
        segment
        for segment in segments
        if top <= (segment.top + segment.bottom) / 2 < bottom and columns[0] <= segment.x1 and segment.x0 <= columns[-1]
    ]
    return group_rows(inside)


def _are_cells(row: Row, columns: Sequence[float], count_min: int) -> bool:
    """Whether a row has text in this many columns, and none that crosses the edge of one."""
    places = [sum(x < (part.x0 + part.x1) / 2 for x in columns) for part in row]
    crossing = any(part.x0 + NEAR_POINTS < x < part.x1 - NEAR_POINTS for part in row for x in columns)
    return not crossing and len(set(places)) == len(places) >= count_min
