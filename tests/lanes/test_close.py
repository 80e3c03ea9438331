"""Closing a lane: from any thread, repeatedly, and no accepted task is lost."""

import gc
import threading
import weakref
from queue import SimpleQueue

import pytest

from inorder.lanes import Lane, LaneConfig, Outcome, Reason, TaskCancelled, TaskState, Ticket
from tests.lanes.conftest import MakeLane
from tests.lanes.doubles import Caller, check_books, lane_threads, outcomes, start_waiting
from tests.support.gates import GUARD_S, Gate, ManualTime, wait_for_end

pytestmark = pytest.mark.req("LAN-6")


def test_draining_runs_what_was_accepted_and_ends_the_threads(make_lane: MakeLane, gate: Gate) -> None:
    lane = make_lane("drained", max_concurrency=2)
    tickets = [lane.submit(gate.hold, number) for number in range(6)]
    gate.await_arrivals(2)
    closing = Caller(lane.close)
    gate.open()
    assert closing.answer() is True
    assert [ticket.result(0) for ticket in tickets] == list(range(6))
    assert lane.statistics().workers == 0
    assert wait_for_end(lane_threads("drained"))


def test_without_draining_queued_tasks_are_cancelled_and_running_ones_end(make_lane: MakeLane, gate: Gate) -> None:
    lane = make_lane(max_concurrency=1)
    running = lane.submit(gate.hold, "ran")
    gate.await_arrivals()
    queued = [lane.submit(int) for _ in range(3)]
    closing = Caller(lane.close, drain=False)
    for ticket in queued:
        assert ticket.wait(GUARD_S)
        assert ticket.state is TaskState.CANCELLED
        with pytest.raises(TaskCancelled, match="lane 'lane'"):
            ticket.result(0)
    gate.open()
    assert closing.answer() is True
    assert running.result(0) == "ran"
    counted = lane.statistics()
    assert (counted.accepted, counted.completed, counted.cancelled, counted.failed) == (4, 1, 3, 0)


def test_a_closed_lane_rejects(make_lane: MakeLane) -> None:
    lane = make_lane()
    lane.close()
    for submit in (lane.submit, lane.try_submit):
        ticket = submit(int)
        assert (ticket.outcome, ticket.reason) == (Outcome.REJECTED, Reason.CLOSED)
    assert lane.closed


def test_closing_again_and_again_changes_nothing(make_lane: MakeLane) -> None:
    lane = make_lane()
    lane.submit(int)
    assert lane.close()
    before = lane.statistics()
    assert [lane.close(drain) for drain in (True, False, True)] == [True] * 3
    assert lane.statistics() == before


def test_a_lane_that_was_never_used_closes(make_lane: MakeLane) -> None:
    assert make_lane().close()


def test_many_threads_close_at_once(make_lane: MakeLane) -> None:
    lane = make_lane(max_concurrency=4)
    tickets = [lane.submit(int) for _ in range(100)]
    callers = [Caller(lane.close, drain=number % 2 == 0) for number in range(16)]
    assert [caller.answer() for caller in callers] == [True] * 16
    assert {ticket.state for ticket in tickets} <= {TaskState.COMPLETED, TaskState.CANCELLED}


def test_a_second_close_may_be_stricter(make_lane: MakeLane, gate: Gate) -> None:
    lane = make_lane(max_concurrency=1)
    lane.submit(gate.hold)
    gate.await_arrivals()
    queued = lane.submit(int)
    patient = Caller(lane.close)
    strict = Caller(lane.close, drain=False)
    assert queued.wait(GUARD_S)
    assert queued.state is TaskState.CANCELLED
    gate.open()
    assert (patient.answer(), strict.answer()) == (True, True)


def test_those_who_wait_to_get_in_are_turned_away(make_lane: MakeLane, gate: Gate) -> None:
    lane = make_lane(max_concurrency=1, capacity=0)
    lane.submit(gate.hold)
    gate.await_arrivals()
    callers = [start_waiting(lane.submit, int) for _ in range(3)]
    closing = Caller(lane.close)
    for caller in callers:
        ticket = caller.answer()
        assert (ticket.outcome, ticket.reason) == (Outcome.REJECTED, Reason.CLOSED)
    gate.open()
    closing.answer()
    assert outcomes(lane) == (1, 3, 0, 0)


def test_those_who_wait_for_a_token_are_turned_away(make_lane: MakeLane) -> None:
    lane = make_lane(rate_per_s=0.001, burst=1)
    lane.submit(int)
    caller = start_waiting(lane.submit, int)
    lane.close()
    assert caller.answer().reason is Reason.CLOSED


def test_a_task_may_close_its_own_lane(make_lane: MakeLane, gate: Gate) -> None:
    lane = make_lane(max_concurrency=1)
    lane.submit(gate.hold)
    gate.await_arrivals()
    closer = lane.submit(lane.close)
    behind = lane.submit(int)
    gate.open()
    assert closer.result(GUARD_S) is False
    assert lane.close()
    assert behind.result(0) == 0


def test_all_tasks_of_a_lane_may_close_it_at_once(make_lane: MakeLane) -> None:
    lane = make_lane(max_concurrency=4)
    together = threading.Barrier(4)

    def close() -> bool:
        together.wait(GUARD_S)
        return lane.close(drain=False)

    tickets = [lane.submit(close) for _ in range(4)]
    assert [ticket.result(GUARD_S) for ticket in tickets] == [False] * 4
    assert lane.close()


def test_two_lanes_whose_tasks_close_each_other_both_end(make_lane: MakeLane) -> None:
    lanes = make_lane("left", max_concurrency=1), make_lane("right", max_concurrency=1)
    together = threading.Barrier(2)

    def close(other: Lane) -> bool:
        together.wait(GUARD_S)
        return other.close()

    tickets = [lanes[0].submit(close, lanes[1]), lanes[1].submit(close, lanes[0])]
    found = [ticket.result(GUARD_S) for ticket in tickets]
    assert False in found
    assert [lane.close() for lane in lanes] == [True, True]


def test_three_lanes_whose_tasks_close_each_other_in_a_ring_all_end(make_lane: MakeLane) -> None:
    lanes = [make_lane(name, max_concurrency=1) for name in ("a", "b", "c")]
    together = threading.Barrier(3)

    def close(other: Lane) -> bool:
        together.wait(GUARD_S)
        return other.close()

    tickets = [lane.submit(close, lanes[(index + 1) % 3]) for index, lane in enumerate(lanes)]
    found = [ticket.result(GUARD_S) for ticket in tickets]
    assert found.count(False) == 1


def test_a_task_that_closes_a_lane_of_its_own_waits_for_it(make_lane: MakeLane) -> None:
    outer = make_lane("outer", max_concurrency=1)

    def nested() -> list[int]:
        with Lane(LaneConfig(name="inner", max_concurrency=2)) as inner:
            tickets = [inner.submit(pow, number, 2) for number in range(4)]
        assert all(ticket.done for ticket in tickets)
        return [ticket.result(0) for ticket in tickets]

    assert outer.submit(nested).result(GUARD_S) == [0, 1, 4, 9]


def test_out_of_patience_what_runs_is_given_up_and_what_waits_is_taken_back(make_lane: MakeLane, gate: Gate) -> None:
    lane = make_lane(max_concurrency=2)
    tickets = [lane.submit(gate.hold) for _ in range(5)]
    gate.await_arrivals(2)
    assert lane.close(timeout_s=0)
    assert {ticket.state for ticket in tickets} == {TaskState.CANCELLED}
    counted = lane.statistics()
    check_books(counted)
    assert (counted.cancelled, counted.abandoned, counted.completed) == (5, 2, 0)
    gate.open()


def test_leaving_the_block_drains(make_lane: MakeLane) -> None:
    with make_lane() as lane:
        ticket = lane.submit(int)
    assert ticket.result(0) == 0
    assert lane.closed


def test_leaving_the_block_by_an_exception_cancels_what_waits(make_lane: MakeLane, gate: Gate) -> None:
    lane = make_lane(max_concurrency=1)

    def leave() -> None:
        with lane:
            lane.submit(gate.hold)
            gate.await_arrivals()
            queued.put(lane.submit(int))
            raise LookupError

    queued: SimpleQueue[Ticket[int]] = SimpleQueue()
    caller = Caller(leave)
    ticket = queued.get(timeout=GUARD_S)
    assert ticket.wait(GUARD_S)
    gate.open()
    with pytest.raises(LookupError):
        caller.answer()
    assert ticket.state is TaskState.CANCELLED


def test_a_dynamic_lane_ends_with_all_its_threads(make_lane: MakeLane, gate: Gate, time: ManualTime) -> None:
    lane = make_lane("dynamic", min_concurrency=1, max_concurrency=3, scale_up_after_s=5)
    for _ in range(3):
        lane.submit(gate.hold)
    gate.await_arrivals()
    time.advance(5)
    lane.tick()
    gate.await_arrivals()
    threads = lane_threads("dynamic")
    assert len(threads) > 1
    gate.open()
    assert lane.close()
    assert wait_for_end(threads)
    assert lane_threads("dynamic") == []


# Taking tasks back


def test_a_queued_task_can_be_taken_back_and_never_runs(make_lane: MakeLane, gate: Gate) -> None:
    lane = make_lane(max_concurrency=1)
    lane.submit(gate.hold)
    gate.await_arrivals()
    ran: list[int] = []
    ticket = lane.submit(ran.append, 1)
    assert ticket.cancel()
    assert not ticket.cancel()
    gate.open()
    lane.close()
    assert (ran, ticket.state, lane.statistics().cancelled) == ([], TaskState.CANCELLED, 1)


def test_a_running_or_ended_task_cannot_be_taken_back(make_lane: MakeLane, gate: Gate) -> None:
    lane = make_lane()
    running = lane.submit(gate.hold)
    gate.await_arrivals()
    assert not running.cancel()
    gate.open()
    running.result(GUARD_S)
    assert not running.cancel()
    assert lane.statistics().cancelled == 0


def test_taking_a_task_back_lets_the_next_caller_in(make_lane: MakeLane, gate: Gate) -> None:
    lane = make_lane(max_concurrency=1, capacity=1)
    lane.submit(gate.hold)
    queued = lane.submit(int)
    caller = start_waiting(lane.submit, str)
    queued.cancel()
    assert caller.answer().outcome is Outcome.ACCEPTED


# Giving running tasks up


def test_a_running_task_that_is_given_up_is_cancelled_and_its_late_outcome_ignored(
    make_lane: MakeLane, gate: Gate
) -> None:
    lane = make_lane("abandoning", max_concurrency=1)
    ticket = lane.submit(gate.hold, "too late")
    gate.await_arrivals()
    [old] = lane_threads("abandoning")
    assert lane.abandon(ticket)
    assert (ticket.state, lane.statistics().cancelled, lane.statistics().abandoned) == (TaskState.CANCELLED, 1, 1)
    gate.open()
    assert wait_for_end([old])
    assert ticket.state is TaskState.CANCELLED
    with pytest.raises(TaskCancelled):
        ticket.result(0)
    counted = lane.statistics()
    assert (counted.completed, counted.cancelled, counted.running) == (0, 1, 0)


def test_the_thread_of_a_task_given_up_is_replaced_at_once(make_lane: MakeLane, gate: Gate) -> None:
    lane = make_lane(max_concurrency=1)
    stuck = lane.submit(gate.hold)
    gate.await_arrivals()
    behind = lane.submit(lambda: "still served")
    lane.abandon(stuck)
    assert behind.result(GUARD_S) == "still served"
    assert lane.statistics().workers == 1


def test_the_thread_of_a_task_given_up_is_replaced_even_if_nothing_waits(make_lane: MakeLane, gate: Gate) -> None:
    lane = make_lane(max_concurrency=1)
    stuck = lane.submit(gate.hold)
    gate.await_arrivals()
    lane.abandon(stuck)
    assert lane.statistics().workers == 1


def test_concurrency_is_kept_however_many_are_given_up(make_lane: MakeLane, gate: Gate) -> None:
    lane = make_lane(max_concurrency=2)
    for _ in range(3):
        stuck = [lane.submit(gate.hold) for _ in range(2)]
        gate.await_arrivals(2)
        for ticket in stuck:
            assert lane.abandon(ticket)
    together = threading.Barrier(2)
    tickets = [lane.submit(together.wait, GUARD_S) for _ in range(2)]
    assert sorted(ticket.result(GUARD_S) for ticket in tickets) == [0, 1]
    assert lane.statistics().workers == 2


def test_closing_does_not_wait_for_a_task_given_up(make_lane: MakeLane, gate: Gate) -> None:
    lane = make_lane(max_concurrency=1)
    ticket = lane.submit(gate.hold)
    gate.await_arrivals()
    lane.abandon(ticket)
    assert lane.close()
    check_books(lane.statistics())


def test_giving_up_frees_the_place_for_one_who_waits(make_lane: MakeLane, gate: Gate) -> None:
    lane = make_lane(max_concurrency=1, capacity=0)
    stuck = lane.submit(gate.hold)
    gate.await_arrivals()
    caller = start_waiting(lane.submit, lambda: "in")
    lane.abandon(stuck)
    assert caller.answer().result(GUARD_S) == "in"


def test_to_give_up_a_queued_task_takes_it_back_and_an_ended_one_has_no_effect(make_lane: MakeLane, gate: Gate) -> None:
    lane = make_lane(max_concurrency=1)
    running = lane.submit(gate.hold)
    gate.await_arrivals()
    queued = lane.submit(int)
    assert lane.abandon(queued)
    assert (queued.state, lane.statistics().abandoned) == (TaskState.CANCELLED, 0)
    gate.open()
    running.result(GUARD_S)
    assert not lane.abandon(running)
    assert not lane.abandon(queued)


def test_a_redirected_task_is_given_up_where_it_runs(make_lane: MakeLane, gate: Gate) -> None:
    lane = make_lane("lane", max_concurrency=1, capacity=0, strategy="redirect", redirect_to="spare")
    spare = make_lane("spare", max_concurrency=1)
    lane.submit(gate.hold)
    redirected = lane.submit(gate.hold)
    gate.await_arrivals(2)
    assert lane.abandon(redirected)
    assert (lane.statistics().cancelled, spare.statistics().cancelled) == (0, 1)
    assert spare.submit(int).result(GUARD_S) == 0


def test_a_task_given_up_may_still_close_the_lane(make_lane: MakeLane, gate: Gate) -> None:
    lane = make_lane(max_concurrency=1)
    closed: list[bool] = []
    finished = threading.Event()

    def close_late() -> None:
        gate.hold()
        closed.append(lane.close())
        finished.set()

    ticket = lane.submit(close_late)
    gate.await_arrivals()
    lane.abandon(ticket)
    gate.open()
    assert finished.wait(GUARD_S)
    assert lane.closed


# What a lane holds on to


class Weighty:
    """Something of the caller's that says when it is freed."""

    def __init__(self, freed: threading.Event) -> None:
        weakref.finalize(self, freed.set)


@pytest.mark.slow
@pytest.mark.parametrize("kept", ["argument", "result", "error"])
def test_an_idle_worker_keeps_nothing_of_the_last_task(make_lane: MakeLane, kept: str) -> None:
    lane = make_lane(max_concurrency=1)
    freed = threading.Event()

    def function(argument: object) -> object:
        if kept == "error":
            raise LookupError(Weighty(freed))
        return Weighty(freed) if kept == "result" else None

    ticket = lane.submit(function, Weighty(freed) if kept == "argument" else None)
    ticket.wait(GUARD_S)
    del ticket
    gc.collect()
    assert freed.wait(GUARD_S)
    assert lane.statistics().workers == 1


def test_a_ticket_keeps_no_arguments_of_a_task_that_has_begun(make_lane: MakeLane) -> None:
    freed = threading.Event()
    ticket = make_lane().submit(id, Weighty(freed))
    ticket.result(GUARD_S)
    assert freed.wait(GUARD_S)


def test_a_task_taken_back_frees_its_arguments(make_lane: MakeLane, gate: Gate) -> None:
    lane = make_lane(max_concurrency=1)
    freed = threading.Event()
    lane.submit(gate.hold)
    ticket = lane.submit(id, Weighty(freed))
    ticket.cancel()
    assert freed.wait(GUARD_S)


@pytest.mark.parametrize("moment", ["end", "cancel", "close"])
def test_a_destructor_may_call_the_lane(make_lane: MakeLane, gate: Gate, moment: str) -> None:
    lane = make_lane(max_concurrency=1, strategy="reject")
    freed = threading.Event()

    class Caller:
        def __del__(self) -> None:
            lane.submit(int)
            freed.set()

    if moment == "end":
        lane.submit(id, Caller())
    else:
        lane.submit(gate.hold)
        gate.await_arrivals()
        ticket = lane.submit(id, Caller())
        if moment == "cancel":
            ticket.cancel()
        else:
            lane.close(timeout_s=0)
    assert freed.wait(GUARD_S)
