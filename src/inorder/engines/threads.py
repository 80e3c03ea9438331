"""Workers that are threads of this process: for work that waits, on the network, the disk or a library in C.

A thread cannot be killed. One whose item ran past its limit is abandoned instead: the kernel has already fenced the
attempt, a new thread takes the place, and the old one ends by itself if its item ever does. All threads are daemons,
so none keeps the process alive.
"""

import threading
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any

from inorder.core.events import Beat, Envelope, Event, Finished, Loss, Overran, Pulled, WorkerLost

from .attempt import attempt
from .base import Batch, BatchSizer, Task

_FLUSH_S = 0.002


class _Worker:
    """One thread, what it is on, and the envelopes it has not handed over yet."""

    def __init__(self, number: int, function: Callable[[Any], Any], outbox: "SimpleQueue[Event]") -> None:
        self.number = number
        self.inbox: SimpleQueue[Batch | None] = SimpleQueue()
        self.running: tuple[Task, float] | None = None
        self.abandoned = False
        self._function = function
        self._outbox = outbox
        self._envelopes: list[Envelope] = []
        self._lock = threading.Lock()
        self._sizer = BatchSizer()
        self._thread = threading.Thread(target=self._work, name=f"inorder-worker-{number}", daemon=True)
        self._thread.start()

    def flush(self) -> None:
        """Hand over what is done. Called by the thread, and by the engine before it gives the thread up."""
        with self._lock:
            envelopes, self._envelopes = self._envelopes, []
            if envelopes:
                self._outbox.put(Finished(self.number, envelopes))

    def abandon(self) -> None:
        """Let the thread end after the item it is on. It pulls and delivers no more."""
        with self._lock:
            self.abandoned = True
        self.inbox.put(None)

    def _pull(self) -> None:
        with self._lock:
            if not self.abandoned:
                self._outbox.put(Pulled(self.number, self._sizer.limit))

    def _work(self) -> None:
        self._pull()
        while (batch := self.inbox.get()) is not None:
            began_s = flushed_s = monotonic()
            for task in batch.tasks:
                self.running = (task, monotonic())
                envelope = attempt(self._function, task)
                self.running = None
                with self._lock:
                    if self.abandoned:
                        return
                    self._envelopes.append(envelope)
                if monotonic() - flushed_s >= _FLUSH_S:
                    self.flush()
                    flushed_s = monotonic()
            self.flush()
            self._sizer.observe(len(batch.tasks), monotonic() - began_s)
            self._pull()


class ThreadEngine:
    """`workers` threads, each with an inbox of its own."""

    def __init__(
        self, function: Callable[[Any], Any], workers: int, *, timeout_s: float | None, beat_s: float = 5.0
    ) -> None:
        self._function = function
        self._count = workers
        self._timeout_s = timeout_s
        self._beat_s = beat_s
        self._beaten_s = monotonic()
        self._outbox: SimpleQueue[Event] = SimpleQueue()
        self._workers: dict[int, _Worker] = {}
        self._next_number = 0

    def start(self) -> None:
        """Start the threads; each pulls as soon as it runs."""
        for _ in range(self._count):
            self._add_worker()

    def dispatch(self, batch: Batch) -> None:
        """Put the batch into the worker's inbox."""
        self._workers[batch.worker].inbox.put(batch)

    def stop_worker(self, worker: int, reason: str) -> None:
        """Abandon the thread and start another."""
        self._workers.pop(worker).abandon()
        self._outbox.put(WorkerLost(worker, Loss.RETIRED, reason=reason))
        self._add_worker()

    def poll(self, timeout_s: float | None) -> list[Event]:
        """Wait for answers, but not past the moment when a running item may have used up its time."""
        events: list[Event] = []
        with suppress(Empty):
            events.append(self._outbox.get(timeout=self._patience_s(timeout_s)))
        now_s = monotonic()
        overruns = [] if self._timeout_s is None else self._overruns(now_s, self._timeout_s)
        events.extend(self._drain())
        events.extend(overruns)
        if now_s - self._beaten_s >= self._beat_s:
            self._beaten_s = now_s
            events.append(Beat(list(self._workers)))
        return events

    def close(self) -> None:
        """Abandon every thread; the idle ones end at once, the others after the item they are on."""
        for worker in self._workers.values():
            worker.abandon()
        self._workers.clear()

    def _add_worker(self) -> None:
        self._workers[self._next_number] = _Worker(self._next_number, self._function, self._outbox)
        self._next_number += 1

    def _patience_s(self, timeout_s: float | None) -> float:
        patience_s = self._beat_s if timeout_s is None else min(timeout_s, self._beat_s)
        if self._timeout_s is not None:
            now_s = monotonic()
            for worker in self._workers.values():
                running = worker.running
                left_s = self._timeout_s if running is None else running[1] + self._timeout_s - now_s
                patience_s = min(patience_s, left_s)
        return max(0.0, patience_s)

    def _drain(self) -> list[Event]:
        events = []
        while not self._outbox.empty():
            events.append(self._outbox.get())
        return events

    def _overruns(self, now_s: float, timeout_s: float) -> list[Event]:
        """Items past their limit. What their workers have done before is flushed, and so arrives first."""
        events: list[Event] = []
        for worker in self._workers.values():
            running = worker.running
            if running is not None and now_s - running[1] >= timeout_s:
                task = running[0]
                worker.flush()
                events.append(Overran(worker.number, task.seq, task.attempt, int(timeout_s * 1000)))
        return events
