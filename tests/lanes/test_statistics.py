"""Statistics of a lane: consistent counts at one moment, and how long tasks waited and ran."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inorder.lanes import LaneStatistics
from inorder.lanes.statistics import LATEST_MAX, Durations, DurationStatistics
from tests.lanes.conftest import MakeLane
from tests.lanes.doubles import start_waiting
from tests.support.gates import GUARD_S, Gate, ManualTime

pytestmark = pytest.mark.req("LAN-9")


def test_a_new_lane_has_counted_nothing(make_lane: MakeLane) -> None:
    assert make_lane(max_concurrency=3).statistics() == LaneStatistics(concurrency=3)


def test_depth_running_and_waiting_are_told_apart(make_lane: MakeLane, gate: Gate) -> None:
    lane = make_lane(max_concurrency=2, capacity=3)
    for _ in range(5):
        lane.submit(gate.hold)
    gate.await_arrivals(2)
    caller = start_waiting(lane.submit, int)
    counted = lane.statistics()
    assert (counted.depth, counted.running, counted.waiting) == (3, 2, 1)
    assert (counted.submitted, counted.accepted) == (6, 5)
    gate.open()
    assert caller.answer().admitted


def test_statistics_are_a_picture_that_stands_still(make_lane: MakeLane) -> None:
    lane = make_lane()
    before = lane.statistics()
    lane.submit(int).result(GUARD_S)
    assert before.submitted == 0
    with pytest.raises(AttributeError):
        before.submitted = 5  # type: ignore[misc]


def test_a_result_is_in_the_books_before_anybody_can_read_it(make_lane: MakeLane) -> None:
    lane = make_lane(max_concurrency=2)
    for expected in range(1, 200):
        lane.submit(int).result(GUARD_S)
        assert lane.statistics().completed == expected


def test_wait_and_run_time_are_measured(make_lane: MakeLane, gate: Gate, time: ManualTime) -> None:
    lane = make_lane(max_concurrency=1)
    first = lane.submit(gate.hold)
    gate.await_arrivals()
    second = lane.submit(time.advance, 2)
    time.advance(5)
    gate.open()
    first.result(GUARD_S)
    second.result(GUARD_S)
    waits, runs = lane.statistics().wait_s, lane.statistics().run_s
    assert (waits.count, waits.total_s, waits.max_s, waits.p50_s, waits.p95_s) == (2, 5.0, 5.0, 0.0, 5.0)
    assert (runs.count, runs.total_s, runs.max_s, runs.p50_s, runs.p95_s) == (2, 7.0, 5.0, 2.0, 5.0)


def test_the_wait_counts_from_the_call_also_the_time_at_the_door(
    make_lane: MakeLane, gate: Gate, time: ManualTime
) -> None:
    lane = make_lane(max_concurrency=1, capacity=0)
    lane.submit(gate.hold)
    gate.await_arrivals()
    caller = start_waiting(lane.submit, int)
    time.advance(7)
    gate.open()
    caller.answer().result(GUARD_S)
    assert lane.statistics().wait_s.max_s == 7.0


def test_the_wait_of_a_redirected_task_is_recorded_at_both_lanes(
    make_lane: MakeLane, gate: Gate, time: ManualTime
) -> None:
    lane = make_lane("lane", max_concurrency=1, capacity=0, strategy="redirect", redirect_to="spare")
    spare = make_lane("spare", max_concurrency=1, capacity=0)
    lane.submit(gate.hold)
    spare_gate = Gate()
    spare.submit(spare_gate.hold)
    gate.await_arrivals()
    spare_gate.await_arrivals()
    assert (lane.statistics().wait_s.count, spare.statistics().wait_s.count) == (1, 1)
    caller = start_waiting(lane.submit, int)
    time.advance(4)
    spare_gate.open()
    caller.answer().result(GUARD_S)
    for each in (lane, spare):
        waits = each.statistics().wait_s
        assert (waits.count, waits.max_s) == (2, 4.0)


def test_what_never_ran_has_no_wait_and_no_run_time(make_lane: MakeLane, gate: Gate) -> None:
    lane = make_lane(max_concurrency=1, capacity=1, strategy="drop")
    lane.submit(gate.hold)
    gate.await_arrivals()
    lane.submit(int).cancel()
    lane.submit(int)
    lane.submit(int)
    counted = lane.statistics()
    assert (counted.wait_s.count, counted.run_s.count) == (1, 0)


def test_a_task_given_up_has_no_run_time(make_lane: MakeLane, gate: Gate) -> None:
    lane = make_lane()
    ticket = lane.submit(gate.hold)
    gate.await_arrivals()
    lane.abandon(ticket)
    assert lane.statistics().run_s.count == 0


def test_a_clock_that_goes_back_gives_no_negative_times(make_lane: MakeLane, gate: Gate, time: ManualTime) -> None:
    lane = make_lane(max_concurrency=1)
    first, second = lane.submit(gate.hold), lane.submit(int)
    gate.await_arrivals()
    time.advance(-500)
    gate.open()
    first.result(GUARD_S)
    second.result(GUARD_S)
    assert (lane.statistics().wait_s.total_s, lane.statistics().run_s.total_s) == (0.0, 0.0)


# Durations: exact over the whole life, percentiles of the latest, bounded memory


def record_all(*seconds: float) -> Durations:
    durations = Durations()
    for each_s in seconds:
        durations.record(each_s)
    return durations


def test_nothing_recorded_is_all_zero() -> None:
    assert Durations().statistics() == DurationStatistics()


def test_count_total_maximum_and_percentiles() -> None:
    counted = record_all(*range(1, 101)).statistics()
    assert counted == DurationStatistics(count=100, total_s=5050.0, max_s=100.0, p50_s=50.0, p95_s=95.0)


def test_one_duration_is_every_percentile() -> None:
    assert record_all(3.0).statistics() == DurationStatistics(count=1, total_s=3.0, max_s=3.0, p50_s=3.0, p95_s=3.0)


def test_a_clock_that_went_back_gives_zero_not_less() -> None:
    assert record_all(-5.0).statistics() == DurationStatistics(count=1)


def test_percentiles_are_of_the_latest_the_rest_of_all() -> None:
    counted = record_all(*[9.0] * LATEST_MAX, *[1.0] * LATEST_MAX).statistics()
    assert (counted.count, counted.max_s, counted.p95_s) == (2 * LATEST_MAX, 9.0, 1.0)


def test_memory_is_bounded() -> None:
    durations = record_all(*[1.0] * (3 * LATEST_MAX))
    assert len(durations.latest) == LATEST_MAX


def test_a_copy_stands_still_while_the_original_goes_on() -> None:
    durations = record_all(1.0)
    copied = durations.copy()
    durations.record(2.0)
    assert (copied.count, durations.count) == (1, 2)


def test_several_add_up() -> None:
    durations = record_all(1.0, 2.0)
    durations.add(record_all(7.0))
    assert durations.statistics() == DurationStatistics(count=3, total_s=10.0, max_s=7.0, p50_s=2.0, p95_s=7.0)


@pytest.mark.slow
@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=300))
def test_a_percentile_is_a_duration_that_happened_and_covers_its_share(seconds: list[float]) -> None:
    counted = record_all(*seconds).statistics()
    for percentile_s, share in ((counted.p50_s, 0.5), (counted.p95_s, 0.95)):
        assert percentile_s in seconds
        assert sum(each_s <= percentile_s for each_s in seconds) >= share * len(seconds)
        assert sum(each_s < percentile_s for each_s in seconds) < share * len(seconds)
