"""What threads and processes share: workers that execute their batches on the threads of one lane.

The lane lends a worker a thread while it has a batch; how the batch is executed is the worker's own affair: in that
thread, or by a process that the thread speaks to. The engine around them watches: it tells when an item has used up
its time, hands over what is done and waits behind something slow, and takes work that a busy worker has not started
from it when another has nothing to do.
"""

from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from time import monotonic
from typing import NamedTuple, Protocol

from inorder.core.events import Beat, Event, Loss, Overran, Pulled, Tick, WorkerLost
from inorder.lanes import Lane, LaneConfig, Ticket

from .base import Batch

BEAT_S = 5.0
SLOW_S = 0.02
"""An item that takes longer is slow: what is done before it is handed over, and an idle worker takes all that comes
after it. Of a worker whose items are quick it takes half."""


class Running(NamedTuple):
    """The item a worker is on."""

    seq: int
    attempt: int
    began_s: float


class Worker(Protocol):
    """One worker of a pool."""

    @property
    def number(self) -> int:
        """Its id, never used twice."""
        ...

    def prepare(self, batch: Batch) -> None:
        """Make ready for a batch, on the thread of the engine."""
        ...

    def execute(self, batch: Batch) -> None:
        """Run a batch, on a thread of the lane, and put what happens into the outbox, a `Pulled` at last."""
        ...

    def running(self) -> Running | None:
        """The item it is on."""
        ...

    def hand_over(self) -> None:
        """Put what is done into the outbox, if something is."""
        ...

    def take_back(self, *, half: bool = False) -> None:
        """Forbid it to start what it has not started, or the later half of that, and put it into the outbox as
        `Returned` before it can pull."""
        ...

    def is_beating(self) -> bool:
        """Whether it lives."""
        ...

    def stop(self) -> None:
        """End it: from now on it puts nothing into the outbox."""
        ...


Outbox = SimpleQueue[Event | Exception]


class PooledEngine:
    """Implements `engines.base.Engine` on a lane."""

    def __init__(
        self, make_worker: Callable[[int, Outbox], Worker], count: int, *, timeout_s: float | None, name: str
    ) -> None:
        self._make_worker = make_worker
        self._count = count
        self._timeout_s = timeout_s
        self._outbox: Outbox = SimpleQueue()
        self._workers: dict[int, Worker] = {}
        self._busy: set[int] = set()
        self._overrun: dict[int, Running] = {}
        """Overruns already told, by worker."""
        self._leaving: set[int] = set()
        """Workers that go when they next ask for work."""
        self._next_number = 0
        self._beaten_s = monotonic()
        self._tickets: dict[int, Ticket[None]] = {}
        self._lane = Lane(LaneConfig(name=name, max_concurrency=count, capacity=count))

    def start(self) -> None:
        """Bring the workers up; each pulls."""
        for _ in range(self._count):
            self._add_worker()

    def dispatch(self, batch: Batch) -> None:
        """Have the worker execute the batch on a thread of the lane."""
        worker = self._workers[batch.worker]
        worker.prepare(batch)
        self._busy.add(batch.worker)
        self._tickets[batch.worker] = self._lane.submit(worker.execute, batch)

    def stop_worker(self, worker: int, reason: str) -> None:
        """End the worker, give up the thread it has, and start another."""
        self._remove(worker)
        self._outbox.put(WorkerLost(worker, Loss.RETIRED, reason=reason))
        self._add_worker()

    def poll(self, timeout_s: float | None) -> list[Event]:
        """Wait for answers, and look around every few milliseconds while somebody is at work."""
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
        """Have this many workers: more at once; fewer as they come to ask for more work."""
        for _ in range(count - len(self._workers) + len(self._leaving)):
            if self._leaving:
                self._leaving.pop()
            else:
                self._add_worker()
        surplus = len(self._workers) - len(self._leaving) - count
        staying = [number for number in self._workers if number not in self._leaving]
        self._leaving.update(staying[len(staying) - surplus :] if surplus > 0 else ())

    def take_back(self, number: int) -> None:
        """Have a worker give back what it has not begun: the later half of it while its items are quick, all of it
        behind a slow one."""
        worker = self._workers.get(number)
        running = worker.running() if worker is not None else None
        if worker is not None and running is not None:
            worker.take_back(half=monotonic() - running.began_s < SLOW_S)

    def wake(self) -> None:
        """Have a `poll` that waits return soon."""
        self._outbox.put(Tick())

    def close(self) -> None:
        """End every worker. Work under way is given up."""
        for number in list(self._workers):
            self._remove(number)
        self._lane.close(drain=False)

    def _add_worker(self) -> None:
        worker = self._make_worker(self._next_number, self._outbox)
        self._workers[worker.number] = worker
        self._next_number += 1
        self._outbox.put(Pulled(worker.number))

    def _remove(self, number: int) -> None:
        worker = self._workers.pop(number)
        self._busy.discard(number)
        self._overrun.pop(number, None)
        self._leaving.discard(number)
        worker.stop()
        ticket = self._tickets.pop(number, None)
        if ticket is not None:
            self._lane.abandon(ticket)

    def _wait(self, timeout_s: float | None) -> list[Event]:
        arrived: list[Event | Exception] = []
        with suppress(Empty):
            arrived.append(self._outbox.get(timeout=self._patience_s(timeout_s)))
        now_s = monotonic()
        observed = self._look_at_running(now_s)
        while not self._outbox.empty():
            arrived.append(self._outbox.get())
        events = [self._taken_in(event) for event in arrived]
        events.extend(observed)
        if now_s - self._beaten_s >= BEAT_S:
            self._beaten_s = now_s
            events.append(Beat([number for number, worker in self._workers.items() if worker.is_beating()]))
        return events

    def _taken_in(self, event: Event | Exception) -> Event:
        """Keep the engine's own books of what is on its way to the kernel."""
        if isinstance(event, Exception):
            raise event
        if isinstance(event, Pulled):
            self._busy.discard(event.worker)
            self._tickets.pop(event.worker, None)
            if event.worker in self._leaving:
                self._remove(event.worker)
                return WorkerLost(event.worker, Loss.RETIRED, reason="fewer workers are wanted")
        elif isinstance(event, WorkerLost) and event.worker in self._workers:
            self._tickets.pop(event.worker, None)
            self._remove(event.worker)
            self._add_worker()
        return event

    def _patience_s(self, timeout_s: float | None) -> float:
        patience_s = BEAT_S if timeout_s is None else min(timeout_s, BEAT_S)
        if self._busy:
            patience_s = min(patience_s, SLOW_S)
        return max(0.0, patience_s)

    def _look_at_running(self, now_s: float) -> list[Event]:
        """Items past their limit; and have those given back that wait behind others while somebody is idle."""
        events: list[Event] = []
        has_idle = len(self._busy) < len(self._workers)
        for number in list(self._busy):
            worker = self._workers[number]
            running = worker.running()
            if running is None:
                continue
            is_slow = now_s - running.began_s >= SLOW_S
            if is_slow:
                worker.hand_over()
            if self._timeout_s is not None and now_s - running.began_s >= self._timeout_s:
                events.extend(self._overran(number, running, int(self._timeout_s * 1000)))
            elif has_idle:
                worker.take_back(half=not is_slow)
        return events

    def _overran(self, number: int, running: Running, limit_ms: int) -> list[Event]:
        """Tell of an overrun once. If the kernel has not stopped the worker for it, the attempt was taken back in the
        moment it began: nobody waits for it, and the worker goes for the sake of the next item."""
        if self._overrun.get(number) == running:
            self.stop_worker(number, f"seq {running.seq} ran past its limit of {limit_ms} ms, and nobody wants it")
            return []
        self._overrun[number] = running
        return [Overran(number, running.seq, running.attempt, limit_ms)]
