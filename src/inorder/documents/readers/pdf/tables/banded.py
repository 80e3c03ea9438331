"""Finds tables with horizontal rules only: rules of the same width, one above the other, with columns between them.

Rules that begin and end at the same places divide the page into bands. Neighbouring bands whose text stands in columns
form a table; a band of running text ends it. The columns follow from the text. Lines of a band are rows of the table,
unless the rules divide all rows: then all lines of a band are one row, whose cells have several lines.

If the text does not fit the columns, it is not a table, and stays text.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from inorder.documents.model import Table
from inorder.documents.readers.pdf.lines import group_rows
from inorder.documents.readers.pdf.segments import Extent, Graphics, Row, Rule, Segment

from .grid import (
    COLUMNS_MAX,
    MARK,
    PlacedRow,
    build_table,
    count_header_rows,
    find_column_extents,
    is_full_row,
    is_numeric,
    is_wide,
    join_continuations,
    place_row,
)

SAME_EDGE_POINTS = 5.0
RULES_MAX = 400
"""A page with more horizontal rules is a drawing."""
WIDTH_POINTS_MIN = 60.0
BANDS_MAX = 200
SPLIT_BANDS_MAX = 24
"""How many bands are tried as several tables."""
JOINED_LINES_MAX = 12
"""Lines of one row."""
OUTER_POINTS = 20.0
"""How far from the outer rules a row outside of them may be."""
ROWS_ABOVE_MIN = 2
"""Fewer rows above the first rule are a header, or another table."""
ROW_SIZES_MAX = 2.5
"""Distance of two such rows, in sizes."""
SINGLE_SHARE_MAX = 0.5
"""Share of lines of a band with a single piece. Running text has more."""
CHARACTERS_MAX = 45
"""Average per piece of a table without rules between all rows. Columns of text have more."""
FILLED_SHARE_MIN = 0.35
SPANNING_SHARE_MAX = 0.3
SIZE_RATIO_MAX = 1.3
"""A line that is larger than most others by more than this ratio is a heading, and not a row."""


class Band(NamedTuple):
    """The lines between two rules."""

    top: float
    bottom: float
    rows: list[Row]


def insert_banded_tables(segments: list[Segment], graphics: Graphics, page: int) -> list[Segment]:
    """Replace the segments in each table by one segment that holds the table."""
    if not 2 <= len(graphics.across) <= RULES_MAX:
        return segments
    for rules in group_rules(graphics.across):
        for run in _find_runs(rules, segments):
            for bands, table in _build_all(_add_outer_rows(run, rules, segments), graphics.across, page):
                inside = {segment.order for band in bands for row in band.rows for segment in row}
                box = rules[0][1], bands[0].top, rules[0][2], bands[-1].bottom
                placeholder = Segment("", *box, 1.0, order=min(inside), table=table)
                segments = [*(segment for segment in segments if segment.order not in inside), placeholder]
    return segments


def _build_all(run: list[Band], across: Sequence[Rule], page: int) -> Iterator[tuple[list[Band], Table]]:
    """The tables of a run of bands: one, or several that stand directly one below the other."""
    table = _build(run, across, page)
    if table is not None:
        yield run, table
        return
    start = 0
    while start < len(run) <= SPLIT_BANDS_MAX:
        for end in range(len(run), start, -1):
            table = _build(run[start:end], across, page)
            if table is not None:
                yield run[start:end], table
                start = end - 1
                break
        start += 1


def group_rules(across: Iterable[Rule]) -> list[list[Rule]]:
    """Rules with the same edges, from top to bottom; the widest groups first."""
    groups: list[list[Rule]] = []
    for rule in across:
        _, left, right = rule
        if right - left < WIDTH_POINTS_MIN:
            continue
        for group in groups:
            if abs(group[0][1] - left) < SAME_EDGE_POINTS and abs(group[0][2] - right) < SAME_EDGE_POINTS:
                group.append(rule)
                break
        else:
            groups.append([rule])
    return sorted([group for group in groups if len(group) > 1], key=lambda group: group[0][1] - group[0][2])


def _find_runs(rules: Sequence[Rule], segments: Sequence[Segment]) -> Iterator[list[Band]]:
    """Runs of bands that may be tables."""
    left, right = rules[0][1] - SAME_EDGE_POINTS, rules[0][2] + SAME_EDGE_POINTS
    top, bottom = rules[0][0], rules[-1][0]
    segments = [segment for segment in segments if top < segment.bottom and segment.top < bottom and not segment.table]
    beside = [segment for segment in segments if left <= segment.x0 and segment.x1 <= right]
    if not beside:
        return
    run: list[Band] = []
    for (top, _, _), (bottom, _, _) in pairwise(rules[:BANDS_MAX]):
        inside = [segment for segment in beside if top <= (segment.top + segment.bottom) / 2 < bottom]
        band = Band(top, bottom, group_rows(inside))
        crossed = any(
            segment.x0 < left < segment.x1 or segment.x0 < right < segment.x1
            for segment in segments
            if top <= (segment.top + segment.bottom) / 2 < bottom
        )
        if not crossed and (not inside or _is_tabular(band.rows, right - left)):
            if inside:
                run.append(band)
            continue
        if run:
            yield run
        run = []
    if run:
        yield run


def _add_outer_rows(bands: list[Band], rules: Sequence[Rule], segments: Sequence[Segment]) -> list[Band]:
    """The bands with a row above the first rule and one below the last, if these have the same columns."""
    extents = find_column_extents([row for band in bands for row in band.rows])
    if len(extents) < 2:
        return bands
    left, right = rules[0][1] - SAME_EDGE_POINTS, rules[0][2] + SAME_EDGE_POINTS
    beside = [segment for segment in segments if segment.table is None and left <= segment.x0 and segment.x1 <= right]
    top, bottom = bands[0].top, bands[-1].bottom
    above = group_rows([segment for segment in beside if top - OUTER_POINTS < segment.bottom <= top + 1])
    below = group_rows([segment for segment in beside if bottom - 1 <= segment.top < bottom + OUTER_POINTS])
    if above and is_full_row(above[-1], extents):
        upper = _take_rows_above(above[-1], beside, extents)
        bands = [Band(upper[0][0].top, top, upper), *bands]
    if len(bands) > 2 and below and is_full_row(below[0], extents):
        bands = [*bands, Band(bottom, below[0][0].bottom, below[:1])]
    return bands


def _take_rows_above(row: Row, beside: Sequence[Segment], extents: Sequence[Extent]) -> list[Row]:
    """A row above the first rule with those above it, if only the last rows of a table have rules: their total. Rows
    with the same columns follow each other at the same distance, below a header that may lack a cell."""
    rows = group_rows([segment for segment in beside if segment.bottom <= row[0].top + 1])[::-1]
    found, step = [row], 0.0
    for upper in rows:
        distance = found[-1][0].bottom - upper[0].bottom
        if distance > ROW_SIZES_MAX * row[0].size or (step and abs(distance - step) > 0.5 * row[0].size):
            break
        step = step or distance
        if is_full_row(upper, extents):
            found.append(upper)
            continue
        placed = place_row(upper, extents) if len(upper) > 1 else None
        if placed is not None and 2 * len(placed) > len(extents) and all(cell.first == cell.last for cell in placed):
            found.append(upper)
        break
    return found[::-1] if len(found) > ROWS_ABOVE_MIN else [row]


def _is_tabular(rows: Sequence[Row], width: float) -> bool:
    """Whether the lines of a band are not running text."""
    if len(rows) == 1 and len(rows[0]) == 1:
        return rows[0][0].x1 - rows[0][0].x0 < 0.6 * width
    if any(MARK.fullmatch(row[0].text) for row in rows):
        return False
    sizes = sorted(row[0].size for row in rows)
    if sizes[-1] > SIZE_RATIO_MAX * sizes[len(sizes) // 2]:
        return False
    single = sum(len(row) == 1 and row[0].x1 - row[0].x0 > 0.5 * width for row in rows)
    return single <= SINGLE_SHARE_MAX * len(rows) and any(len(row) > 1 for row in rows)


def _build(bands: Sequence[Band], across: Sequence[Rule], page: int) -> Table | None:
    """The table of these bands; None if their text does not stand in columns."""
    lines = [row for band in bands for row in band.rows]
    extents = find_column_extents(lines)
    columns = len(extents)
    if not 2 <= columns <= COLUMNS_MAX or len(lines) < 2:
        return None
    rows: list[list[PlacedRow]] = []
    first_band = 0
    for band in bands:
        placed = [place_row(row, extents, _rules_below(row, band, across)) for row in band.rows]
        known = [row for row in placed if row is not None]
        if len(known) < len(placed):
            return None
        rows += _join_lines(known, extents, is_divided=len(bands) > 2, is_header=not rows and len(bands) > 1)
        first_band = first_band or len(rows)
    if len(rows) < 2 or not _is_plausible(rows, columns, is_divided=len(bands) > 2):
        return None
    return build_table(rows, columns, count_header_rows(rows, first_band if len(bands) > 1 else 0), page)


def _rules_below(row: Row, band: Band, across: Sequence[Rule]) -> list[Rule]:
    """Rules between this line and the next one of the band: they are below cells that span columns."""
    bottom = max(segment.bottom for segment in row)
    return [rule for rule in across if bottom - 2 <= rule[0] <= bottom + row[0].size and rule[0] < band.bottom - 2]


def _join_lines(
    lines: Sequence[PlacedRow], extents: Sequence[Extent], *, is_divided: bool, is_header: bool
) -> list[list[PlacedRow]]:
    """The rows of a band: one per line, or one of several lines."""
    if len(lines) < 2:
        return [list(lines)] if lines else []
    spans = any(cell.last > cell.first for line in lines for cell in line)
    starts = sum(line[0].first == 0 for line in lines)
    if is_divided and starts <= 1 and not spans and not _are_rows_of_group(lines, extents):
        return [list(lines)]
    if not spans and (is_divided or is_header) and _are_lines_of_cells(lines, extents, is_header=is_header):
        return [list(lines)]
    return join_continuations(lines, extents)


def _are_lines_of_cells(lines: Sequence[PlacedRow], extents: Sequence[Extent], *, is_header: bool) -> bool:
    """Whether the lines of a band are those of one row: each column with several of them goes on in the next line, and
    another column has only one."""
    columns = _collect_columns(lines)
    several = {column: found for column, found in columns.items() if len(found) > 1}
    if not several or (len(several) == len(extents) and not is_header) or len(lines) > JOINED_LINES_MAX:
        return False
    return all(
        _goes_on(upper, lower, extents[column], is_header=is_header)
        for column, found in several.items()
        for upper, lower in pairwise(found)
    )


def _are_rows_of_group(lines: Sequence[PlacedRow], extents: Sequence[Extent]) -> bool:
    """Whether the lines of a band are rows of their own, with a name for all of them in the first: several columns have
    a cell in each line. None of them begins in the middle of a sentence, and in a column none goes on."""
    whole = {column: found for column, found in _collect_columns(lines).items() if len(found) == len(lines)}
    if len(whole) < 2 or any(lower.text[0].islower() for found in whole.values() for lower in found[1:]):
        return False
    return any(
        not any(_goes_on(upper, lower, extents[column], is_header=False) for upper, lower in pairwise(found))
        for column, found in whole.items()
    )


def _collect_columns(lines: Sequence[PlacedRow]) -> dict[int, list[Segment]]:
    """The pieces in each column, from top to bottom."""
    columns: defaultdict[int, list[Segment]] = defaultdict(list)
    for line in lines:
        for cell in line:
            columns[cell.first].append(cell.segment)
    return columns


def _goes_on(upper: Segment, lower: Segment, extent: Extent, *, is_header: bool) -> bool:
    """Whether the text of a cell goes on in the next line."""
    if is_numeric(upper.text) or is_numeric(lower.text) or upper.text.endswith((".", ":", ";")):
        return False
    if lower.text[0].islower() or (is_header and lower.text[0] in "([%"):
        return True
    return not is_header and is_wide(upper, extent)


def _is_plausible(rows: Sequence[Sequence[PlacedRow]], columns: int, *, is_divided: bool) -> bool:
    cells = [cell for lines in rows for line in lines for cell in line]
    characters = sum(len(cell.segment.text) for cell in cells)
    if characters > (2 if is_divided else 1) * CHARACTERS_MAX * len(cells):
        return False
    spanning = sum(any(cell.last > cell.first for line in lines for cell in line) for lines in rows)
    if spanning > max(2, SPANNING_SHARE_MAX * len(rows)):
        return False
    if all(cell.segment.is_mono for cell in cells) and (not is_divided or columns == 2):
        return False
    covered = sum(cell.last - cell.first + 1 for cell in cells)
    return covered >= FILLED_SHARE_MIN * columns * len(rows)
