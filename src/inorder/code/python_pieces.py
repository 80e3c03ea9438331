"""Divide the lines of a file in Python: the reference of the compiled function in `_pieces.c`; see `pieces`."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from .python_definitions import Definition
from .python_matches import Numbers

LineRange = tuple[int, int]
"""First and last line."""
LongPiece = tuple[int, int, bool]
"""First and last line of a piece that is too long, and whether it has an owner."""
LineGroup = tuple[int, int, Definition | None, bool, list[Definition], Definition | None]
"""The lines of one chunk: first and last line, the definition that it is named after, whether it has the first line of
that definition, the definitions that it is named after if they are several, and the one that encloses them."""
_WORD_CHARACTER = re.compile(rb"[\w\x80-\xff]")


class LineLimits(NamedTuple):
    """How long chunks are."""

    lines_max: int
    """Limit for a chunk that is a definition or a part of one."""
    loose_lines_max: int
    """Limit for other chunks, and for several definitions in one chunk."""
    whole_lines_max: int
    """A class of up to this many lines is one chunk together with its methods."""
    small_lines: int
    """A piece with fewer lines is joined to a neighbour if possible."""
    bytes_max: int


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


def group_lines(
    definitions: list[Definition],
    starts: Numbers,
    data: bytes,
    split: Callable[[list[LongPiece]], list[list[LineRange]]],
    function_kinds: frozenset[str],
    limits: LineLimits,
) -> list[LineGroup]:
    """Divide all lines of a file into groups. Each group becomes one chunk. `starts` has the start of every line and
    the end of the last one, `split` divides pieces that are too long, and definitions of `function_kinds` stay whole if
    they are not too long."""
    return _LineDivider(starts, data, function_kinds, limits).group(definitions, split)


class _LineDivider:
    """Divides the lines of one file."""

    def __init__(self, starts: Numbers, data: bytes, function_kinds: frozenset[str], limits: LineLimits) -> None:
        self._starts = starts
        self._data = data
        self._function_kinds = function_kinds
        self._limits = limits

    def group(
        self, definitions: list[Definition], split: Callable[[list[LongPiece]], list[list[LineRange]]]
    ) -> list[LineGroup]:
        """Divide all lines into groups."""
        if len(self._starts) < 2:
            return []
        pieces = self._split_long(list(self._divide(definitions)), split)
        return [self._name(group) for group in self._join_remaining(self._join_small(pieces))]

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
        is_function = definition.kind in self._function_kinds
        lines_max = self._limits.lines_max if is_function else self._limits.whole_lines_max
        return not self._is_within_limits(definition.line, definition.last_line, lines_max)

    def _split_long(
        self, pieces: list[CodePiece], split: Callable[[list[LongPiece]], list[list[LineRange]]]
    ) -> list[CodePiece]:
        longs = [piece for piece in pieces if self._is_long(piece)]
        if not longs:
            return pieces
        found = split([(piece.first, piece.last, piece.owner is not None) for piece in longs])
        ranges = dict(zip(longs, found, strict=True))
        parts: list[CodePiece] = []
        for piece in pieces:
            split_into = ranges.get(piece)
            if split_into is None:
                parts.append(piece)
            else:
                parts += (CodePiece(first, last, piece.owner, piece.owner) for first, last in split_into)
        return parts

    def _is_long(self, piece: CodePiece) -> bool:
        lines_max = self._limits.loose_lines_max if piece.owner is None else self._limits.lines_max
        return not self._is_within_limits(piece.first, piece.last, lines_max)

    def _join_small(self, pieces: Sequence[CodePiece]) -> list[PieceGroup]:
        """Join small neighbours to each other, and closing brackets to what precedes them."""
        groups: list[PieceGroup] = []
        are_small = False
        for piece in pieces:
            is_small = piece.line_count < self._limits.small_lines
            if groups and (
                self._is_closing(groups[-1], piece) or (is_small and are_small and self._can_append(groups[-1], piece))
            ):
                groups[-1].append(piece)
            else:
                groups.append([piece])
                are_small = is_small
        return groups

    def _can_append(self, group: PieceGroup, piece: CodePiece) -> bool:
        is_within = self._is_within_limits(group[0].first, piece.last, self._limits.loose_lines_max)
        return group[0].parent is piece.parent and is_within

    def _is_closing(self, group: PieceGroup, piece: CodePiece) -> bool:
        """Whether the piece is blank, or contains only brackets."""
        line_count = piece.last - group[0].first + 1
        start, end = self._starts[piece.first - 1], self._starts[piece.last]
        is_short = line_count <= self._limits.lines_max + self._limits.loose_lines_max
        return is_short and not _WORD_CHARACTER.search(self._data, start, end)

    def _join_remaining(self, groups: Sequence[PieceGroup]) -> list[PieceGroup]:
        """Join what is still small to the smaller of its neighbours."""
        joined: list[PieceGroup] = []
        for at, group in enumerate(groups):
            before = joined[-1] if joined and self._can_join(joined[-1], group) else None
            after = groups[at + 1] if at + 1 < len(groups) and self._can_join(group, groups[at + 1]) else None
            if before is None or (self._is_small(group) and not self._is_small(before) and _is_smaller(after, before)):
                joined.append(list(group))
            else:
                before.extend(group)
        return joined

    def _can_join(self, one: PieceGroup, other: PieceGroup) -> bool:
        return (
            (self._is_small(one) or self._is_small(other))
            and one[0].parent is other[0].parent
            and self._is_within_limits(one[0].first, other[-1].last, self._limits.lines_max)
        )

    def _is_small(self, group: PieceGroup) -> bool:
        return group[-1].last - group[0].first + 1 < self._limits.small_lines

    def _is_within_limits(self, first: int, last: int, lines_max: int) -> bool:
        size = self._starts[last] - self._starts[first - 1]
        return last - first < lines_max and size <= self._limits.bytes_max

    def _name(self, group: PieceGroup) -> LineGroup:
        """Find the definitions that a group is named after: that of its largest piece, or all if each is small."""
        largest = max(group, key=lambda piece: piece.line_count)
        defined = [piece.owner for piece in group if piece.owner is not None and piece.owner is not piece.parent]
        are_small = largest.line_count < self._limits.small_lines
        owner = defined[0] if len(defined) == 1 and are_small else largest.owner
        is_documented = owner is not None and any(piece.owner is owner and piece.first <= owner.line for piece in group)
        several = defined if len(defined) > 1 and are_small else []
        return group[0].first, group[-1].last, owner, is_documented, several, group[0].parent


def _is_smaller(one: PieceGroup | None, other: PieceGroup) -> bool:
    return one is not None and one[-1].last - one[0].first < other[-1].last - other[0].first
