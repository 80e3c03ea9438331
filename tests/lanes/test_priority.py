"""Order: higher priority first, equals as they came, also among those who wait at the door."""

import pytest

from tests.lanes.conftest import MakeLane
from tests.lanes.doubles import GUARD_S, Gate, start_waiting

pytestmark = pytest.mark.req("LAN-3")


def test_tasks_run_by_priority_and_equals_in_the_order_of_submission(make_lane: MakeLane, gate: Gate) -> None:
    lane = make_lane(max_concurrency=1)
    ran: list[str] = []
    lane.submit(gate.hold)
    gate.has_visitors()
    tickets = [
        lane.submit(ran.append, name, priority=priority)
        for name, priority in [("a0", 0), ("b5", 5), ("c0", 0), ("d-1", -1), ("e5", 5), ("f0", 0)]
    ]
    gate.open()
    for ticket in tickets:
        ticket.result(GUARD_S)
    assert ran == ["b5", "e5", "a0", "c0", "f0", "d-1"]


def test_those_who_wait_for_a_place_get_in_by_priority_and_equals_as_they_came(make_lane: MakeLane, gate: Gate) -> None:
    lane = make_lane(max_concurrency=1, capacity=0)
    ran: list[str] = []
    lane.submit(gate.hold)
    gate.has_visitors()
    callers = [
        start_waiting(lane.submit, ran.append, name, priority=priority)
        for name, priority in [("a", 0), ("b", 5), ("c", 0), ("d", 5)]
    ]
    gate.open()
    for caller in callers:
        caller.answer().result(GUARD_S)
    assert ran == ["b", "d", "a", "c"]


def test_nobody_overtakes_those_who_wait_already(make_lane: MakeLane, gate: Gate) -> None:
    lane = make_lane(max_concurrency=1, capacity=1)
    ran: list[str] = []
    first_gate = Gate()
    lane.submit(first_gate.hold)
    first_gate.has_visitors()
    second = lane.submit(gate.hold)
    caller = start_waiting(lane.submit, ran.append, "waited")
    first_gate.open()
    gate.has_visitors()
    late = caller.answer()
    newcomer = lane.try_submit(ran.append, "newcomer")
    assert not newcomer.admitted
    gate.open()
    second.result(GUARD_S)
    late.result(GUARD_S)
    assert ran == ["waited"]


def test_a_task_taken_back_keeps_the_others_in_order(make_lane: MakeLane, gate: Gate) -> None:
    lane = make_lane(max_concurrency=1)
    ran: list[int] = []
    lane.submit(gate.hold)
    gate.has_visitors()
    tickets = [lane.submit(ran.append, number) for number in range(5)]
    assert tickets[2].cancel()
    gate.open()
    tickets[4].result(GUARD_S)
    assert ran == [0, 1, 3, 4]
