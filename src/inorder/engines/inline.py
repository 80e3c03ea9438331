"""The engine that is no engine: one worker, this thread.

For debugging, for tiny jobs, and as the plainest statement of what every other engine must amount to. It cannot
interrupt an item, so it has no time limit.
"""

from collections import deque
from collections.abc import Callable
from threading import Event as Flag
from time import perf_counter
from typing import Any

from inorder.core.events import Envelope, Event, Finished, Loss, Pulled, Returned, WorkerLost

from .attempt import attempt
from .base import Batch, BatchSizer, Task

_SLICE_S = 0.005


class InlineEngine:
    """Runs tasks when polled, for a few milliseconds at a time."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function
        self._tasks: deque[Task] = deque()
        self._sizer = BatchSizer()
        self._worker = 0
        self._bytes_left = 0
        self._due: list[Event] = []
        self._woken = Flag()

    def start(self) -> None:
        """The one worker pulls."""
        self._pull()

    def dispatch(self, batch: Batch) -> None:
        """Queue the batch for the next poll."""
        self._tasks.extend(batch.tasks)
        self._bytes_left = batch.bytes_max

    def stop_worker(self, worker: int, reason: str) -> None:
        """Drop what is queued and go on under another number; there is nothing to interrupt."""
        self._tasks.clear()
        self._due.append(WorkerLost(worker, Loss.RETIRED, reason=reason))
        self._worker += 1
        self._pull()

    def poll(self, timeout_s: float | None) -> list[Event]:
        """Run for a few milliseconds, at least one task if there is one."""
        events, self._due = self._due, []
        if self._tasks:
            events.append(Finished(self._worker, self._run()))
            if self._bytes_left < 0 and self._tasks:
                events.append(Returned(self._worker, [task.seq for task in self._tasks]))
                self._tasks.clear()
            if not self._tasks:
                events.append(Pulled(self._worker, self._sizer.limit))
        if not events and timeout_s:
            self._woken.wait(timeout_s)
        self._woken.clear()
        return events

    def wake(self) -> None:
        """Have a `poll` that waits return soon."""
        self._woken.set()

    def close(self) -> None:
        """Drop what is queued."""
        self._tasks.clear()

    def _pull(self) -> None:
        self._due.append(Pulled(self._worker, self._sizer.limit))

    def _run(self) -> list[Envelope]:
        envelopes: list[Envelope] = []
        began_s = perf_counter()
        while self._tasks and (not envelopes or perf_counter() - began_s < _SLICE_S) and self._bytes_left >= 0:
            envelope = attempt(self._function, self._tasks.popleft(), may_interrupt=True)
            self._bytes_left -= envelope.payload_bytes
            envelopes.append(envelope)
        self._sizer.observe(len(envelopes), perf_counter() - began_s)
        return envelopes
