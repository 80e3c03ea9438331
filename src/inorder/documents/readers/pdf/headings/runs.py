"""Runs: lines of one style that directly follow each other on a page.

A style is a size, a font, a weight, and whether all letters are capitals.
"""

import re
from collections.abc import Iterable

import msgspec

from inorder.documents.readers.pdf.formulas import is_formula
from inorder.documents.readers.pdf.segments import PageText, Segment

from .captions import CAPTION
from .leads import split_lead
from .numbering import Number, is_number_alone, parse_number
from .outline import PageOutline

SIZE_STEP = 0.5
LINES_MAX = 4
CHARACTERS_MAX = 200
SMALL_CAPITALS_SHARE = 0.72
CAPITALS_MIN = 4

_TWO_LETTERS = re.compile(r"[\W\d_]*[^\W\d_][\W\d_]*[^\W\d_]")

StyleKey = tuple[float, str, bool, bool]
"""Size, font, whether it is bold, and whether all letters are capitals."""


class Run(msgspec.Struct, gc=False):
    """Lines of one style that directly follow each other."""

    key: StyleKey
    page: int
    first: Segment
    text: str
    """The text of the first lines."""
    gap_before: float
    """Distance to what is above, in points; infinite at the top of a column."""
    gap_after: float = float("inf")
    line_count: int = 1
    is_short: bool = False
    """Whether it may be a heading by its text alone."""
    number: Number | None = None
    level: int = -1
    """By the outline; -1 if it is not in the outline."""

    def append(self, text: str) -> None:
        """Add a line."""
        self.line_count += 1
        if len(self.text) <= CHARACTERS_MAX:
            self.text = f"{self.text} {text}"


def _is_short(run: Run) -> bool:
    """Whether a run may be a heading by its text alone."""
    text = run.text
    if not (run.line_count <= LINES_MAX and 2 <= len(text) <= CHARACTERS_MAX):
        return False
    if text[0].islower() or text.endswith((",", ";", ":", "-")) or (text.endswith(".") and len(text) >= 40):
        return False
    return bool(_TWO_LETTERS.match(text)) and not CAPTION.match(text) and not is_formula(text)


def is_capitals(text: str) -> bool:
    """Whether all letters are capitals, and there are several."""
    return text.isupper() and sum(map(str.isalpha, text)) >= CAPITALS_MIN


def style_key(line: Segment, body_size: float) -> StyleKey:
    """The style of a line. Small capitals count as large as the text."""
    size, text = round(line.size / SIZE_STEP) * SIZE_STEP, line.text
    capitals = text.isupper() and is_capitals(text)
    if capitals and SMALL_CAPITALS_SHARE * body_size <= size <= body_size:
        size = body_size
    return size, line.face, line.is_bold, capitals


def collect_runs(page: PageText, furniture: set[int], body: StyleKey) -> list[Run]:
    """The runs of a page in draw order. `furniture` has the positions of segments that are left out.

    Whether a run is short is not determined for runs in the style of the text, which are no headings by their style.
    """
    segments = [segment for segment in page.segments if not segment.direction and segment.order not in furniture]
    if [segment for segment in segments if segment.lead is not None]:
        segments = [part for segment in segments for part in split_lead(segment)]
    if not segments:
        return []
    before, body_size = segments[0], body[0]
    run = Run(style_key(before, body_size), page.number, before, before.text, float("inf"))
    runs = [run]
    for segment in segments[1:]:
        key = style_key(segment, body_size)
        if _is_same_run(run, before, segment, key):
            if is_number_alone(run.text):
                run.key = key
            run.append(segment.text)
        else:
            is_far_beside = _is_beside(before, segment) and segment.x0 - before.x1 >= 3 * segment.size
            run.gap_after = gap = float("inf") if is_far_beside else _measure_gap(before, segment)
            run = Run(key, page.number, segment, segment.text, gap)
            runs.append(run)
        before = segment
    for run in runs:
        run.number = parse_number(run.text)
        if run.key != body:
            run.is_short = _is_short(run)
    return runs


def _is_same_run(run: Run, before: Segment, segment: Segment, key: StyleKey) -> bool:
    if _is_beside(before, segment):
        is_near = -1 < segment.x0 - before.x1 < 3 * segment.size
        return is_near and run.key[1:3] == key[1:3] and is_number_alone(run.text)
    if run.key != key:
        return False
    is_below = -0.5 * segment.size < segment.top - before.bottom < 0.6 * segment.size
    return is_below and segment.x0 < before.x1 and before.x0 < segment.x1 and parse_number(segment.text) is None


def _is_beside(before: Segment, segment: Segment) -> bool:
    return abs(segment.bottom - before.bottom) < 1


def _measure_gap(before: Segment, segment: Segment) -> float:
    """The distance of a segment to the one before, if that is above; infinite otherwise."""
    if segment.top < before.top or segment.x0 > before.x1 or before.x0 > segment.x1:
        return float("inf")
    return segment.top - before.bottom


def match_outline(runs: Iterable[Run], outline: PageOutline) -> None:
    """Mark the runs of a page that the outline names."""
    if not outline:
        return
    for run in runs:
        count, level = outline.match([run.text])
        if count and not run.text[0].islower():
            run.level = level
