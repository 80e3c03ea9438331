"""A waiting submission can be cancelled by a token, an event or a deadline: it is rejected, never accepted."""

import threading

import pytest

from inorder.errors import OperatorError
from inorder.lanes import CancelToken, Lane, Outcome, Reason
from inorder.lanes import lane as lane_module
from inorder.lanes.waiters import ThreadWaker
from tests.lanes.conftest import MakeLane
from tests.lanes.doubles import InterruptedWaker, outcomes, start_waiting
from tests.support.gates import GUARD_S, Gate, ManualTime

pytestmark = pytest.mark.req("LAN-5")


@pytest.fixture(params=["place", "token"])
def lane(request: pytest.FixtureRequest, make_lane: MakeLane, gate: Gate) -> Lane:
    """A lane in which the next submission waits: for a place, or for a token."""
    if request.param == "place":
        lane = make_lane(max_concurrency=1, capacity=0)
        lane.submit(gate.hold)
        gate.await_arrivals()
    else:
        lane = make_lane(rate_per_s=0.001, burst=1)
        lane.submit(int).result(GUARD_S)
    return lane


def test_a_cancel_token_ends_the_wait_at_once(lane: Lane) -> None:
    cancel = CancelToken()
    caller = start_waiting(lane.submit, int, cancel=cancel)
    cancel.set()
    ticket = caller.answer()
    assert (ticket.outcome, ticket.reason) == (Outcome.REJECTED, Reason.CANCELLED)
    assert outcomes(lane) == (1, 1, 0, 0)


def test_an_event_ends_the_wait(lane: Lane) -> None:
    cancel = threading.Event()
    caller = start_waiting(lane.submit, int, cancel=cancel)
    cancel.set()
    assert caller.answer().reason is Reason.CANCELLED
    assert outcomes(lane) == (1, 1, 0, 0)


def test_a_deadline_ends_the_wait(lane: Lane, time: ManualTime) -> None:
    caller = start_waiting(lane.submit, int, deadline_s=3)
    time.advance(2.9)
    lane.tick()
    assert caller.is_waiting
    time.advance(0.1)
    lane.tick()
    ticket = caller.answer()
    assert (ticket.outcome, ticket.reason) == (Outcome.REJECTED, Reason.DEADLINE)
    assert outcomes(lane) == (1, 1, 0, 0)


@pytest.mark.parametrize("deadline_s", [0, -1])
def test_with_no_time_left_there_is_no_wait(lane: Lane, deadline_s: float) -> None:
    ticket = lane.submit(int, deadline_s=deadline_s)
    assert (ticket.outcome, ticket.reason) == (Outcome.REJECTED, Reason.DEADLINE)


def test_a_cancelled_submission_leaves_no_trace_in_the_room(lane: Lane) -> None:
    cancel = CancelToken()
    callers = [start_waiting(lane.submit, int, cancel=cancel) for _ in range(3)]
    assert lane.statistics().waiting == 3
    cancel.set()
    for caller in callers:
        assert caller.answer().outcome is Outcome.REJECTED
    assert (lane.statistics().waiting, lane.statistics().submitted) == (0, 4)


def test_only_the_cancelled_one_leaves(lane: Lane, gate: Gate, time: ManualTime) -> None:
    cancel = CancelToken()
    staying = start_waiting(lane.submit, str)
    leaving = start_waiting(lane.submit, int, cancel=cancel)
    cancel.set()
    assert leaving.answer().outcome is Outcome.REJECTED
    assert staying.is_waiting
    gate.open()
    time.advance(1000)
    lane.tick()
    assert staying.answer().result(GUARD_S) == ""


def test_one_whose_time_is_up_gets_nothing_even_if_a_place_comes_free_in_that_moment(
    make_lane: MakeLane, gate: Gate, time: ManualTime
) -> None:
    lane = make_lane(max_concurrency=1, capacity=0)
    held = lane.submit(gate.hold)
    gate.await_arrivals()
    late = start_waiting(lane.submit, int, deadline_s=3)
    in_time = start_waiting(lane.submit, str)
    time.advance(3)
    gate.open()
    held.result(GUARD_S)
    assert in_time.answer().result(GUARD_S) == ""
    assert late.answer().outcome is Outcome.REJECTED


def test_one_who_cancelled_gets_nothing_even_if_a_place_comes_free_in_that_moment(
    make_lane: MakeLane, gate: Gate
) -> None:
    class Quiet:
        """A signal that tells nobody; the lane must look before it grants."""

        def __init__(self) -> None:
            self.value = False

        def is_set(self) -> bool:
            return self.value

    lane = make_lane(max_concurrency=1, capacity=0)
    lane.submit(gate.hold)
    gate.await_arrivals()
    cancel, ran = Quiet(), []
    caller = start_waiting(lane.submit, ran.append, 1, cancel=cancel)
    cancel.value = True
    gate.open()
    assert caller.answer().outcome is Outcome.REJECTED
    assert ran == []


def test_a_submission_cancelled_beforehand_is_rejected_even_if_there_is_room(make_lane: MakeLane) -> None:
    lane = make_lane()
    cancel = CancelToken()
    cancel.set()
    for submit in (lane.submit, lane.try_submit):
        ticket = submit(int, cancel=cancel)
        assert (ticket.outcome, ticket.reason) == (Outcome.REJECTED, Reason.CANCELLED)
    assert outcomes(lane) == (0, 2, 0, 0)


def test_a_token_that_is_not_set_and_a_deadline_that_is_not_near_change_nothing(make_lane: MakeLane) -> None:
    lane = make_lane()
    assert lane.submit(int, cancel=CancelToken(), deadline_s=0).result(GUARD_S) == 0


def test_to_cancel_after_the_acceptance_has_no_effect(make_lane: MakeLane, gate: Gate) -> None:
    lane = make_lane(max_concurrency=1)
    lane.submit(gate.hold)
    cancel = CancelToken()
    ticket = lane.submit(int, cancel=cancel, deadline_s=0)
    cancel.set()
    gate.open()
    assert ticket.result(GUARD_S) == 0


def test_too_many_waiting_submissions_are_rejected(make_lane: MakeLane, gate: Gate) -> None:
    lane = make_lane(max_concurrency=1, capacity=0, waiting_max=2)
    lane.submit(gate.hold)
    callers = [start_waiting(lane.submit, int) for _ in range(2)]
    ticket = lane.submit(int)
    assert (ticket.outcome, ticket.reason) == (Outcome.REJECTED, Reason.CROWDED)
    gate.open()
    assert [caller.answer().outcome for caller in callers] == [Outcome.ACCEPTED] * 2


def test_an_interrupted_wait_is_rejected_and_leaves_the_room(lane: Lane, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lane_module, "ThreadWaker", InterruptedWaker)
    with pytest.raises(KeyboardInterrupt):
        lane.submit(int)
    assert (lane.statistics().waiting, outcomes(lane)) == (0, (1, 1, 0, 0))


def test_an_interrupt_that_comes_after_the_admission_does_not_undo_it(
    make_lane: MakeLane, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    lane = make_lane(max_concurrency=1, capacity=0)
    held = lane.submit(gate.hold)
    gate.await_arrivals()
    ran = threading.Event()

    class Late(ThreadWaker):
        def wait(self, timeout_s: float) -> None:
            gate.open()
            held.result(GUARD_S)
            raise KeyboardInterrupt

    monkeypatch.setattr(lane_module, "ThreadWaker", Late)
    with pytest.raises(KeyboardInterrupt):
        lane.submit(ran.set)
    assert ran.wait(GUARD_S)
    assert outcomes(lane) == (2, 0, 0, 0)


def test_a_signal_that_raises_is_taken_for_set_and_harms_nobody(make_lane: MakeLane, gate: Gate) -> None:
    class Broken:
        def __init__(self) -> None:
            self.works = True

        def is_set(self) -> bool:
            if self.works:
                return False
            raise OSError

    lane = make_lane(max_concurrency=1, capacity=0)
    lane.submit(gate.hold)
    gate.await_arrivals()
    cancel = Broken()
    caller = start_waiting(lane.submit, int, cancel=cancel)
    cancel.works = False
    gate.open()
    assert caller.answer().outcome is Outcome.REJECTED
    assert lane.submit(int).result(GUARD_S) == 0


def test_nonsense_is_refused_before_anything_is_counted(make_lane: MakeLane) -> None:
    lane = make_lane()
    for nonsense in ({"cancel": object()}, {"priority": "high"}, {"priority": None}, {"priority": 1.5}):
        for submit in (lane.submit, lane.try_submit):
            with pytest.raises(OperatorError, match=next(iter(nonsense))):
                submit(int, **nonsense)
    assert lane.statistics().submitted == 0


class TestCancelToken:
    def test_it_tells_those_who_listen_once_and_those_who_come_late_at_once(self) -> None:
        token, heard = CancelToken(), []
        token.listen(lambda: heard.append("early"))
        token.set()
        token.set()
        token.listen(lambda: heard.append("late"))
        assert (heard, token.is_set()) == (["early", "late"], True)

    def test_one_who_stopped_listening_hears_nothing(self) -> None:
        token, heard = CancelToken(), []
        stop = token.listen(lambda: heard.append("early"))
        stop()
        token.set()
        assert heard == []

    def test_a_token_used_for_many_submissions_keeps_none_of_them(self, make_lane: MakeLane, gate: Gate) -> None:
        lane = make_lane(max_concurrency=1, capacity=0)
        token = CancelToken()
        lane.submit(gate.hold)
        caller = start_waiting(lane.submit, int, cancel=token)
        assert len(token._listeners) == 1
        gate.open()
        caller.answer().result(GUARD_S)
        assert len(token._listeners) == 0
