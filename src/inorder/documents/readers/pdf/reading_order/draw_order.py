"""Finds columns by the order in which a page was drawn.

Most programs draw a page in reading order. Where drawing goes up by several lines and continues beside what was drawn
before, a new column begins, even if its edges are ragged or it contains tables. Only clear cases count: columns of
several lines whose usual edges do not overlap.
"""

from collections.abc import Sequence
from itertools import pairwise
from operator import attrgetter

from inorder.documents.readers.pdf.lines import group_rows
from inorder.documents.readers.pdf.segments import Row, Segment

UP_LINES = 3.0
"""How far drawing goes up to a new column, in lines."""
LINES_MIN = 4
"""Per column. The last column may be shorter."""
COLUMNS_MAX = 8
CHARACTERS_MIN = 8
"""Average per row. Cells of a table that was drawn column by column have fewer."""
OVERLAP_POINTS = 2.0

_order_of = attrgetter("order")


def find_drawn_columns(segments: Sequence[Segment], *, right_to_left: bool) -> list[list[Row]]:
    """The columns in reading order, with what is above and below them; empty if there is no clear case."""
    runs = _split_runs(segments)
    if not 2 <= len(runs) <= 2 * COLUMNS_MAX:
        return []
    columns: list[list[Row]] = []
    others: list[Segment] = []
    for run in runs:
        rows = group_rows(run)
        if _is_column(run, rows, is_last=run is runs[-1]):
            columns.append(rows)
        else:
            others += run
    if len(columns) < 2 or not _are_disjoint(columns[::-1] if right_to_left else columns):
        return []
    top = min([rows[0][0].top for rows in columns])
    bottom = max([segment.bottom for rows in columns for segment in rows[-1]])
    above = [segment for segment in others if segment.bottom <= top]
    below = [segment for segment in others if segment.top >= bottom]
    if len(above) + len(below) < len(others):
        return []
    return [part for part in (group_rows(above), *columns, group_rows(below)) if part]


def _split_runs(segments: Sequence[Segment]) -> list[list[Segment]]:
    """Split the segments, in draw order, where drawing goes up."""
    runs: list[list[Segment]] = []
    run: list[Segment] = []
    lowest = float("inf")
    for segment in sorted(segments, key=_order_of):
        bottom = segment.bottom
        if bottom > lowest:
            lowest = bottom
        elif bottom < lowest - UP_LINES * segment.size:
            run = []
            runs.append(run)
            lowest = bottom
        run.append(segment)
    return runs


def _is_column(run: Sequence[Segment], rows: Sequence[Row], *, is_last: bool) -> bool:
    if [segment for segment in run if segment.table is not None]:
        return True
    letters = sum([len(segment.text) for segment in run])
    return letters >= CHARACTERS_MIN * len(rows) and (len(run) >= LINES_MIN or is_last)


def _are_disjoint(columns: Sequence[list[Row]]) -> bool:
    """Whether the lines of each column usually end before those of the next column begin."""
    edges = [
        (sorted([row[0].x0 for row in rows])[middle], sorted([row[-1].x1 for row in rows])[middle])
        for rows in columns
        for middle in ((len(rows) - 1) // 2,)
    ]
    return all(right <= left + OVERLAP_POINTS for (_, right), (left, _) in pairwise(edges))
