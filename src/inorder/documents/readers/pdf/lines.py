"""Merges segments into lines, and lines into running text.

Segments at the same height form a row. Within one column a row is a line: its segments from left to right, or from
right to left in such scripts. Joining lines undoes line breaking: a hyphen that only divides a word is removed, one
that belongs to the word stays, and no space is inserted between characters of scripts without spaces.
"""

import re
from collections.abc import Sequence
from itertools import pairwise
from operator import attrgetter, lt

from inorder.documents.readers.unicode import is_cjk, is_right_to_left

from .segments import MONO_WIDTH, Row, Segment

TOUCHING_SHARE = 0.12
"""A smaller segment that is nearer than this share of its size belongs to the word before it: the 2 in H2O."""

_LAST_WORD = re.compile(r"[^\W\d_]+$")
_FIRST_WORD = re.compile(r"[^\W\d_]+")
_HYPHENS = ("-", "\u2010")
_OPEN_ENDS = (",", ";", "\u2019", "'", '"', ")")
_KEEPS_HYPHEN = frozenset(("self", "well", "cross", "half", "ex", "so", "vice", "e"))

by_left = attrgetter("x0")


def group_rows(segments: Sequence[Segment]) -> list[Row]:
    """Group segments into rows from top to bottom; each row is sorted from left to right."""
    ordered = sort_by_top(segments)
    if not any(map(lt, [segment.top for segment in ordered[1:]], [segment.bottom for segment in ordered])):
        return [[segment] for segment in ordered]
    rows: list[Row] = []
    row: Row = []
    top, bottom = 0.0, float("-inf")
    for segment in ordered:
        its_top, its_bottom = segment.top, segment.bottom
        if its_top < bottom and segment.table is None:
            size, height = its_bottom - its_top, bottom - top
            shared = (its_bottom if its_bottom < bottom else bottom) - its_top
            if shared > 0.5 * (size if size < height else height):
                row.append(segment)
                if size > height:
                    top, bottom = its_top, its_bottom
                continue
        row = [segment]
        rows.append(row)
        top, bottom = its_top, its_bottom if segment.table is None else float("-inf")
    for row in rows:
        if len(row) > 1:
            row.sort(key=by_left)
    return rows


def sort_by_top(segments: Sequence[Segment]) -> Sequence[Segment]:
    """The segments from top to bottom. Often they are in this order."""
    return sorted(segments, key=attrgetter("top"))


def merge_row(row: Row) -> Segment:
    """Merge the segments of a row into one line."""
    if len(row) == 1:
        return row[0]
    if is_right_to_left("".join([segment.text for segment in row])):
        row = row[::-1]
    main = max(row, key=lambda segment: len(segment.text))
    text = row[0].text
    for before, segment in pairwise(row):
        text += _separator(before, segment) + segment.text
    x0, x1 = min([segment.x0 for segment in row]), max([segment.x1 for segment in row])
    bold, mono = all(segment.is_bold for segment in row), all(segment.is_mono for segment in row)
    order = row[0].order
    return Segment(text, x0, main.top, x1, main.bottom, main.size, bold, mono, main.direction, order, face=main.face)


def _separator(before: Segment, segment: Segment) -> str:
    gap = max(segment.x0 - before.x1, before.x0 - segment.x1)
    if before.is_mono and segment.is_mono:
        return " " * max(1, round(gap / (MONO_WIDTH * segment.size)))
    is_raised = abs(before.size - segment.size) > 0.1 * segment.size
    return "" if is_raised and abs(gap) < TOUCHING_SHARE * segment.size else " "


def join_lines(lines: Sequence[str], page_text: str = "") -> str:
    """Join the lines of one paragraph. Words elsewhere in `page_text` show which hyphens belong to a word."""
    whole = " ".join(lines)
    if whole.isascii() and "- " not in whole:
        return whole
    whole = lines[0]
    for line in lines[1:]:
        whole = join_text(whole, line, page_text)
    return whole


def join_text(before: str, after: str, page_text: str = "") -> str:
    """Join two consecutive pieces of running text."""
    if not before or not after:
        return before or after
    last, first = before[-1], after[0]
    if last in _HYPHENS and len(before) > 1:
        if before[-2].isalpha() and first.islower():
            return (before if _is_hard_hyphen(before, after, page_text) else before[:-1]) + after
        if before[-2].isalnum() and first.isalnum():
            return before + after
    if is_cjk(last) and is_cjk(first):
        return before + after
    return f"{before} {after}"


def _is_hard_hyphen(before: str, after: str, page_text: str) -> bool:
    """Whether the hyphen at the end of a line belongs to the word."""
    last = before[before.rfind(" ") + 1 : -1]
    left, right = _LAST_WORD.search(last), _FIRST_WORD.match(after)
    if left is None or right is None:
        return True
    if left.group().lower() in _KEEPS_HYPHEN or last[: left.start()].endswith(_HYPHENS):
        return True
    return f"{left.group()}-{right.group()}" in page_text


def is_continued(before: str, after: str) -> bool:
    """Whether a paragraph clearly continues after the end of a column or page.

    A piece of a single word is not joined: whether its hyphen stays would depend on the piece it is joined to first,
    and pages that are read separately would give another result than the whole document.
    """
    return " " in before and _is_open(before) and after[:1].islower() and (" " in after or not _is_open(after))


def _is_open(text: str) -> bool:
    """Whether a text ends in the middle of a sentence."""
    last = text[-1:]
    return text[-2:-1].isalpha() if last in _HYPHENS else last.isalnum() or last in _OPEN_ENDS
