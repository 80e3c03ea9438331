"""Finds the reading order of a page: columns one after the other, with lines that span them in between.

Two cases are simple: all lines are below one another, or the page was clearly drawn column by column (`draw_order`).
Otherwise we look for gutters: positions where several lines begin to the right of others that end before. Rows of a
table have such positions too. The draw order tells them apart: columns are drawn one after the other, tables row by
row. Columns that were drawn line by line still look like running text: most lines are long and reach the gutter.

Lines that cross a gutter divide the columns into bands: everything above such a line is read before it. If no gutter
runs through a whole region, its parts between wide vertical gaps are tried separately.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from itertools import chain
from operator import attrgetter, ne

from inorder.documents.readers.pdf.lines import group_rows, sort_by_top
from inorder.documents.readers.pdf.segments import Row, Segment

from .draw_order import find_drawn_columns

Region = list[Row]
"""Rows that are read from top to bottom."""

SEGMENTS_MAX = 3000
"""A page with more segments is a drawing or a wide table, and is read row by row."""
DEPTH_MAX = 3
SHARED_ROWS_MIN = 2
"""Rows with columns side by side. With fewer, columns cannot be found."""
CANDIDATES_MAX = 12
TOLERANCE = 2.0
"""Positions that differ by fewer points count as equal."""


def split_regions(
    segments: list[Segment], rows: list[Row] | None = None, *, right_to_left: bool = False
) -> list[Region]:
    """The regions of a page in reading order."""
    rows = group_rows(segments) if rows is None else rows
    if len(segments) > SEGMENTS_MAX:
        return [rows]
    return _split(segments, rows, right_to_left, DEPTH_MAX)


def _split(segments: list[Segment], rows: list[Row], right_to_left: bool, depth: int) -> list[Region]:
    shared = [row for row in rows if len(row) > 1]
    if depth == 0 or len(shared) < SHARED_ROWS_MIN:
        return [rows]
    columns = find_drawn_columns(segments, right_to_left=right_to_left)
    if columns:
        return [region for rows in columns for region in _split(_flatten(rows), rows, right_to_left, depth - 1)]
    gutters = find_gutters(segments, shared)
    if gutters:
        return _split_bands(segments, gutters, right_to_left, depth)
    zones = _split_zones(rows)
    if len(zones) == 1:
        return [rows]
    regions: list[Region] = []
    was_whole = False
    for zone in zones:
        parts = _split(_flatten(zone), zone, right_to_left, depth - 1)
        if was_whole and len(parts) == 1:
            regions[-1] = regions[-1] + parts[0]
        else:
            regions += parts
        was_whole = len(parts) == 1
    return regions


def _flatten(rows: list[Row]) -> list[Segment]:
    return list(chain.from_iterable(rows))


def _split_zones(rows: list[Row]) -> list[Region]:
    """Split the rows where there is a vertical gap of more than a line."""
    zones: list[Region] = [[rows[0]]]
    bottom = max(segment.bottom for segment in rows[0])
    for row in rows[1:]:
        if min([segment.top for segment in row]) - bottom > row[0].size:
            zones.append([])
        zones[-1].append(row)
        for segment in row:
            bottom = max(bottom, segment.bottom)
    return zones


def find_gutters(segments: list[Segment], shared: list[Row]) -> list[float]:
    """The positions where the right one of two neighbouring columns begins, from left to right."""
    starts = Counter([round(segment.x0 / TOLERANCE) for row in shared for segment in row[1:]])
    common = [(-count - starts[place + 1], place) for place, count in starts.items()]
    common = sorted([pair for pair in common if pair[0] < -1])[:CANDIDATES_MAX]
    begins, ends = sorted([segment.x0 for segment in segments]), sorted([segment.x1 for segment in segments])
    gutters: list[float] = []
    for place in sorted([place * TOLERANCE - TOLERANCE for _, place in common]):
        if gutters and place - gutters[-1] <= 3 * TOLERANCE:
            continue
        left, right = bisect_right(ends, place), len(begins) - bisect_left(begins, place)
        crossing = len(segments) - left - right
        if crossing <= 2 * min(left, right) and _is_gutter(segments, place):
            gutters.append(place)
    return gutters


def _is_gutter(segments: list[Segment], place: float) -> bool:
    left = [segment for segment in segments if segment.x1 <= place]
    right = [segment for segment in segments if segment.x0 >= place]
    if len(left) < 2 or len(right) < 2:
        return False
    top = max(min([segment.top for segment in left]), min([segment.top for segment in right]))
    bottom = min(max([segment.bottom for segment in left]), max([segment.bottom for segment in right]))
    left = [segment for segment in left if segment.bottom > top and segment.top < bottom]
    right = [segment for segment in right if segment.bottom > top and segment.top < bottom]
    if len(left) < 2 or len(right) < 2:
        return False
    crossing = [segment for segment in segments if segment.x0 < place < segment.x1]
    inside = [segment for segment in crossing if segment.bottom > top and segment.top < bottom]
    if len(inside) > 0.3 * min(len(left), len(right)):
        return False
    return _is_drawn_separately(left, right, place) or (_is_running_text(left) and _is_running_text(right))


def _is_drawn_separately(left: list[Segment], right: list[Segment], place: float) -> bool:
    """Whether one side was drawn before the other, and not row by row."""
    if _is_short(left) or _is_short(right):
        return False
    drawn = sorted(left + right, key=attrgetter("order"))
    sides = [segment.x0 >= place for segment in drawn]
    switches: int = sum(map(ne, sides, sides[1:]))
    return switches <= max(1, 0.3 * min(len(left), len(right)))


def _is_short(side: list[Segment]) -> bool:
    """Whether these are markers and numbers rather than text."""
    return sum([len(segment.text) for segment in side]) < 4 * len(side)


def _is_running_text(side: list[Segment]) -> bool:
    """Whether most lines are long and extend from edge to edge."""
    if len(side) < 4 or sum([len(segment.text) for segment in side]) < 20 * len(side):
        return False
    start, end = min(segment.x0 for segment in side), max(segment.x1 for segment in side)
    full = sum(segment.x1 - segment.x0 > 0.75 * (end - start) for segment in side)
    return full > 0.6 * len(side)


def _split_bands(segments: list[Segment], gutters: list[float], right_to_left: bool, depth: int) -> list[Region]:
    regions: list[Region] = []
    columns: list[list[Segment]] = [[] for _ in range(len(gutters) + 1)]
    spanning: list[Segment] = []

    def flush() -> None:
        if spanning:
            regions.append(group_rows(spanning))
            spanning.clear()
        for column in reversed(columns) if right_to_left else columns:
            if column:
                regions.extend(_split(column, group_rows(column), right_to_left, depth - 1))
        for column in columns:
            column.clear()

    for segment in sort_by_top(segments):
        column = bisect_right(gutters, segment.x0)
        if column < len(gutters) and segment.x1 > gutters[column]:
            if any(columns):
                flush()
            spanning.append(segment)
        else:
            columns[column].append(segment)
    flush()
    return regions
