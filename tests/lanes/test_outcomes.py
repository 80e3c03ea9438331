"""A full lane: four strategies, one outcome per submission, and redirects without cycles."""

import pytest

from inorder.errors import OperatorError
from inorder.lanes import CancelToken, Lane, LaneConfig, NotAdmitted, Outcome, Reason, TaskState
from inorder.lanes import lane as lane_module
from tests.lanes.conftest import MakeLane
from tests.lanes.doubles import InterruptedWaker, outcomes, start_waiting
from tests.support.gates import GUARD_S, Gate, ManualTime

pytestmark = pytest.mark.req("LAN-4")


def full(make_lane: MakeLane, gate: Gate, name: str = "lane", **options: object) -> Lane:
    """A lane with one task running, one queued, and no place left."""
    lane = make_lane(name, max_concurrency=1, capacity=1, **options)
    lane.submit(gate.hold)
    gate.await_arrivals()
    lane.submit(int)
    return lane


def test_a_lane_takes_what_may_run_and_what_may_queue(make_lane: MakeLane, gate: Gate) -> None:
    lane = make_lane(max_concurrency=2, capacity=3, strategy="reject")
    assert [lane.submit(gate.hold).outcome for _ in range(6)] == [Outcome.ACCEPTED] * 5 + [Outcome.REJECTED]


def test_block_waits_until_there_is_a_place(make_lane: MakeLane, gate: Gate) -> None:
    lane = full(make_lane, gate)
    caller = start_waiting(lane.submit, int)
    assert outcomes(lane) == (2, 0, 0, 0)
    assert (lane.statistics().submitted, lane.statistics().waiting) == (3, 1)
    gate.open()
    assert caller.answer().outcome is Outcome.ACCEPTED
    assert outcomes(lane) == (3, 0, 0, 0)


def test_drop_drops(make_lane: MakeLane, gate: Gate) -> None:
    lane = full(make_lane, gate, strategy="drop")
    ticket = lane.submit(int)
    assert (ticket.outcome, ticket.reason) == (Outcome.DROPPED, Reason.FULL)
    assert outcomes(lane) == (2, 0, 0, 1)


def test_reject_rejects(make_lane: MakeLane, gate: Gate) -> None:
    lane = full(make_lane, gate, strategy="reject")
    ticket = lane.submit(int)
    assert (ticket.outcome, ticket.reason) == (Outcome.REJECTED, Reason.FULL)
    assert outcomes(lane) == (2, 1, 0, 0)


@pytest.mark.parametrize(("strategy", "outcome"), [("block", "rejected"), ("drop", "dropped"), ("reject", "rejected")])
def test_to_try_never_waits(make_lane: MakeLane, gate: Gate, strategy: str, outcome: str) -> None:
    lane = full(make_lane, gate, strategy=strategy)
    assert lane.try_submit(int).outcome == outcome


def test_a_place_freed_by_cancelling_can_be_taken(make_lane: MakeLane, gate: Gate) -> None:
    lane = make_lane(max_concurrency=1, capacity=1, strategy="reject")
    lane.submit(gate.hold)
    gate.await_arrivals()
    queued = lane.submit(int)
    assert not lane.submit(int).admitted
    assert queued.cancel()
    assert lane.submit(int).admitted


# Redirects


def test_a_full_lane_redirects_and_the_other_accepts(make_lane: MakeLane, gate: Gate) -> None:
    lane = full(make_lane, gate, strategy="redirect", redirect_to="spare")
    spare = make_lane("spare")
    ticket = lane.submit(lambda: "done elsewhere")
    assert (ticket.outcome, ticket.lane, ticket.reason) == (Outcome.REDIRECTED, "spare", None)
    assert ticket.result(GUARD_S) == "done elsewhere"
    assert outcomes(lane) == (2, 0, 1, 0)
    assert outcomes(spare) == (1, 0, 0, 0)
    assert (lane.statistics().received, spare.statistics().received) == (0, 1)


def test_a_lane_with_room_does_not_redirect(make_lane: MakeLane) -> None:
    lane = make_lane("lane", strategy="redirect", redirect_to="spare")
    spare = make_lane("spare")
    assert lane.submit(int).outcome is Outcome.ACCEPTED
    assert spare.statistics().submitted == 0


@pytest.mark.parametrize("strategy", ["drop", "reject"])
def test_a_redirect_that_the_other_refuses_is_dropped(make_lane: MakeLane, gate: Gate, strategy: str) -> None:
    lane = full(make_lane, gate, strategy="redirect", redirect_to="spare")
    spare = full(make_lane, gate, "spare", strategy=strategy)
    ticket = lane.submit(int)
    assert (ticket.outcome, ticket.reason, ticket.lane) == (Outcome.DROPPED, Reason.TARGET, "lane")
    assert outcomes(lane) == (2, 0, 0, 1)
    assert sum(outcomes(spare)) == spare.statistics().submitted == 3


def test_a_redirect_to_a_closed_lane_is_dropped(make_lane: MakeLane, gate: Gate) -> None:
    lane = full(make_lane, gate, strategy="redirect", redirect_to="spare")
    spare = make_lane("spare")
    spare.close()
    assert lane.submit(int).outcome is Outcome.DROPPED
    assert outcomes(spare) == (0, 1, 0, 0)


def test_a_redirect_to_nowhere_is_dropped(make_lane: MakeLane, gate: Gate) -> None:
    lane = full(make_lane, gate, strategy="redirect", redirect_to="nowhere")
    ticket = lane.submit(int)
    assert (ticket.outcome, ticket.reason) == (Outcome.DROPPED, Reason.NO_TARGET)


def test_a_redirect_waits_at_a_lane_that_blocks(make_lane: MakeLane, gate: Gate) -> None:
    lane = full(make_lane, gate, strategy="redirect", redirect_to="spare")
    spare_gate = Gate()
    spare = full(make_lane, spare_gate, "spare")
    caller = start_waiting(lane.submit, int)
    assert (lane.statistics().waiting, spare.statistics().waiting) == (0, 1)
    spare_gate.open()
    assert caller.answer().outcome is Outcome.REDIRECTED
    assert (outcomes(lane), outcomes(spare)) == ((2, 0, 1, 0), (3, 0, 0, 0))


def test_a_redirect_whose_caller_cancels_is_rejected_everywhere(make_lane: MakeLane, gate: Gate) -> None:
    lane = full(make_lane, gate, strategy="redirect", redirect_to="spare")
    spare = full(make_lane, gate, "spare")
    cancel = CancelToken()
    caller = start_waiting(lane.submit, int, cancel=cancel)
    cancel.set()
    ticket = caller.answer()
    assert (ticket.outcome, ticket.reason, ticket.lane) == (Outcome.REJECTED, Reason.CANCELLED, "lane")
    assert (outcomes(lane), outcomes(spare)) == ((2, 1, 0, 0), (2, 1, 0, 0))


def test_a_redirect_whose_deadline_passes_is_rejected_everywhere(
    make_lane: MakeLane, gate: Gate, time: ManualTime
) -> None:
    lane = full(make_lane, gate, strategy="redirect", redirect_to="spare")
    spare = full(make_lane, gate, "spare")
    caller = start_waiting(lane.submit, int, deadline_s=5)
    time.advance(5)
    spare.tick()
    ticket = caller.answer()
    assert (ticket.outcome, ticket.reason) == (Outcome.REJECTED, Reason.DEADLINE)
    assert (outcomes(lane), outcomes(spare)) == ((2, 1, 0, 0), (2, 1, 0, 0))


def test_to_try_does_not_wait_at_the_other_lane_either(make_lane: MakeLane, gate: Gate) -> None:
    lane = full(make_lane, gate, strategy="redirect", redirect_to="spare")
    spare = full(make_lane, gate, "spare")
    assert lane.try_submit(int).outcome is Outcome.DROPPED
    assert outcomes(spare) == (2, 1, 0, 0)


def test_a_redirect_may_go_through_several_lanes(make_lane: MakeLane, gate: Gate) -> None:
    lane = full(make_lane, gate, strategy="redirect", redirect_to="second")
    second = full(make_lane, gate, "second", strategy="redirect", redirect_to="third")
    third = make_lane("third")
    ticket = lane.submit(int)
    assert (ticket.outcome, ticket.lane) == (Outcome.REDIRECTED, "third")
    assert [outcomes(each) for each in (lane, second, third)] == [(2, 0, 1, 0), (2, 0, 1, 0), (1, 0, 0, 0)]


def test_a_cycle_that_could_not_be_seen_before_is_refused_on_the_way(make_lane: MakeLane, gate: Gate) -> None:
    lane = full(make_lane, gate, strategy="redirect", redirect_to="second")
    second = full(make_lane, gate, "second", strategy="redirect", redirect_to="lane")
    ticket = lane.submit(int)
    assert (ticket.outcome, ticket.state) == (Outcome.DROPPED, TaskState.REFUSED)
    assert (outcomes(lane), outcomes(second)) == ((2, 0, 0, 1), (2, 0, 0, 1))


def test_the_lane_at_the_end_of_a_cycle_says_so(make_lane: MakeLane, gate: Gate) -> None:
    lane = full(make_lane, gate, strategy="redirect", redirect_to="mirror", find=lambda name: lane)
    assert lane.submit(int).reason is Reason.CYCLE


def test_an_interrupted_wait_at_the_other_lane_is_rejected_everywhere(
    make_lane: MakeLane, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    lane = full(make_lane, gate, strategy="redirect", redirect_to="spare")
    spare = full(make_lane, gate, "spare")
    monkeypatch.setattr(lane_module, "ThreadWaker", InterruptedWaker)
    with pytest.raises(KeyboardInterrupt):
        lane.submit(int)
    assert (outcomes(lane), outcomes(spare)) == ((2, 1, 0, 0), (2, 1, 0, 0))
    assert spare.statistics().waiting == 0


# What the ticket says


def test_a_refused_ticket_has_no_result_and_says_why(make_lane: MakeLane, gate: Gate) -> None:
    lane = full(make_lane, gate, strategy="drop")
    ticket = lane.submit(int)
    assert ticket.done
    assert not ticket.admitted
    assert not ticket.cancel()
    assert isinstance(ticket.exception(), NotAdmitted)
    with pytest.raises(NotAdmitted, match=r"lane 'lane' did not accept the task: dropped \(full\)"):
        ticket.result()


def test_the_outcomes_are_exactly_four() -> None:
    assert [outcome.value for outcome in Outcome] == ["accepted", "rejected", "redirected", "dropped"]


def test_a_lane_cannot_redirect_to_itself() -> None:
    with pytest.raises(OperatorError, match="cannot redirect to itself"):
        LaneConfig(name="lane", strategy="redirect", redirect_to="lane")
