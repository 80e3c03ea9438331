"""The lines of a file, shared out among its definitions.

Every line belongs to the innermost definition around it that has a chunk of its own: a class keeps its head and what
stands between its methods. Functions are not opened, and neither is what is short enough to be read at once; unless
they are too long, and then what is defined in them comes out.

What is too long is cut, and what is too small is joined to a neighbour in the same place: first the small ones that
stand side by side, then what is left to the smaller of its neighbours. A closing bracket goes with what it closes.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from .boundaries import BYTES_MAX, Boundaries, boundaries_of_lines, boundaries_of_tree, cut
from .captures import Definition
from .source import Source

if TYPE_CHECKING:
    from tree_sitter import Node

LINES_MAX = 120
"""Of a chunk that is a definition, or a part of one."""
LOOSE_LINES_MAX = 60
"""Of a chunk that is not, and of definitions that are joined."""
WHOLE_LINES_MAX = 20
"""A class of up to so many lines is one chunk with its methods."""
SMALL_LINES = 5
"""Fewer are too few for a chunk, if there is anything to join them to."""
_FUNCTION_KINDS = frozenset(("function", "method", "constructor"))
_SAYS_SOMETHING = re.compile(rb"[\w\x80-\xff]")


class Piece(NamedTuple):
    """Neighbouring lines with one owner."""

    first: int
    last: int
    owner: Definition | None
    home: Definition | None
    """What the owner lies in; or the owner, for what stands between the definitions in it."""

    @property
    def line_count(self) -> int:
        """How many lines it has."""
        return self.last - self.first + 1


Group = list[Piece]
"""Pieces that are one chunk."""


def groups_of(source: Source, definitions: Sequence[Definition], root: "Node | None") -> list[Group]:
    """All lines of a file, in order, each in one group."""
    if not source.line_count:
        return []
    pieces = list(_cut_long(_pieces(source, definitions), source, root))
    return _join_rest(_join_small(pieces, source), source)


def _is_open(definition: Definition, source: Source) -> bool:
    """Whether others may own lines within it."""
    first, last = definition.line, definition.last_line
    whole_lines_max = LINES_MAX if definition.kind in _FUNCTION_KINDS else WHOLE_LINES_MAX
    return last - first >= whole_lines_max or source.bytes_of(first, last) > BYTES_MAX


def _pieces(source: Source, definitions: Iterable[Definition]) -> Iterator[Piece]:
    """From the top of the file to its end. A line that two definitions share is the first one's."""
    line = 1
    stack: list[Definition] = []
    for definition in definitions:
        if not definition.has_chunk:
            continue
        first = max(line, definition.above)
        while stack and stack[-1].last_line < first:
            owner = stack.pop()
            if line <= owner.last_line:
                yield Piece(line, owner.last_line, owner, owner)
                line = owner.last_line + 1
        if definition.last_line < first:
            continue
        home = stack[-1] if stack else None
        if line < first:
            yield Piece(line, first - 1, home, home)
            line = first
        if _is_open(definition, source):
            stack.append(definition)
        else:
            yield Piece(line, definition.last_line, definition, home)
            line = definition.last_line + 1
    while stack:
        owner = stack.pop()
        if line <= owner.last_line:
            yield Piece(line, owner.last_line, owner, owner)
            line = owner.last_line + 1
    if line <= source.line_count:
        yield Piece(line, source.line_count, None, None)


def _cut_long(pieces: Iterable[Piece], source: Source, root: "Node | None") -> Iterator[Piece]:
    boundaries: Boundaries | None = None
    for piece in pieces:
        lines_max = LOOSE_LINES_MAX if piece.owner is None else LINES_MAX
        if piece.line_count <= lines_max and source.bytes_of(piece.first, piece.last) <= BYTES_MAX:
            yield piece
            continue
        if boundaries is None:
            boundaries = (
                boundaries_of_lines(source) if root is None else boundaries_of_tree(root, source, LOOSE_LINES_MAX)
            )
        for first, last in cut(piece.first, piece.last, lines_max, source, boundaries):
            yield Piece(first, last, piece.owner, piece.owner)


def _join_small(pieces: Iterable[Piece], source: Source) -> list[Group]:
    """Small ones that stand side by side, and what only closes with what comes before it."""
    groups: list[Group] = []
    are_small = False
    for piece in pieces:
        is_small = piece.line_count < SMALL_LINES
        if groups and (
            _closes(groups[-1], piece, source) or (is_small and are_small and _fit(groups[-1], piece, source))
        ):
            groups[-1].append(piece)
        else:
            groups.append([piece])
            are_small = is_small
    return groups


def _fit(group: Group, piece: Piece, source: Source) -> bool:
    return group[0].home is piece.home and _fits(group[0].first, piece.last, LOOSE_LINES_MAX, source)


def _closes(group: Group, piece: Piece, source: Source) -> bool:
    """Whether it is empty, or nothing but brackets."""
    line_count = piece.last - group[0].first + 1
    start, end = source.starts[piece.first - 1], source.starts[piece.last]
    return line_count <= LINES_MAX + LOOSE_LINES_MAX and not _SAYS_SOMETHING.search(source.data, start, end)


def _join_rest(groups: Sequence[Group], source: Source) -> list[Group]:
    """What is still small, to the smaller of its neighbours."""
    joined: list[Group] = []
    for at, group in enumerate(groups):
        before = joined[-1] if joined and _can_join(joined[-1], group, source) else None
        after = groups[at + 1] if at + 1 < len(groups) and _can_join(group, groups[at + 1], source) else None
        if before is None or (_is_small(group) and not _is_small(before) and _is_smaller(after, before)):
            joined.append(list(group))
        else:
            before.extend(group)
    return joined


def _can_join(one: Group, other: Group, source: Source) -> bool:
    return (
        (_is_small(one) or _is_small(other))
        and one[0].home is other[0].home
        and _fits(one[0].first, other[-1].last, LINES_MAX, source)
    )


def _is_small(group: Group) -> bool:
    return group[-1].last - group[0].first + 1 < SMALL_LINES


def _is_smaller(one: Group | None, other: Group) -> bool:
    return one is not None and one[-1].last - one[0].first < other[-1].last - other[0].first


def _fits(first: int, last: int, lines_max: int, source: Source) -> bool:
    return last - first < lines_max and source.bytes_of(first, last) <= BYTES_MAX
