"""Numbers that stay small however long a run is, and how close they come to the exact ones."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inorder.stage.monitor.histograms import SLOWEST_MAX, ErrorTally, Histogram, SlowestItems

durations = st.floats(min_value=0.0, max_value=1e7, allow_nan=False)


def exact(values: list[float], share: float) -> float:
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def recorded(values: list[float]) -> Histogram:
    histogram = Histogram()
    for value in values:
        histogram.record(value)
    return histogram


@pytest.mark.slow
@given(st.lists(durations, min_size=1, max_size=200), st.sampled_from([0.5, 0.95, 0.99, 1.0]))
@pytest.mark.req("RUN-8")
def test_a_quantile_is_within_two_and_a_half_per_cent_of_the_exact_one(values: list[float], share: float) -> None:
    found, true = recorded(values).quantile(share), exact(values, share)
    assert abs(found - true) <= 0.025 * true + 0.0016


@pytest.mark.slow
@given(st.lists(durations, max_size=200))
def test_count_total_and_largest_are_exact(values: list[float]) -> None:
    histogram = recorded(values)
    assert histogram.count == len(values)
    assert histogram.total == pytest.approx(math.fsum(values))
    assert histogram.largest == max(values, default=0.0)


@pytest.mark.slow
@given(st.lists(durations, min_size=1, max_size=100))
def test_a_larger_share_never_has_a_smaller_quantile(values: list[float]) -> None:
    histogram = recorded(values)
    found = [histogram.quantile(share / 20) for share in range(21)]
    assert found == sorted(found)


def test_of_nothing_every_quantile_is_nothing() -> None:
    assert Histogram().quantile(0.5) == 0.0


@pytest.mark.slow
def test_a_histogram_does_not_grow_with_what_it_holds() -> None:
    histogram = recorded([number * 0.37 for number in range(100_000)])
    assert len(histogram._buckets) < 1000


@pytest.mark.req("RUN-8")
def test_the_first_errors_and_the_most_frequent_are_shown() -> None:
    tally = ErrorTally()
    for number in range(20):
        tally.record(f"early-{number}", "io", f"message {number}")
    for number in range(50):
        tally.record(f"late-{number}", "runtime", "the frequent one")
    shown = tally.summarize()
    assert [error.message for error in shown[:5]] == [f"message {number}" for number in range(5)]
    assert (shown[5].message, shown[5].count, shown[5].item_id) == ("the frequent one", 50, "late-0")
    assert len(shown) == 10
    assert tally.categories == {"io": 20, "runtime": 50}


def test_one_kind_of_error_is_shown_once_with_its_count_and_first_item() -> None:
    tally = ErrorTally()
    for name in "abc":
        tally.record(name, "io", "disk")
    tally.record("d", "runtime", "disk")
    assert [(error.category, error.count, error.item_id) for error in tally.summarize()] == [
        ("io", 3, "a"),
        ("runtime", 1, "d"),
    ]


def test_very_many_different_errors_are_counted_together_in_the_end() -> None:
    tally = ErrorTally()
    for number in range(5000):
        tally.record(f"item-{number}", "io", f"message {number}")
    assert tally.summarize()[5].message == "(other messages)"
    assert tally.summarize()[5].count == 4000
    assert tally.categories["io"] == 5000


@pytest.mark.slow
@given(st.lists(durations, max_size=50))
def test_the_slowest_are_the_slowest(values: list[float]) -> None:
    slowest = SlowestItems()
    for number, value in enumerate(values):
        slowest.record(f"item-{number}", value)
    assert [value for value, _ in slowest.items] == sorted(values, reverse=True)[:SLOWEST_MAX]
