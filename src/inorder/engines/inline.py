"""The engine whose one worker is the calling thread.

It is for debugging, for tiny jobs, and as the simplest reference for every other engine. It cannot interrupt an item,
so it has no time limit.
"""

from collections import deque
from collections.abc import Callable
from threading import Event as Flag
from time import perf_counter
from typing import Any

from inorder.core.events import Envelope, Event, Finished, Loss, Pulled, Returned, WorkerLost

from .attempt import run_attempt
from .base import Batch, BatchSizer, Task

_SLICE_S = 0.005


class InlineEngine:
    """Runs tasks inside `poll`, for a few milliseconds at a time."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function
        self._tasks: deque[Task] = deque()
        self._sizer = BatchSizer()
        self._worker = 0
        self._bytes_left = 0
        self._events: list[Event] = []
        self._wake = Flag()

    def start(self) -> None:
        """Have the worker pull."""
        self._pull()

    def dispatch(self, batch: Batch) -> None:
        """Queue the batch for the next poll."""
        self._tasks.extend(batch.tasks)
        self._bytes_left = batch.bytes_max

    def stop_worker(self, worker: int, reason: str) -> None:
        """Drop the queued tasks and continue under another worker number. No item is running at this moment."""
        self._tasks.clear()
        self._events.append(WorkerLost(worker, Loss.RETIRED, reason=reason))
        self._worker += 1
        self._pull()

    def poll(self, timeout_s: float | None) -> list[Event]:
        """Run tasks for a few milliseconds, at least one if there is one."""
        events, self._events = self._events, []
        if self._tasks:
            events.append(Finished(self._worker, self._run()))
            if self._bytes_left < 0 and self._tasks:
                events.append(Returned(self._worker, [task.seq for task in self._tasks]))
                self._tasks.clear()
            if not self._tasks:
                events.append(Pulled(self._worker, self._sizer.limit))
        if not events and timeout_s:
            self._wake.wait(timeout_s)
        self._wake.clear()
        return events

    def wake(self) -> None:
        """Make a waiting `poll` return soon."""
        self._wake.set()

    def drain(self) -> None:
        """Return the queued tasks."""
        if self._tasks:
            self._events.append(Returned(self._worker, [task.seq for task in self._tasks]))
            self._tasks.clear()
            self._pull()

    def close(self, grace_s: float = 0.0) -> list[Task]:
        """Drop the queued tasks. None is running."""
        self._tasks.clear()
        return []

    def _pull(self) -> None:
        self._events.append(Pulled(self._worker, self._sizer.limit))

    def _run(self) -> list[Envelope]:
        envelopes: list[Envelope] = []
        began_s = perf_counter()
        while self._tasks and (not envelopes or perf_counter() - began_s < _SLICE_S) and self._bytes_left >= 0:
            envelope = run_attempt(self._function, self._tasks.popleft(), may_interrupt=True)
            self._bytes_left -= envelope.payload_bytes
            envelopes.append(envelope)
        self._sizer.observe(len(envelopes), perf_counter() - began_s)
        return envelopes
