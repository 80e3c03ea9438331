"""The common part of the thread engine and the process engine: workers that run their batches on the threads of a lane.

The lane lends a worker a thread while it has a batch. The worker runs the batch in that thread, or in a process that
the thread talks to. The engine watches the workers: it reports an item that has exceeded its time limit, has finished
results sent that wait behind a slow item, takes items that a busy worker has not started for an idle one, and replaces
a worker that has fallen silent.

A worker process gives a heartbeat from a thread of its own. It falls silent if it does not get to run (it was stopped,
or the machine has no time for it) or if an item holds the interpreter lock (a C library that waits for itself, or that
computes for very long). Python code never silences its process, however long it computes. Silence is measured while the
engine is polled, so that no worker seems silent after the whole machine was suspended.
"""

from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from time import monotonic, time
from typing import NamedTuple, Protocol

from inorder.core.events import Beat, Event, Loss, Overran, Pulled, Tick, WorkerLost
from inorder.errors import InfrastructureError
from inorder.lanes import Lane, LaneConfig, Ticket

from .base import LEASE_S, Batch, Task
from .progress import ItemProgress, RunningStep, WorkerActivity

BEAT_S = 5.0
_SILENCE_CHECK_S_MAX = 1.0
START_S_MAX = 30.0
"""A worker that has not begun its first item and gives no heartbeat for this long is replaced, also if the lease is
longer: no item runs that could be the reason, and no time limit ends it."""
SLOW_S = 0.02
"""An item that takes longer is slow: the results before it are sent, and an idle worker takes all items after it. From
a worker whose items are quick it takes half."""


ALONE_S = 1.0
"""For how long the first workers are alone, if the others follow only when there is work for them. It is about twice
the time that a process takes to start."""


class RunningItem(NamedTuple):
    """The item that a worker is running."""

    seq: int
    attempt: int
    began_s: float
    step: RunningStep | None = None
    """The step that it is in; None: it has none."""

    @property
    def step_name(self) -> str:
        """The name of its step; empty: it has none."""
        return "" if self.step is None else self.step.name

    def find_limit_s(self, timeout_s: float | None) -> float | None:
        """Return the time limit of its step, or else that of an item, which is `timeout_s`; None: it has none."""
        if self.step is None or self.step.timeout_s is None:
            return timeout_s
        return self.step.timeout_s or None

    def find_overrun_ms(self, now_s: float, timeout_s: float | None) -> int | None:
        """Return the time limit that it has exceeded, counted from the start of its step if it has one; None: it has
        not. `timeout_s` is the limit of an item."""
        limit_s = self.find_limit_s(timeout_s)
        since_s = self.began_s if self.step is None else self.step.began_s
        return None if limit_s is None or now_s - since_s < limit_s else int(limit_s * 1000)

    def measure(self) -> tuple[float, float]:
        """Return for how long it has run, and when it began since 1970, both in milliseconds."""
        exec_ms = (monotonic() - self.began_s) * 1000
        return exec_ms, time() * 1000 - exec_ms


class PoolWorker(Protocol):
    """One worker of a pool."""

    number: int
    """Its id, which is never reused."""

    def prepare(self, batch: Batch) -> None:
        """Prepare for a batch, on the thread of the engine."""

    def execute(self, batch: Batch) -> None:
        """Run a batch on a thread of the lane, and put what happens into the outbox, with a `Pulled` at the end."""

    def running_item(self) -> RunningItem | None:
        """The item it is running."""

    def read_progress(self, running: RunningItem) -> ItemProgress | None:
        """What this item reported last."""

    def find_last_beat(self) -> int | None:
        """A number that every heartbeat changes; None: it cannot fall silent."""
        return None

    def flush(self) -> None:
        """Put finished results into the outbox."""

    def return_unstarted(self, *, half: bool = False) -> None:
        """Prevent it from starting the items it has not started, or the later half of them, and put these into the
        outbox as `Returned` before it can pull."""

    def is_alive(self) -> bool:
        """Whether it can still finish its work."""
        return True

    def begin_stop(self) -> None:
        """Begin to end it, without waiting: many end sooner together than one after the other."""

    def stop(self) -> None:
        """End it. From now on it puts nothing into the outbox."""

    def find_survivor(self) -> Task | None:
        """The task that it is still running although it was stopped; None if it could be ended."""
        return None


Outbox = SimpleQueue[Event | Exception]


class PoolEngine:
    """Implements `engines.base.ResizableEngine` on a lane."""

    def __init__(
        self,
        make_worker: Callable[[int, Outbox], PoolWorker],
        count: int,
        *,
        timeout_s: float | None,
        name: str,
        lease_s: float = LEASE_S,
        start_count: int | None = None,
    ) -> None:
        self._make_worker = make_worker
        self._count = count
        self._start_count = count if start_count is None else min(start_count, count)
        self._alone_until_s: float | None = None
        """When the other workers follow; None: the first ones have nothing to do yet, or the others are there."""
        self._timeout_s = timeout_s
        self._lease_s = lease_s
        self._beats: dict[int, tuple[int, float]] = {}
        """The latest heartbeat of each busy worker, and when it was seen on the watch clock."""
        self._watch_s = 0.0
        """The watch clock: time during which this engine was polled."""
        self._silence_checked_s = monotonic()
        self._outbox: Outbox = SimpleQueue()
        self._workers: dict[int, PoolWorker] = {}
        self._busy: set[int] = set()
        self._reported: dict[int, RunningItem] = {}
        """Overruns that were reported, by worker."""
        self._retiring: set[int] = set()
        """Workers that end when they next pull."""
        self._abandoned: list[PoolWorker] = []
        """Workers that were stopped and could not be ended at that moment."""
        self._is_draining = False
        self._next_number = 0
        self._last_beat_s = monotonic()
        self._tickets: dict[int, Ticket[None]] = {}
        self._lane = Lane(LaneConfig(name=name, max_concurrency=count, capacity=count))

    @property
    def lanes(self) -> list[Lane]:
        """The lane that lends threads to the workers."""
        return [self._lane]

    def start(self) -> None:
        """Create the workers, or the first ones; each pulls."""
        for _ in range(self._start_count):
            self._add_worker()

    def dispatch(self, batch: Batch) -> None:
        """Have the worker run the batch on a thread of the lane."""
        worker = self._workers.get(batch.worker)
        if worker is None:  # it fell silent after it had pulled; the kernel does not know yet
            self._outbox.put(WorkerLost(batch.worker, Loss.RETIRED, reason="the worker ended before it got a batch"))
            return
        worker.prepare(batch)
        if self._start_count < self._count and self._alone_until_s is None:
            self._alone_until_s = monotonic() + ALONE_S
        self._busy.add(batch.worker)
        self._beats.pop(batch.worker, None)
        ticket = self._tickets[batch.worker] = self._lane.submit(worker.execute, batch)
        error = ticket.exception() if ticket.done else None
        if error is not None:
            raise InfrastructureError(f"cannot start a thread for a worker: {error}") from error

    def stop_worker(self, worker: int, reason: str) -> None:
        """End the worker, abandon its thread, and create another worker."""
        self._remove_worker(worker)
        self._outbox.put(WorkerLost(worker, Loss.RETIRED, reason=reason))
        self._add_worker()

    def poll(self, timeout_s: float | None) -> list[Event]:
        """Wait for events, and check running items every few milliseconds."""
        until_s = None if timeout_s is None else monotonic() + timeout_s
        while True:
            events = self._wait(timeout_s)
            if events or (until_s is None and not self._busy):
                return events
            if until_s is not None:
                timeout_s = until_s - monotonic()
                if timeout_s <= 0:
                    return events

    def resize(self, count: int) -> None:
        """Change the number of workers: more at once, fewer as workers come to pull."""
        self._start_count, self._alone_until_s = self._count, None
        for _ in range(count - len(self._workers) + len(self._retiring)):
            if self._retiring:
                self._retiring.pop()
            else:
                self._add_worker()
        surplus = len(self._workers) - len(self._retiring) - count
        staying = [number for number in self._workers if number not in self._retiring]
        self._retiring.update(staying[len(staying) - surplus :] if surplus > 0 else ())

    def return_unstarted(self, number: int) -> None:
        """Have a worker return items it has not started: the later half of them while its items are quick, all of them
        behind a slow one."""
        worker = self._workers.get(number)
        running = worker.running_item() if worker is not None else None
        if worker is not None and running is not None:
            worker.return_unstarted(half=monotonic() - running.began_s < SLOW_S)

    def list_activity(self) -> list[WorkerActivity]:
        """Return what every worker is running."""
        now_s = monotonic()
        found = []
        for number in sorted(self._busy):
            worker = self._workers[number]
            running = worker.running_item()
            if running is not None:
                progress = worker.read_progress(running)
                elapsed_s = max(0.0, now_s - running.began_s)
                activity = (number, running.seq, running.attempt, elapsed_s, progress, running.step_name)
                found.append(WorkerActivity(*activity))
        return found

    def wake(self) -> None:
        """Make a waiting `poll` return soon."""
        self._outbox.put(Tick())

    def drain(self) -> None:
        """From now on, have busy workers return all items that they have not started."""
        self._is_draining = True

    def close(self, grace_s: float = 0.0) -> list[Task]:
        """End every worker. Waits up to `grace_s` for those that cannot be ended; returns what they still run, and what
        workers still run that were abandoned before."""
        until_s = monotonic() + grace_s
        for worker in self._workers.values():
            worker.begin_stop()
        for worker in self._workers.values():
            worker.stop()
        try:
            for number, ticket in list(self._tickets.items()):
                if number in self._workers and self._workers[number].find_survivor() is not None:
                    ticket.wait(max(0.0, until_s - monotonic()))
        finally:
            for number in list(self._workers):
                self._remove_worker(number)
            self._lane.close(drain=False)
        survivors = [worker.find_survivor() for worker in self._abandoned]
        return sorted((task for task in survivors if task is not None), key=lambda task: task.seq)

    def _add_worker(self) -> None:
        worker = self._make_worker(self._next_number, self._outbox)
        self._workers[worker.number] = worker
        self._next_number += 1
        self._outbox.put(Pulled(worker.number))

    def _remove_worker(self, number: int) -> None:
        worker = self._workers.pop(number)
        self._busy.discard(number)
        self._reported.pop(number, None)
        self._beats.pop(number, None)
        self._retiring.discard(number)
        worker.stop()
        ticket = self._tickets.pop(number, None)
        if ticket is not None:
            self._lane.abandon(ticket)
            self._abandoned = [each for each in (*self._abandoned, worker) if each.find_survivor() is not None]

    def _wait(self, timeout_s: float | None) -> list[Event]:
        arrived: list[Event | Exception] = []
        with suppress(Empty):
            arrived.append(self._outbox.get(timeout=self._compute_wait_s(timeout_s)))
        now_s = monotonic()
        overruns = self._check_running(now_s)
        while not self._outbox.empty():
            arrived.append(self._outbox.get())
        events = [self._track(event) for event in arrived]
        events.extend(overruns)
        self._replace_silent(now_s)
        if self._alone_until_s is not None and now_s >= self._alone_until_s and self._busy:
            self.resize(self._count)
        if now_s - self._last_beat_s >= BEAT_S:
            self._last_beat_s = now_s
            events.append(Beat([number for number, worker in self._workers.items() if worker.is_alive()]))
        return events

    def _track(self, event: Event | Exception) -> Event:
        """Update the engine's own state from an event on its way to the kernel."""
        if isinstance(event, Exception):
            raise event
        if isinstance(event, Pulled):
            self._busy.discard(event.worker)
            self._tickets.pop(event.worker, None)
            if event.worker in self._retiring:
                self._remove_worker(event.worker)
                return WorkerLost(event.worker, Loss.RETIRED, reason="the number of workers was reduced")
        elif isinstance(event, WorkerLost) and event.worker in self._workers:
            self._tickets.pop(event.worker, None)
            self._remove_worker(event.worker)
            self._add_worker()
        return event

    def _compute_wait_s(self, timeout_s: float | None) -> float:
        wait_s = BEAT_S if timeout_s is None else min(timeout_s, BEAT_S)
        if self._busy:
            wait_s = min(wait_s, SLOW_S)
        return max(0.0, wait_s)

    def _check_running(self, now_s: float) -> list[Event]:
        """Report items past their time limit. While a worker is idle, have busy ones return unstarted items."""
        events: list[Event] = []
        has_idle = len(self._busy) < len(self._workers)
        for number in list(self._busy):
            worker = self._workers[number]
            running = worker.running_item()
            if running is None:
                continue
            is_slow = now_s - running.began_s >= SLOW_S
            if is_slow:
                worker.flush()
            limit_ms = running.find_overrun_ms(now_s, self._timeout_s)
            if limit_ms is not None:
                events.extend(self._report_overrun(number, running, limit_ms))
            elif has_idle or self._is_draining:
                worker.return_unstarted(half=not is_slow and not self._is_draining)
        return events

    def _replace_silent(self, now_s: float) -> None:
        """Replace every busy worker that gave no heartbeat for the lease time, or for less if it runs no item. The time
        limit of an item, if it has one, decides instead: its worker is then stopped anyway."""
        interval_s = min(_SILENCE_CHECK_S_MAX, self._lease_s / 8)
        elapsed_s = now_s - self._silence_checked_s
        if elapsed_s < interval_s:
            return
        self._silence_checked_s = now_s
        self._watch_s += min(elapsed_s, 2 * interval_s)
        for number in list(self._busy):
            worker = self._workers[number]
            beat = worker.find_last_beat()
            if beat is None:
                continue
            latest, seen_s = self._beats.get(number, (None, 0.0))
            if latest != beat:
                self._beats[number] = (beat, self._watch_s)
                continue
            running = worker.running_item()
            limit_s = None if running is None else running.find_limit_s(self._timeout_s)
            lease_s = min(self._lease_s, START_S_MAX) if running is None else self._lease_s
            if self._watch_s - seen_s >= lease_s and limit_s is None:
                reason = f"its process gave no heartbeat for {lease_s:g} s"
                self._remove_worker(number)
                cause = Loss.INFRASTRUCTURE if running is None else Loss.DIED
                seq, step = (None, "") if running is None else (running.seq, running.step_name)
                self._outbox.put(WorkerLost(number, cause, seq, reason, step=step))
                self._add_worker()

    def _report_overrun(self, number: int, running: RunningItem, limit_ms: int) -> list[Event]:
        """Report an overrun once. If the kernel then does not stop the worker, the attempt was taken back at the moment
        it began: its result is not needed, and the worker is stopped so that the next item can run."""
        if self._reported.get(number) == running:
            self.stop_worker(number, f"seq {running.seq} exceeded its limit of {limit_ms} ms after it was taken back")
            return []
        self._reported[number] = running
        return [Overran(number, running.seq, running.attempt, limit_ms, *running.measure(), running.step_name)]
