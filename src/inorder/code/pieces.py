"""Divide the lines of a file among its definitions.

Every line belongs to the innermost enclosing definition that has a chunk of its own: a class keeps its head and what is
between its methods. Functions, and short definitions of any kind, stay whole with everything that is nested in them.
If they are too long for one chunk, nested definitions get chunks of their own.

A piece that is too long is split. A piece that is too small is joined to a neighbour with the same parent: first small
neighbours to each other, then the rest to the smaller neighbour. A closing bracket stays with what it closes.

This is compiled (`_pieces.c`). Where inorder was built without a C compiler, `python_pieces` does the same.
"""

from functools import partial
from typing import TYPE_CHECKING

from .boundaries import BYTES_MAX, find_line_boundaries, find_tree_boundaries, split_range
from .python_definitions import Definition
from .python_pieces import LineGroup, LineLimits, LineRange, LongPiece
from .source import Source

try:
    from ._pieces import group_lines as _group_lines
except ImportError:
    from .python_pieces import group_lines as _group_lines

if TYPE_CHECKING:
    from tree_sitter import Node

LIMITS = LineLimits(lines_max=120, loose_lines_max=60, whole_lines_max=20, small_lines=5, bytes_max=BYTES_MAX)
_FUNCTION_KINDS = frozenset(("function", "method", "constructor"))


def group_lines(source: Source, definitions: list[Definition], root: "Node | None") -> list[LineGroup]:
    """Divide all lines of a file into groups. Each group becomes one chunk. A file without a tree is split after empty
    lines."""
    split = partial(_split_long, source, root)
    return _group_lines(definitions, source.starts, source.data, split, _FUNCTION_KINDS, LIMITS)


def _split_long(source: Source, root: "Node | None", pieces: list[LongPiece]) -> list[list[LineRange]]:
    """Split pieces that are too long for one chunk."""
    ranges = [(first, last) for first, last, _ in pieces]
    boundaries = (
        find_line_boundaries(source)
        if root is None
        else find_tree_boundaries(root, source, LIMITS.loose_lines_max, ranges)
    )
    return [
        list(split_range(first, last, LIMITS.lines_max if has_owner else LIMITS.loose_lines_max, source, boundaries))
        for first, last, has_owner in pieces
    ]
