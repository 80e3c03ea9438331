"""Read matches in Python: the reference of the compiled functions in `_matches.c`; see `matches`."""

from collections.abc import Callable
from itertools import accumulate
from typing import TYPE_CHECKING

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


def sort_matches(
    matches: list[Match], roles: dict[int, Role], find_role: Callable[[Nodes], Role]
) -> tuple[list[Span], list[Span], list[Span], list[Span], list[Match], list[Match]]:
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
    callees, comments, attached, docs = (sorted(ends.items()) for ends in spans.values())
    return callees, comments, attached, docs, imports, rest


def find_line_starts(data: bytes) -> list[int]:
    """The start of every line, and the end of the last one."""
    return list(accumulate(map(len, data.splitlines(True)), initial=0))
