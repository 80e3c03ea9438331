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


def test_tasks_that_wait_behind_busy_workers_for_long_enough_raise_it_by_one() -> None:
    moving = scale()
    seen = [moving.observe(now_s, running=1, queued=4) for now_s in (0.0, 0.9, 1.0)]
    assert (seen, moving.limit) == ([False, False, True], 2)


def test_a_moment_without_waiting_tasks_starts_the_watch_anew() -> None:
    moving = scale()
    moving.observe(0.0, running=1, queued=1)
    moving.observe(0.9, running=1, queued=0)
    assert not moving.observe(1.5, running=1, queued=1)
    assert moving.observe(2.5, running=1, queued=1)


def test_waiting_tasks_with_a_free_worker_are_no_reason_to_grow() -> None:
    moving = scale(2, 3)
    moving.observe(0.0, running=1, queued=1)
    assert not moving.observe(100.0, running=1, queued=1)


def test_a_worker_too_many_for_long_enough_lowers_it_by_one_at_a_time() -> None:
    moving = scale(1, 3)
    moving.grow()
    moving.grow()
    moving.observe(0.0, running=0, queued=0)
    seen = []
    for now_s in (9.9, 10.0, 19.9, 20.0, 1000.0):
        moving.observe(now_s, running=0, queued=0)
        seen.append(moving.limit)
    assert seen == [3, 2, 2, 1, 1]


def test_a_moment_in_which_all_are_busy_starts_the_watch_anew() -> None:
    moving = scale(1, 2)
    moving.grow()
    moving.observe(0.0, running=1, queued=0)
    moving.observe(9.0, running=2, queued=0)
    assert not moving.observe(12.0, running=1, queued=0)
    assert moving.observe(22.0, running=1, queued=0)


def test_a_full_lane_grows_at_once_up_to_the_bound() -> None:
    moving = scale(1, 3)
    assert [moving.grow() for _ in range(3)] == [True, True, False]
    assert moving.limit == 3


def test_a_fixed_limit_never_moves() -> None:
    fixed = scale(2, 2)
    for now_s in (0.0, 1e6):
        assert not fixed.observe(now_s, running=2, queued=9)
        assert not fixed.observe(now_s, running=0, queued=0)
    assert not fixed.grow()
    assert (fixed.limit, fixed.due_s) == (2, None)


def test_it_says_when_it_will_move_if_nothing_happens() -> None:
    moving = scale(1, 2)
    assert moving.due_s is None
    moving.observe(5.0, running=1, queued=1)
    assert moving.due_s == 6.0
    moving.observe(6.0, running=1, queued=1)
    assert moving.due_s is None
    moving.observe(7.0, running=1, queued=0)
    assert moving.due_s == 17.0


def test_a_clock_that_goes_back_starts_the_watch_at_the_new_time() -> None:
    moving = scale()
    moving.observe(100.0, running=1, queued=1)
    assert not moving.observe(50.0, running=1, queued=1)
    assert moving.observe(51.0, running=1, queued=1)


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.floats(0, 20), st.integers(0, 6), st.integers(0, 6)), max_size=80),
    st.integers(1, 3),
    st.integers(0, 3),
)
def test_it_stays_between_its_bounds_and_moves_by_one_for_a_reason(
    observations: list[tuple[float, int, int]], limit_min: int, spread: int
) -> None:
    moving = scale(limit_min, limit_min + spread)
    now_s = 0.0
    for step_s, running, queued in observations:
        now_s += step_s
        before = moving.limit
        moved = moving.observe(now_s, running, queued)
        assert limit_min <= moving.limit <= limit_min + spread
        assert moved == (moving.limit != before)
        if moving.limit > before:
            assert (moving.limit, running >= before, queued > 0) == (before + 1, True, True)
        if moving.limit < before:
            assert (moving.limit, running < before, queued) == (before - 1, True, 0)
        if moving.due_s is not None:
            assert moving.due_s > now_s
