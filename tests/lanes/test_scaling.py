"""The concurrency limit between two bounds: when it changes, and when it does not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inorder.lanes.scaling import Scale

pytestmark = pytest.mark.req("LAN-1")


def scale(limit_min: int = 1, limit_max: int = 3) -> Scale:
    return Scale(limit_min, limit_max, up_after_s=1.0, down_after_s=10.0)


def test_it_starts_at_the_lower_bound() -> None:
    assert scale(2, 5).limit == 2


def test_more_tasks_than_may_run_for_long_enough_raise_it() -> None:
    moving = scale()
    seen = [moving.observe(now_s, load=5) for now_s in (0.0, 0.9, 1.0)]
    assert (seen, moving.limit) == ([False, False, True], 2)


def test_it_doubles_up_to_its_bound() -> None:
    moving = scale(1, 6)
    seen = []
    for now_s in range(6):
        moving.observe(now_s, load=50)
        seen.append(moving.limit)
    assert seen == [1, 2, 4, 6, 6, 6]


def test_other_bounds_move_it_to_the_nearer_one_and_start_the_watch_anew() -> None:
    moving = scale(2, 5)
    moving.observe(0.0, load=9)
    moving.change_bounds(3, 8)
    assert (moving.limit, moving.due_s) == (3, None)
    moving.change_bounds(1, 2)
    assert moving.limit == 2
    moving.change_bounds(2, 2)
    assert not moving.is_dynamic


def test_a_moment_without_waiting_tasks_starts_the_watch_anew() -> None:
    moving = scale()
    moving.observe(0.0, load=2)
    moving.observe(0.9, load=1)
    assert not moving.observe(1.5, load=2)
    assert moving.observe(2.5, load=2)


def test_as_many_tasks_as_may_run_are_no_reason_to_grow() -> None:
    moving = scale(2, 3)
    moving.observe(0.0, load=2)
    assert not moving.observe(100.0, load=2)


def test_a_worker_too_many_for_long_enough_lowers_it_by_one_at_a_time() -> None:
    moving = scale(1, 3)
    moving.grow()
    moving.grow()
    moving.observe(0.0, load=0)
    seen = []
    for now_s in (9.9, 10.0, 19.9, 20.0, 1000.0):
        moving.observe(now_s, load=0)
        seen.append(moving.limit)
    assert seen == [3, 2, 2, 1, 1]


def test_a_moment_in_which_all_are_busy_starts_the_watch_anew() -> None:
    moving = scale(1, 2)
    moving.grow()
    moving.observe(0.0, load=1)
    moving.observe(9.0, load=2)
    assert not moving.observe(12.0, load=1)
    assert moving.observe(22.0, load=1)


def test_a_full_lane_grows_at_once_up_to_the_bound() -> None:
    moving = scale(1, 3)
    assert [moving.grow() for _ in range(3)] == [True, True, False]
    assert moving.limit == 3


def test_a_fixed_limit_never_moves() -> None:
    fixed = scale(2, 2)
    for now_s in (0.0, 1e6):
        assert not fixed.observe(now_s, load=11)
        assert not fixed.observe(now_s, load=0)
    assert not fixed.grow()
    assert (fixed.limit, fixed.due_s) == (2, None)


def test_it_says_when_it_will_move_if_nothing_happens() -> None:
    moving = scale(1, 2)
    assert moving.due_s is None
    moving.observe(5.0, load=2)
    assert moving.due_s == 6.0
    moving.observe(6.0, load=2)
    assert moving.due_s is None
    moving.observe(7.0, load=1)
    assert moving.due_s == 17.0


def test_a_clock_that_goes_back_starts_the_watch_at_the_new_time() -> None:
    moving = scale()
    moving.observe(100.0, load=2)
    assert not moving.observe(50.0, load=2)
    assert moving.observe(51.0, load=2)


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.floats(0, 20), st.integers(0, 12)), max_size=80),
    st.integers(1, 3),
    st.integers(0, 3),
)
def test_it_stays_between_its_bounds_and_moves_for_a_reason(
    observations: list[tuple[float, int]], limit_min: int, spread: int
) -> None:
    moving = scale(limit_min, limit_min + spread)
    now_s = 0.0
    for step_s, load in observations:
        now_s += step_s
        before = moving.limit
        moved = moving.observe(now_s, load)
        assert limit_min <= moving.limit <= limit_min + spread
        assert moved == (moving.limit != before)
        if moving.limit > before:
            assert (moving.limit, load > before) == (min(2 * before, limit_min + spread), True)
        if moving.limit < before:
            assert (moving.limit, load < before) == (before - 1, True)
        if moving.due_s is not None:
            assert moving.due_s > now_s
