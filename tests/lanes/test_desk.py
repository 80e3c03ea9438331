"""The desk alone, without threads: any sequence of events keeps the books, the order, the limits and the tokens."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from inorder.lanes import LaneConfig, Reason, TaskState, Ticket
from inorder.lanes.state import Desk
from inorder.lanes.waiters import Admission, Applicant, Request

pytestmark = pytest.mark.req("LAN-1", "LAN-2", "LAN-3", "LAN-4", "LAN-5")


class PaperGate:
    """Stands for a caller that waits; wakes nobody."""

    def __init__(self, reserves: bool) -> None:
        self.reserves = reserves

    def wake(self) -> bool:
        return True


class Flag:
    """A signal that tells nobody."""

    def __init__(self) -> None:
        self.value = False

    def is_set(self) -> bool:
        return self.value


class NoDoor:
    """The desk never calls it."""

    def withdraw(self, applicant: Applicant) -> None:
        raise AssertionError


CONFIGS = st.builds(
    lambda most, least, capacity, waiting_max, strategy, rated, burst, when_limited: LaneConfig(
        name="desk",
        max_concurrency=most,
        min_concurrency=min(least, most) if least else None,
        capacity=capacity,
        waiting_max=waiting_max,
        strategy=strategy,
        scale_up_after_s=2,
        scale_down_after_s=5,
        **({"rate_per_s": 0.5, "burst": burst, "when_limited": when_limited} if rated else {}),
    ),
    st.integers(1, 3),
    st.integers(0, 3),
    st.integers(0, 3),
    st.sampled_from([0, 2, 100]),
    st.sampled_from(["block", "drop", "reject"]),
    st.booleans(),
    st.integers(1, 3),
    st.sampled_from(["wait", "reject"]),
)


class DeskMachine(RuleBasedStateMachine):
    """Drives a desk as a shell would, and keeps books of its own."""

    @initialize(config=CONFIGS)
    def open(self, config: LaneConfig) -> None:
        self.config = config
        self.desk = Desk(config)
        self.now_s = 100.0
        self.waiting: list[Applicant] = []
        self.queued: list[tuple[int, int, Ticket[Any]]] = []
        self.running: list[Ticket[Any]] = []
        self.seen: set[int] = set()
        self.arrivals = 0
        self.admitted = 0

    # What happens

    @rule(
        priority=st.integers(-1, 1), waits=st.booleans(), reserves=st.booleans(), deadline_s=st.sampled_from([None, 3])
    )
    def arrive(self, priority: int, waits: bool, reserves: bool, deadline_s: float | None) -> None:
        ticket: Ticket[Any] = Ticket(NoDoor(), int, (), priority, self.now_s)  # type: ignore[arg-type]
        deadline_at_s = None if deadline_s is None else self.now_s + deadline_s
        gate = PaperGate(reserves) if waits else None
        applicant = Applicant(NoDoor(), ticket, Request(gate, deadline_at_s=deadline_at_s, cancel=Flag()))
        self.arrivals += 1
        self.waiting.append(applicant)
        self._do(lambda: self.desk.arrive(applicant, self.now_s))

    @rule()
    def start(self) -> None:
        found: list[Ticket[Any] | None] = []
        allowed = len(self.running) < self.desk.scale.limit and bool(self.queued)
        expected = min(self.queued, default=None)
        self._do(lambda: found.append(self.desk.start(self.now_s)))
        if not allowed:
            assert found == [None]
            return
        assert expected is not None
        assert found == [expected[2]]
        self.queued.remove(expected)
        self.running.append(expected[2])

    @precondition(lambda self: self.running)
    @rule(data=st.data(), fails=st.booleans())
    def end(self, data: st.DataObject, fails: bool) -> None:
        ticket = data.draw(st.sampled_from(self.running))
        self.running.remove(ticket)
        error = ValueError() if fails else None
        self._do(lambda: self.desk.end(ticket, 1, error, ended_s=self.now_s, now_s=self.now_s))
        assert ticket.state is (TaskState.FAILED if fails else TaskState.COMPLETED)

    @precondition(lambda self: self.running)
    @rule(data=st.data())
    def give_up(self, data: st.DataObject) -> None:
        ticket = data.draw(st.sampled_from(self.running))
        self.running.remove(ticket)
        self._do(lambda: self.desk.give_up(ticket, self.now_s))
        assert ticket.state is TaskState.CANCELLED

    @precondition(lambda self: self.queued)
    @rule(data=st.data())
    def take_back(self, data: st.DataObject) -> None:
        entry = data.draw(st.sampled_from(self.queued))
        self.queued.remove(entry)
        self._do(lambda: self.desk.cancel(entry[2], self.now_s))
        assert entry[2].state is TaskState.CANCELLED

    @precondition(lambda self: self.waiting)
    @rule(data=st.data(), how=st.sampled_from(["look", "cancel", "tear away"]))
    def stir(self, data: st.DataObject, how: str) -> None:
        applicant = data.draw(st.sampled_from(self.waiting))
        if how == "tear away":
            self._do(lambda: self.desk.withdraw(applicant, self.now_s))
            assert applicant.verdict is Reason.CANCELLED or applicant.verdict is Admission.ADMITTED
            return
        if how == "cancel":
            applicant.request.cancel.value = True  # type: ignore[union-attr]
        if applicant.verdict is Admission.RESERVED:
            self._do(lambda: self.desk.claim(applicant, self.now_s))
            assert how == "look" or applicant.verdict is not Admission.ADMITTED
        elif applicant.verdict is None:
            self._do(lambda: self.desk.look_again(applicant, self.now_s))

    @rule(seconds=st.sampled_from([0.5, 1, 2, 7, -3]))
    def pass_by(self, seconds: float) -> None:
        self.now_s += seconds
        if self.desk.bucket is not None and seconds > 0:
            self.tokens_max = getattr(self, "tokens_max", 0.0) + seconds * 0.5
        self._do(lambda: self.desk.changed(self.now_s))

    @rule(really=st.sampled_from([False] * 9 + [True]))
    def close(self, really: bool) -> None:
        if really:
            self._do(self.desk.close)

    def _do(self, act: Callable[[], object]) -> None:
        """Let something happen, then book every verdict that has been given, as the callers would on waking."""
        act()
        for call in self.desk.take_calls():
            call()
        for applicant in list(self.waiting):
            if isinstance(applicant.verdict, Reason):
                self.waiting.remove(applicant)
                self.desk.refuse(applicant, applicant.verdict)
            elif applicant.verdict is Admission.ADMITTED:
                self.waiting.remove(applicant)
        tables = self.desk.queue._tables
        for priority, table in tables.items():
            for ticket in table:
                if id(ticket) not in self.seen:
                    self.seen.add(id(ticket))
                    self.keep = [*getattr(self, "keep", ()), ticket]
                    self.admitted += 1
                    self.queued.append((-priority, self.admitted, ticket))

    # What must hold

    @invariant()
    def books_add_up(self) -> None:
        desk = self.desk
        decided = desk.accepted + sum(desk.refusals.values())
        assert desk.submitted == self.arrivals == decided + len(self.waiting)
        assert desk.accepted == self.admitted
        assert desk.accepted == desk.completed + desk.failed + desk.cancelled + len(desk.queue) + desk.running
        assert desk.taken == len(desk.queue) + desk.running + desk.reserved
        assert (len(desk.queue), desk.running) == (len(self.queued), len(self.running))

    @invariant()
    def limits_hold(self) -> None:
        desk, config = self.desk, self.config
        least = config.min_concurrency or config.max_concurrency
        assert least <= desk.scale.limit <= config.max_concurrency
        assert desk.running <= config.max_concurrency
        assert desk.places == desk.scale.limit + config.capacity
        assert desk.taken <= config.max_concurrency + config.capacity
        assert len(desk.room) <= config.waiting_max

    @invariant()
    def no_token_is_made_up(self) -> None:
        if self.desk.bucket is not None:
            allowed = self.config.burst + getattr(self, "tokens_max", 0.0)
            assert self.desk.accepted + self.desk.reserved <= allowed + 1e-3

    @invariant()
    def nobody_waits_for_what_is_there(self) -> None:
        desk = self.desk
        if not desk.room or desk.room.peek().request.given_up(self.now_s) is not None:
            return
        assert not desk.closed
        has_token = desk.bucket is None or desk.bucket.when_available(self.now_s) == 0.0
        assert not (desk.taken < desk.places and has_token)


DeskMachine.TestCase.settings = settings(max_examples=150, stateful_step_count=50)
TestDeskMachine = DeskMachine.TestCase


# What the machine cannot see


class PaperJob:
    """Stands for a coroutine task."""

    thread = 0

    def __init__(self) -> None:
        self.begun = False

    def begin(self) -> None:
        self.begun = True

    def give_up(self) -> None: ...

    def is_lost(self) -> bool:
        return False


@pytest.mark.req("LAN-11")
def test_a_coroutine_behind_a_function_begins_with_it_if_there_is_a_place() -> None:
    for places, begins in ((1, False), (2, True)):
        desk = Desk(LaneConfig(name="desk", max_concurrency=places))
        function: Ticket[Any] = Ticket(NoDoor(), int, (), 0, 0.0)  # type: ignore[arg-type]
        coroutine: Ticket[Any] = Ticket(NoDoor(), int, (), 0, 0.0, _job=PaperJob())  # type: ignore[arg-type]
        for ticket in (function, coroutine):
            assert desk.admit_at_once(ticket, 0.0)
        assert desk.take_calls() == []
        assert desk.start(0.0) is function
        for call in desk.take_calls():
            call()
        assert coroutine._job.begun == begins  # type: ignore[union-attr]
        assert desk.start(0.0) is None


def test_only_the_first_in_line_watches_the_bucket() -> None:
    desk = Desk(LaneConfig(name="desk", rate_per_s=1, burst=1))
    desk.bucket.try_take(0.0)  # type: ignore[union-attr]
    applicants = []
    for _ in range(2):
        ticket: Ticket[Any] = Ticket(NoDoor(), int, (), 0, 0.0)  # type: ignore[arg-type]
        applicants.append(Applicant(NoDoor(), ticket, Request(PaperGate(False))))
        desk.arrive(applicants[-1], 0.0)
    assert [desk.patience_s(applicant, 0.0) for applicant in applicants] == [1.0, float("inf")]


def test_the_next_in_line_is_woken_to_watch_the_bucket() -> None:
    desk = Desk(LaneConfig(name="desk", rate_per_s=1, burst=1))
    desk.bucket.try_take(0.0)  # type: ignore[union-attr]
    woken: list[int] = []

    class Bell(PaperGate):
        def __init__(self, number: int) -> None:
            super().__init__(False)
            self.number = number

        def wake(self) -> bool:
            woken.append(self.number)
            return True

    applicants = []
    for number in range(3):
        ticket: Ticket[Any] = Ticket(NoDoor(), int, (), 0, 0.0)  # type: ignore[arg-type]
        applicants.append(Applicant(NoDoor(), ticket, Request(Bell(number))))
        desk.arrive(applicants[-1], 0.0)
    desk.changed(1.0)
    for call in desk.take_calls():
        call()
    assert woken == [0, 1]
    desk.withdraw(applicants[1], 1.0)
    for call in desk.take_calls():
        call()
    assert woken == [0, 1, 2]
