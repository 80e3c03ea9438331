"""Removes the numbers of the lines of listings: they count at one edge, with code to the right of most of them.

A listing of a single line is recognised if a longer one on the same page has its numbers at the same edge.
"""

import re
from collections.abc import Iterator, Sequence

import msgspec

from inorder.documents.readers.pdf.coordinates import SegmentReader
from inorder.documents.readers.pdf.lines import group_rows
from inorder.documents.readers.pdf.segments import MONO_WIDTH, Segment

LINES_MIN = 3
SAME_EDGE_POINTS = 3.0

_NUMBER = re.compile(r"(\d{1,4})(?: +|$)")


class ListingLine(msgspec.Struct, frozen=True):
    """A line that begins with a number."""

    number: int
    edge: float
    """Where the number ends."""
    segment: Segment
    length: int
    """Characters up to the code; 0 if the number is a segment by itself."""
    has_code: bool


def remove_listing_numbers(reader: SegmentReader, segments: list[Segment]) -> list[Segment]:
    """The segments of a page without the numbers of lines of code."""
    if not any(segment.is_mono and not segment.direction for segment in segments):
        return segments
    runs = list(_find_runs([segment for segment in segments if not segment.direction]))
    certain = [run for run in runs if len(run) >= LINES_MIN and 2 * sum(line.has_code for line in run) >= len(run)]
    if not certain:
        return segments
    edges = [run[0].edge for run in certain]
    certain += [
        run
        for run in runs
        if len(run) < LINES_MIN
        and run[0].number == 1
        and run[0].has_code
        and any(abs(run[0].edge - edge) < SAME_EDGE_POINTS for edge in edges)
    ]
    found = {line.segment.span: line for run in certain for line in run}
    glued = [(line.segment.span[0] + line.length, line.segment.span[1]) for line in found.values() if line.length]
    codes = reader.read(glued, [reader.text[start : last + 1] for start, last in glued])
    kept = [segment for segment in segments if segment.span not in found] + codes
    return sorted(kept, key=lambda segment: segment.span)


def _find_runs(segments: Sequence[Segment]) -> Iterator[list[ListingLine]]:
    """Lines that count, with lines between them that go on to the right of the numbers."""
    run: list[ListingLine] = []
    for row in group_rows(segments):
        line = _find_number(row)
        if line is None:
            if run and row[0].x0 < run[-1].edge:
                yield run
                run = []
            continue
        if run and (line.number != run[-1].number + 1 or abs(line.edge - run[-1].edge) > SAME_EDGE_POINTS):
            yield run
            run = []
        run.append(line)
    if run:
        yield run


def _find_number(row: Sequence[Segment]) -> ListingLine | None:
    first = row[0]
    match = _NUMBER.match(first.text)
    if match is None or len(first.text) > first.span[1] - first.span[0] + 1:
        return None
    length = match.end()
    if length < len(first.text):
        edge = first.x0 + match.end(1) * MONO_WIDTH * first.size
        return ListingLine(int(match.group(1)), edge, first, length, has_code=True) if first.is_mono else None
    return ListingLine(int(match.group(1)), first.x1, first, 0, has_code=len(row) > 1 and row[1].is_mono)
