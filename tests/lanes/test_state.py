"""The state of a lane, without threads: any sequence of events keeps the counts, the order, the limits, the tokens."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from inorder.lanes import LaneConfig, Reason, TaskState, Ticket
from inorder.lanes.state import LaneState
from inorder.lanes.waiters import Admission, Request, Waiter

pytestmark = pytest.mark.req("LAN-1", "LAN-2", "LAN-3", "LAN-4", "LAN-5")


class FakeWaker:
    """Stands for a caller that waits; wakes nobody."""

    def __init__(self, must_claim: bool) -> None:
        self.must_claim = must_claim

    def wake(self) -> bool:
        return True


class Flag:
    """A signal that tells nobody."""

    def __init__(self) -> None:
        self.value = False

    def is_set(self) -> bool:
        return self.value


class UnusedOwner:
    """The state never calls it."""

    def withdraw(self, waiter: Waiter) -> None:
        raise AssertionError


CONFIGS = st.builds(
    lambda most, least, capacity, waiting_max, strategy, rated, burst, when_limited: LaneConfig(
        name="lane",
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


class StateMachine(RuleBasedStateMachine):
    """Drives the state as `LockedLane` does, and keeps counts of its own."""

    @initialize(config=CONFIGS)
    def open(self, config: LaneConfig) -> None:
        self.config = config
        self.state = LaneState(config)
        self.now_s = 100.0
        self.waiting: list[Waiter] = []
        self.queued: list[tuple[int, int, Ticket[Any]]] = []
        self.running: list[Ticket[Any]] = []
        self.seen: set[int] = set()
        self.arrivals = 0
        self.admitted = 0

    # What happens

    @rule(
        priority=st.integers(-1, 1),
        waits=st.booleans(),
        must_claim=st.booleans(),
        deadline_s=st.sampled_from([None, 3]),
    )
    def arrive(self, priority: int, waits: bool, must_claim: bool, deadline_s: float | None) -> None:
        ticket: Ticket[Any] = Ticket(UnusedOwner(), int, (), priority, self.now_s)  # type: ignore[arg-type]
        deadline_at_s = None if deadline_s is None else self.now_s + deadline_s
        waker = FakeWaker(must_claim) if waits else None
        waiter = Waiter(UnusedOwner(), ticket, Request(waker, deadline_at_s=deadline_at_s, cancel=Flag()))
        self.arrivals += 1
        self.waiting.append(waiter)
        self._do(lambda: self.state.admit_or_wait(waiter, self.now_s))

    @rule()
    def start(self) -> None:
        found: list[Ticket[Any] | None] = []
        allowed = len(self.running) < self.state.scale.limit and bool(self.queued)
        expected = min(self.queued, default=None)
        self._do(lambda: found.append(self.state.start(self.now_s)))
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
        self._do(lambda: self.state.end(ticket, 1, error, ended_s=self.now_s, now_s=self.now_s))
        assert ticket.state is (TaskState.FAILED if fails else TaskState.COMPLETED)

    @precondition(lambda self: self.running)
    @rule(data=st.data())
    def abandon(self, data: st.DataObject) -> None:
        ticket = data.draw(st.sampled_from(self.running))
        self.running.remove(ticket)
        self._do(lambda: self.state.abandon(ticket, self.now_s))
        assert ticket.state is TaskState.CANCELLED

    @precondition(lambda self: self.queued)
    @rule(data=st.data())
    def take_back(self, data: st.DataObject) -> None:
        entry = data.draw(st.sampled_from(self.queued))
        self.queued.remove(entry)
        self._do(lambda: self.state.cancel(entry[2], self.now_s))
        assert entry[2].state is TaskState.CANCELLED

    @precondition(lambda self: self.waiting)
    @rule(data=st.data(), how=st.sampled_from(["recheck", "cancel", "interrupt"]))
    def stir(self, data: st.DataObject, how: str) -> None:
        waiter = data.draw(st.sampled_from(self.waiting))
        if how == "interrupt":
            self._do(lambda: self.state.withdraw(waiter, self.now_s))
            assert waiter.decision is Reason.CANCELLED or waiter.decision is Admission.ADMITTED
            return
        if how == "cancel":
            waiter.request.cancel.value = True  # type: ignore[union-attr]
        if waiter.decision is Admission.RESERVED:
            self._do(lambda: self.state.claim(waiter, self.now_s))
            assert how == "recheck" or waiter.decision is not Admission.ADMITTED
        elif waiter.decision is None:
            self._do(lambda: self.state.recheck(waiter, self.now_s))

    @rule(seconds=st.sampled_from([0.5, 1, 2, 7, -3]))
    def pass_by(self, seconds: float) -> None:
        self.now_s += seconds
        if self.state.bucket is not None and seconds > 0:
            self.tokens_max = getattr(self, "tokens_max", 0.0) + seconds * 0.5
        self._do(lambda: self.state.update(self.now_s))

    @rule(really=st.sampled_from([False] * 9 + [True]))
    def close(self, really: bool) -> None:
        if really:
            self._do(self.state.close)

    def _do(self, act: Callable[[], object]) -> None:
        """Let something happen, then book every decision that has been given, as the callers would on waking."""
        act()
        for call in self.state.take_deferred_calls():
            call()
        for waiter in list(self.waiting):
            if isinstance(waiter.decision, Reason):
                self.waiting.remove(waiter)
                self.state.refuse(waiter, waiter.decision)
            elif waiter.decision is Admission.ADMITTED:
                self.waiting.remove(waiter)
        tables = self.state.queue._tables
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
        state = self.state
        decided = state.accepted + sum(state.refusals.values())
        assert state.submitted == self.arrivals == decided + len(self.waiting)
        assert state.accepted == self.admitted
        assert state.accepted == state.completed + state.failed + state.cancelled + len(state.queue) + state.running
        assert state.slots_used == len(state.queue) + state.running + state.reserved
        assert (len(state.queue), state.running) == (len(self.queued), len(self.running))

    @invariant()
    def limits_hold(self) -> None:
        state, config = self.state, self.config
        least = config.min_concurrency or config.max_concurrency
        assert least <= state.scale.limit <= config.max_concurrency
        assert state.running <= config.max_concurrency
        assert state.slots == state.scale.limit + config.capacity
        assert state.slots_used <= config.max_concurrency + config.capacity
        assert len(state.waiters) <= config.waiting_max

    @invariant()
    def no_token_is_made_up(self) -> None:
        if self.state.bucket is not None:
            allowed = self.config.burst + getattr(self, "tokens_max", 0.0)
            assert self.state.accepted + self.state.reserved <= allowed + 1e-3

    @invariant()
    def nobody_waits_for_what_is_there(self) -> None:
        state = self.state
        if not state.waiters or state.waiters.peek().request.stop_reason(self.now_s) is not None:
            return
        assert not state.closed
        has_token = state.bucket is None or state.bucket.seconds_until_token(self.now_s) == 0.0
        assert not (state.slots_used < state.slots and has_token)


StateMachine.TestCase.settings = settings(max_examples=150, stateful_step_count=50)
TestStateMachine = pytest.mark.slow(StateMachine.TestCase)


# What the machine cannot see


class FakeAsyncTask:
    """Stands for a coroutine task."""

    thread = 0

    def __init__(self) -> None:
        self.has_begun = False

    def begin(self) -> None:
        self.has_begun = True

    def abandon(self) -> None: ...

    def is_lost(self) -> bool:
        return False


@pytest.mark.req("LAN-11")
def test_a_coroutine_behind_a_function_begins_with_it_if_there_is_a_place() -> None:
    for slots, begins in ((1, False), (2, True)):
        state = LaneState(LaneConfig(name="lane", max_concurrency=slots))
        function: Ticket[Any] = Ticket(UnusedOwner(), int, (), 0, 0.0)  # type: ignore[arg-type]
        coroutine: Ticket[Any] = Ticket(UnusedOwner(), int, (), 0, 0.0, _async_task=FakeAsyncTask())  # type: ignore[arg-type]
        for ticket in (function, coroutine):
            assert state.try_admit(ticket, 0.0)
        assert state.take_deferred_calls() == []
        assert state.start(0.0) is function
        for call in state.take_deferred_calls():
            call()
        assert coroutine._async_task.has_begun == begins  # type: ignore[union-attr]
        assert state.start(0.0) is None


def test_only_the_first_in_line_watches_the_bucket() -> None:
    state = LaneState(LaneConfig(name="lane", rate_per_s=1, burst=1))
    state.bucket.try_take(0.0)  # type: ignore[union-attr]
    waiters = []
    for _ in range(2):
        ticket: Ticket[Any] = Ticket(UnusedOwner(), int, (), 0, 0.0)  # type: ignore[arg-type]
        waiters.append(Waiter(UnusedOwner(), ticket, Request(FakeWaker(False))))
        state.admit_or_wait(waiters[-1], 0.0)
    assert [state.wait_s_max(waiter, 0.0) for waiter in waiters] == [1.0, float("inf")]


def test_the_next_in_line_is_woken_to_watch_the_bucket() -> None:
    state = LaneState(LaneConfig(name="lane", rate_per_s=1, burst=1))
    state.bucket.try_take(0.0)  # type: ignore[union-attr]
    woken: list[int] = []

    class Bell(FakeWaker):
        def __init__(self, number: int) -> None:
            super().__init__(False)
            self.number = number

        def wake(self) -> bool:
            woken.append(self.number)
            return True

    waiters = []
    for number in range(3):
        ticket: Ticket[Any] = Ticket(UnusedOwner(), int, (), 0, 0.0)  # type: ignore[arg-type]
        waiters.append(Waiter(UnusedOwner(), ticket, Request(Bell(number))))
        state.admit_or_wait(waiters[-1], 0.0)
    state.update(1.0)
    for call in state.take_deferred_calls():
        call()
    assert woken == [0, 1]
    state.withdraw(waiters[1], 1.0)
    for call in state.take_deferred_calls():
        call()
    assert woken == [0, 1, 2]
