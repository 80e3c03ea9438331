"""The engine that is no engine: one worker, this thread.

For debugging, for tiny jobs, and as the plainest statement of what every other engine must amount to. It cannot
interrupt an item, so it has no time limit.
"""

from collections import deque
from collections.abc import Callable
from time import perf_counter, sleep
from typing import Any

from inorder.core.events import Envelope, Event, Finished, Pulled

from .attempt import attempt
from .base import Batch, BatchSizer, Task

_WORKER = 0
_SLICE_S = 0.005


class InlineEngine:
    """Runs tasks when polled, for a few milliseconds at a time."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function
        self._tasks: deque[Task] = deque()
        self._sizer = BatchSizer()
        self._pulls = False

    def start(self) -> None:
        """The one worker pulls."""
        self._pulls = True

    def dispatch(self, batch: Batch) -> None:
        """Queue the batch for the next poll."""
        self._tasks.extend(batch.tasks)

    def stop_worker(self, worker: int, reason: str) -> None:
        """Drop what is queued; there is nothing to interrupt."""
        self._tasks.clear()

    def poll(self, timeout_s: float | None) -> list[Event]:
        """Run for a few milliseconds, at least one task if there is one."""
        events: list[Event] = []
        if self._tasks:
            envelopes: list[Envelope] = []
            began_s = perf_counter()
            while self._tasks and (not envelopes or perf_counter() - began_s < _SLICE_S):
                envelopes.append(attempt(self._function, self._tasks.popleft(), may_interrupt=True))
            self._sizer.observe(len(envelopes), perf_counter() - began_s)
            events.append(Finished(_WORKER, envelopes))
            self._pulls = not self._tasks
        if self._pulls:
            self._pulls = False
            events.append(Pulled(_WORKER, self._sizer.limit))
        if not events and timeout_s:
            sleep(timeout_s)
        return events

    def close(self) -> None:
        """Drop what is queued."""
        self._tasks.clear()
