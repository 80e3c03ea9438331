"""What a lane tells: counts at one moment that fit together, and how long tasks waited and ran."""

import pytest

from inorder.lanes import LaneStatistics
from tests.lanes.conftest import MakeLane
from tests.lanes.doubles import GUARD_S, Gate, ManualTime, start_waiting

pytestmark = pytest.mark.req("LAN-9")


def test_a_new_lane_has_counted_nothing(make_lane: MakeLane) -> None:
    assert make_lane(max_concurrency=3).statistics() == LaneStatistics(concurrency=3)


def test_depth_running_and_waiting_are_told_apart(make_lane: MakeLane, gate: Gate) -> None:
    lane = make_lane(max_concurrency=2, capacity=3)
    for _ in range(5):
        lane.submit(gate.hold)
    gate.has_visitors(2)
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
    gate.has_visitors()
    second = lane.submit(time.pass_by, 2)
    time.pass_by(5)
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
    gate.has_visitors()
    caller = start_waiting(lane.submit, int)
    time.pass_by(7)
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
    gate.has_visitors()
    spare_gate.has_visitors()
    assert (lane.statistics().wait_s.count, spare.statistics().wait_s.count) == (1, 1)
    caller = start_waiting(lane.submit, int)
    time.pass_by(4)
    spare_gate.open()
    caller.answer().result(GUARD_S)
    for each in (lane, spare):
        waits = each.statistics().wait_s
        assert (waits.count, waits.max_s) == (2, 4.0)


def test_what_never_ran_has_no_wait_and_no_run_time(make_lane: MakeLane, gate: Gate) -> None:
    lane = make_lane(max_concurrency=1, capacity=1, strategy="drop")
    lane.submit(gate.hold)
    gate.has_visitors()
    lane.submit(int).cancel()
    lane.submit(int)
    lane.submit(int)
    counted = lane.statistics()
    assert (counted.wait_s.count, counted.run_s.count) == (1, 0)


def test_a_task_given_up_has_no_run_time(make_lane: MakeLane, gate: Gate) -> None:
    lane = make_lane()
    ticket = lane.submit(gate.hold)
    gate.has_visitors()
    lane.abandon(ticket)
    assert lane.statistics().run_s.count == 0


def test_a_clock_that_goes_back_gives_no_negative_times(make_lane: MakeLane, gate: Gate, time: ManualTime) -> None:
    lane = make_lane(max_concurrency=1)
    first, second = lane.submit(gate.hold), lane.submit(int)
    gate.has_visitors()
    time.pass_by(-500)
    gate.open()
    first.result(GUARD_S)
    second.result(GUARD_S)
    assert (lane.statistics().wait_s.total_s, lane.statistics().run_s.total_s) == (0.0, 0.0)
