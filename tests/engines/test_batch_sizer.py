"""How many items a worker asks for, learned from how long its batches took."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inorder.engines.base import BatchSizer


def sizer_at(limit: int) -> BatchSizer:
    sizer = BatchSizer(target_s=1.0, limit_max=1024)
    while sizer.limit < limit:
        sizer.observe(sizer.limit, 0.0)
    return sizer


def test_a_new_worker_asks_for_one_item() -> None:
    assert BatchSizer().limit == 1


def test_fast_batches_double_the_limit_each_time_and_no_faster() -> None:
    sizer = BatchSizer(target_s=1.0, limit_max=1024)
    limits = []
    for _ in range(4):
        sizer.observe(sizer.limit, 0.000001)
        limits.append(sizer.limit)
    assert limits == [2, 4, 8, 16]


def test_the_limit_stops_at_its_maximum() -> None:
    sizer = BatchSizer(target_s=1.0, limit_max=5)
    for _ in range(10):
        sizer.observe(sizer.limit, 0.000001)
    assert sizer.limit == 5


@pytest.mark.parametrize(
    ("count", "elapsed_s", "limit"),
    [
        (64, 1.0, 64),
        (64, 2.0, 32),
        (64, 16.0, 4),
        (64, 0.75, 85),
        (10, 1.0, 10),
        (64, 3600.0, 1),
    ],
    ids=["on target", "twice too slow", "far too slow", "a little fast", "a short batch", "one item is too slow"],
)
def test_the_limit_goes_to_what_fits_the_target_in_one_step(count: int, elapsed_s: float, limit: int) -> None:
    sizer = sizer_at(64)
    sizer.observe(count, elapsed_s)
    assert sizer.limit == limit


def test_a_batch_that_took_no_time_at_all_is_no_division_by_zero() -> None:
    sizer = sizer_at(8)
    sizer.observe(8, 0.0)
    assert sizer.limit == 16


@pytest.mark.parametrize(("elapsed_s", "limit"), [(0.005, 8), (0.01, 4), (0.04, 1)])
def test_a_batch_aims_at_five_milliseconds_unless_told_otherwise(elapsed_s: float, limit: int) -> None:
    sizer = BatchSizer()
    for _ in range(3):
        sizer.observe(sizer.limit, 0.0)
    sizer.observe(8, elapsed_s)
    assert sizer.limit == limit


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(0, 2000), st.floats(0, 1e6)), max_size=30))
def test_whatever_is_observed_the_limit_is_from_one_to_the_maximum_and_at_most_doubles(
    batches: list[tuple[int, float]],
) -> None:
    sizer = BatchSizer(limit_max=100)
    for count, elapsed_s in batches:
        before = sizer.limit
        sizer.observe(count, elapsed_s)
        assert 1 <= sizer.limit <= min(100, before * 2)


def test_one_slow_batch_halves_the_limit_of_groups() -> None:
    """It may have waited for a model that was loaded."""
    sizer = BatchSizer(target_s=1.0, limit_max=128, limit=64, fall_max=2)
    sizer.observe(64, 1000.0)
    assert sizer.limit == 32
    sizer.observe(32, 0.1)
    assert sizer.limit == 64
    for _ in range(9):
        sizer.observe(sizer.limit, 1000.0)
    assert sizer.limit == 1
