"""The engine whose one worker is the calling thread.

It is for debugging, for tiny jobs, and as the simplest reference for every other engine. It cannot interrupt an item,
so it has no time limit.
"""

from collections import deque
from collections.abc import Callable
from threading import Event as Flag
from time import perf_counter
from typing import Any

from inorder.core.events import Envelope, Event, Finished, HandedOver, Loss, Pulled, Returned, WorkerLost

from .attempt import run_attempt
from .base import Batch, BatchSizer, Task
from .progress import Reporter, set_reporter

_SLICE_S = 0.005


class _InlineReporter:
    """Takes what one attempt says. Nobody can look at its progress while it runs."""

    def __init__(self, engine: "InlineEngine", task: Task | None) -> None:
        self._engine = engine
        self._task = task

    def report(self, done: float, total: float | None, note: str) -> None:
        """Do nothing: the thread that could show it is running the item."""

    def begin_step(self, name: str, timeout_s: float | None) -> None:
        """Note the step. It has no time limit here."""
        self._engine.step = name

    def hand_over(self, partial: bytes) -> None:
        """Keep a partial result until the poll ends."""
        self._engine.hand_over(self._task, partial)


class InlineEngine:
    """Runs tasks inside `poll`, for a few milliseconds at a time."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function
        self._tasks: deque[Task] = deque()
        self._sizer = BatchSizer()
        self._worker = 0
        self._bytes_left = 0
        self._events: list[Event] = []
        self._handed_over: list[Event] = []
        self._task: Task | None = None
        """The task that is running."""
        self.step = ""
        """The step that it is in."""
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
            finished = Finished(self._worker, self._run())
            events += self._handed_over
            self._handed_over.clear()
            events.append(finished)
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
        set_reporter(self._make_reporter)
        while self._tasks and (not envelopes or perf_counter() - began_s < _SLICE_S) and self._bytes_left >= 0:
            envelope = self._run_one(self._tasks.popleft())
            self._bytes_left -= envelope.payload_bytes
            envelopes.append(envelope)
        self._sizer.observe(len(envelopes), perf_counter() - began_s)
        return envelopes

    def _run_one(self, task: Task) -> Envelope:
        self._task, self.step = task, ""
        try:
            return run_attempt(self._function, task, may_interrupt=True, get_step=self._get_step)
        finally:
            self._task = None

    def hand_over(self, task: Task | None, partial: bytes) -> None:
        """Keep a partial result of a task, if it is the one that runs."""
        if task is not None and task is self._task:
            self._handed_over.append(HandedOver(self._worker, task.seq, task.attempt, partial))

    def _make_reporter(self) -> Reporter:
        return _InlineReporter(self, self._task)

    def _get_step(self) -> str:
        return self.step
