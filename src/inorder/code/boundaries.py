"""Where a long range of lines can be split: between statements if the file was parsed, else after empty lines.

A boundary is a line on which a syntax node begins, with the depth of the node. A range is split at the shallowest
boundary within the limits, so a function is split between its own statements, and within a statement only if that is
too long itself.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from .source import Source

if TYPE_CHECKING:
    from tree_sitter import Node

BYTES_MAX = 6000
"""Size limit of a chunk, unless it is a single line: about as much as a model embeds well."""
_FILLED_SHARE_MIN = 3
"""A chunk is not split off before it has a third of the lines that it may have. This avoids tiny chunks."""
_AFTER_EMPTY_LINE = re.compile(rb"^[ \t]*\r?\n([ \t]*)(?=[^\s])", re.MULTILINE)

Boundaries = tuple[list[int], list[int]]
"""Line numbers in ascending order, and the depth of each."""


def find_tree_boundaries(root: "Node", source: Source, lines_max: int, ranges: Sequence[tuple[int, int]]) -> Boundaries:
    """The first lines of the parts of every node that is too long for one chunk and has lines in one of these ranges.
    They are in ascending order."""
    depths: dict[int, int] = {}
    range_ends = [last for _, last in ranges]
    stack = [(root, 0)]
    while stack:
        node, depth = stack.pop()
        is_after_comment = False
        for child in node.children:
            first = source.line_of(child.start_byte)
            last = source.line_of(max(child.start_byte, child.end_byte - 1))
            is_comment = child.is_extra
            if child.is_named and not is_after_comment:
                depths.setdefault(first, depth)
            is_after_comment = is_comment
            if last - first >= lines_max or source.bytes_of(first, last) > BYTES_MAX:
                at = bisect_left(range_ends, first)
                if at < len(ranges) and ranges[at][0] <= last:
                    stack.append((child, depth + 1))
    lines = sorted(depths)
    return lines, [depths[line] for line in lines]


def find_line_boundaries(source: Source) -> Boundaries:
    """The lines after empty lines. The indentation is the depth."""
    lines, depths = [], []
    for match in _AFTER_EMPTY_LINE.finditer(source.data):
        lines.append(source.line_of(match.start(1)))
        depths.append(len(match.group(1)))
    return lines, depths


def split_range(
    first: int, last: int, lines_max: int, source: Source, boundaries: Boundaries
) -> Iterator[tuple[int, int]]:
    """Split these lines into ranges within the limits of lines and bytes."""
    lines, depths = boundaries
    while first <= last:
        end = _find_last_line(first, last, lines_max, source)
        if end < last:
            nearest = first + max(1, (end - first + 1) // _FILLED_SHARE_MIN)
            low, high = bisect_left(lines, nearest), bisect_right(lines, end + 1)
            if low < high:
                best = min(range(low, high), key=lambda at: (depths[at], -at))
                end = lines[best] - 1
        yield first, end
        first = end + 1


def _find_last_line(first: int, last: int, lines_max: int, source: Source) -> int:
    """The last line that may be in one chunk with `first`."""
    by_bytes = bisect_right(source.starts, source.starts[first - 1] + BYTES_MAX) - 1
    return max(first, min(last, first + lines_max - 1, by_bytes))
