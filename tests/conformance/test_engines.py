"""What every engine must do, whatever its workers are.

A new engine is added by one line in `KINDS`. Items are `SimItem`s: an engine that calls functions is given `work`,
which does what the fate of an item says; the simulated engine reads the fate itself. `FakeKernel` tracks what each
worker holds, so each test also checks that no worker returns a result for an item that it does not hold, returns it
twice, pulls while it holds items, or reports anything after it is lost.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import msgspec
import pytest

from inorder.core.events import Beat, Envelope, Event, Finished, HandedOver, Loss, Pulled, Returned, WorkerLost
from inorder.core.options import KernelOptions
from inorder.core.transitions import State
from inorder.engines.attempt import get_attempt
from inorder.engines.base import Batch, Engine, Task
from inorder.engines.inline import InlineEngine
from inorder.engines.process.engine import ProcessEngine
from inorder.engines.progress import find_reporter
from inorder.engines.ray.options import RayOptions
from inorder.engines.threads import ThreadEngine
from inorder.errors import Category
from inorder.lanes import Ticket
from inorder.sim.clock import VirtualClock
from inorder.sim.engine import SimEngine
from inorder.sim.scenario import Fate, Scenario, SimItem
from tests.support.gates import GUARD_S, Gate, alive, no_thread_leaks, wait_for_end

ROUNDS_MAX = 200

Function = Callable[[Any], Any]


@dataclass(frozen=True)
class Kind:
    """An engine under test."""

    name: str
    make: Callable[[Function], Engine]
    workers: int = 1
    calls_functions: bool = True
    shares_memory: bool = True
    """Its workers see the events and lists of the test."""
    works_in_background: bool = True
    """Work continues without polling."""
    patience_s: float = 0.2
    """How long to wait in one poll; 0 for an engine that does nothing between polls."""


def _sim(function: Function) -> Engine:
    return SimEngine(Scenario(seed=7, items=(), options=KernelOptions(), workers=3), VirtualClock())


def _ray(function: Function) -> Engine:
    from inorder.engines.ray.engine import RayEngine

    return RayEngine(function, 2, timeout_s=None)


KINDS = [
    Kind("inline", InlineEngine, works_in_background=False, patience_s=0.0),
    Kind("threads-1", lambda function: ThreadEngine(function, 1, timeout_s=None)),
    Kind("threads-4", lambda function: ThreadEngine(function, 4, timeout_s=None), workers=4),
    Kind("processes", lambda function: ProcessEngine(function, 2, timeout_s=None), workers=2, shares_memory=False),
    *([Kind("ray", _ray, workers=2, shares_memory=False)] if find_spec("ray") else []),
    Kind("simulated", _sim, workers=3, calls_functions=False, shares_memory=False, works_in_background=False),
]


def kinds(condition: Callable[[Kind], bool] = lambda kind: True) -> pytest.MarkDecorator:
    """Run the test with every engine of which this is true."""
    params = [pytest.param(kind, id=kind.name) for kind in filter(condition, KINDS)]
    return pytest.mark.parametrize("kind", params)


def work(item: SimItem) -> tuple[str, str]:
    """Do to the item what its fate says."""
    if item.fate is Fate.FAIL:
        raise FileNotFoundError(item.item_id)
    return ("done", item.item_id)


def items(count: int, *, failing: tuple[int, ...] = ()) -> list[SimItem]:
    return [SimItem(item_id=f"item-{n}", fate=Fate.FAIL if n in failing else Fate.OK) for n in range(count)]


class FakeKernel:
    """Takes the place of the kernel and tracks what each worker holds."""

    def __init__(self, engine: Engine, patience_s: float) -> None:
        self.engine = engine
        self.idle: dict[int, int] = {}
        """Workers that have pulled, and the limit of each."""
        self.seen: set[int] = set()
        self.lost: dict[int, WorkerLost] = {}
        self.answers: list[Envelope] = []
        self.handed_over: list[HandedOver] = []
        self.returned: list[int] = []
        """Seqs that were returned unstarted."""
        self._held: dict[int, set[tuple[int, int]]] = {}
        self._tasks: dict[int, Task] = {}
        self._next_seq = 0
        self._patience_s = patience_s
        engine.start()

    def give(self, worker: int, batch: list[Any], *, attempt: int = 1) -> list[Task]:
        """Give this idle worker a batch; return its tasks."""
        del self.idle[worker]
        tasks = [Task(self._next_seq + n, attempt + n % 3, item) for n, item in enumerate(batch)]
        self._next_seq += len(tasks)
        self._tasks.update({task.seq: task for task in tasks})
        self._dispatch(worker, tasks)
        return tasks

    def _dispatch(self, worker: int, tasks: list[Task]) -> None:
        self._held[worker] = {(task.seq, task.attempt) for task in tasks}
        self.engine.dispatch(Batch(worker, tasks, isolated=False))

    def wait(self, until: Callable[[], bool]) -> None:
        """Poll until the condition holds."""
        for _ in range(ROUNDS_MAX):
            if until():
                return
            self.poll(self._patience_s)
        raise AssertionError("the condition never held")

    def worker(self) -> int:
        """Wait for an idle worker."""
        self.wait(lambda: bool(self.idle))
        return next(iter(self.idle))

    def wait_for_all(self, workers: int) -> None:
        """Wait until this many workers are idle and no worker holds items."""
        self.wait(lambda: len(self.idle) == workers)
        assert not any(self._held.values()), "a worker went idle while it held items"

    def finish_all(self, workers: int) -> None:
        """Wait for all results. Returned items are dispatched again, as the kernel does."""
        self.wait_for_all(workers)
        while self.returned:
            returned, self.returned = self.returned, []
            del self.idle[worker := self.worker()]
            tasks = [self._tasks[seq] for seq in returned]
            self._dispatch(worker, [Task(task.seq, task.attempt + 1, task.item) for task in tasks])
            self.wait_for_all(workers)

    def poll(self, timeout_s: float) -> list[Event]:
        """Poll once and track the events."""
        events = self.engine.poll(timeout_s)
        for event in events:
            self._track(event)
        return events

    def stop(self, worker: int) -> None:
        """Stop this worker."""
        self.idle.pop(worker, None)
        self.engine.stop_worker(worker, "test")

    def _track(self, event: Event) -> None:
        assert isinstance(event, Pulled | Finished | HandedOver | Returned | WorkerLost | Beat), f"unexpected {event}"
        if isinstance(event, Beat):
            return
        assert event.worker not in self.lost, f"{event} of a worker that is lost"
        held = self._held.setdefault(event.worker, set())
        if isinstance(event, WorkerLost):
            self.lost[event.worker] = event
            self.idle.pop(event.worker, None)
            held.clear()
        elif isinstance(event, Pulled):
            assert not held, f"worker {event.worker} pulls while it holds {held}"
            assert event.worker not in self.idle, f"worker {event.worker} pulls twice"
            assert event.limit >= 1
            self.idle[event.worker] = event.limit
            self.seen.add(event.worker)
        elif isinstance(event, HandedOver):
            assert (event.seq, event.attempt) in held, f"{event} after its result"
            self.handed_over.append(event)
        elif isinstance(event, Returned):
            returned = {task for task in held if task[0] in event.seqs}
            assert len(returned) == len(event.seqs), f"worker {event.worker} returns what it does not hold"
            held -= returned
            self.returned += event.seqs
        else:
            for envelope in event.envelopes:
                held.remove((envelope.seq, envelope.attempt))
                self.answers.append(envelope)


@pytest.fixture(scope="session")
def cluster() -> None:
    """A cluster of this machine alone, whose threads exist before those of any engine, and stay."""
    from inorder.engines.ray.cluster import connect

    connect(RayOptions())


@pytest.fixture(autouse=True)
def no_leaks_on_any_engine(request: pytest.FixtureRequest) -> Iterator[None]:
    if request.node.callspec.params["kind"].name == "ray":
        request.getfixturevalue("cluster")
    with no_thread_leaks():
        yield


@pytest.fixture
def gate() -> Iterator[Gate]:
    with Gate() as gate:
        yield gate


@pytest.fixture
def drive() -> Iterator[Callable[..., FakeKernel]]:
    """Start engines, and close them."""
    kernels: list[FakeKernel] = []

    def drive(kind: Kind, function: Function = work) -> FakeKernel:
        kernels.append(FakeKernel(kind.make(function), kind.patience_s))
        return kernels[-1]

    yield drive
    for kernel in kernels:
        kernel.engine.close()


Drive = Callable[..., FakeKernel]


@kinds()
def test_every_worker_announces_itself_by_pulling(kind: Kind, drive: Drive) -> None:
    kernel = drive(kind)
    kernel.wait_for_all(kind.workers)
    assert len(kernel.seen) == kind.workers


@pytest.mark.process
@pytest.mark.req("CMP-2")
@kinds()
def test_every_item_is_answered_once_with_its_own_seq_and_attempt(kind: Kind, drive: Drive) -> None:
    kernel = drive(kind)
    tasks: list[Task] = []
    for size in (1, 2, 5, 20):
        kernel.wait_for_all(kind.workers)
        for worker in list(kernel.idle):
            tasks += kernel.give(worker, items(size))
    kernel.wait_for_all(kind.workers)
    answered = sorted((envelope.seq, envelope.attempt, envelope.outcome) for envelope in kernel.answers)
    assert answered == [(task.seq, task.attempt, State.TERMINAL_SUCCESS) for task in tasks]


@kinds(lambda kind: kind.shares_memory and kind.works_in_background)
def test_a_worker_pulls_only_when_it_holds_nothing(kind: Kind, drive: Drive, gate: Gate) -> None:
    kernel = drive(kind, lambda item: gate.hold() if item == "stay" else None)
    kernel.wait_for_all(kind.workers)
    worker = kernel.worker()
    kernel.give(worker, ["go", "stay", "go"])
    gate.await_arrivals()
    kernel.poll(0)
    assert worker not in kernel.idle
    gate.open()
    kernel.wait_for_all(kind.workers)
    assert sorted([envelope.seq for envelope in kernel.answers] + kernel.returned) == [0, 1, 2]


@pytest.mark.process
@kinds(lambda kind: kind.calls_functions)
def test_a_result_stays_with_its_item(kind: Kind, drive: Drive) -> None:
    kernel = drive(kind)
    kernel.wait_for_all(kind.workers)
    names = {task.seq: task.item.item_id for worker in list(kernel.idle) for task in kernel.give(worker, items(7))}
    kernel.finish_all(kind.workers)
    assert {envelope.seq: envelope.payload for envelope in kernel.answers} == {
        seq: ("done", name) for seq, name in names.items()
    }


def tell_attempt(item: str) -> int:
    return get_attempt()


@pytest.mark.process
@kinds(lambda kind: kind.calls_functions)
def test_a_function_is_told_the_number_of_its_attempt(kind: Kind, drive: Drive) -> None:
    kernel = drive(kind, tell_attempt)
    kernel.wait_for_all(kind.workers)
    kernel.give(kernel.worker(), ["first"])
    kernel.give(kernel.worker(), ["again"], attempt=3)
    kernel.finish_all(kind.workers)
    assert {envelope.attempt: envelope.payload for envelope in kernel.answers} == {1: 1, 3: 3}
    assert get_attempt() == 0, "outside an engine"


def hand_over(item: SimItem) -> None:
    """Work in two steps, and hand over what was made before the last one."""
    reporter = find_reporter()
    assert reporter is not None
    reporter.begin_step("read", None)
    for number in range(2):
        reporter.hand_over(b"%d of %b" % (number, item.item_id.encode()))
    reporter.begin_step("count", 60.0)
    if item.fate is Fate.FAIL:
        raise FileNotFoundError(item.item_id)


@pytest.mark.process
@pytest.mark.req("COM-2", "HBT-1")
@kinds()
def test_what_an_item_hands_over_comes_before_its_result_and_a_failure_has_its_step(kind: Kind, drive: Drive) -> None:
    kernel = drive(kind, hand_over)
    kernel.wait_for_all(kind.workers)
    batch = [msgspec.structs.replace(item, hand_overs=2) for item in items(3, failing=(1,))]
    kernel.give(kernel.worker(), batch)
    kernel.finish_all(kind.workers)
    latest = {event.seq: event for event in kernel.handed_over}
    assert len(kernel.handed_over) >= 6
    assert {envelope.seq: envelope.attempt for envelope in kernel.answers} == {
        seq: event.attempt for seq, event in latest.items()
    }
    if kind.calls_functions:
        assert [latest[seq].partial for seq in range(3)] == [b"1 of item-0", b"1 of item-1", b"1 of item-2"]
        failures = [envelope.failure for envelope in kernel.answers if envelope.failure is not None]
        assert [failure.step for failure in failures] == ["count"]


@pytest.mark.process
@pytest.mark.req("RTY-1")
@kinds(lambda kind: kind.calls_functions)
def test_an_exception_becomes_a_failure_that_says_whose_fault_it_is(kind: Kind, drive: Drive) -> None:
    kernel = drive(kind)
    kernel.give(kernel.worker(), items(1, failing=(0,)))
    kernel.wait_for_all(kind.workers)
    [envelope] = kernel.answers
    assert envelope.outcome == State.TERMINAL_FAIL
    assert envelope.failure is not None
    assert (envelope.failure.category, envelope.failure.retryable) == (Category.INPUT, False)
    assert envelope.failure.message == "FileNotFoundError: item-0"
    assert isinstance(envelope.payload, FileNotFoundError)


@pytest.mark.process
@kinds()
def test_after_a_failure_the_rest_of_the_batch_is_answered(kind: Kind, drive: Drive) -> None:
    kernel = drive(kind)
    kernel.give(kernel.worker(), items(5, failing=(1, 3)))
    kernel.finish_all(kind.workers)
    outcomes = {envelope.seq: envelope.outcome for envelope in kernel.answers}
    assert [seq for seq, outcome in outcomes.items() if outcome == State.TERMINAL_FAIL] == [1, 3]
    assert [seq for seq, outcome in outcomes.items() if outcome == State.TERMINAL_SUCCESS] == [0, 2, 4]


def leave(item: str) -> str:
    """Exit the interpreter on some items."""
    if item == "leave":
        raise SystemExit(3)
    return item


@pytest.mark.process
@kinds(lambda kind: kind.calls_functions)
def test_a_function_that_wants_to_exit_only_fails_its_item(kind: Kind, drive: Drive) -> None:
    kernel = drive(kind, leave)
    kernel.give(kernel.worker(), ["a", "leave", "b"])
    kernel.wait_for_all(kind.workers)
    fail, success = State.TERMINAL_FAIL, State.TERMINAL_SUCCESS
    assert [(envelope.seq, envelope.outcome) for envelope in kernel.answers] == [(0, success), (1, fail), (2, success)]
    assert isinstance(kernel.answers[1].payload, SystemExit)


@pytest.mark.process
@kinds()
def test_a_stopped_worker_is_reported_retired_and_another_pulls_under_a_new_id(kind: Kind, drive: Drive) -> None:
    kernel = drive(kind)
    kernel.wait_for_all(kind.workers)
    before = set(kernel.seen)
    worker = kernel.worker()
    kernel.stop(worker)
    kernel.wait(lambda: worker in kernel.lost and len(kernel.idle) == kind.workers)
    assert kernel.lost[worker].cause is Loss.RETIRED
    [replacement] = kernel.seen - before
    kernel.give(replacement, items(2))
    kernel.wait_for_all(kind.workers)
    assert len(kernel.answers) == 2


@kinds(lambda kind: kind.shares_memory and kind.works_in_background)
def test_a_worker_stopped_at_work_is_replaced_while_its_item_still_runs(kind: Kind, drive: Drive, gate: Gate) -> None:
    kernel = drive(kind, lambda item: gate.hold() if item == "stay" else item)
    kernel.wait_for_all(kind.workers)
    worker = kernel.worker()
    kernel.give(worker, ["stay", "never"])
    gate.await_arrivals()
    kernel.stop(worker)
    kernel.wait(lambda: worker in kernel.lost and len(kernel.idle) == kind.workers)
    gate.open()
    kernel.give(max(kernel.idle), ["other"])
    kernel.wait_for_all(kind.workers)
    assert [envelope.payload for envelope in kernel.answers] == ["other"]


@kinds()
def test_with_nothing_to_do_a_poll_for_no_time_returns_nothing(kind: Kind, drive: Drive) -> None:
    kernel = drive(kind)
    kernel.wait_for_all(kind.workers)
    assert kernel.poll(0) == []


@kinds(lambda kind: kind.shares_memory and kind.works_in_background)
def test_a_poll_for_no_time_does_not_wait_for_work_under_way(kind: Kind, drive: Drive, gate: Gate) -> None:
    kernel = drive(kind, lambda item: gate.hold())
    kernel.wait_for_all(kind.workers)
    kernel.give(kernel.worker(), ["stay"])
    gate.await_arrivals()
    assert kernel.poll(0) == []  # only this thread opens the gate: had it waited, an answer or a beat would be here


@kinds()
def test_close_is_idempotent(kind: Kind, drive: Drive) -> None:
    before = alive()
    kernel = drive(kind)
    kernel.give(kernel.worker(), items(3))
    kernel.engine.close()
    kernel.engine.close()
    assert wait_for_end(alive() - before)


@kinds(lambda kind: kind.shares_memory)
def test_after_closing_nothing_more_is_started(kind: Kind, drive: Drive, gate: Gate) -> None:
    started: list[str] = []

    def function(item: str) -> None:
        started.append(item)
        gate.hold()

    before = alive()
    kernel = drive(kind, function)
    kernel.give(kernel.worker(), ["first", "second"])
    if kind.works_in_background:
        gate.await_arrivals()
    kernel.engine.close()
    gate.open()
    assert wait_for_end(alive() - before)
    assert not [event for event in kernel.engine.poll(0) if isinstance(event, Finished)]
    assert started == (["first"] if kind.works_in_background else [])


@kinds(lambda kind: not kind.calls_functions)
def test_a_closed_simulation_stands_still(kind: Kind, drive: Drive) -> None:
    kernel = drive(kind)
    kernel.give(kernel.worker(), items(3))
    kernel.engine.close()
    assert kernel.poll(kind.patience_s) == []


@kinds(lambda kind: kind.shares_memory and kind.works_in_background)
@pytest.mark.req("CAN-4")
def test_a_worker_of_a_run_that_stops_starts_nothing_more(kind: Kind, drive: Drive, gate: Gate) -> None:
    started: list[str] = []

    def hold(item: SimItem) -> None:
        started.append(item.item_id)
        gate.hold()

    kernel = drive(kind, hold)
    kernel.wait_for_all(kind.workers)
    for number in sorted(kernel.idle):  # with none idle, nobody takes items of another
        kernel.give(number, items(3))
    gate.await_arrivals(kind.workers)
    kernel.engine.drain()
    kernel.wait(lambda: len(kernel.returned) == 2 * kind.workers)
    gate.open()
    kernel.wait_for_all(kind.workers)
    assert started == ["item-0"] * kind.workers


@kinds(lambda kind: kind.shares_memory and kind.works_in_background)
@pytest.mark.req("CAN-4")
def test_closing_returns_the_tasks_that_cannot_be_ended(kind: Kind, drive: Drive, gate: Gate) -> None:
    kernel = drive(kind, lambda item: gate.hold())
    kernel.wait_for_all(kind.workers)
    [task] = kernel.give(kernel.worker(), items(1))
    gate.await_arrivals()
    assert kernel.engine.close() == [task]
    gate.open()


@kinds(lambda kind: kind.shares_memory and kind.works_in_background)
@pytest.mark.req("CAN-4")
def test_closing_with_grace_waits_for_what_runs(
    kind: Kind, drive: Drive, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait = Ticket.wait

    def open_and_wait(ticket: Ticket[Any], timeout_s: float | None = None) -> bool:
        gate.open()
        return wait(ticket, timeout_s)

    monkeypatch.setattr(Ticket, "wait", open_and_wait)
    kernel = drive(kind, lambda item: gate.hold())
    kernel.wait_for_all(kind.workers)
    kernel.give(kernel.worker(), items(1))
    gate.await_arrivals()
    assert kernel.engine.close(grace_s=GUARD_S) == []
    assert gate.inside == 0
