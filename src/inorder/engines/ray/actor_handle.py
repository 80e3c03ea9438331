"""One actor, as the driver knows it.

The process that its foreman minds may die and be replaced: then the station goes on with a worker of another number.
"""

import threading
from collections.abc import Callable
from time import monotonic
from typing import Any

import msgspec

from inorder.core.events import Event, Finished, Overran, Pulled, Returned, WorkerLost
from inorder.engines.base import Batch
from inorder.engines.pool import Running
from inorder.engines.process.engine import ProcessWorker

from .protocol import Hello


class Station:
    """An actor, its worker, and what it holds."""

    def __init__(self, number: int, actor: Any) -> None:
        self.number = number
        self.actor = actor
        self.node = self.host = ""
        self.sees_files = False
        self.is_up = False
        """Its worker has announced itself."""
        self.is_listening = False
        """A question is under way."""
        self.held: set[int] = set()
        """Seqs of its batch that are not answered for."""
        self.heard_s = 0.0
        """When it last said something, on the watch of its engine."""
        self.asked_s = 0.0
        """When it was last told to give back what it has not begun."""
        self._numbers: dict[int, int] = {}
        """What its workers are called here, by what the foreman calls them."""
        self._worker: int | None = None
        self._process: ProcessWorker | None = None
        """Of this machine, for what cannot travel."""
        self._batches_home = 0
        """Batches that a process of this machine is on, or waits to begin."""
        self._overrun: Running | None = None
        """Already told of."""
        self._is_gone = False
        self._lock = threading.Lock()

    @property
    def worker(self) -> int:
        """Its worker now."""
        if self._worker is None:
            raise LookupError(f"station {self.number} has no worker")
        return self._worker

    def workers(self) -> list[int]:
        """Its worker, if it has one."""
        return [] if self._worker is None else [self._worker]

    def local(self, worker: int) -> int:
        """What the foreman calls this worker."""
        return next((local for local, number in self._numbers.items() if number == worker), -1)

    def greet(self, hello: Hello, files: str) -> None:
        """It has said who it is."""
        self.node, self.host = hello.node, hello.host
        self.sees_files = files == "shared" or (files == "auto" and hello.sees_files)

    def translated(self, event: Any, new_number: Callable[[], int]) -> Event:
        """An event of its foreman's, with the number that the worker has here."""
        if event.worker not in self._numbers:
            self._numbers[event.worker] = new_number()
        translated: Event = msgspec.structs.replace(event, worker=self._numbers[event.worker])
        return translated

    def starts_listening(self) -> bool:
        """Whether nobody asked it so far: then it is up to the caller to."""
        with self._lock:
            was_listening, self.is_listening = self.is_listening, True
            return not was_listening

    @property
    def is_home(self) -> bool:
        """Whether what it was given is done on this machine; then its actor has nothing to tell."""
        return self._batches_home > 0

    def come_home(self) -> None:
        """What it was given is to be done on this machine."""
        with self._lock:
            self._batches_home += 1

    def stay(self, process: ProcessWorker) -> bool:
        """A process of this machine works for it now; False: it is gone already."""
        with self._lock:
            self._process = process
            if self._is_gone:
                process.stop()
            return not self._is_gone

    def leave_home(self, process: ProcessWorker) -> None:
        """This process is not needed any more. The next batch may already have another."""
        with self._lock:
            self._batches_home -= 1
            if self._process is process:
                self._process = None
        process.stop()

    def go(self) -> None:
        """It is given up."""
        with self._lock:
            self._is_gone = True
            if self._process is not None:
                self._process.stop()

    def overrun(self, now_s: float, limit_s: float) -> Overran | None:
        """The item that a process of this machine has been on for too long, told once."""
        with self._lock:
            running = None if self._process is None else self._process.running()
        if running is None or running == self._overrun or now_s - running.began_s < limit_s:
            return None
        self._overrun = running
        return Overran(self.worker, running.seq, running.attempt, int(limit_s * 1000))

    def hold(self, batch: Batch) -> None:
        """It is given these."""
        self.held = {task.seq for task in batch.tasks}
        self.asked_s = monotonic()

    def note(self, event: Event) -> None:
        """Keep up with what it says."""
        if isinstance(event, Finished):
            self.held.difference_update(envelope.seq for envelope in event.envelopes)
        elif isinstance(event, Returned):
            self.held.difference_update(event.seqs)
        elif isinstance(event, Pulled):
            self._worker = event.worker
            self.is_up = True
            self.held = set()
        elif isinstance(event, WorkerLost):
            self._worker = None
            self.held = set()
