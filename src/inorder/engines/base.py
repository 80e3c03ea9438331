"""What the runtime requires of an engine.

An engine owns workers. A worker pulls (`Pulled`), is given one batch, reports every item of it (`Finished`, in as many
parts as it likes), and pulls again. The engine reports facts and decides nothing: an item past its time limit is an
`Overran`, a dead worker a `WorkerLost`. The kernel decides, and calls `stop_worker`.

Worker ids are never reused, so a late result is always distinguishable from a new one.
"""

import os
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from inorder.core.events import Envelope, Event

from .progress import WorkerActivity

WORKERS_MAX = 1024
"""The most workers that one run may have."""
LEASE_S = 300.0
"""How long a busy worker process may be silent: well above what a C library may compute without the interpreter."""
SLACK_BYTES = 2**20
"""By how much the results of a batch may exceed the bytes reserved for it before its worker returns the rest."""


CALLERS_MAX = 10
"""Processes that call one device, unless the options say how many: more get smaller groups of items each."""


class Task(NamedTuple):
    """One attempt at one item."""

    seq: int
    attempt: int
    item: Any


PackedTask = tuple[int, int, Any]
"""Seq, attempt, and the item: a task as it is sent to a process. The item is `bytes`, its pickle, or a plain value that
is sent as it is."""
PackTasks = Callable[[list[Task]], tuple[list[PackedTask], list[Envelope]]]
"""Turns tasks into what is sent to a process, and into envelopes for those that are not sent."""


class Batch(NamedTuple):
    """Tasks for one worker, in this order."""

    worker: int
    tasks: list[Task]
    isolated: bool
    bytes_max: int = SLACK_BYTES
    """If the results together become larger than this, the worker returns what it has not started."""


class Engine(Protocol):
    """A set of workers."""

    def start(self) -> None:
        """Start the workers; each announces itself by pulling."""

    def dispatch(self, batch: Batch) -> None:
        """Give a batch to the worker that pulled."""

    def stop_worker(self, worker: int, reason: str) -> None:
        """End this worker and start another in its place."""

    def poll(self, timeout_s: float | None) -> list[Event]:
        """Return what has happened, after waiting up to `timeout_s` for the first event. None waits without limit; an
        empty list then means that no event can come any more."""

    def wake(self) -> None:
        """Make a waiting `poll` return soon. May be called from any thread."""

    def drain(self) -> None:
        """Have every worker return the items that it has not started, now and later: the run is stopping."""

    def close(self, grace_s: float = 0.0) -> list[Task]:
        """End every worker. Processes are killed; a thread cannot be killed, so the item that it runs may go on for
        `grace_s`. Returns the tasks that run even after that. Idempotent."""


class ResizableEngine(Engine, Protocol):
    """An engine whose number of workers can change during a run, and that shows what they are doing."""

    def list_activity(self) -> list[WorkerActivity]:
        """Return what every worker is running. Must be called on the thread that polls."""

    def resize(self, count: int) -> None:
        """Change the number of workers to `count`. A worker that is not needed any more finishes its batch first."""


class BatchSizer:
    """How many items to pull: as many as take about `target_s`, learned from finished batches.

    Many for items of microseconds, so that they share the cost of a round trip. One for slow items, so that no worker
    holds work that an idle one could do.
    """

    def __init__(
        self, target_s: float = 0.005, limit_max: int = 1024, limit: int = 1, fall_max: int | None = None
    ) -> None:
        self._target_s = target_s
        self._limit_max = limit_max
        self._fall_max = fall_max
        """A single batch divides the limit by no more than this; None: by any number."""
        self.limit = limit

    def observe(self, count: int, elapsed_s: float) -> None:
        """Learn that a batch of `count` items took this long."""
        fitting = int(count * self._target_s / max(elapsed_s, 1e-9))
        least = 1 if self._fall_max is None else self.limit // self._fall_max
        self.limit = max(1, least, min(fitting, self.limit * 2, self._limit_max))


def count_callers(workers: int | None) -> int:
    """How many processes call one device. `workers`: as many as the options say, if they do."""
    return min(count_cpus(), CALLERS_MAX) if workers is None else workers


def count_cpus() -> int:
    """The number of CPUs that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
