"""Every interleaving of a small scope.

This engine lists everything that could happen next, chooses one event, and continues to the end of the run. Then the
run is repeated with the last choice changed, until every choice has been made at every point. Nothing is sampled: the
search is exhaustive within the scope.

A fault is an event that need not happen: a failure, a death, missing heartbeats, an overrun, a late or repeated answer,
a cancellation, a slow commit lane. A run has at most as many faults as the scope allows.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import msgspec

from inorder.core.commands import Command, CommitRun
from inorder.core.events import (
    Beat,
    CancelRequested,
    Committed,
    Envelope,
    Event,
    Finished,
    Loss,
    Overran,
    Pulled,
    Returned,
    WorkerLost,
)
from inorder.core.options import KernelOptions, RetryOptions, WindowOptions
from inorder.core.transitions import State
from inorder.core.windows.plan import PlanItem
from inorder.engines.base import Batch, Task
from inorder.errors import Category, Failure, InvariantViolation
from inorder.runtime.loop import Runtime

from .clock import VirtualClock
from .disk.choices import Draw, enumerate_all
from .referee import PromiseBroken, Referee, expect
from .scenario import Scenario, SimItem
from .transcript import Step, format_log

LEASE_MS = 40
TIME_STEPS_MAX = 12
_FLAKY = Failure(category=Category.IO, message="flaky", retryable=True)


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """The size of the simulation."""

    items: int = 4
    workers: int = 2
    faults: int = 1
    batch_limit: int = 2
    error_budget: int | None = None


class PossibleEvent(NamedTuple):
    """An event that could happen next."""

    name: str
    is_fault: bool
    apply: Callable[[], list[Event]]


class Chooser:
    """Chooses among options, and records what was chosen."""

    def __init__(self, draw: Draw) -> None:
        self._draw = draw
        self.answers: list[int] = []
        self.names: list[str] = []

    def choose(self, options: Sequence[PossibleEvent]) -> PossibleEvent:
        """Choose one."""
        self.answers.append(self._draw(len(options)))
        chosen = options[self.answers[-1]]
        self.names.append(chosen.name)
        return chosen


class _ExploredWorker:
    def __init__(self, number: int) -> None:
        self.number = number
        self.tasks: deque[Task] = deque()
        self.is_silent = False
        self.isolated = False


class ExploringEngine:
    """Implements `engines.base.Engine` by choosing among all possible events."""

    def __init__(self, scope: Scope, chooser: Chooser, clock: VirtualClock) -> None:
        self._scope = scope
        self._chooser = chooser
        self._clock = clock
        self._workers: dict[int, _ExploredWorker] = {}
        self._next_number = 0
        self._faults_left = scope.faults
        self._time_steps = 0
        self._zombies: deque[tuple[int, Task]] = deque()
        self._latest: Finished | None = None
        self._due: list[Event] = []
        self._unacknowledged: int | None = None
        self._is_cancelled = False
        self.must_fail: set[int] = set()
        """Seqs with a fault that no retry can undo."""
        self._failures: dict[int, int] = {}

    def start(self) -> None:
        """Start the workers, which pull."""
        for _ in range(self._scope.workers):
            self._add_worker()

    def dispatch(self, batch: Batch) -> None:
        """Give the tasks to the worker."""
        worker = self._workers[batch.worker]
        worker.tasks.extend(batch.tasks)
        worker.isolated = batch.isolated

    def stop_worker(self, worker: int, reason: str) -> None:
        """Replace the worker. Its tasks may still be answered by a zombie."""
        self._replace_worker(self._workers.pop(worker))
        self._due.append(WorkerLost(worker, Loss.RETIRED))

    def wake(self) -> None:
        """Do nothing: `poll` never blocks."""

    def begin_commit(self, end: int) -> None:
        """Hand a run to the commit lane, which acknowledges at once unless it is slow."""
        prompt = PossibleEvent("the commit lane is prompt", False, lambda: [Committed(end)])
        slow = PossibleEvent("the commit lane is slow", True, lambda: self._delay(end))
        self._due.extend(self._take([prompt, slow] if self._faults_left else [prompt]))

    def poll(self, timeout_s: float | None) -> list[Event]:
        """Choose what happens next."""
        if self._due:
            events, self._due = self._due, []
            return events
        options = list(self._iter_options(timeout_s))
        if not options:
            return []
        return self._take(options)

    def drain(self) -> None:
        """Do nothing: the items of a batch count as started."""

    def close(self, grace_s: float = 0.0) -> list[Task]:
        """Do nothing: there is nothing to close."""
        return []

    def _take(self, options: list[PossibleEvent]) -> list[Event]:
        option = self._chooser.choose(options)
        self._faults_left -= option.is_fault
        return option.apply()

    def _delay(self, end: int) -> list[Event]:
        self._unacknowledged = end
        return []

    def _iter_options(self, timeout_s: float | None) -> Iterator[PossibleEvent]:
        if self._unacknowledged is not None:
            yield PossibleEvent("the commit lane acknowledges", False, self._acknowledge)
        busy = [worker for worker in self._workers.values() if worker.tasks]
        for worker in busy:
            if not worker.is_silent:
                yield PossibleEvent(f"worker {worker.number} finishes", False, self._bind(self._finish, worker))
        is_stuck = self._unacknowledged is None and all(worker.is_silent for worker in busy)
        is_timed = timeout_s is not None and timeout_s * 1000 < LEASE_MS // 4
        is_watched = self._time_steps < TIME_STEPS_MAX and (is_timed or any(worker.is_silent for worker in busy))
        if timeout_s is not None and (is_stuck or is_watched):
            yield PossibleEvent("time passes", False, lambda: self._pass_time(timeout_s))
        if self._faults_left:
            yield from self._iter_fault_options(busy)

    def _iter_fault_options(self, busy: list[_ExploredWorker]) -> Iterator[PossibleEvent]:
        for worker in busy:
            number = worker.number
            if not worker.is_silent:
                yield PossibleEvent(f"worker {number} fails", True, self._bind(self._fail, worker))
                yield PossibleEvent(f"worker {number} goes silent", True, self._bind(self._silence, worker))
                yield PossibleEvent(f"worker {number} overruns", True, self._bind(self._overrun, worker))
            yield PossibleEvent(f"worker {number} dies", True, self._bind(self._lose, worker, Loss.DIED))
            yield PossibleEvent(
                f"worker {number} is lost with its machine", True, self._bind(self._lose, worker, Loss.INFRASTRUCTURE)
            )
            if len(worker.tasks) > 1:
                yield PossibleEvent(f"worker {number} gives back", True, self._bind(self._give_back, worker))
        if self._zombies:
            yield PossibleEvent("a zombie answers", True, self._answer_late)
        if self._latest is not None:
            yield PossibleEvent("an answer comes twice", True, self._answer_twice)
        if not self._is_cancelled:
            yield PossibleEvent("the user cancels, with grace", True, self._bind(self._cancel, LEASE_MS))
            yield PossibleEvent("the user cancels, now", True, self._bind(self._cancel, 0))

    @staticmethod
    def _bind(function: Callable[..., list[Event]], *arguments: Any) -> Callable[[], list[Event]]:
        return lambda: function(*arguments)

    def _add_worker(self) -> None:
        self._workers[self._next_number] = _ExploredWorker(self._next_number)
        self._due.append(Pulled(self._next_number, self._scope.batch_limit))
        self._next_number += 1

    def _replace_worker(self, worker: _ExploredWorker) -> None:
        self._zombies.extend((worker.number, task) for task in worker.tasks)
        self._add_worker()

    def _answer(self, worker: _ExploredWorker, envelope: Envelope) -> list[Event]:
        self._latest = Finished(worker.number, [envelope])
        if worker.tasks:
            return [self._latest]
        return [self._latest, Pulled(worker.number, self._scope.batch_limit)]

    def _finish(self, worker: _ExploredWorker) -> list[Event]:
        return self._answer(worker, _make_success(worker.tasks.popleft()))

    def _fail(self, worker: _ExploredWorker) -> list[Event]:
        task = worker.tasks.popleft()
        self._failures[task.seq] = self._failures.get(task.seq, 0) + 1
        if self._failures[task.seq] > 1:
            self.must_fail.add(task.seq)
        failed = Envelope(task.seq, task.attempt, State.TERMINAL_FAIL, None, 0, _FLAKY)
        return self._answer(worker, failed)

    def _silence(self, worker: _ExploredWorker) -> list[Event]:
        worker.is_silent = True
        return [Beat([])]

    def _overrun(self, worker: _ExploredWorker) -> list[Event]:
        task = worker.tasks[0]
        self.must_fail.add(task.seq)
        return [Overran(worker.number, task.seq, task.attempt, 1)]

    def _lose(self, worker: _ExploredWorker, cause: Loss) -> list[Event]:
        del self._workers[worker.number]
        seq = worker.tasks[0].seq
        if worker.isolated and cause is Loss.DIED:
            self.must_fail.add(seq)
        self._replace_worker(worker)
        return [WorkerLost(worker.number, cause, seq)]

    def _give_back(self, worker: _ExploredWorker) -> list[Event]:
        seqs = [task.seq for task in worker.tasks][1:]
        worker.tasks = deque([worker.tasks[0]])
        return [Returned(worker.number, seqs)]

    def _answer_late(self) -> list[Event]:
        number, task = self._zombies.popleft()
        return [Finished(number, [_make_success(task)])]

    def _answer_twice(self) -> list[Event]:
        latest, self._latest = self._latest, None
        return [latest] if latest is not None else []

    def _cancel(self, grace_ms: int) -> list[Event]:
        self._is_cancelled = True
        return [CancelRequested("the user pressed ^C", grace_ms)]

    def _acknowledge(self) -> list[Event]:
        end, self._unacknowledged = self._unacknowledged, None
        return [] if end is None else [Committed(end)]

    def _pass_time(self, timeout_s: float) -> list[Event]:
        self._time_steps += 1
        self._clock.advance_to(self._clock.true_ms + max(1, round(timeout_s * 1000)))
        return [Beat([worker.number for worker in self._workers.values() if not worker.is_silent])]


def _make_success(task: Task) -> Envelope:
    return Envelope(task.seq, task.attempt, State.TERMINAL_SUCCESS, ("result", task.seq, task.attempt), 1)


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """An interleaving that breaks a promise."""

    broken_promise: str
    choices: list[str]
    transcript: list[str]


def explore(scope: Scope, start: Sequence[int] = ()) -> Iterator[Finding | None]:
    """Run every interleaving that starts with these choices. Yields None for each that kept all promises."""
    return enumerate_all(lambda draw: _run_interleaving(scope, Chooser(draw)), start)


def list_starts(scope: Scope, length: int) -> list[list[int]]:
    """List the first choices of all interleavings, with which `explore` runs them in parts."""

    def run(draw: Draw) -> list[int]:
        chooser = Chooser(draw)
        _run_interleaving(scope, chooser)
        return chooser.answers[:length]

    return list(enumerate_all(run, depth=length))


@cache
def _make_scenario(scope: Scope) -> Scenario:
    items = tuple(SimItem(item_id=f"item-{number}") for number in range(scope.items))
    options = KernelOptions(
        windows=WindowOptions(entries=2, entries_min=1, plan_ahead=scope.items),
        retry=RetryOptions(retries_max=1, backoff_ms=4),
        lease_ms=LEASE_MS,
        error_budget=scope.error_budget,
    )
    return Scenario(seed=0, items=items, options=options, workers=scope.workers, batch_limit=scope.batch_limit)


def _run_interleaving(scope: Scope, chooser: Chooser) -> Finding | None:
    scenario, clock = _make_scenario(scope), VirtualClock()
    engine, referee = ExploringEngine(scope, chooser, clock), Referee(scenario)
    log: list[Step] = []

    def observe(now_ms: int, event: Event, commands: Sequence[Command] | None) -> None:
        log.append((now_ms, event, commands))
        expect(len(log) < 500, "the run ends")
        referee.observe(now_ms, event, commands)

    def commit(run: CommitRun, items: Sequence[Any]) -> None:
        engine.begin_commit(run.end)

    runtime = Runtime(
        ((PlanItem(item.item_id), item) for item in scenario.items),
        engine,
        commit,
        clock,
        options=scenario.options,
        total=scope.items,
        observer=observe,
    )
    try:
        summary = runtime.run()
        outcomes = referee.books.outcomes
        failed = {seq for seq, outcome in enumerate(outcomes) if outcome == State.TERMINAL_FAIL}
        expected = {seq for seq in engine.must_fail if seq < len(outcomes)}
        expect(failed == expected, f"seqs {sorted(expected)} fail, not {sorted(failed)}")
        expect(summary.was_cancelled or len(outcomes) == scope.items, "every item is committed")
    except (PromiseBroken, InvariantViolation) as error:
        if isinstance(error, InvariantViolation) and referee.is_second_answer():
            return None
        return Finding(broken_promise=str(error), choices=chooser.names, transcript=format_log(log))
    return None
