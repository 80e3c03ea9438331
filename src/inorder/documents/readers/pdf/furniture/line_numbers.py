"""Finds numbers of lines in the margin of a page: manuscripts, drafts and court papers have them.

They stand beside the text, at a common edge, and count. Every line has one, or every fifth. Numbered lists and the
first column of a table count too: either some of their lines have no number, or their numbers are as large as the text
and no line begins in the middle of a sentence. A number that was drawn together with its line is at the beginning or at
the end of a segment, which is split there.
"""

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from operator import attrgetter
from statistics import median_low
from typing import NamedTuple

from inorder.documents.readers.pdf.coordinates import SegmentReader
from inorder.documents.readers.pdf.segments import Segment, Span
from inorder.documents.readers.pdf.text import by_span, find_edges

NUMBERS_MIN = 5
SPARSE_NUMBERS_MIN = 3
"""Where not every line has a number."""
SPARSE_STEPS = (5, 10)
DIGITS_MAX = 4
TEXT_CHARACTERS_MIN = 20
"""Lines with fewer characters do not show where the text begins."""
EDGE_POINTS = 2.0
WIDTH_POINTS_MAX = 20.0
"""Of a number."""
COUNTING_SHARE = 0.8
OUTSIDE_SHARE = 0.9
"""Share of the lines that begin to the right of the numbers, or end to their left."""
NUMBERED_SHARE = 0.8
"""Share of the lines that have a number, unless only every fifth has one."""
GAP_SIZES = 0.45
"""Distance of a number to its line, in sizes. A space is less."""
BESIDE_SHARE = 0.5
"""Share of numbers with the text of a line next to them."""
SMALL_RATIO = 0.9
"""Size of numbers, compared with the text, that shows what they are."""
OPEN_SHARE = 0.15
"""Share of lines that begin in the middle of a sentence."""

_DIGITS = "0123456789"
_LEADING = re.compile(r"(\d{1,4})( )(?=\S)")
_TRAILING = re.compile(r"(?<=\S)( )(\d{1,4})$")


class MarginNumber(NamedTuple):
    """What may be the number of a line."""

    value: int
    x0: float
    x1: float
    middle: float
    place: int
    """Of its first or last digit in the text of the page."""
    segment: Segment
    cut: Span | None
    """Where the segment is split; None if it is only the number."""
    text_edge: float = 0.0
    """Where the text of a segment that is split begins, or ends."""


class NumberedLine(NamedTuple):
    """A line without its number."""

    x0: float
    x1: float
    middle: float
    size: float
    place: int
    """Of a character in the text of the page."""
    text: str


def remove_line_numbers(reader: SegmentReader, segments: list[Segment]) -> list[Segment]:
    """The segments of a page without numbers of lines, which may be on both sides."""
    ends = [segment for segment in segments if segment.text[0].isdigit() or segment.text[-1].isdigit()]
    if len(ends) < SPARSE_NUMBERS_MIN:
        return segments
    lines = [segment for segment in segments if len(segment.text) >= TEXT_CHARACTERS_MIN]
    if len(lines) < SPARSE_NUMBERS_MIN:
        return segments
    for is_left in (True, False):
        candidates = _find_candidates(ends, lines, is_left=is_left)
        if len(candidates) < SPARSE_NUMBERS_MIN:
            continue
        numbers = _collect_numbers(reader, candidates, is_left=is_left)
        if len(numbers) < SPARSE_NUMBERS_MIN:
            continue
        column = _find_column(numbers, is_left=is_left)
        if (
            column
            and _number_lines(reader, column, _list_lines(segments, numbers), is_left=is_left)
            and _is_beside_text(column, segments, is_left=is_left)
        ):
            segments = _remove(reader, segments, column, is_left=is_left)
            ends = [segment for segment in segments if segment.text[-1].isdigit()]
    return segments


def _find_candidates(ends: Iterable[Segment], lines: Sequence[Segment], *, is_left: bool) -> list[Segment]:
    """Segments that begin or end where most long lines do, or farther out."""
    edge = sorted([line.x0 if is_left else line.x1 for line in lines])[len(lines) // 2]
    if is_left:
        return [each for each in ends if each.text[0].isdigit() and each.x0 <= edge + WIDTH_POINTS_MAX]
    return [each for each in ends if each.text[-1].isdigit() and each.x1 >= edge - WIDTH_POINTS_MAX]


def _collect_numbers(reader: SegmentReader, segments: Iterable[Segment], *, is_left: bool) -> list[MarginNumber]:
    """The numbers at one side: alone, or at that end of a segment with a wide gap."""
    found: list[MarginNumber] = []
    glued: list[tuple[Segment, int, int]] = []
    for segment in segments:
        text, (start, last) = segment.text, segment.span
        if segment.direction or len(text) != last - start + 1:
            continue
        if text.isdecimal():
            if len(text) > DIGITS_MAX and text in _DIGITS:
                found += _separate_digits(reader, segment)
            elif len(text) <= DIGITS_MAX:
                middle = (segment.top + segment.bottom) / 2
                found.append(MarginNumber(int(text), segment.x0, segment.x1, middle, start, segment, None))
        elif match := (_LEADING.match(text) if is_left else _TRAILING.search(text)):
            number, space = (match.group(1), match.start(2)) if is_left else (match.group(2), match.start(1))
            glued.append((segment, int(number), start + space))
    if not glued or len(glued) + len(found) < SPARSE_NUMBERS_MIN or reader.page.rotation:
        return found
    left = reader.page.bounds[0]
    edges = find_edges(reader, [space for _, _, space in glued])
    for (segment, value, space), (end, begin) in zip(glued, edges, strict=True):
        if begin - end >= GAP_SIZES * segment.size:
            if is_left:
                x0, x1, text_edge = segment.x0, end - left, begin - left
            else:
                x0, x1, text_edge = begin - left, segment.x1, end - left
            middle = (segment.top + segment.bottom) / 2
            cut = space - 1, space + 1
            place = cut[0 if is_left else 1]
            found.append(MarginNumber(value, x0, x1, middle, place, segment, cut, text_edge))
    return found


def _separate_digits(reader: SegmentReader, segment: Segment) -> list[MarginNumber]:
    """The digits of a segment that are below one another: PDFium takes them for vertical text."""
    start, last = segment.span
    boxes = reader.page.boxes(reader.page.character_indices(range(start, last + 1)))
    if reader.page.rotation or any(before[3] < after[1] for before, after in pairwise(boxes)):
        return []
    left, _, _, top = reader.page.bounds
    return [
        MarginNumber(int(digit), x0 - left, x1 - left, top - (ceiling + floor) / 2, start + at, segment, None)
        for at, (digit, (x0, ceiling, x1, floor)) in enumerate(zip(segment.text, boxes, strict=True))
    ]


def _find_column(numbers: Sequence[MarginNumber], *, is_left: bool) -> list[MarginNumber]:
    """The most numbers with a common edge, from top to bottom; empty if they do not count."""
    found: list[MarginNumber] = []
    for edge in ("x1", "x0") if is_left else ("x0", "x1"):
        edges: defaultdict[int, list[MarginNumber]] = defaultdict(list)
        for number in numbers:
            edges[round(getattr(number, edge) / EDGE_POINTS)].append(number)
        place = max(edges, key=lambda edge: len(edges[edge]), default=0)
        column = sorted(edges[place - 1] + edges[place] + edges[place + 1], key=attrgetter("middle"))
        if len(column) > len(found) and _find_step(column):
            found = column
    return found


def _find_step(column: Sequence[MarginNumber]) -> int:
    """By how much the numbers increase from line to line; 0 if they do not count."""
    steps = Counter([after.value - before.value for before, after in pairwise(column)])
    usual = max(steps, key=lambda step: (steps[step], -step), default=0)
    if usual <= 0 or steps[usual] < COUNTING_SHARE * steps.total():
        return 0
    if usual in SPARSE_STEPS and not any(number.value % usual for number in column):
        return usual if len(column) >= SPARSE_NUMBERS_MIN else 0
    return usual if len(column) >= NUMBERS_MIN else 0


def _list_lines(segments: Iterable[Segment], numbers: Iterable[MarginNumber]) -> list[NumberedLine]:
    """The long lines of a page, without the numbers that are glued to them."""
    glued = {number.segment.order: number for number in numbers if number.cut is not None}
    found: list[NumberedLine] = []
    for segment in segments:
        if segment.direction or len(segment.text) < TEXT_CHARACTERS_MIN:
            continue
        x0, x1, text, number = segment.x0, segment.x1, segment.text, glued.get(segment.order)
        if number is not None and number.cut is not None:
            start = segment.span[0]
            if number.x0 <= x0:
                x0, text = number.text_edge, text[number.cut[1] - start :]
            else:
                x1, text = number.text_edge, text[: number.cut[0] - start + 1]
        place = sum(segment.span) // 2
        found.append(NumberedLine(x0, x1, (segment.top + segment.bottom) / 2, segment.size, place, text))
    return found


def _number_lines(
    reader: SegmentReader, column: Sequence[MarginNumber], lines: Sequence[NumberedLine], *, is_left: bool
) -> bool:
    """Whether these numbers are those of the lines."""
    first, last = column[0].middle, column[-1].middle
    lines = [line for line in lines if first - line.size < line.middle < last + line.size]
    if len(lines) < SPARSE_NUMBERS_MIN:
        return False
    edge = max(number.x1 for number in column) if is_left else min(number.x0 for number in column)
    outside = sum(line.x0 > edge if is_left else line.x1 < edge for line in lines)
    if outside < OUTSIDE_SHARE * len(lines):
        return False
    if _find_step(column) in SPARSE_STEPS:
        return True
    middles = [number.middle for number in column]
    numbered = sum(_is_near(line, middles) for line in lines)
    if numbered < NUMBERED_SHARE * len(lines):
        return False
    if sum(line.text[0].islower() for line in lines) >= OPEN_SHARE * len(lines):
        return True
    size = median_low(reader.font_sizes_at([line.place for line in lines]))
    return median_low(reader.font_sizes_at([number.place for number in column])) < SMALL_RATIO * size


def _is_beside_text(column: Sequence[MarginNumber], segments: Iterable[Segment], *, is_left: bool) -> bool:
    """Whether the text next to the numbers is that of lines, and nothing stands on their other side. In a table, there
    are cells."""
    taken = {number.segment.order for number in column if number.cut is None}
    rows: defaultdict[int, list[tuple[float, int]]] = defaultdict(list)
    middles = [number.middle for number in column]
    for segment in segments:
        if segment.direction or segment.order in taken:
            continue
        at = _find_nearest((segment.top + segment.bottom) / 2, middles)
        if abs(middles[at] - (segment.top + segment.bottom) / 2) < 0.5 * segment.size:
            rows[at].append((segment.x0 if is_left else -segment.x1, len(segment.text)))
    edges = [number.x0 if is_left else -number.x1 for number in column]
    inside = sum(min(row)[0] > edges[at] - EDGE_POINTS for at, row in rows.items())
    long = sum(min(row)[1] >= TEXT_CHARACTERS_MIN for row in rows.values())
    return inside >= OUTSIDE_SHARE * len(rows) and long >= BESIDE_SHARE * len(rows)


def _find_nearest(middle: float, middles: Sequence[float]) -> int:
    at = bisect_right(middles, middle)
    return min(range(max(0, at - 1), min(at + 1, len(middles))), key=lambda near: abs(middles[near] - middle))


def _is_near(line: NumberedLine, middles: Sequence[float]) -> bool:
    at = bisect_right(middles, line.middle)
    return any(abs(middle - line.middle) < 0.5 * line.size for middle in middles[max(0, at - 1) : at + 1])


def _remove(
    reader: SegmentReader, segments: Iterable[Segment], column: Iterable[MarginNumber], *, is_left: bool
) -> list[Segment]:
    """The segments without these numbers."""
    taken = {number.segment.order for number in column}
    found = [segment for segment in segments if segment.order not in taken]
    cut = [number for number in column if number.cut is not None]
    if cut:
        cut.sort(key=lambda number: number.segment.span)
        pieces, _ = reader.split([number.segment for number in cut], [number.cut for number in cut if number.cut])
        found += pieces[1 if is_left else 0 :: 2]
        found.sort(key=by_span)
    for order, segment in enumerate(found):
        segment.order = order
    return found
