"""Read matches in Python: the reference of the compiled functions in `_matches.c`; see `matches`."""

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable
from itertools import accumulate, chain
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from tree_sitter import Node

Nodes = dict[str, list["Node"]]
"""The nodes of a match by the name of the capture."""
Match = tuple[int, Nodes]
"""The number of a pattern, and what it has captured."""
Role = tuple[str, str, bool]
"""The main capture of a pattern, the kind of its definitions, and whether they have chunks."""
Span = tuple[int, int]
"""Start and end byte."""
Numbers: TypeAlias = "array[int]"
"""An array of type `q`: a list would need an object for each number. For spans, the start and the end of each."""


def sort_matches(
    matches: list[Match], roles: dict[int, Role], find_role: Callable[[Nodes], Role]
) -> tuple[Numbers, Numbers, Numbers, Numbers, list[Match], list[Match]]:
    """The places of callees, comments, attached nodes and documentation strings, each in the order of the file; then
    the matches of imports, and all others. Of two places with one start, that of the last match counts. `roles` has the
    role of each pattern that is known, and gets those that `find_role` finds."""
    spans: dict[str, dict[int, int]] = {"callee": {}, "comment": {}, "attached": {}, "doc": {}}
    imports: list[Match] = []
    rest: list[Match] = []
    for match in matches:
        pattern, nodes = match
        role = roles.get(pattern)
        if role is None:
            role = roles[pattern] = find_role(nodes)
        ends = spans.get(role[0])
        if ends is None:
            (imports if role[0] == "import" else rest).append(match)
        else:
            node = nodes[role[0]][0]
            ends[node.start_byte] = node.end_byte
    callees, comments, attached, docs = (pack_spans(sorted(ends.items())) for ends in spans.values())
    return callees, comments, attached, docs, imports, rest


def pack_spans(spans: Iterable[Span]) -> Numbers:
    """Spans as an array."""
    return array("q", chain.from_iterable(spans))


def unpack_spans(numbers: Numbers) -> list[Span]:
    """The inverse of `pack_spans`."""
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def find_line(starts: Numbers, byte: int) -> int:
    """The line that contains a byte, given the start of every line and the end of the last one; the last line for a
    byte past the end."""
    return bisect_right(starts, byte, 0, len(starts) - 1)


def find_line_starts(data: bytes) -> Numbers:
    """The start of every line, and the end of the last one."""
    return array("q", accumulate(map(len, data.splitlines(True)), initial=0))
