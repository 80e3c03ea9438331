"""Finds numbers of lines in the margin of a page: manuscripts and court papers have them."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import compress, pairwise
from operator import attrgetter

from inorder.documents.readers.pdf.segments import Segment

NUMBERS_MIN = 5
DIGITS_MAX = 4
TEXT_CHARACTERS_MIN = 20
"""Lines with fewer characters do not show where the text begins."""
EDGE_POINTS = 2.0
COUNTING_SHARE = 0.8

_text_of = attrgetter("text")


def find_line_numbers(segments: Sequence[Segment]) -> list[Segment]:
    """The segments that number lines: beside the text, one below the other, and counting."""
    is_number = list(map(str.isdecimal, map(_text_of, segments)))
    if sum(is_number) < NUMBERS_MIN:
        return []
    numbers = [segment for segment in compress(segments, is_number) if len(segment.text) <= DIGITS_MAX]
    if len(numbers) < NUMBERS_MIN:
        return []
    lines = [segment for segment in segments if len(segment.text) >= TEXT_CHARACTERS_MIN and not segment.direction]
    if not lines:
        return []
    left, right = min([line.x0 for line in lines]), max([line.x1 for line in lines])
    found: list[Segment] = []
    for side in (
        [number for number in numbers if number.x1 < left],
        [number for number in numbers if number.x0 > right],
    ):
        found += _find_counting(side)
    return found


def _find_counting(numbers: Iterable[Segment]) -> list[Segment]:
    """The numbers with a common edge, if they count from top to bottom."""
    edges: defaultdict[int, list[Segment]] = defaultdict(list)
    for number in numbers:
        edges[round(number.x1 / EDGE_POINTS)].append(number)
    place = max(edges, key=lambda edge: len(edges[edge]), default=0)
    column = sorted(edges[place - 1] + edges[place] + edges[place + 1], key=lambda number: number.top)
    if len(column) < NUMBERS_MIN:
        return []
    steps = [int(after.text) - int(before.text) for before, after in pairwise(column)]
    usual = max(set(steps), key=lambda step: (steps.count(step), -step))
    return column if usual > 0 and steps.count(usual) >= COUNTING_SHARE * len(steps) else []
