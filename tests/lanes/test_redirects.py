"""Redirects between lanes: no cycle, no missing target."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inorder.errors import OperatorError
from inorder.lanes.redirects import require_valid_redirects

pytestmark = pytest.mark.req("LAN-4")


def test_lanes_that_point_to_each_other_forwards_are_taken_in_any_order() -> None:
    require_valid_redirects({}, {"a": "b", "b": "c", "c": None})


@pytest.mark.parametrize(
    ("targets", "story"),
    [
        ({"a": "a"}, "a -> a"),
        ({"a": "b", "b": "a"}, "a -> b -> a"),
        ({"a": "b", "b": "c", "c": "d", "d": "b"}, "a -> b -> c -> d -> b"),
    ],
)
def test_a_cycle_is_refused_and_told(targets: dict[str, str | None], story: str) -> None:
    with pytest.raises(OperatorError, match=f"redirect cycle: {story}"):
        require_valid_redirects({}, targets)


def test_a_cycle_that_a_later_lane_closes_is_refused() -> None:
    with pytest.raises(OperatorError, match="redirect cycle: b -> a -> b"):
        require_valid_redirects({"a": "b"}, {"b": "a"})


def test_an_unknown_target_is_refused() -> None:
    with pytest.raises(OperatorError, match="'a' redirects to 'nowhere', which is not registered"):
        require_valid_redirects({}, {"a": "nowhere"})


def test_a_name_is_taken_once() -> None:
    with pytest.raises(OperatorError, match="named 'a' is already registered"):
        require_valid_redirects({"a": None}, {"a": None})


@pytest.mark.slow
@given(st.lists(st.one_of(st.none(), st.integers(0, 7)), min_size=8, max_size=8))
def test_exactly_the_graphs_with_a_cycle_are_refused(targets: list[int | None]) -> None:
    def walk_ends(start: int) -> bool:
        node: int | None = start
        for _ in range(len(targets) + 1):
            if node is None:
                return True
            node = targets[node]
        return False

    named = {str(name): None if target is None else str(target) for name, target in enumerate(targets)}
    try:
        require_valid_redirects({}, named)
        refused = False
    except OperatorError:
        refused = True
    assert refused == (not all(walk_ends(start) for start in range(len(targets))))
