"""Divide the lines of a file among its definitions.

Every line belongs to the innermost enclosing definition that has a chunk of its own: a class keeps its head and what is
between its methods. Functions, and short definitions of any kind, stay whole with everything that is nested in them.
If they are too long for one chunk, nested definitions get chunks of their own.

A piece that is too long is split. A piece that is too small is joined to a neighbour with the same parent: first small
neighbours to each other, then the rest to the smaller neighbour. A closing bracket stays with what it closes.
"""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from .boundaries import BYTES_MAX, find_line_boundaries, find_tree_boundaries, split_range
from .definitions import Definition
from .source import Source

if TYPE_CHECKING:
    from tree_sitter import Node

LineGroup = tuple[int, int, Definition | None, list[Definition], Definition | None]
"""The lines of one chunk: first and last line, the definition that it is named after, the definitions that it is named
after if they are several, and the one that encloses them."""
_LINES_MAX = 120
"""Limit for a chunk that is a definition or a part of one."""
_LOOSE_LINES_MAX = 60
"""Limit for other chunks, and for several definitions in one chunk."""
_WHOLE_LINES_MAX = 20
"""A class of up to this many lines is one chunk together with its methods."""
_SMALL_LINES = 5
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


def group_lines(source: Source, definitions: Sequence[Definition], root: "Node | None") -> list[LineGroup]:
    """Divide all lines of a file into groups. Each group becomes one chunk. A file without a tree is split after empty
    lines."""
    return _LineDivider(source, root).group(definitions)


class _LineDivider:
    """Divides the lines of one file."""

    def __init__(self, source: Source, root: "Node | None") -> None:
        self._source = source
        self._root = root
        self._starts = source.starts

    def group(self, definitions: Sequence[Definition]) -> list[LineGroup]:
        """Divide all lines into groups."""
        if not self._source.line_count:
            return []
        pieces = self._split_long(list(self._divide(definitions)))
        return [_name(group) for group in self._join_remaining(self._join_small(pieces))]

    def _divide(self, definitions: Sequence[Definition]) -> Iterator[CodePiece]:
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
            if self._is_open(definition):
                stack.append(definition)
            else:
                yield CodePiece(line, definition.last_line, definition, parent)
                line = definition.last_line + 1
        while stack:
            owner = stack.pop()
            if line <= owner.last_line:
                yield CodePiece(line, owner.last_line, owner, owner)
                line = owner.last_line + 1
        if line < len(self._starts):
            yield CodePiece(line, len(self._starts) - 1, None, None)

    def _is_open(self, definition: Definition) -> bool:
        """Whether definitions that it encloses may own lines."""
        lines_max = _LINES_MAX if definition.kind in _FUNCTION_KINDS else _WHOLE_LINES_MAX
        return not self._is_within_limits(definition.line, definition.last_line, lines_max)

    def _split_long(self, pieces: list[CodePiece]) -> list[CodePiece]:
        """Split the pieces that are too long for one chunk."""
        longs = [(piece.first, piece.last) for piece in pieces if self._is_long(piece)]
        if not longs:
            return pieces
        source = self._source
        boundaries = (
            find_line_boundaries(source)
            if self._root is None
            else find_tree_boundaries(self._root, source, _LOOSE_LINES_MAX, longs)
        )
        parts: list[CodePiece] = []
        for piece in pieces:
            if self._is_long(piece):
                ranges = split_range(piece.first, piece.last, _get_lines_max(piece), source, boundaries)
                parts += (CodePiece(first, last, piece.owner, piece.owner) for first, last in ranges)
            else:
                parts.append(piece)
        return parts

    def _is_long(self, piece: CodePiece) -> bool:
        return not self._is_within_limits(piece.first, piece.last, _get_lines_max(piece))

    def _join_small(self, pieces: Sequence[CodePiece]) -> list[PieceGroup]:
        """Join small neighbours to each other, and closing brackets to what precedes them."""
        groups: list[PieceGroup] = []
        are_small = False
        for piece in pieces:
            is_small = piece.line_count < _SMALL_LINES
            if groups and (
                self._is_closing(groups[-1], piece) or (is_small and are_small and self._can_append(groups[-1], piece))
            ):
                groups[-1].append(piece)
            else:
                groups.append([piece])
                are_small = is_small
        return groups

    def _can_append(self, group: PieceGroup, piece: CodePiece) -> bool:
        is_within = self._is_within_limits(group[0].first, piece.last, _LOOSE_LINES_MAX)
        return group[0].parent is piece.parent and is_within

    def _is_closing(self, group: PieceGroup, piece: CodePiece) -> bool:
        """Whether the piece is blank, or contains only brackets."""
        line_count = piece.last - group[0].first + 1
        start, end = self._starts[piece.first - 1], self._starts[piece.last]
        is_short = line_count <= _LINES_MAX + _LOOSE_LINES_MAX
        return is_short and not _WORD_CHARACTER.search(self._source.data, start, end)

    def _join_remaining(self, groups: Sequence[PieceGroup]) -> list[PieceGroup]:
        """Join what is still small to the smaller of its neighbours."""
        joined: list[PieceGroup] = []
        for at, group in enumerate(groups):
            before = joined[-1] if joined and self._can_join(joined[-1], group) else None
            after = groups[at + 1] if at + 1 < len(groups) and self._can_join(group, groups[at + 1]) else None
            if before is None or (_is_small(group) and not _is_small(before) and _is_smaller(after, before)):
                joined.append(list(group))
            else:
                before.extend(group)
        return joined

    def _can_join(self, one: PieceGroup, other: PieceGroup) -> bool:
        return (
            (_is_small(one) or _is_small(other))
            and one[0].parent is other[0].parent
            and self._is_within_limits(one[0].first, other[-1].last, _LINES_MAX)
        )

    def _is_within_limits(self, first: int, last: int, lines_max: int) -> bool:
        size = self._starts[last] - self._starts[first - 1]
        return last - first < lines_max and size <= BYTES_MAX


def _name(group: PieceGroup) -> LineGroup:
    """Find the definitions that a group is named after: that of its largest piece, or all if each is small."""
    largest = max(group, key=lambda piece: piece.line_count)
    defined = [piece.owner for piece in group if piece.owner is not None and piece.owner is not piece.parent]
    are_small = largest.line_count < _SMALL_LINES
    owner = defined[0] if len(defined) == 1 and are_small else largest.owner
    several = defined if len(defined) > 1 and are_small else []
    return group[0].first, group[-1].last, owner, several, group[0].parent


def _get_lines_max(piece: CodePiece) -> int:
    return _LOOSE_LINES_MAX if piece.owner is None else _LINES_MAX


def _is_small(group: PieceGroup) -> bool:
    return group[-1].last - group[0].first + 1 < _SMALL_LINES


def _is_smaller(one: PieceGroup | None, other: PieceGroup) -> bool:
    return one is not None and one[-1].last - one[0].first < other[-1].last - other[0].first
