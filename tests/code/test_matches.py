"""The matches of a query are sorted by the role of their pattern."""

from types import SimpleNamespace
from typing import Any

from inorder.code.matches import Match, Nodes, Role, sort_matches

NUMBERS = {"callee": 0, "comment": 1, "attached": 300, "import": 4, "definition.x": 5}


def make_match(role: str, start: int, end: int) -> Match:
    node: Any = SimpleNamespace(start_byte=start, end_byte=end)
    return NUMBERS[role], {role: [node]}


def find_role(nodes: Nodes) -> Role:
    return next(iter(nodes)), "", False


def test_spans_are_in_the_order_of_the_file_and_other_matches_as_they_were_found() -> None:
    matches = [make_match(role, start, start + 2) for start in (40, 20) for role in NUMBERS]
    found = sort_matches(matches, {}, find_role)
    for spans in (found.calls, found.comments, found.attached):
        assert spans == [(20, 22), (40, 42)]
    assert found.imports == [matches[3], matches[8]]
    assert found.definitions == [matches[4], matches[9]]


def test_of_two_places_with_one_start_that_of_the_last_match_counts() -> None:
    matches = [make_match("callee", 7, end) for end in (9, 12, 8)]
    assert sort_matches(matches, {}, find_role).calls == [(7, 8)]


def test_the_role_of_a_pattern_is_found_once() -> None:
    asked: list[Nodes] = []
    roles = {NUMBERS["comment"]: ("comment", "", False)}
    matches = [make_match(role, 0, 1) for role in ("comment", "callee", "callee")]

    def find_and_count(nodes: Nodes) -> Role:
        asked.append(nodes)
        return find_role(nodes)

    sort_matches(matches, roles, find_and_count)
    assert asked == [matches[1][1]]
    assert roles == {NUMBERS["comment"]: ("comment", "", False), NUMBERS["callee"]: ("callee", "", False)}
