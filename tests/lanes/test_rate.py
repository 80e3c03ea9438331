"""Rate limits: nothing is admitted without a token, and no token is spent on a refused submission."""

import math
import threading

import pytest

from inorder.lanes import Lane, LaneConfig, Outcome, Reason
from tests.lanes.conftest import MakeLane
from tests.lanes.doubles import Caller, outcomes, start_waiting
from tests.support.gates import GUARD_S, Gate, ManualTime

pytestmark = pytest.mark.req("LAN-2")


def test_with_tokens_there_is_no_wait(make_lane: MakeLane) -> None:
    lane = make_lane(rate_per_s=1, burst=3)
    assert [lane.submit(int).outcome for _ in range(3)] == [Outcome.ACCEPTED] * 3


def test_without_a_token_a_lane_that_rejects_rejects(make_lane: MakeLane, time: ManualTime) -> None:
    lane = make_lane(rate_per_s=2, burst=1, when_limited="reject")
    assert lane.submit(int).outcome is Outcome.ACCEPTED
    refused = lane.submit(int)
    assert (refused.outcome, refused.reason) == (Outcome.REJECTED, Reason.LIMITED)
    time.advance(0.5)
    assert [lane.submit(int).outcome for _ in range(2)] == [Outcome.ACCEPTED, Outcome.REJECTED]
    assert outcomes(lane) == (2, 2, 0, 0)


def test_without_a_token_a_lane_that_waits_waits_for_the_next(make_lane: MakeLane, time: ManualTime) -> None:
    lane = make_lane(rate_per_s=0.1, burst=1)
    lane.submit(int)
    caller = start_waiting(lane.submit, int)
    time.advance(9.9)
    lane.tick()
    assert caller.is_waiting
    time.advance(0.1)
    lane.tick()
    assert caller.answer().outcome is Outcome.ACCEPTED


def test_one_token_lets_one_of_many_in(make_lane: MakeLane, time: ManualTime) -> None:
    lane = make_lane(rate_per_s=1, burst=1)
    lane.submit(int)
    callers = [start_waiting(lane.submit, int) for _ in range(4)]
    for expected in (4, 3, 2, 1, 0):
        assert lane.statistics().waiting == expected
        assert lane.statistics().accepted == 5 - expected
        time.advance(1)
        lane.tick()
    assert [caller.answer().outcome for caller in callers] == [Outcome.ACCEPTED] * 4


def test_those_who_wait_for_tokens_wake_by_themselves_on_a_real_clock() -> None:
    with Lane(LaneConfig(name="real", rate_per_s=200, burst=1, max_concurrency=2)) as lane:
        started = threading.Barrier(4)

        def submit() -> None:
            started.wait(GUARD_S)
            tickets.append(lane.submit(int))

        tickets: list[object] = []
        threads = [threading.Thread(target=submit, daemon=True) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(GUARD_S)
    assert len(tickets) == 4
    assert outcomes(lane) == (4, 0, 0, 0)


def test_to_try_never_waits_for_a_token(make_lane: MakeLane) -> None:
    lane = make_lane(rate_per_s=1, burst=1, when_limited="wait")
    assert [lane.try_submit(int).outcome for _ in range(2)] == [Outcome.ACCEPTED, Outcome.REJECTED]


def test_a_newcomer_does_not_take_the_token_of_one_who_waits(make_lane: MakeLane, time: ManualTime) -> None:
    lane = make_lane(rate_per_s=1, burst=1)
    lane.submit(int)
    first = start_waiting(lane.submit, str)
    time.advance(1)
    newcomer = lane.try_submit(int)
    assert newcomer.outcome is Outcome.REJECTED
    assert first.answer().outcome is Outcome.ACCEPTED


@pytest.mark.parametrize("strategy", ["drop", "reject"])
def test_what_is_refused_for_want_of_a_place_costs_no_token(make_lane: MakeLane, gate: Gate, strategy: str) -> None:
    lane = make_lane(max_concurrency=1, capacity=0, strategy=strategy, rate_per_s=0.001, burst=2)
    held = lane.submit(gate.hold)
    assert held.outcome is Outcome.ACCEPTED
    assert not any(lane.submit(int).admitted for _ in range(5))
    gate.open()
    held.result(GUARD_S)
    assert lane.submit(int).result(GUARD_S) == 0
    assert lane.try_submit(int).reason is Reason.LIMITED


def test_a_redirected_task_costs_a_token_only_where_it_runs(make_lane: MakeLane, gate: Gate) -> None:
    limited = {"rate_per_s": 0.001, "burst": 2, "when_limited": "reject"}
    lane = make_lane("lane", max_concurrency=1, capacity=0, strategy="redirect", redirect_to="spare", **limited)
    spare = make_lane("spare", **limited)
    held = lane.submit(gate.hold)
    assert [lane.submit(int).outcome for _ in range(3)] == [Outcome.REDIRECTED] * 2 + [Outcome.DROPPED]
    gate.open()
    held.result(GUARD_S)
    assert lane.submit(int).outcome is Outcome.ACCEPTED
    assert outcomes(spare) == (2, 1, 0, 0)


def test_one_who_waited_for_a_token_and_finds_the_lane_full_is_dropped_and_spends_nothing(
    make_lane: MakeLane, gate: Gate, time: ManualTime
) -> None:
    lane = make_lane(max_concurrency=1, capacity=1, strategy="drop", rate_per_s=1, burst=1)
    held = lane.submit(gate.hold)
    gate.await_arrivals()
    first = start_waiting(lane.submit, gate.hold)
    second = start_waiting(lane.submit, gate.hold)
    time.advance(1)
    lane.tick()
    assert first.answer().outcome is Outcome.ACCEPTED
    assert second.is_waiting
    time.advance(1)
    lane.tick()
    late = second.answer()
    assert (late.outcome, late.reason) == (Outcome.DROPPED, Reason.FULL)
    gate.open()
    held.result(GUARD_S)
    first.answer().result(GUARD_S)
    assert lane.try_submit(int).outcome is Outcome.ACCEPTED


def test_a_cancelled_wait_for_a_token_spends_none_and_the_next_in_line_is_served(
    make_lane: MakeLane, time: ManualTime
) -> None:
    lane = make_lane(rate_per_s=1, burst=1)
    lane.submit(int)
    first = start_waiting(lane.submit, int, deadline_s=0.5)
    second = start_waiting(lane.submit, int)
    time.advance(0.5)
    lane.tick()
    assert first.answer().outcome is Outcome.REJECTED
    time.advance(0.5)
    lane.tick()
    assert second.answer().outcome is Outcome.ACCEPTED


def test_a_thread_that_read_the_clock_long_ago_brings_no_extra_token(make_lane: MakeLane) -> None:
    lane = make_lane(rate_per_s=1, burst=1, when_limited="reject")
    late_s = 10.0

    def clock() -> float:
        """What is read before the lock is taken is old by the time the lock is there."""
        return late_s if lane._locked._lock.locked() else 0.0

    lane._clock = lane._locked.clock = clock
    assert [lane.submit(int).outcome for _ in range(3)] == [Outcome.ACCEPTED, Outcome.REJECTED, Outcome.REJECTED]


def test_many_threads_get_no_more_than_the_bucket_holds(make_lane: MakeLane) -> None:
    lane = make_lane(max_concurrency=4, rate_per_s=0.001, burst=20, when_limited="reject")
    together = threading.Barrier(8)

    def submit() -> None:
        together.wait(GUARD_S)
        for _ in range(25):
            lane.submit(int)

    threads = [threading.Thread(target=submit, daemon=True) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(GUARD_S)
    assert outcomes(lane) == (20, 180, 0, 0)


# A rate that changes


def test_a_higher_rate_serves_the_one_that_waits_for_a_token(make_lane: MakeLane, time: ManualTime) -> None:
    lane = make_lane(rate_per_s=0.001, burst=1)
    lane.submit(int)
    caller = start_waiting(lane.submit, int)
    lane.change(rate_per_s=10)
    time.advance(0.1)
    lane.tick()
    assert caller.answer().outcome is Outcome.ACCEPTED


@pytest.mark.req("LAN-1")
def test_on_a_real_clock_one_that_waits_for_a_slow_token_is_served_at_the_new_rate() -> None:
    with Lane(LaneConfig(name="quick", rate_per_s=1e-6)) as lane:
        lane.submit(int)
        caller = Caller(lane.submit, int)
        while lane.statistics().waiting == 0:
            assert caller.is_waiting
        lane.change(rate_per_s=1000)
        assert caller.answer().outcome is Outcome.ACCEPTED


def test_time_that_has_passed_counts_at_the_rate_of_that_time(make_lane: MakeLane, time: ManualTime) -> None:
    lane = make_lane(rate_per_s=1, burst=10, when_limited="reject")
    for _ in range(10):
        lane.submit(int)
    time.advance(2)
    lane.change(rate_per_s=100)
    assert [lane.submit(int).outcome for _ in range(3)] == [Outcome.ACCEPTED] * 2 + [Outcome.REJECTED]


def test_tokens_above_a_smaller_burst_are_lost(make_lane: MakeLane, time: ManualTime) -> None:
    lane = make_lane(rate_per_s=1, burst=10, when_limited="reject")
    lane.change(burst=2)
    assert [lane.submit(int).outcome for _ in range(3)] == [Outcome.ACCEPTED] * 2 + [Outcome.REJECTED]


def test_a_rate_of_infinity_is_no_limit_and_serves_all_that_wait(make_lane: MakeLane) -> None:
    lane = make_lane(max_concurrency=1, rate_per_s=0.001, burst=2)
    for _ in range(2):
        lane.submit(int)
    callers = [start_waiting(lane.submit, int) for _ in range(3)]
    lane.change(rate_per_s=math.inf)
    assert [caller.answer().outcome for caller in callers] == [Outcome.ACCEPTED] * 3
    assert (lane.config.rate_per_s, lane.config.burst, lane.config.when_limited) == (None, 1, "wait")


def test_a_lane_without_a_rate_can_get_one(make_lane: MakeLane, time: ManualTime) -> None:
    lane = make_lane()
    lane.change(rate_per_s=2, burst=1)
    assert lane.submit(int).outcome is Outcome.ACCEPTED
    assert lane.try_submit(int).reason is Reason.LIMITED
    time.advance(0.5)
    assert lane.try_submit(int).outcome is Outcome.ACCEPTED
