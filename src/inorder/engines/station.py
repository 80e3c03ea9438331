"""One actor, as the driver knows it.

The process that its foreman minds may die and be replaced: then the station goes on with a worker of another number.
"""

import threading
from collections.abc import Callable
from time import monotonic
from typing import Any

import msgspec

from inorder.core.events import Event, Finished, Pulled, Returned, WorkerLost

from .base import Batch
from .telegraph import Hello


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
        self.heard_s = monotonic()
        self.asked_s = 0.0
        """When it was last told to give back what it has not begun."""
        self._numbers: dict[int, int] = {}
        """What its workers are called here, by what the foreman calls them."""
        self._worker: int | None = None
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
