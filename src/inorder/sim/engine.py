"""A simulated engine: every delivery, death and delay is an action in one event queue.

It implements `engines.base.Engine`, so the real runtime drives it. Waiting makes time pass: `poll` moves the virtual
clock to the next action that produces an event. Envelopes carry `("result", seq, attempt)` as payload, so the result of
a fenced attempt can be distinguished from a good one wherever it appears. A partial result says which attempt handed it
over, and which of several it is (`make_partial`).
"""

from collections import Counter, deque
from collections.abc import Callable
from functools import partial
from random import Random

from inorder.core.events import (
    Beat,
    Envelope,
    Event,
    Finished,
    HandedOver,
    Loss,
    Overran,
    Pulled,
    Returned,
    WorkerLost,
)
from inorder.core.transitions import State
from inorder.engines.base import Batch, Task
from inorder.errors import Category, Failure

from .clock import VirtualClock
from .event_queue import EventQueue
from .scenario import Fate, Scenario, SimItem, hand_over_random

_FATE_OUTCOMES = {
    Fate.OK: State.TERMINAL_SUCCESS,
    Fate.SKIP: State.TERMINAL_SKIP,
    Fate.FAIL: State.TERMINAL_FAIL,
}
_FLAKY = Failure(category=Category.IO, message="flaky", retryable=True)
_SPENT = Failure(category=Category.INPUT, message="not asked", budget="the limit of 9 tokens is reached")
_BROKEN = Failure(category=Category.INPUT, message="broken", retryable=True)


def make_partial(task: Task, number: int) -> bytes:
    """Make what an attempt hands over as its partial result with this number."""
    return b"part %d of seq %d, attempt %d" % (number, task.seq, task.attempt)


class _SimWorker:
    """One simulated worker and its tasks."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.is_alive = True
        self.is_stopped = False
        self.is_silent = False
        self.queue: deque[Task] = deque()
        self.current: Task | None = None
        self.isolated = False
        self.envelopes: list[Envelope] = []
        self.delivered_ms = 0
        """When the latest delivery arrives. Events that must come after it wait until then."""

    @property
    def is_working(self) -> bool:
        return self.is_alive and (self.current is not None or bool(self.queue))


class SimEngine:
    """The workers of one scenario."""

    def __init__(
        self,
        scenario: Scenario,
        clock: VirtualClock,
        work: Callable[[Task], None] | None = None,
        partials: Callable[[Task, int], bytes] = make_partial,
    ) -> None:
        """`work` is called at the end of every attempt that completes, before its result is delivered. `partials` makes
        what an attempt hands over."""
        self._make_partial = partials
        self._scenario = scenario
        self._work = work
        self._faults = scenario.faults
        self._clock = clock
        self._rng = Random(scenario.seed ^ 0x5EED)
        self._hand_over_rng = hand_over_random(scenario.seed)
        self._event_queue = EventQueue(clock)
        self._schedule = self._event_queue.schedule
        self._workers: dict[int, _SimWorker] = {}
        self._next_number = 0
        self._is_beating = False
        self.failures: Counter[int] = Counter()
        """Failures of each seq that the kernel has answered with a retry; updated by the world."""
        self.fault_counts: Counter[str] = Counter()
        """How often each fault happened."""

    def start(self) -> None:
        """Start the workers, which pull."""
        for _ in range(self._scenario.workers):
            self._add_worker()

    def post(self, delay_ms: int, event: Event) -> None:
        """Deliver an event later."""
        self._schedule(delay_ms, lambda: [event])

    def act(self, delay_ms: int, action: Callable[[], None]) -> None:
        """Run an action later."""

        def run_action() -> list[Event]:
            action()
            return []

        self._schedule(delay_ms, run_action)

    def commit_schedule(self, start: int, end: int) -> list[tuple[int, int]]:
        """When the commit lane acknowledges a run: (end, delay_ms), cumulative and possibly repeated."""
        if not self._chance("slow_commit"):
            return [(end, 0)]
        middle = self._rng.randrange(start, end + 1)
        delay_ms = self._rng.randrange(1, 60)
        return [(middle, delay_ms), (middle, delay_ms + 1), (end, delay_ms + self._rng.randrange(1, 60))]

    def dispatch(self, batch: Batch) -> None:
        """Start the first task on its worker."""
        worker = self._workers[batch.worker]
        worker.queue.extend(batch.tasks)
        worker.isolated = batch.isolated
        if len(batch.tasks) > 1 and self._chance("give_back"):
            self._schedule(self._rng.randrange(20), lambda: self._give_back(worker))
        self._begin_next(worker)
        if not self._is_beating:
            self._is_beating = True
            self._schedule(self._beat_ms, self._beat)

    def stop_worker(self, worker: int, reason: str) -> None:
        """Stop the worker, or let it continue as a zombie whose deliveries are refused."""
        stopped = self._workers[worker]
        if stopped.is_alive and not stopped.is_stopped:
            stopped.is_stopped = True
            if self._chance("zombie"):
                self._schedule(1, lambda: [Pulled(worker, self._scenario.batch_limit)])
            else:
                stopped.is_alive = False
            self._add_worker()
            self._schedule(
                max(3, stopped.delivered_ms - self._clock.true_ms), lambda: [WorkerLost(worker, Loss.RETIRED)]
            )

    def poll(self, timeout_s: float | None) -> list[Event]:
        """Let time pass until something happens."""
        return self._event_queue.poll(timeout_s)

    def is_quiet(self, worker: int) -> bool:
        """Whether this worker sends no heartbeats."""
        return self._workers[worker].is_silent or not self._workers[worker].is_alive

    def wake(self) -> None:
        """Do nothing: `poll` never blocks."""

    def drain(self) -> None:
        """Do nothing: the items of a batch count as started."""

    def close(self, grace_s: float = 0.0) -> list[Task]:
        """Drop everything that is scheduled."""
        self._event_queue.clear()
        return []

    @property
    def _beat_ms(self) -> int:
        return self._scenario.options.lease_ms // 4

    def _chance(self, fault: str) -> bool:
        percent: int = getattr(self._faults, fault)
        if percent and self._rng.randrange(100) < percent:
            self.fault_counts[fault] += 1
            return True
        return False

    def _add_worker(self) -> None:
        worker = _SimWorker(self._next_number)
        self._next_number += 1
        self._workers[worker.number] = worker
        self._schedule(self._rng.randrange(3), lambda: [Pulled(worker.number, self._scenario.batch_limit)])

    def _beat(self) -> list[Event]:
        busy = [worker for worker in self._workers.values() if worker.is_working]
        self._is_beating = bool(busy)
        if busy:
            self._schedule(self._beat_ms, self._beat)
        beating = [worker.number for worker in busy if not worker.is_silent]
        return [Beat(beating)] if beating else []

    def _begin_next(self, worker: _SimWorker) -> None:
        """Start the next task of the queue, and schedule how it ends."""
        if not worker.queue:
            self._finish_batch(worker)
            return
        task = worker.queue.popleft()
        worker.current = task
        item: SimItem = task.item
        flaky = self.failures[task.seq] < item.failures
        for number in range(item.hand_overs):
            last_ms = min(item.duration_ms, self._scenario.timeout_ms or item.duration_ms)
            moment_ms = self._hand_over_rng.randrange(last_ms + 1)
            self._schedule(moment_ms * number // item.hand_overs, partial(self._hand_over, worker, task, number))
        if not worker.isolated and self._inject_fault(worker, item.duration_ms):
            return
        if flaky or item.fate in _FATE_OUTCOMES:
            self._schedule(item.duration_ms, lambda: self._complete(worker, task, flaky=flaky))
        elif item.fate is Fate.HOSTILE:
            self.fault_counts["hostile"] += 1
            self._schedule(item.duration_ms, lambda: self._die(worker, Loss.DIED))
        else:
            self._hang(worker, task)

    def _hand_over(self, worker: _SimWorker, task: Task, number: int) -> list[Event]:
        """Send a partial result, unless the worker has died or ended the task."""
        if not worker.is_alive or worker.current is not task:
            return []
        return [HandedOver(worker.number, task.seq, task.attempt, self._make_partial(task, number))]

    def _hang(self, worker: _SimWorker, task: Task) -> None:
        self.fault_counts["hang"] += 1
        limit_ms = self._scenario.timeout_ms
        if limit_ms is None:
            worker.is_silent = True
            return
        overran = Overran(worker.number, task.seq, task.attempt, limit_ms)
        self._schedule(limit_ms, lambda: [overran])
        late_ms = self._rng.randrange(1, limit_ms)
        self._schedule(limit_ms + late_ms, lambda: self._complete(worker, task, flaky=False))

    def _inject_fault(self, worker: _SimWorker, duration_ms: int) -> bool:
        """Inject a fault that its item did not cause. Returns whether one was injected. Not called for an isolated
        suspect: a second death of its worker must fail the item."""
        moment_ms = self._rng.randrange(duration_ms + 1)
        for fault, cause in (("die", Loss.DIED), ("machine_loss", Loss.INFRASTRUCTURE), ("retire", Loss.RETIRED)):
            if self._chance(fault):
                self._schedule(moment_ms, partial(self._die, worker, cause))
                return True
        if self._chance("silent"):
            worker.is_silent = True
            task = worker.current
            if task is not None:
                lease_ms = self._scenario.options.lease_ms
                self._schedule(lease_ms * 3, lambda: self._complete(worker, task, flaky=False))
            return True
        return False

    def _complete(self, worker: _SimWorker, task: Task, *, flaky: bool) -> list[Event]:
        if not worker.is_alive:
            return []
        if self._work is not None:
            self._work(task)
        item: SimItem = task.item
        payload = ("result", task.seq, task.attempt)
        if self._chance("spent"):
            envelope = Envelope(task.seq, task.attempt, State.TERMINAL_FAIL, payload, 0, _SPENT)
        elif flaky:
            envelope = Envelope(task.seq, task.attempt, State.TERMINAL_FAIL, payload, 0, _FLAKY)
        else:
            outcome = _FATE_OUTCOMES.get(item.fate, State.TERMINAL_SUCCESS)
            size = item.result_bytes if outcome is State.TERMINAL_SUCCESS else 0
            failure = _BROKEN if outcome is State.TERMINAL_FAIL else None
            envelope = Envelope(task.seq, task.attempt, outcome, payload, size, failure)
        worker.current = None
        worker.envelopes.append(envelope)
        if worker.queue and self._chance("hoard"):
            pass
        else:
            self._deliver(worker)
        self._begin_next(worker)
        return []

    def _deliver(self, worker: _SimWorker) -> None:
        """Send the worker's results. They may arrive late, twice, or in another order."""
        envelopes, worker.envelopes = worker.envelopes, []
        if not envelopes:
            return
        if len(envelopes) > 1 and self._chance("shuffle"):
            self._rng.shuffle(envelopes)
        delay_ms = self._rng.randrange(80) if self._chance("delay") else 0
        finished = Finished(worker.number, envelopes)
        self._schedule(delay_ms, lambda: [finished])
        worker.delivered_ms = max(worker.delivered_ms, self._clock.true_ms + delay_ms)
        if self._chance("duplicate"):
            self._schedule(delay_ms + self._rng.randrange(100), lambda: [finished])

    def _finish_batch(self, worker: _SimWorker) -> None:
        self._deliver(worker)
        if not worker.is_stopped:
            pulled = Pulled(worker.number, self._scenario.batch_limit)
            self._after_deliveries(worker, lambda: [pulled])

    def _after_deliveries(self, worker: _SimWorker, action: Callable[[], list[Event]]) -> None:
        self._schedule(max(0, worker.delivered_ms - self._clock.true_ms), action)

    def _die(self, worker: _SimWorker, cause: Loss) -> list[Event]:
        if not worker.is_alive:
            return []
        worker.is_alive = False
        if worker.is_stopped:
            return []
        running = worker.current.seq if worker.current is not None else None
        if self._chance("unknown"):
            running = None
        lost = WorkerLost(worker.number, cause, running, f"worker {worker.number} got signal 9")
        self._after_deliveries(worker, lambda: [lost])
        self._add_worker()
        return []

    def _give_back(self, worker: _SimWorker) -> list[Event]:
        if not worker.is_alive or worker.is_stopped or not worker.queue:
            return []
        seqs = [task.seq for task in worker.queue]
        worker.queue.clear()
        return [Returned(worker.number, seqs)]
