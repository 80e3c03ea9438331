"""How many tasks run at once: a fixed number, or one that scales up and down."""

import threading

import pytest

from inorder.errors import OperatorError
from inorder.lanes import Lane, LaneConfig, Outcome
from tests.lanes.conftest import MakeLane
from tests.lanes.doubles import Caller, lane_threads, outcomes, start_waiting
from tests.support.gates import GUARD_S, Gate, ManualTime, wait_for_end

pytestmark = pytest.mark.req("LAN-1")


def test_no_more_tasks_run_at_once_than_allowed(make_lane: MakeLane, gate: Gate) -> None:
    lane = make_lane(max_concurrency=3, capacity=10)
    tickets = [lane.submit(gate.hold, number) for number in range(9)]
    gate.await_arrivals(3)
    counted = lane.statistics()
    assert (counted.running, counted.depth, counted.workers, counted.concurrency) == (3, 6, 3, 3)
    gate.open()
    assert [ticket.result(GUARD_S) for ticket in tickets] == list(range(9))
    assert gate.inside_max == 3


def test_all_allowed_tasks_do_run_at_once(make_lane: MakeLane) -> None:
    lane = make_lane(max_concurrency=5)
    together = threading.Barrier(5)
    tickets = [lane.submit(together.wait, GUARD_S) for _ in range(5)]
    assert sorted(ticket.result(GUARD_S) for ticket in tickets) == [0, 1, 2, 3, 4]


def test_threads_come_only_when_there_is_work_for_them(make_lane: MakeLane, gate: Gate) -> None:
    lane = make_lane(max_concurrency=8)
    assert lane.statistics().workers == 0
    for _ in range(3):
        lane.submit(int).result(GUARD_S)
    assert lane.statistics().workers <= 3
    lane.submit(gate.hold)
    lane.submit(gate.hold)
    gate.await_arrivals(2)
    assert lane.statistics().workers < 8


def test_worker_threads_are_daemons(make_lane: MakeLane, gate: Gate) -> None:
    lane = make_lane("daemons", max_concurrency=2)
    lane.submit(gate.hold)
    gate.await_arrivals()
    assert [thread.daemon for thread in lane_threads("daemons")] == [True]


def test_a_fixed_lane_has_no_further_thread(make_lane: MakeLane, gate: Gate, time: ManualTime) -> None:
    lane = make_lane("fixed", max_concurrency=1, capacity=5)
    lane.submit(gate.hold)
    gate.await_arrivals()
    lane.submit(gate.hold)
    time.advance(1e6)
    lane.tick()
    assert len(lane_threads("fixed")) == 1
    assert lane.statistics().concurrency == 1


# Between two bounds


def test_a_dynamic_lane_starts_small(make_lane: MakeLane, gate: Gate) -> None:
    lane = make_lane(min_concurrency=1, max_concurrency=4, scale_up_after_s=5)
    for _ in range(4):
        lane.submit(gate.hold)
    gate.await_arrivals()
    counted = lane.statistics()
    assert (counted.running, counted.workers, counted.concurrency, counted.depth) == (1, 1, 1, 3)


def test_waiting_tasks_bring_workers_one_by_one_up_to_the_maximum(
    make_lane: MakeLane, gate: Gate, time: ManualTime
) -> None:
    lane = make_lane(min_concurrency=1, max_concurrency=3, scale_up_after_s=5)
    for _ in range(5):
        lane.submit(gate.hold)
    gate.await_arrivals()
    for expected in (2, 3):
        time.advance(4.9)
        lane.tick()
        gate.has_no_further_arrival()
        time.advance(0.1)
        lane.tick()
        gate.await_arrivals()
        assert lane.statistics().concurrency == expected
    time.advance(1e6)
    lane.tick()
    assert (lane.statistics().concurrency, lane.statistics().running) == (3, 3)
    assert gate.inside_max == 3


def test_idle_workers_leave_one_by_one_down_to_the_minimum(make_lane: MakeLane, gate: Gate, time: ManualTime) -> None:
    lane = make_lane("leaving", min_concurrency=1, max_concurrency=3, scale_up_after_s=0, scale_down_after_s=60)
    tickets = [lane.submit(gate.hold) for _ in range(3)]
    gate.await_arrivals(3)
    gate.open()
    for ticket in tickets:
        ticket.result(GUARD_S)
    threads = lane_threads("leaving")
    assert (len(threads), lane.statistics().concurrency) == (3, 3)
    seen = []
    for seconds in (59.9, 0.1, 60, 60, 60):
        time.advance(seconds)
        lane.tick()
        seen.append((lane.statistics().concurrency, lane.statistics().workers))
    assert seen == [(3, 3), (2, 2), (1, 1), (1, 1), (1, 1)]
    assert len(_until_ended(threads, 2)) == 2
    assert len(lane_threads("leaving")) == 1


def _until_ended(threads: list[threading.Thread], count: int) -> list[threading.Thread]:
    """These threads that have ended, once there are so many."""
    for _ in range(int(GUARD_S) * 50):
        gone = [thread for thread in threads if not thread.is_alive()]
        if len(gone) >= count:
            return gone
        threads[0].join(0.01)
        threads[-1].join(0.01)
    raise AssertionError("no worker left")


def test_a_lane_that_shrank_grows_again(make_lane: MakeLane, gate: Gate, time: ManualTime) -> None:
    lane = make_lane(min_concurrency=1, max_concurrency=2, scale_up_after_s=5, scale_down_after_s=60)
    for _ in range(2):
        lane.submit(gate.hold)
    gate.await_arrivals()
    time.advance(5)
    lane.tick()
    gate.await_arrivals()
    gate.open()
    lane.submit(int).result(GUARD_S)
    _wait_until_idle(lane)
    time.advance(60)
    lane.tick()
    assert lane.statistics().concurrency == 1
    again = Gate()
    tickets = [lane.submit(again.hold) for _ in range(2)]
    again.await_arrivals()
    time.advance(5)
    lane.tick()
    again.await_arrivals()
    again.open()
    assert [ticket.result(GUARD_S) for ticket in tickets] == [None, None]


def _wait_until_idle(lane: Lane) -> None:
    """Go on once every task has been booked: two tasks meet, so both workers are free of what was before."""
    meeting = threading.Barrier(lane.statistics().concurrency)
    for ticket in [lane.submit(meeting.wait, GUARD_S) for _ in range(meeting.parties)]:
        ticket.result(GUARD_S)


def test_a_busy_lane_does_not_shrink(make_lane: MakeLane, gate: Gate, time: ManualTime) -> None:
    lane = make_lane(min_concurrency=1, max_concurrency=2, scale_up_after_s=0, scale_down_after_s=60)
    for _ in range(2):
        lane.submit(gate.hold)
    gate.await_arrivals(2)
    time.advance(1e6)
    lane.tick()
    assert lane.statistics().concurrency == 2


def start_backlog(lane: Lane, gate: Gate, time: ManualTime, count: int) -> None:
    """Queue so many tasks of one second each behind one that waits at the gate."""
    lane.submit(gate.hold)
    gate.await_arrivals()
    for _ in range(count):
        lane.submit(time.advance, 1.0)


def test_a_backlog_of_short_tasks_grows_a_lane(make_lane: MakeLane, gate: Gate, time: ManualTime) -> None:
    lane = make_lane(min_concurrency=1, max_concurrency=6, scale_up_after_s=5, scale_down_after_s=80_000)
    start_backlog(lane, gate, time, 60)
    assert lane.statistics().concurrency == 1
    gate.open()
    assert lane.close()
    assert lane.statistics().concurrency == 6


def test_a_backlog_grows_a_lane_that_is_closing(make_lane: MakeLane, gate: Gate, time: ManualTime) -> None:
    lane = make_lane(min_concurrency=1, max_concurrency=6, scale_up_after_s=5, scale_down_after_s=80_000)
    start_backlog(lane, gate, time, 60)
    lane._locked.begin_close(drain=True)
    gate.open()
    assert lane.close()
    assert lane.statistics().concurrency == 6


def test_a_lane_that_is_closing_grows_on_a_real_clock_while_no_task_ends(gate: Gate) -> None:
    lane = Lane(LaneConfig(name="closing", min_concurrency=1, max_concurrency=3, scale_up_after_s=0.001))
    for _ in range(3):
        lane.submit(gate.hold)
    caller = Caller(lane.close)
    gate.await_arrivals(3)
    gate.open()
    assert caller.answer()


def test_single_short_tasks_do_not_keep_a_lane_large(make_lane: MakeLane, gate: Gate, time: ManualTime) -> None:
    lane = make_lane(min_concurrency=1, max_concurrency=3, scale_up_after_s=0, scale_down_after_s=10)
    tickets = [lane.submit(gate.hold) for _ in range(3)]
    gate.await_arrivals(3)
    gate.open()
    for ticket in tickets:
        ticket.result(GUARD_S)
    for _ in range(22):
        time.advance(1)
        lane.submit(int).result(GUARD_S)
    lane.tick()
    assert lane.statistics().concurrency == 1


# Bounds and rate that change


def test_a_higher_bound_starts_waiting_tasks_at_once(make_lane: MakeLane, gate: Gate) -> None:
    lane = make_lane(max_concurrency=1, capacity=1)
    for _ in range(2):
        lane.submit(gate.hold)
    gate.await_arrivals()
    caller = start_waiting(lane.submit, gate.hold)
    lane.change(max_concurrency=3)
    assert caller.answer().outcome is Outcome.ACCEPTED
    gate.await_arrivals(2)
    assert (lane.statistics().running, lane.statistics().concurrency, lane.config.max_concurrency) == (3, 3, 3)


def test_a_lower_bound_ends_no_task_and_starts_none_until_enough_have_ended(make_lane: MakeLane, gate: Gate) -> None:
    lane = make_lane(max_concurrency=3, capacity=5)
    tickets = [lane.submit(gate.hold) for _ in range(5)]
    gate.await_arrivals(3)
    lane.change(max_concurrency=1)
    counted = lane.statistics()
    assert (counted.running, counted.depth, counted.concurrency) == (3, 2, 1)
    gate.open()
    for ticket in tickets:
        ticket.result(GUARD_S)
    again = Gate()
    for _ in range(3):
        lane.submit(again.hold)
    again.await_arrivals()
    assert lane.statistics().running == 1
    again.open()


def test_a_fixed_lane_becomes_a_dynamic_one_and_a_fixed_one_again(
    make_lane: MakeLane, gate: Gate, time: ManualTime
) -> None:
    lane = make_lane(max_concurrency=1, scale_up_after_s=5)
    for _ in range(5):
        lane.submit(gate.hold)
    gate.await_arrivals()
    lane.change(min_concurrency=1, max_concurrency=4)
    for expected in (2, 4):
        time.advance(5)
        lane.tick()
        assert lane.statistics().concurrency == expected
    gate.await_arrivals(3)
    lane.change(min_concurrency=4)
    gate.open()
    time.advance(1e6)
    lane.tick()
    assert lane.statistics().concurrency == 4


def test_a_dynamic_lane_moves_to_the_nearer_of_its_new_bounds(make_lane: MakeLane) -> None:
    lane = make_lane(min_concurrency=2, max_concurrency=3)
    lane.change(min_concurrency=5, max_concurrency=6)
    assert lane.statistics().concurrency == 5
    lane.change(min_concurrency=1, max_concurrency=2)
    assert lane.statistics().concurrency == 2


def test_bounds_that_are_refused_change_nothing(make_lane: MakeLane) -> None:
    lane = make_lane(min_concurrency=2, max_concurrency=3)
    before = lane.config
    with pytest.raises(OperatorError, match="min_concurrency"):
        lane.change(max_concurrency=1)
    with pytest.raises(OperatorError, match="burst has no effect without rate_per_s"):
        lane.change(burst=4)
    assert lane.config == before


def test_a_full_lane_grows_before_it_refuses_anybody(make_lane: MakeLane, gate: Gate) -> None:
    lane = make_lane(min_concurrency=1, max_concurrency=3, capacity=0, strategy="drop", scale_up_after_s=1e4)
    found = [lane.submit(gate.hold).outcome for _ in range(4)]
    assert found == [Outcome.ACCEPTED] * 3 + [Outcome.DROPPED]
    gate.await_arrivals(3)
    assert outcomes(lane) == (3, 0, 0, 1)


def test_a_growing_lane_lets_those_in_who_wait_for_a_place(make_lane: MakeLane, gate: Gate, time: ManualTime) -> None:
    lane = make_lane(min_concurrency=2, max_concurrency=2, capacity=0)
    for _ in range(2):
        lane.submit(gate.hold)
    caller = start_waiting(lane.submit, gate.hold)
    time.advance(1e6)
    lane.tick()
    assert caller.is_waiting
    gate.open()
    assert caller.answer().outcome is Outcome.ACCEPTED


def test_on_a_real_clock_a_lane_grows_and_shrinks_by_itself() -> None:
    gate = Gate()
    config = LaneConfig(
        name="alive", min_concurrency=1, max_concurrency=2, scale_up_after_s=0.001, scale_down_after_s=0.001
    )
    with Lane(config) as lane:
        tickets = [lane.submit(gate.hold) for _ in range(2)]
        gate.await_arrivals(2)
        threads = lane_threads("alive")
        gate.open()
        for ticket in tickets:
            ticket.result(GUARD_S)
        assert len(_until_ended(threads, 1)) == 1
        assert lane.statistics().concurrency == 1
        assert lane.submit(int).result(GUARD_S) == 0
    assert wait_for_end(lane_threads("alive"))


def test_what_one_thread_has_to_call_is_called_by_no_other(make_lane: MakeLane) -> None:
    lane = make_lane(max_concurrency=1)
    lane.submit(int).result(GUARD_S)
    locked, called = lane._locked, []

    class Eventful:
        """A lock after whose release another thread has something to call already."""

        def __init__(self, lock: threading.Lock) -> None:
            self._lock = lock

        def __enter__(self) -> None:
            self._lock.acquire()

        def __exit__(self, *raised: object) -> None:
            self._lock.release()
            locked.state.deferred_calls.append(lambda: called.append(1))

    held = Gate()
    lane.submit(held.hold)
    held.await_arrivals()
    lock, locked._lock = locked._lock, Eventful(locked._lock)  # type: ignore[assignment]
    lane.submit(int)
    locked._lock = lock
    assert called == []
    held.open()


def test_without_any_thread_to_be_had_the_task_fails_and_nothing_hangs(
    make_lane: MakeLane, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    lane = make_lane()
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        ticket = lane.submit(int)
        assert ticket.outcome is Outcome.ACCEPTED
        with pytest.raises(RuntimeError, match="can't start new thread"):
            ticket.result(0)
    assert lane.statistics().failed == 1
    assert lane.submit(int).result(GUARD_S) == 0


def test_without_any_thread_those_who_wait_fail_too_and_nothing_hangs(
    make_lane: MakeLane, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    lane = make_lane(max_concurrency=1, capacity=0)
    stuck = lane.submit(gate.hold)
    gate.await_arrivals()
    callers = [start_waiting(lane.submit, int) for _ in range(3)]
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        lane.abandon(stuck)
        found = [caller.answer().exception(GUARD_S) for caller in callers]
    assert [str(error) for error in found] == ["can't start new thread"] * 3


def test_without_a_further_thread_the_present_ones_do_the_work(
    make_lane: MakeLane, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    lane = make_lane(max_concurrency=4)
    lane.submit(gate.hold)
    gate.await_arrivals()
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        waiting = lane.submit(int)
    assert not waiting.done
    gate.open()
    assert waiting.result(GUARD_S) == 0
