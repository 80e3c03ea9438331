"""The engine whose workers are threads of this process: for work that waits, on the network, the disk or a C library.

A thread cannot be killed. One whose item exceeded its time limit is abandoned instead: the kernel has already fenced
the attempt, a new thread takes its place, and the old one ends if its item ever returns. All threads are daemons, so
none of them keeps the process alive.
"""

import threading
from collections.abc import Callable
from time import monotonic
from typing import Any

from inorder.core.events import Envelope, Event, Finished, HandedOver, Pulled, Returned

from .attempt import run_attempt
from .base import Batch, BatchSizer, Task
from .pool import Outbox, PoolEngine, PoolWorker, RunningItem
from .progress import STEP_BYTES_MAX, ItemProgress, Reporter, RunningStep, set_reporter, shorten_note

_FLUSH_S = 0.002


class _ThreadReporter:
    """Takes what one attempt says, from any thread."""

    def __init__(self, worker: "ThreadPoolWorker", task: Task | None) -> None:
        self._worker = worker
        self._task = task

    def report(self, done: float, total: float | None, note: str) -> None:
        """Keep the progress."""
        self._worker.set_progress(self._task, ItemProgress(done, total, shorten_note(note).decode()))

    def begin_step(self, name: str, timeout_s: float | None) -> None:
        """Keep the step."""
        step = RunningStep(shorten_note(name, STEP_BYTES_MAX).decode(), monotonic(), timeout_s)
        self._worker.set_step(self._task, step)

    def hand_over(self, partial: bytes) -> None:
        """Send a partial result."""
        self._worker.hand_over(self._task, partial)


class ThreadPoolWorker(PoolWorker):
    """Runs each batch in the thread that the lane lends it."""

    def __init__(self, number: int, outbox: Outbox, function: Callable[[Any], Any]) -> None:
        self.number = number
        self._outbox = outbox
        self._function = function
        self._sizer = BatchSizer()
        self._lock = threading.Lock()
        self._envelopes: list[Envelope] = []
        self._unstarted: list[int] = []
        """Seqs of the batch that are not started, the next one last."""
        self._running: RunningItem | None = None
        self._task: Task | None = None
        """The task that is running."""
        self._progress: tuple[Task | None, ItemProgress, float] | None = None
        """The task that reported last, its report, and when."""
        self._is_stopped = False

    def prepare(self, batch: Batch) -> None:
        """Do nothing: an isolated item needs no new thread, because it cannot kill one."""

    def execute(self, batch: Batch) -> None:
        """Run the batch until it is done, returned, stopped, or its results are larger than expected."""
        began_s = flushed_s = monotonic()
        bytes_left = batch.bytes_max
        done = 0
        self._unstarted = [task.seq for task in reversed(batch.tasks)]
        set_reporter(self._make_reporter)
        for task in batch.tasks:
            if not self._begin(task):
                break
            envelope = run_attempt(self._function, task, get_step=self._get_step)
            bytes_left -= envelope.payload_bytes
            done += 1
            with self._lock:
                self._running = self._task = None
                self._envelopes.append(envelope)
            del envelope  # the traceback of a caught exception holds this frame, which must not hold the envelope
            if bytes_left < 0:
                break
            if monotonic() - flushed_s >= _FLUSH_S:
                self.flush()
                flushed_s = monotonic()
        self.flush()
        self.return_unstarted()
        self._sizer.observe(max(1, done), monotonic() - began_s)
        self._put(Pulled(self.number, self._sizer.limit))

    def running_item(self) -> RunningItem | None:
        """The item it is running."""
        return self._running

    def read_progress(self, running: RunningItem) -> ItemProgress | None:
        """What this item reported last."""
        latest = self._progress
        if latest is None or latest[0] is None or latest[0][:2] != running[:2]:
            return None
        _, progress, reported_s = latest
        return ItemProgress(progress.done, progress.total, progress.note, monotonic() - reported_s)

    def flush(self) -> None:
        """Put finished results into the outbox."""
        with self._lock:
            envelopes, self._envelopes = self._envelopes, []
            if envelopes and not self._is_stopped:
                self._outbox.put(Finished(self.number, envelopes))

    def return_unstarted(self, *, half: bool = False) -> None:
        """Return the items it has not started, or the later half of them."""
        with self._lock:
            count = len(self._unstarted) // 2 if half else len(self._unstarted)
            seqs = self._unstarted[:count][::-1]
            del self._unstarted[:count]
            if seqs and not self._is_stopped:
                self._outbox.put(Returned(self.number, seqs))

    def begin_stop(self) -> None:
        """A thread ends by itself."""

    def stop(self) -> None:
        """Start and deliver nothing more."""
        with self._lock:
            self._is_stopped = True
            self._unstarted = []

    def find_survivor(self) -> Task | None:
        """The task that its thread is running: a thread cannot be killed."""
        return self._task

    def set_progress(self, task: Task | None, progress: ItemProgress) -> None:
        """Note what a task has reported."""
        self._progress = (task, progress, monotonic())

    def set_step(self, task: Task | None, step: RunningStep) -> None:
        """Note the step that a task is in, if it is the one that runs."""
        with self._lock:
            if self._running is not None and task is self._task:
                self._running = self._running._replace(step=step)

    def hand_over(self, task: Task | None, partial: bytes) -> None:
        """Put a partial result of a task into the outbox, if it is the one that runs."""
        with self._lock:
            if task is not None and task is self._task and not self._is_stopped:
                self._outbox.put(HandedOver(self.number, task.seq, task.attempt, partial))

    def _make_reporter(self) -> Reporter:
        return _ThreadReporter(self, self._task)

    def _get_step(self) -> str:
        running = self._running
        return "" if running is None or running.step is None else running.step.name

    def _begin(self, task: Task) -> bool:
        with self._lock:
            if self._is_stopped or not self._unstarted:
                return False
            self._unstarted.pop()
            self._task = task
            self._running = RunningItem(task.seq, task.attempt, monotonic())
            return True

    def _put(self, event: Event) -> None:
        with self._lock:
            if not self._is_stopped:
                self._outbox.put(event)


class ThreadEngine(PoolEngine):
    """An engine of `workers` threads."""

    def __init__(self, function: Callable[[Any], Any], workers: int, *, timeout_s: float | None) -> None:
        def make_worker(number: int, outbox: Outbox) -> ThreadPoolWorker:
            return ThreadPoolWorker(number, outbox, function)

        super().__init__(make_worker, workers, timeout_s=timeout_s, name="threads")
