"""Sort the matches of a query on the tree of a file by what they have captured."""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

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


class SortedMatches(NamedTuple):
    """The matches of a file. Spans are in the order of the file, matches in the order in which they were found."""

    calls: list[Span]
    comments: list[Span]
    attached: list[Span]
    imports: list[Match]
    definitions: list[Match]


def sort_matches(matches: list[Match], roles: dict[int, Role], find_role: Callable[[Nodes], Role]) -> SortedMatches:
    """Sort the matches of a file by the role of their pattern. Of two places with one start, that of the last match
    counts. The name of a definition is not a call, even where it is written like one (`def add(item)` in Elixir).
    `roles` has the role of each pattern that is known, and gets those that `find_role` finds."""
    spans: dict[str, dict[int, int]] = {"callee": {}, "comment": {}, "attached": {}}
    imports: list[Match] = []
    definitions: list[Match] = []
    defined: set[int] = set()
    for match in matches:
        pattern, nodes = match
        role = roles.get(pattern)
        if role is None:
            role = roles[pattern] = find_role(nodes)
        ends = spans.get(role[0])
        if ends is None:
            (imports if role[0] == "import" else definitions).append(match)
        else:
            node = nodes[role[0]][0]
            ends[node.start_byte] = node.end_byte
        if (names := nodes.get("name")) is not None:
            defined.add(names[0].start_byte)
    for start in defined.intersection(spans["callee"]):
        del spans["callee"][start]
    calls, comments, attached = (sorted(ends.items()) for ends in spans.values())
    return SortedMatches(calls, comments, attached, imports, definitions)
