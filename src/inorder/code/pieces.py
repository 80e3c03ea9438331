"""Divide the lines of a file among its definitions.

Every line belongs to the innermost enclosing definition that has a chunk of its own: a class keeps its head and what is
between its methods. Functions, and short definitions of any kind, stay whole with everything that is nested in them.
If they are too long for one chunk, nested definitions get chunks of their own.

A piece that is too long is split. A piece that is too small is joined to a neighbour with the same parent: first small
neighbours to each other, then the rest to the smaller neighbour. A closing bracket stays with what it closes.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from .boundaries import BYTES_MAX, Boundaries, find_line_boundaries, find_tree_boundaries, split_range
from .captures import Definition
from .source import Source

if TYPE_CHECKING:
    from tree_sitter import Node

LINES_MAX = 120
"""Limit for a chunk that is a definition or a part of one."""
LOOSE_LINES_MAX = 60
"""Limit for other chunks, and for several definitions in one chunk."""
WHOLE_LINES_MAX = 20
"""A class of up to this many lines is one chunk together with its methods."""
SMALL_LINES = 5
"""A piece with fewer lines is joined to a neighbour if possible."""
_FUNCTION_KINDS = frozenset(("function", "method", "constructor"))
_WORD_CHARACTER = re.compile(rb"[\w\x80-\xff]")


class CodePiece(NamedTuple):
    """Consecutive lines with one owner."""

    first: int
    last: int
    owner: Definition | None
    parent: Definition | None
    """The definition that encloses the owner; or the owner, for lines between the definitions that it encloses."""

    @property
    def line_count(self) -> int:
        """The number of lines."""
        return self.last - self.first + 1


PieceGroup = list[CodePiece]
"""The pieces of one chunk."""


def group_lines(source: Source, definitions: Sequence[Definition], root: "Node | None") -> list[PieceGroup]:
    """Divide all lines of a file into groups. Each group becomes one chunk."""
    if not source.line_count:
        return []
    pieces = _split_long(list(_divide(source, definitions)), source, root)
    return _join_remaining(_join_small(pieces, source), source)


def _is_open(definition: Definition, source: Source) -> bool:
    """Whether definitions that it encloses may own lines."""
    first, last = definition.line, definition.last_line
    whole_lines_max = LINES_MAX if definition.kind in _FUNCTION_KINDS else WHOLE_LINES_MAX
    return last - first >= whole_lines_max or source.bytes_of(first, last) > BYTES_MAX


def _divide(source: Source, definitions: Iterable[Definition]) -> Iterator[CodePiece]:
    """Divide the file from top to bottom. A line that two definitions share belongs to the first one."""
    line = 1
    stack: list[Definition] = []
    for definition in definitions:
        if not definition.has_chunk:
            continue
        first = max(line, definition.leading_line)
        while stack and stack[-1].last_line < first:
            owner = stack.pop()
            if line <= owner.last_line:
                yield CodePiece(line, owner.last_line, owner, owner)
                line = owner.last_line + 1
        if definition.last_line < first:
            continue
        parent = stack[-1] if stack else None
        if line < first:
            yield CodePiece(line, first - 1, parent, parent)
            line = first
        if _is_open(definition, source):
            stack.append(definition)
        else:
            yield CodePiece(line, definition.last_line, definition, parent)
            line = definition.last_line + 1
    while stack:
        owner = stack.pop()
        if line <= owner.last_line:
            yield CodePiece(line, owner.last_line, owner, owner)
            line = owner.last_line + 1
    if line <= source.line_count:
        yield CodePiece(line, source.line_count, None, None)


def _split_long(pieces: Sequence[CodePiece], source: Source, root: "Node | None") -> Iterable[CodePiece]:
    long = [(piece.first, piece.last) for piece in pieces if _is_long(piece, source)]
    if not long:
        return pieces
    boundaries = (
        find_line_boundaries(source) if root is None else find_tree_boundaries(root, source, LOOSE_LINES_MAX, long)
    )
    return chain.from_iterable(
        _split(piece, source, boundaries) if _is_long(piece, source) else (piece,) for piece in pieces
    )


def _is_long(piece: CodePiece, source: Source) -> bool:
    first, last, owner, _ = piece
    lines_max = LOOSE_LINES_MAX if owner is None else LINES_MAX
    return last - first >= lines_max or source.bytes_of(first, last) > BYTES_MAX


def _split(piece: CodePiece, source: Source, boundaries: Boundaries) -> Iterator[CodePiece]:
    lines_max = LOOSE_LINES_MAX if piece.owner is None else LINES_MAX
    for first, last in split_range(piece.first, piece.last, lines_max, source, boundaries):
        yield CodePiece(first, last, piece.owner, piece.owner)


def _join_small(pieces: Iterable[CodePiece], source: Source) -> list[PieceGroup]:
    """Join small neighbours to each other, and closing brackets to what precedes them."""
    groups: list[PieceGroup] = []
    are_small = False
    for piece in pieces:
        is_small = piece.line_count < SMALL_LINES
        if groups and (
            _is_closing(groups[-1], piece, source)
            or (is_small and are_small and _can_append(groups[-1], piece, source))
        ):
            groups[-1].append(piece)
        else:
            groups.append([piece])
            are_small = is_small
    return groups


def _can_append(group: PieceGroup, piece: CodePiece, source: Source) -> bool:
    return group[0].parent is piece.parent and _is_within_limits(group[0].first, piece.last, LOOSE_LINES_MAX, source)


def _is_closing(group: PieceGroup, piece: CodePiece, source: Source) -> bool:
    """Whether the piece is blank, or contains only brackets."""
    line_count = piece.last - group[0].first + 1
    start, end = source.starts[piece.first - 1], source.starts[piece.last]
    return line_count <= LINES_MAX + LOOSE_LINES_MAX and not _WORD_CHARACTER.search(source.data, start, end)


def _join_remaining(groups: Sequence[PieceGroup], source: Source) -> list[PieceGroup]:
    """Join what is still small to the smaller of its neighbours."""
    joined: list[PieceGroup] = []
    for at, group in enumerate(groups):
        before = joined[-1] if joined and _can_join(joined[-1], group, source) else None
        after = groups[at + 1] if at + 1 < len(groups) and _can_join(group, groups[at + 1], source) else None
        if before is None or (_is_small(group) and not _is_small(before) and _is_smaller(after, before)):
            joined.append(list(group))
        else:
            before.extend(group)
    return joined


def _can_join(one: PieceGroup, other: PieceGroup, source: Source) -> bool:
    return (
        (_is_small(one) or _is_small(other))
        and one[0].parent is other[0].parent
        and _is_within_limits(one[0].first, other[-1].last, LINES_MAX, source)
    )


def _is_small(group: PieceGroup) -> bool:
    return group[-1].last - group[0].first + 1 < SMALL_LINES


def _is_smaller(one: PieceGroup | None, other: PieceGroup) -> bool:
    return one is not None and one[-1].last - one[0].first < other[-1].last - other[0].first


def _is_within_limits(first: int, last: int, lines_max: int, source: Source) -> bool:
    return last - first < lines_max and source.bytes_of(first, last) <= BYTES_MAX
