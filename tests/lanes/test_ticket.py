"""The ticket: waiting for the end, callbacks, and a repr without arguments."""

import threading
import warnings

import pytest

from inorder.lanes import CancelToken, TaskState
from tests.lanes.conftest import MakeLane
from tests.lanes.doubles import Caller
from tests.support.gates import GUARD_S, Gate

pytestmark = pytest.mark.req("LAN-6")


def test_the_states_of_a_task_in_their_order(make_lane: MakeLane, gate: Gate) -> None:
    lane = make_lane(max_concurrency=1)
    first, second = lane.submit(gate.hold), lane.submit(int)
    gate.await_arrivals()
    assert (first.state, second.state, first.done, second.done) == ("running", "queued", False, False)
    gate.open()
    assert second.result(GUARD_S) == 0
    assert (first.state, second.state, first.done) == (TaskState.COMPLETED, TaskState.COMPLETED, True)


def test_a_result_that_does_not_come_in_time(make_lane: MakeLane, gate: Gate) -> None:
    ticket = make_lane().submit(gate.hold, "late")
    gate.await_arrivals()
    for ask in (ticket.result, ticket.exception):
        with pytest.raises(TimeoutError, match=r"still running after 0\.001 s"):
            ask(0.001)
    assert not ticket.wait(0)
    gate.open()
    assert ticket.result(GUARD_S) == "late"


def test_many_wait_for_one_result(make_lane: MakeLane, gate: Gate) -> None:
    ticket = make_lane().submit(gate.hold, "for all")
    callers = [Caller(ticket.result, GUARD_S) for _ in range(5)]
    gate.open()
    assert [caller.answer() for caller in callers] == ["for all"] * 5


def test_what_one_wait_left_behind_does_not_disturb_the_next(make_lane: MakeLane, gate: Gate) -> None:
    ticket = make_lane().submit(gate.hold)
    gate.await_arrivals()
    for _ in range(50):
        assert not ticket.wait(0)
    assert ticket._callbacks is None


def test_a_callback_is_called_at_the_end(make_lane: MakeLane, gate: Gate) -> None:
    ticket = make_lane().submit(gate.hold)
    called = threading.Event()
    ticket.when_done(called.set)
    assert not called.is_set()
    gate.open()
    assert called.wait(GUARD_S)
    assert ticket.done


def test_a_callback_that_comes_late_is_called_at_once(make_lane: MakeLane) -> None:
    ticket = make_lane().submit(int)
    ticket.result(GUARD_S)
    called: list[int] = []
    ticket.when_done(lambda: called.append(1))
    assert called == [1]


def test_a_callback_is_called_for_a_task_taken_back(make_lane: MakeLane, gate: Gate) -> None:
    lane = make_lane(max_concurrency=1)
    lane.submit(gate.hold)
    ticket = lane.submit(int)
    called: list[int] = []
    ticket.when_done(lambda: called.append(1))
    ticket.cancel()
    assert called == [1]


def test_nobody_subscribes_to_what_has_ended(make_lane: MakeLane) -> None:
    ticket = make_lane().submit(int)
    ticket.result(GUARD_S)
    assert not ticket._owner.subscribe(ticket, lambda: None)


@pytest.mark.parametrize("error", [ValueError("spoilt"), SystemExit("spoilt")], ids=repr)
def test_a_callback_that_raises_becomes_a_warning_and_the_lane_goes_on(
    make_lane: MakeLane, gate: Gate, error: BaseException
) -> None:
    def spoil() -> None:
        raise error

    lane = make_lane(max_concurrency=1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ticket = lane.submit(gate.hold)
        ticket.when_done(spoil)
        gate.open()
        assert lane.submit(int).result(GUARD_S) == 0
    assert [str(warning.message) for warning in caught] == [f"a callback of a lane raised {error!r}"]


def test_an_interrupt_of_the_main_thread_is_not_lost_and_stops_no_other_callback(
    make_lane: MakeLane, gate: Gate
) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    lane = make_lane(max_concurrency=1)
    lane.submit(gate.hold)
    ticket = lane.submit(int)
    called: list[int] = []
    ticket.when_done(interrupt)
    ticket.when_done(lambda: called.append(1))
    with pytest.raises(KeyboardInterrupt):
        ticket.cancel()
    assert (called, ticket.state) == ([1], TaskState.CANCELLED)


def test_a_callback_may_use_the_lane(make_lane: MakeLane, gate: Gate) -> None:
    lane = make_lane(max_concurrency=1)
    followed = threading.Event()
    ticket = lane.submit(gate.hold)
    ticket.when_done(lambda: lane.submit(followed.set))
    gate.open()
    assert followed.wait(GUARD_S)


def test_tickets_and_lanes_show_no_arguments(make_lane: MakeLane, gate: Gate) -> None:
    lane = make_lane("shown")
    ticket = lane.submit(gate.hold, "a secret")
    gate.await_arrivals()
    assert repr(ticket) == "<Ticket in lane 'shown': accepted, running>"
    assert repr(lane) == "<Lane 'shown'>"
    gate.open()
    lane.close()
    assert repr(lane) == "<Lane 'shown', closed>"


def test_a_submission_with_a_token_is_an_ordinary_one(make_lane: MakeLane) -> None:
    assert make_lane().submit(int, "12", cancel=CancelToken()).result(GUARD_S) == 12
