"""Threads under control: what tests of real workers use instead of sleeping.

A `Gate` holds a worker inside its item until the test lets it go. `quiet_engine` makes a thread engine that tells when
nothing more can happen by itself: every event has been taken in, and every worker is idle or held at the gate. Waits
are guarded by `GUARD_S`, which no passing test ever uses up.
"""

import gc
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

import pytest

from inorder.core.events import Beat, Event, Pulled
from inorder.engines.base import Batch
from inorder.engines.threads import ThreadEngine

GUARD_S = 20.0


class Gate:
    """Closed until opened, at the latest by the end of the `with` block."""

    def __init__(self) -> None:
        self._open = threading.Event()
        self._held = threading.Semaphore(0)
        self.waiting = 0
        self.on_arrival: Callable[[], object] = lambda: None

    def __enter__(self) -> "Gate":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.open()

    def hold(self) -> None:
        """Called by a worker: stay here until the gate opens."""
        self.waiting += 1
        self._held.release()
        self.on_arrival()
        if not self._open.wait(GUARD_S):
            raise AssertionError("the gate was never opened")

    def has_visitor(self) -> None:
        """Called by the test: go on once one more worker is held."""
        assert self._held.acquire(timeout=GUARD_S), "nobody came to the gate"

    def open(self) -> None:
        """Let everybody go, now and from now on."""
        self._open.set()

    @property
    def is_open(self) -> bool:
        return self._open.is_set()


class ManualTime:
    """Stands in for `time.monotonic` in an engine; moves only when told to."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s

    def pass_by(self, seconds: float) -> None:
        self.now_s += seconds


def stop_time(monkeypatch: pytest.MonkeyPatch) -> ManualTime:
    """Have every engine look at a clock that stands still."""
    time = ManualTime()
    for name, module in list(sys.modules.items()):
        if name.startswith("inorder.engines.") and hasattr(module, "monotonic"):
            monkeypatch.setattr(module, "monotonic", time)
    return time


class FixedSizer:
    """Stands in for `BatchSizer`, so that the size of a batch does not depend on the speed of the machine."""

    def __init__(self, limit: int) -> None:
        self.limit = limit

    def observe(self, count: int, elapsed_s: float) -> None:
        """Learn nothing."""


class QuietEngine(ThreadEngine):
    """Keeps the batches given out and the workers stopped. Calls `on_quiet` when only the opening of the gate can bring
    anything new."""

    gate: Gate
    on_quiet: Callable[[], object]

    def __init__(self, function: Callable[[Any], Any], workers: int, **settings: Any) -> None:
        super().__init__(function, workers, **settings)
        self.batches: list[Batch] = []
        self.stopped: list[int] = []
        self._crew = workers
        self._idle: set[int] = set()
        self.gate.on_arrival = lambda: self._outbox.put(Beat([]))

    def dispatch(self, batch: Batch) -> None:
        self._idle.discard(batch.worker)
        self.batches.append(batch)
        super().dispatch(batch)

    def stop_worker(self, worker: int, reason: str) -> None:
        if worker not in self._idle:
            self._crew += 1  # the old one stays where it is until its item ends
        self._idle.discard(worker)
        self.stopped.append(worker)
        super().stop_worker(worker, reason)

    def poll(self, timeout_s: float | None) -> list[Event]:
        is_quiet = len(self._idle) + self.gate.waiting == self._crew and self.gate.waiting > 0
        if is_quiet and not self.gate.is_open:
            self.on_quiet()
        events = super().poll(timeout_s)
        self._idle.update(event.worker for event in events if isinstance(event, Pulled))
        return events


def quiet_engine(held_at: Gate, then: Callable[[], object]) -> type[QuietEngine]:
    """An engine class for the use of `imap`."""
    return type("Quiet", (QuietEngine,), {"gate": held_at, "on_quiet": staticmethod(then)})


def alive() -> set[threading.Thread]:
    """The threads of this process; those of an engine are the ones that were not there before it. Not counted: the one
    that starts processes, which serves all engines and stays."""
    return {thread for thread in threading.enumerate() if not thread.name.startswith("inorder-lane-spawning-")}


def ended(threads: set[threading.Thread]) -> bool:
    """Whether all of these have ended, once they have been given the time for it."""
    for thread in threads:
        thread.join(GUARD_S)
    return not any(thread.is_alive() for thread in threads)


@contextmanager
def nobody_left_behind() -> Iterator[None]:
    """Every thread that was started inside has ended after it."""
    before = alive()
    yield
    gc.collect()
    assert ended(alive() - before), "a test left threads behind"
