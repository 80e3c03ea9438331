"""Order by priority: of the queue itself, of the tasks in a lane, and of the submissions that wait."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from inorder.lanes.priority_queue import PriorityQueue
from tests.lanes.conftest import MakeLane
from tests.lanes.doubles import start_waiting
from tests.support.gates import GUARD_S, Gate

pytestmark = pytest.mark.req("LAN-3")


def filled(*entries: tuple[str, int]) -> PriorityQueue[str]:
    queue: PriorityQueue[str] = PriorityQueue(100)
    for entry, priority in entries:
        assert queue.push(entry, priority)
    return queue


def test_the_higher_priority_goes_first() -> None:
    assert filled(("low", -1), ("high", 5), ("middle", 0)).drain() == ["high", "middle", "low"]


def test_equals_go_in_the_order_in_which_they_came() -> None:
    assert filled(("a", 1), ("b", 2), ("c", 1), ("d", 2), ("e", 1)).drain() == ["b", "d", "a", "c", "e"]


def test_to_peek_names_the_next_and_takes_nothing() -> None:
    queue = filled(("a", 0), ("b", 1))
    assert [queue.peek(), queue.peek(), queue.pop(), queue.peek(), queue.pop()] == ["b", "b", "b", "a", "a"]
    assert len(queue) == 0


def test_a_full_queue_takes_no_more_and_keeps_what_it_has() -> None:
    queue: PriorityQueue[str] = PriorityQueue(2)
    assert [queue.push("a"), queue.push("b"), queue.push("c", 9)] == [True, True, False]
    assert queue.drain() == ["a", "b"]


def test_a_queue_without_room_takes_nothing() -> None:
    assert not PriorityQueue(0).push("a")


def test_an_entry_taken_out_leaves_a_place_and_the_others_in_order() -> None:
    queue = filled(("a", 0), ("b", 0), ("c", 0))
    assert queue.remove("b")
    assert not queue.remove("b")
    assert queue.drain() == ["a", "c"]


def test_the_last_entry_of_a_priority_can_be_taken_out() -> None:
    queue = filled(("a", 7), ("b", 0))
    assert queue.remove("a", 7)
    assert (queue.peek(), len(queue)) == ("b", 1)


def test_an_entry_is_not_found_under_another_priority() -> None:
    queue = filled(("a", 7), ("b", 0))
    assert not queue.remove("a", 0)
    assert queue.drain() == ["a", "b"]


def test_priorities_that_come_and_go_leave_nothing_behind() -> None:
    queue = filled(("stays", 0))
    for priority in range(1, 10_000):
        queue.push("guest", priority)
        queue.remove("guest", priority)
    assert len(queue._priorities) < 100
    assert queue.drain() == ["stays"]


def test_all_entries_can_be_seen() -> None:
    assert sorted(filled(("a", 1), ("b", 2), ("c", 1))) == ["a", "b", "c"]


@pytest.mark.slow
@given(st.lists(st.integers(-3, 3), max_size=200))
def test_popping_everything_is_a_stable_sort(priorities: list[int]) -> None:
    queue: PriorityQueue[int] = PriorityQueue(len(priorities))
    for entry, priority in enumerate(priorities):
        queue.push(entry, priority)
    expected = sorted(range(len(priorities)), key=lambda entry: -priorities[entry])
    assert queue.drain() == expected


class QueueMachine(RuleBasedStateMachine):
    """Any sequence of pushes, pops and removals, beside a list that is sorted every time."""

    capacity = 12

    def __init__(self) -> None:
        super().__init__()
        self.queue: PriorityQueue[int] = PriorityQueue(self.capacity)
        self.model: list[tuple[int, int]] = []
        self.next_entry = 0

    @rule(priority=st.integers(-2, 2))
    def push(self, priority: int) -> None:
        fits = len(self.model) < self.capacity
        assert self.queue.push(self.next_entry, priority) == fits
        if fits:
            self.model.append((-priority, self.next_entry))
            self.model.sort()
        self.next_entry += 1

    @precondition(lambda self: self.model)
    @rule()
    def pop(self) -> None:
        assert self.queue.pop() == self.model.pop(0)[1]

    @precondition(lambda self: self.model)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        negated, entry = data.draw(st.sampled_from(self.model))
        self.model.remove((negated, entry))
        assert self.queue.remove(entry, -negated)

    @invariant()
    def agree(self) -> None:
        assert len(self.queue) == len(self.model)
        if self.model:
            assert self.queue.peek() == self.model[0][1]


TestQueueMachine = pytest.mark.slow(QueueMachine.TestCase)


# Tasks and waiting submissions of a lane


def test_tasks_run_by_priority_and_equals_in_the_order_of_submission(make_lane: MakeLane, gate: Gate) -> None:
    lane = make_lane(max_concurrency=1)
    ran: list[str] = []
    lane.submit(gate.hold)
    gate.await_arrivals()
    tickets = [
        lane.submit(ran.append, name, priority=priority)
        for name, priority in [("a0", 0), ("b5", 5), ("c0", 0), ("d-1", -1), ("e5", 5), ("f0", 0)]
    ]
    gate.open()
    for ticket in tickets:
        ticket.result(GUARD_S)
    assert ran == ["b5", "e5", "a0", "c0", "f0", "d-1"]


def test_waiting_submissions_are_admitted_by_priority_and_equals_as_they_came(make_lane: MakeLane, gate: Gate) -> None:
    lane = make_lane(max_concurrency=1, capacity=0)
    ran: list[str] = []
    lane.submit(gate.hold)
    gate.await_arrivals()
    callers = [
        start_waiting(lane.submit, ran.append, name, priority=priority)
        for name, priority in [("a", 0), ("b", 5), ("c", 0), ("d", 5)]
    ]
    gate.open()
    for caller in callers:
        caller.answer().result(GUARD_S)
    assert ran == ["b", "d", "a", "c"]


def test_a_new_submission_does_not_overtake_those_that_wait(make_lane: MakeLane, gate: Gate) -> None:
    lane = make_lane(max_concurrency=1, capacity=1)
    ran: list[str] = []
    first_gate = Gate()
    lane.submit(first_gate.hold)
    first_gate.await_arrivals()
    second = lane.submit(gate.hold)
    caller = start_waiting(lane.submit, ran.append, "waited")
    first_gate.open()
    gate.await_arrivals()
    late = caller.answer()
    newcomer = lane.try_submit(ran.append, "newcomer")
    assert not newcomer.admitted
    gate.open()
    second.result(GUARD_S)
    late.result(GUARD_S)
    assert ran == ["waited"]


def test_cancelling_a_task_keeps_the_others_in_order(make_lane: MakeLane, gate: Gate) -> None:
    lane = make_lane(max_concurrency=1)
    ran: list[int] = []
    lane.submit(gate.hold)
    gate.await_arrivals()
    tickets = [lane.submit(ran.append, number) for number in range(5)]
    assert tickets[2].cancel()
    gate.open()
    tickets[4].result(GUARD_S)
    assert ran == [0, 1, 3, 4]
