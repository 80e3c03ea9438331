"""Workers that are threads of this process: for work that waits, on the network, the disk or a library in C.

A thread cannot be killed. One whose item ran past its limit is abandoned instead: the kernel has already fenced the
attempt, a new thread takes the place, and the old one ends by itself if its item ever does. All threads are daemons,
so none keeps the process alive.
"""

import threading
from collections.abc import Callable
from time import monotonic
from typing import Any

from inorder.core.events import Envelope, Event, Finished, Pulled, Returned

from .attempt import attempt
from .base import Batch, BatchSizer
from .pool import Outbox, PooledEngine, Running

_FLUSH_S = 0.002


class ThreadWorker:
    """Runs each batch in the thread it is given."""

    def __init__(self, number: int, outbox: Outbox, function: Callable[[Any], Any]) -> None:
        self.number = number
        self._outbox = outbox
        self._function = function
        self._sizer = BatchSizer()
        self._lock = threading.Lock()
        self._envelopes: list[Envelope] = []
        self._waiting: list[int] = []
        """Seqs of the batch that are not started, the next one last."""
        self._running: Running | None = None
        self._is_stopped = False

    def prepare(self, batch: Batch) -> None:
        """A thread needs no preparation, and an isolated item no other thread: it cannot take one down."""

    def execute(self, batch: Batch) -> None:
        """Run the batch until it is done, taken back, stopped, or larger than foreseen."""
        began_s = flushed_s = monotonic()
        bytes_left = batch.bytes_max
        done = 0
        self._waiting = [task.seq for task in reversed(batch.tasks)]
        for task in batch.tasks:
            if not self._begin(task.seq, task.attempt):
                break
            envelope = attempt(self._function, task)
            bytes_left -= envelope.payload_bytes
            done += 1
            with self._lock:
                self._running = None
                self._envelopes.append(envelope)
            del envelope  # the traceback of a caught exception knows this frame: it must not know the envelope
            if bytes_left < 0:
                break
            if monotonic() - flushed_s >= _FLUSH_S:
                self.hand_over()
                flushed_s = monotonic()
        self.hand_over()
        self.take_back()
        self._sizer.observe(max(1, done), monotonic() - began_s)
        self._put(Pulled(self.number, self._sizer.limit))

    def running(self) -> Running | None:
        """The item it is on."""
        return self._running

    def hand_over(self) -> None:
        """Put what is done into the outbox."""
        with self._lock:
            envelopes, self._envelopes = self._envelopes, []
            if envelopes and not self._is_stopped:
                self._outbox.put(Finished(self.number, envelopes))

    def take_back(self, *, half: bool = False) -> None:
        """Forbid it to start what it has not started, or half of that, and give it back."""
        with self._lock:
            count = len(self._waiting) // 2 if half else len(self._waiting)
            seqs = self._waiting[:count][::-1]
            del self._waiting[:count]
            if seqs and not self._is_stopped:
                self._outbox.put(Returned(self.number, seqs))

    def is_beating(self) -> bool:
        """A thread of this process lives as long as the process."""
        return True

    def stop(self) -> None:
        """It starts and delivers nothing more."""
        with self._lock:
            self._is_stopped = True
            self._waiting = []

    def _begin(self, seq: int, attempt_number: int) -> bool:
        with self._lock:
            if self._is_stopped or not self._waiting:
                return False
            self._waiting.pop()
            self._running = Running(seq, attempt_number, monotonic())
            return True

    def _put(self, event: Event) -> None:
        with self._lock:
            if not self._is_stopped:
                self._outbox.put(event)


class ThreadEngine(PooledEngine):
    """`workers` threads."""

    def __init__(self, function: Callable[[Any], Any], workers: int, *, timeout_s: float | None) -> None:
        def make_worker(number: int, outbox: Outbox) -> ThreadWorker:
            return ThreadWorker(number, outbox, function)

        super().__init__(make_worker, workers, timeout_s=timeout_s, name="threads")
