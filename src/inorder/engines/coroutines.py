"""The engine that runs coroutines, on the event loop of its caller.

To the kernel, a worker is a batch: it pulls as many items as may begin, runs all of them at once, and pulls again when
they have ended. Whenever items end, a worker that has none pulls for the slots that they leave. So the number of
coroutines is bounded by the slots, and the cost of a pull is shared by all items that begin together.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from time import monotonic, time
from typing import Any, NamedTuple

from inorder.core.events import Beat, Envelope, Event, Finished, Loss, Pulled, Tick, WorkerLost
from inorder.errors import Category, Failure, InfrastructureError

from .attempt import FAIL, SUCCESS, classify_error
from .base import Batch, Task
from .error_table import Classify
from .memory_estimate import estimate_bytes, get_held_bytes
from .pool import BEAT_S


class _Running(NamedTuple):
    worker: int
    task: Task
    began_s: float
    began_ms: float


class CoroutineEngine:
    """Runs up to `slots` coroutines at a time. Every method is called on the thread of the loop, which is `loop` after
    the first dispatch. `on_event` is called, once per turn of the loop, when there is something to poll."""

    def __init__(
        self,
        function: Callable[[Any], Coroutine[Any, Any, Any]],
        slots: int,
        *,
        timeout_s: float | None = None,
        classify: Classify | None = None,
    ) -> None:
        self._function = function
        self._free = slots
        self._timeout_s = timeout_s
        self._classify = classify
        self._events: list[Event] = []
        self._finished: dict[int, list[Envelope]] = {}
        self._asked: dict[int, int] = {}
        """The slots that each pulling worker holds."""
        self._counts: dict[int, int] = {}
        """Items of each worker that have not ended."""
        self._idle: list[int] = []
        self._next_worker = 0
        self._running: dict[asyncio.Task[Any], _Running] = {}
        self._due: deque[tuple[float, asyncio.Task[Any]]] = deque()
        """When each coroutine reaches its time limit, in the order in which they began."""
        self._abandoned: dict[asyncio.Task[Any], Task] = {}
        """Coroutines that reached their time limit, were cancelled, and have not ended yet."""
        self._timer: asyncio.TimerHandle | None = None
        self._is_flushing = False
        self._is_closed = False
        self._error: InfrastructureError | None = None
        self._beat_s = monotonic()
        self.on_event: Callable[[], None] = lambda: None

    def start(self) -> None:
        """Pull for all slots."""
        self._pull()

    def dispatch(self, batch: Batch) -> None:
        """Begin every item of the batch."""
        worker, tasks = batch.worker, batch.tasks
        loop = asyncio.get_running_loop()
        self._free += self._asked.pop(worker) - len(tasks)
        self._counts[worker] = len(tasks)
        began_s, began_ms = loop.time(), time() * 1000
        for task in tasks:
            try:
                running = loop.create_task(self._function(task.item))
            except BaseException as error:
                failure = classify_error(error, self._classify)
                self._finish(worker, Envelope(task.seq, task.attempt, FAIL, error, 0, failure, 0.0, began_ms))
                continue
            self._running[running] = _Running(worker, task, began_s, began_ms)
            running.add_done_callback(self._on_done)
            if self._timeout_s is not None:
                self._due.append((began_s + self._timeout_s, running))
        self._set_timer(loop)
        self._pull()

    def stop_worker(self, worker: int, reason: str) -> None:
        """Cancel the items of a worker."""
        for running, what in list(self._running.items()):
            if what.worker == worker:
                del self._running[running]
                running.cancel()
        self._free += self._counts.pop(worker, 0) + self._asked.pop(worker, 0)
        self._events.append(WorkerLost(worker, Loss.RETIRED, reason=reason))
        self._pull()

    def poll(self, timeout_s: float | None) -> list[Event]:
        """Return what has happened. It never waits: the loop calls `on_event`."""
        if self._error is not None:
            raise self._error
        self._collect()
        if monotonic() - self._beat_s >= BEAT_S:
            self._beat_s = monotonic()
            self._events.append(Beat(list(self._counts)))
        events, self._events = self._events, []
        return events

    @property
    def has_events(self) -> bool:
        """Whether there is something to poll."""
        return bool(self._events or self._finished)

    def wake(self) -> None:
        """Have the loop poll soon."""
        self._events.append(Tick())
        self._flush_soon()

    def drain(self) -> None:
        """Do nothing: every item of a batch begins at once."""

    def close(self, grace_s: float = 0.0) -> list[Task]:
        """Cancel every item. Nothing of them is reported any more."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        for running in list(self._running):
            if not running.get_loop().is_closed():
                running.cancel()
        return []

    async def wait_for_end(self, grace_s: float) -> list[Task]:
        """Wait for the items that were cancelled, up to `grace_s`. Returns those that still run. Those of an event loop
        that has ended run no more."""
        tasks = {**self._abandoned, **{running: what.task for running, what in self._running.items()}}
        loop = asyncio.get_running_loop()
        tasks = {running: task for running, task in tasks.items() if running.get_loop() is loop}
        if tasks:
            await asyncio.wait(tasks, timeout=grace_s)
        return sorted((task for each, task in tasks.items() if not each.done()), key=lambda task: task.seq)

    def _pull(self) -> None:
        """Have a worker without items ask for the free slots."""
        if self._free and not self._is_closed:
            worker = self._idle.pop() if self._idle else self._next_worker
            self._next_worker = max(self._next_worker, worker + 1)
            self._asked[worker], self._free = self._free, 0
            self._events.append(Pulled(worker, self._asked[worker]))

    def _on_done(self, running: asyncio.Task[Any]) -> None:
        self._abandoned.pop(running, None)
        what = self._running.pop(running, None)
        error = None if running.cancelled() else running.exception()
        if what is None or self._is_closed:
            return
        if running.cancelled() and running.cancelling():  # not by us; a loop that ends cancels all tasks
            self._error = InfrastructureError(f"the coroutine of seq {what.task.seq} was cancelled by its event loop")
            self._flush_soon()
            return
        worker, (seq, attempt, _), began_s, began_ms = what
        elapsed_ms = (running.get_loop().time() - began_s) * 1000
        if running.cancelled():
            failure = Failure(category=Category.RUNTIME, message="the coroutine was cancelled")
            envelope = Envelope(seq, attempt, FAIL, None, 0, failure, elapsed_ms, began_ms)
        elif error is not None:
            failure = classify_error(error, self._classify)
            envelope = Envelope(seq, attempt, FAIL, error, 0, failure, elapsed_ms, began_ms)
        else:
            value = running.result()
            size = estimate_bytes(value) + get_held_bytes(value)
            envelope = Envelope(seq, attempt, SUCCESS, value, size, None, elapsed_ms, began_ms)
        self._finish(worker, envelope)

    def _finish(self, worker: int, envelope: Envelope) -> None:
        known = self._finished.get(worker)
        if known is None:
            self._finished[worker] = [envelope]
            self._flush_soon()
        else:
            known.append(envelope)

    def _flush_soon(self) -> None:
        if not self._is_flushing and not self._is_closed:
            self._is_flushing = True
            asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        self._is_flushing = False
        if not self._is_closed:
            self.on_event()

    def _collect(self) -> None:
        """Turn what has ended into events, and pull for the slots that are free."""
        for worker, envelopes in self._finished.items():
            self._free += len(envelopes)
            self._counts[worker] -= len(envelopes)
            if not self._counts[worker]:
                del self._counts[worker]
                self._idle.append(worker)
            self._events.append(Finished(worker, envelopes))
        self._finished.clear()
        self._pull()

    def _set_timer(self, loop: asyncio.AbstractEventLoop) -> None:
        due = self._due
        while due and due[0][1].done():
            due.popleft()
        if due and (self._timer is None or self._timer.cancelled()):
            self._timer = loop.call_at(due[0][0], self._cancel_overdue, loop)

    def _cancel_overdue(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        due, now_s = self._due, loop.time()
        while due and (due[0][0] <= now_s or due[0][1].done()):
            self._abandon(due.popleft()[1], now_s)
        self._set_timer(loop)

    def _abandon(self, running: asyncio.Task[Any], now_s: float) -> None:
        """Fail an item at its time limit, whether its coroutine ends when it is cancelled or not."""
        what = self._running.pop(running, None)
        if what is None:
            return
        self._abandoned[running] = what.task
        running.cancel()
        limit_ms = int((self._timeout_s or 0) * 1000)
        failure = Failure(category=Category.TIMEOUT, message=f"exceeded its time limit of {limit_ms} ms")
        times = (now_s - what.began_s) * 1000, what.began_ms
        self._finish(what.worker, Envelope(what.task.seq, what.task.attempt, FAIL, None, 0, failure, *times))
