"""Durations: exact for the whole life, percentiles of the latest, bounded memory."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inorder.lanes.statistics import LATEST_MAX, Durations, DurationStatistics

pytestmark = pytest.mark.req("LAN-9")


def recorded(*seconds: float) -> Durations:
    durations = Durations()
    for each_s in seconds:
        durations.record(each_s)
    return durations


def test_nothing_recorded_is_all_zero() -> None:
    assert Durations().statistics() == DurationStatistics()


def test_count_total_maximum_and_percentiles() -> None:
    counted = recorded(*range(1, 101)).statistics()
    assert counted == DurationStatistics(count=100, total_s=5050.0, max_s=100.0, p50_s=50.0, p95_s=95.0)


def test_one_duration_is_every_percentile() -> None:
    assert recorded(3.0).statistics() == DurationStatistics(count=1, total_s=3.0, max_s=3.0, p50_s=3.0, p95_s=3.0)


def test_a_clock_that_went_back_gives_zero_not_less() -> None:
    assert recorded(-5.0).statistics() == DurationStatistics(count=1)


def test_percentiles_are_of_the_latest_the_rest_of_all() -> None:
    counted = recorded(*[9.0] * LATEST_MAX, *[1.0] * LATEST_MAX).statistics()
    assert (counted.count, counted.max_s, counted.p95_s) == (2 * LATEST_MAX, 9.0, 1.0)


def test_memory_is_bounded() -> None:
    durations = recorded(*[1.0] * (3 * LATEST_MAX))
    assert len(durations.latest) == LATEST_MAX


def test_a_copy_stands_still_while_the_original_goes_on() -> None:
    durations = recorded(1.0)
    copied = durations.copy()
    durations.record(2.0)
    assert (copied.count, durations.count) == (1, 2)


def test_several_add_up() -> None:
    durations = recorded(1.0, 2.0)
    durations.add(recorded(7.0))
    assert durations.statistics() == DurationStatistics(count=3, total_s=10.0, max_s=7.0, p50_s=2.0, p95_s=7.0)


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=300))
def test_a_percentile_is_a_duration_that_happened_and_covers_its_share(seconds: list[float]) -> None:
    counted = recorded(*seconds).statistics()
    for percentile_s, share in ((counted.p50_s, 0.5), (counted.p95_s, 0.95)):
        assert percentile_s in seconds
        assert sum(each_s <= percentile_s for each_s in seconds) >= share * len(seconds)
        assert sum(each_s < percentile_s for each_s in seconds) < share * len(seconds)
