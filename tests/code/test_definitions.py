"""Which matches become definitions, and what encloses what."""

from types import SimpleNamespace
from typing import Any

import pytest

from inorder.code.definitions import Definition, find_definitions
from inorder.code.matches import Match, SortedMatches, Span
from inorder.code.source import Source

ROLES = {
    0: ("definition.class", "class", True),
    1: ("definition.function", "function", True),
    2: ("symbol.field", "field", False),
}
DATA = b"class A: # why\n  def b(): pass\nx = 1\n"
pytestmark = pytest.mark.req("IDX-1")


def make_node(start: int, end: int) -> Any:
    return SimpleNamespace(start_byte=start, end_byte=end, child_by_field_name=lambda name: None)


def make_match(pattern: int, span: Span, name: Span, **others: Span) -> Match:
    places = {ROLES[pattern][0]: span, "name": name, **others}
    return pattern, {capture: [make_node(*place)] for capture, place in places.items()}


def find(*matches: Match, data: bytes = DATA) -> list[Definition]:
    captures = SortedMatches([], [], [], [], list(matches))
    grammar: Any = SimpleNamespace(roles=ROLES)
    return find_definitions(captures, grammar, Source(data))


@pytest.mark.parametrize("order", [(0, 2), (2, 0)])
def test_of_several_patterns_that_match_one_name_the_first_in_the_query_counts(order: tuple[int, int]) -> None:
    [found] = find(*(make_match(pattern, (0, 30), (6, 7)) for pattern in order))
    assert (found.kind, found.name) == ("class", "A")


def test_a_function_in_a_class_is_a_method_whatever_was_found_first() -> None:
    found = find(make_match(1, (17, 30), (21, 22)), make_match(0, (0, 30), (6, 7)))
    assert [(each.kind, each.qualified_name, each.line, each.last_line) for each in found] == [
        ("class", "A", 1, 2),
        ("method", "A.b", 2, 2),
    ]


def test_two_names_of_one_statement_do_not_enclose_each_other() -> None:
    found = find(make_match(0, (0, 30), (6, 7)), make_match(1, (0, 30), (21, 22)))
    assert [(each.kind, each.qualified_name) for each in found] == [("class", "A"), ("function", "b")]


def test_an_owner_is_a_part_of_the_qualified_name() -> None:
    [found] = find(make_match(1, (17, 30), (21, 22), owner=(6, 7)))
    assert (found.name, found.qualified_name) == ("b", "A.b")


def test_a_match_without_a_name_is_no_definition() -> None:
    assert find((0, {"definition.class": [make_node(0, 30)]})) == []
