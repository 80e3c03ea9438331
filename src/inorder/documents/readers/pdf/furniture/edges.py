"""Finds page furniture: headers, footers and page numbers at the edges of pages.

A row at the edge is furniture if the same words, with any numbers, are at the edge of several pages. A row that is only
a number must also count the pages. A row with a number that is larger than the text is a chapter heading. Running heads
that change with the chapter are found by their position: the outermost row is at the same height on most pages, has a
gap to the text, and is not larger than it. In a document of few pages nothing is repeated (`single_pages`).

`FurnitureStats` are computed from a sample of pages, so that parts of a document that are read separately agree.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain, pairwise

import msgspec

from inorder.documents.readers.pdf.lines import merge_row
from inorder.documents.readers.pdf.segments import Edge, EdgeRow, PageText, Row

from .single_pages import take_furniture

EDGE_SHARE = 0.14
"""How far from the edge of a page furniture may be, as a share of the height of the page."""
SLOT_SHARE = 0.09
"""The same for rows that are recognized by position only."""
ROWS_MAX = 3
SLOT_PAGES_MIN = 4
LONE_PAGES_MAX = 3
"""In a document with at most this many pages, rows are furniture if they read like it."""
SPREAD_SIZES = 6.0
SLOT_POINTS = 2.5
GAP_SHARE = 0.5
"""Gap between furniture and text, as a share of the size of the furniture."""
HEAD_RATIO_MAX = 1.35
"""Size of a running head with a page number, compared with the largest text."""
ALIGNED_POINTS = 3.0
CHARACTERS_MAX = 150
SLOT_CHARACTERS_MAX = 80

_NUMBER = re.compile(r"\d+")
_CHAPTER = re.compile(r"chapter|section|part|appendix|kapitel|teil|chapitre|\d[.:)]", re.IGNORECASE)
_ROMAN = re.compile(r"[ivxlc]{1,7}", re.IGNORECASE)
_NUMBER_ALONE = re.compile(r"\W*#\W*(?:(?:/|of|von|de|sur|di)\W*#\W*)?")


class FurnitureStats(msgspec.Struct, frozen=True):
    """The furniture of a document. Stored in DATA as JSON: fields are only added."""

    patterns: tuple[tuple[str, str], ...] = ()
    """Edge and words, with every number as #; sorted."""
    slots: tuple[tuple[str, float], ...] = ()
    """Edge and height of running heads."""
    size_max: float = 0.0


def pattern_of(text: str) -> str:
    """The words of a row in lower case, with every number as #."""
    text = " ".join(text.split()).lower()
    if _ROMAN.fullmatch(text):
        return "#"
    return _NUMBER.sub("#", text)


def list_edge_rows(page: PageText) -> list[EdgeRow]:
    """The outermost rows of a page, as `find_edge_rows` returns them. They are looked for once."""
    if page.edge_rows is None:
        page.edge_rows = find_edge_rows(page.rows, page.height, page.number)
    return page.edge_rows


def find_edge_rows(rows: Sequence[Row], height: float, page: int) -> list[EdgeRow]:
    """The outermost rows: first those at the top, then those at the bottom, each from the edge inwards."""
    found: list[EdgeRow] = []
    directions: tuple[tuple[Edge, Sequence[Row]], ...] = (("header", rows), ("footer", rows[: -ROWS_MAX - 2 : -1]))
    for edge, inwards in directions:
        for index, row in enumerate(inwards[:ROWS_MAX]):
            middle = (row[0].top + row[0].bottom) / 2
            from_edge = middle if edge == "header" else height - middle
            if from_edge > EDGE_SHARE * height:
                break
            text = merge_row(row).text
            if len(text) > CHARACTERS_MAX or (index + 1 < len(inwards) and _are_cells(row, inwards[index + 1])):
                break
            gap = _measure_gap(row, inwards[index + 1]) if index + 1 < len(inwards) else height
            found.append(EdgeRow(edge, text, pattern_of(text), middle, row[0].size, gap, page, _is_spread(row)))
    return found


def _is_spread(row: Row) -> bool:
    return len(row) > 1 and any(after.x0 - before.x1 > SPREAD_SIZES * after.size for before, after in pairwise(row))


def _are_cells(row: Row, other: Row) -> bool:
    """Whether two rows are rows of one table: the header of a table is repeated on each page."""
    if len(row) < 2 or len(row) != len(other) or _measure_gap(row, other) > 1.5 * row[0].size:
        return False
    return all(
        min(abs(one.x0 - two.x0), abs(one.x1 - two.x1), abs(one.x0 + one.x1 - two.x0 - two.x1) / 2) < ALIGNED_POINTS
        for one, two in zip(row, other, strict=True)
    )


def _measure_gap(row: Row, other: Row) -> float:
    return max(other[0].top - row[0].bottom, row[0].top - other[0].bottom)


def compute_furniture_stats(
    pages: Sequence[Sequence[EdgeRow]], heights: Sequence[float], row_counts: Sequence[int], body_size: float
) -> FurnitureStats:
    """The furniture of a document, from the edge rows of a sample of its pages, and how many rows these have."""
    count = len(pages)
    size_max = 1.05 * body_size
    lone = _find_lone_patterns(pages, heights, row_counts, body_size) if count <= LONE_PAGES_MAX else set()
    if count < 2:
        return FurnitureStats(tuple(sorted(lone)), (), size_max)
    needed = 2 if count <= 5 else max(3, -(-3 * count // 10))
    found: defaultdict[tuple[str, str], list[EdgeRow]] = defaultdict(list)
    for row in chain.from_iterable(pages):
        if not _is_numbered_heading(row, size_max):
            found[row.edge, row.pattern].append(row)
    patterns = lone | {
        key
        for key, rows in found.items()
        if len({row.page for row in rows}) >= needed
        and (not _NUMBER_ALONE.fullmatch(key[1]) or _are_page_numbers(rows))
    }
    return FurnitureStats(tuple(sorted(patterns)), tuple(_find_slots(pages, heights, size_max)), size_max)


def _find_lone_patterns(
    pages: Sequence[Sequence[EdgeRow]], heights: Sequence[float], row_counts: Sequence[int], body_size: float
) -> set[tuple[str, str]]:
    """Rows of a short document that are furniture by themselves, without being repeated."""
    found = [
        row
        for rows, height, count in zip(pages, heights, row_counts, strict=True)
        for edge in ("header", "footer")
        for row in take_furniture([row for row in rows if row.edge == edge], height, count, body_size)
    ]
    numbers = [row for row in found if _NUMBER_ALONE.fullmatch(row.pattern)]
    if len(pages) > 1 and not _are_page_numbers(numbers):
        found = [row for row in found if row not in numbers]
    return {(row.edge, row.pattern) for row in found}


def _is_numbered_heading(row: EdgeRow, size_max: float) -> bool:
    """Whether a row with a number is a heading: larger than the text, or much larger if it may be a page number."""
    if row.size <= size_max or not _NUMBER.search(row.text):
        return False
    return row.size > HEAD_RATIO_MAX * size_max or bool(_CHAPTER.search(row.text))


def _are_page_numbers(rows: Iterable[EdgeRow]) -> bool:
    """Whether the first numbers in these rows increase with the pages."""
    offsets = Counter(
        int(number.group()) - row.page
        for row in rows
        if (number := _NUMBER.search(row.text)) and len(number.group()) < 9
    )
    return not offsets or max(offsets.values()) * 2 >= sum(offsets.values())


def _find_slots(
    pages: Sequence[Sequence[EdgeRow]], heights: Sequence[float], size_max: float
) -> Iterable[tuple[str, float]]:
    if len(pages) < SLOT_PAGES_MIN:
        return
    edges: tuple[Edge, ...] = ("header", "footer")
    for edge in edges:
        outermost = [next((row for row in rows if row.edge == edge), None) for rows in pages]
        apart = [
            row for row, height in zip(outermost, heights, strict=True) if row and _is_set_apart(row, height, size_max)
        ]
        places = Counter(round(row.middle / SLOT_POINTS) for row in apart)
        for place, _ in places.most_common(2):
            near = places[place - 1] + places[place] + places[place + 1]
            if near >= 0.6 * len(pages):
                yield edge, place * SLOT_POINTS
                break


def _is_set_apart(row: EdgeRow, height: float, size_max: float) -> bool:
    from_edge = row.middle if row.edge == "header" else height - row.middle
    if from_edge > SLOT_SHARE * height or row.size > size_max or row.gap <= 0.8 * row.size:
        return False
    return len(row.text) <= SLOT_CHARACTERS_MAX and not row.text.endswith((".", ":"))


def count_furniture_rows(page: PageText, stats: FurnitureStats) -> tuple[int, int]:
    """How many rows at the top and at the bottom of a page are furniture."""
    if not stats.patterns and not stats.slots:
        return 0, 0
    if page.furniture_rows is not None:
        return page.furniture_rows
    rows = list_edge_rows(page)
    headers = _count([row for row in rows if row.edge == "header"], page.height, stats)
    footers = _count([row for row in rows if row.edge == "footer"], page.height, stats)
    page.furniture_rows = headers, min(footers, len(page.rows) - headers)
    return page.furniture_rows


def _count(inwards: Sequence[EdgeRow], height: float, stats: FurnitureStats) -> int:
    """How many rows at one edge are furniture. There is a gap between the last of them and the text."""
    count = 0
    for index, row in enumerate(inwards):
        is_known = (row.edge, row.pattern) in stats.patterns and not _is_numbered_heading(row, stats.size_max)
        if not is_known and (index or not _is_in_slot(row, height, stats)):
            break
        if row.gap > GAP_SHARE * row.size:
            count = index + 1
    return count


def _is_in_slot(row: EdgeRow, height: float, stats: FurnitureStats) -> bool:
    return _is_set_apart(row, height, stats.size_max) and any(
        row.edge == edge and abs(row.middle - middle) <= 1.5 * SLOT_POINTS for edge, middle in stats.slots
    )
