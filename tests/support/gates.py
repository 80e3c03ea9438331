"""Threads under control: what tests of real workers use instead of sleeping.

A `Gate` holds a worker inside its item until the test lets it go. `quiet_engine` makes a thread engine that tells when
nothing more can happen by itself: every event has been taken in, and every worker is idle or held at the gate. Waits
are guarded by `GUARD_S`, which no passing test ever uses up.
"""

import gc
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

import msgspec
import pytest

from inorder.core.events import Beat, Event, Pulled
from inorder.engines.base import Batch
from inorder.engines.threads import ThreadEngine

GUARD_S = 60.0


class Gate:
    """Holds workers inside their items until it is opened, at the latest by the end of the `with` block."""

    def __init__(self) -> None:
        self._open = threading.Event()
        self._arrived = threading.Semaphore(0)
        self._lock = threading.Lock()
        self.arrivals = 0
        self.inside = 0
        self.inside_max = 0
        self.on_arrival: Callable[[], object] = lambda: None

    def __enter__(self) -> "Gate":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.open()

    def hold(self, value: Any = None) -> Any:
        """Called by a worker: stay here until the gate opens, then return the value."""
        with self._lock:
            self.arrivals += 1
            self.inside += 1
            self.inside_max = max(self.inside_max, self.inside)
        self._arrived.release()
        self.on_arrival()
        try:
            if not self._open.wait(3 * GUARD_S):  # longer than any test waits for what the gate holds back
                raise AssertionError("the gate was never opened")
        finally:
            with self._lock:
                self.inside -= 1
        return value

    def hold_item(self, item: Any) -> None:
        """A worker of a stage: stay here until the gate opens."""
        self.hold()

    def await_arrivals(self, count: int = 1) -> None:
        """Called by the test: continue once this many more workers are held."""
        for _ in range(count):
            assert self._arrived.acquire(timeout=GUARD_S), "no worker reached the gate"

    def has_no_further_arrival(self) -> None:
        """No worker has arrived that the test has not counted."""
        assert not self._arrived.acquire(blocking=False)

    def open(self) -> None:
        """Release every worker, now and from now on."""
        self._open.set()

    @property
    def is_open(self) -> bool:
        return self._open.is_set()


class ManualTime:
    """Stands in for `time.monotonic`; moves only when told to."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s

    def advance(self, seconds: float) -> None:
        self.now_s += seconds


def stop_time(monkeypatch: pytest.MonkeyPatch) -> ManualTime:
    """Have every engine look at a clock that stands still."""
    time = ManualTime()
    for name, module in list(sys.modules.items()):
        if name.startswith("inorder.engines.") and hasattr(module, "monotonic"):
            monkeypatch.setattr(module, "monotonic", time)
    return time


def without_times(event: Any) -> Any:
    """The same event without what differs from run to run."""
    return msgspec.structs.replace(event, exec_ms=0.0, began_ms=0.0)


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
        self._active = workers
        self._idle: set[int] = set()
        self.gate.on_arrival = lambda: self._outbox.put(Beat([]))

    def dispatch(self, batch: Batch) -> None:
        self._idle.discard(batch.worker)
        self.batches.append(batch)
        super().dispatch(batch)

    def stop_worker(self, worker: int, reason: str) -> None:
        if worker not in self._idle:
            self._active += 1  # the old one stays where it is until its item ends
        self._idle.discard(worker)
        self.stopped.append(worker)
        super().stop_worker(worker, reason)

    def poll(self, timeout_s: float | None) -> list[Event]:
        is_quiet = len(self._idle) + self.gate.arrivals == self._active and self.gate.arrivals > 0
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
    that starts processes, which serves all engines and stays, and the one that waits for the end of the program."""
    staying = ("inorder-lane-spawner-", "inorder-exit")
    return {thread for thread in threading.enumerate() if not thread.name.startswith(staying)}


def wait_for_end(threads: Iterable[threading.Thread]) -> bool:
    """Whether all of these threads end within the time limit."""
    for thread in threads:
        thread.join(GUARD_S)
    return not any(thread.is_alive() for thread in threads)


@contextmanager
def no_thread_leaks() -> Iterator[None]:
    """Every thread that was started inside has ended after it.

    The garbage collector looks only at what was made inside: everything that other tests have loaded would take it a
    second.
    """
    before = alive()
    gc.freeze()
    try:
        yield
        gc.collect()
    finally:
        gc.unfreeze()
    assert wait_for_end(alive() - before), "a test left threads behind"
