"""What the runtime asks of an engine.

An engine owns workers. A worker pulls (`Pulled`), is given one batch, answers for every item of it (`Finished`, in as
many pieces as it likes), and pulls again. The engine reports what it sees, never what should be done about it: an item
past its time limit is an `Overran`, a dead worker a `WorkerLost`. The kernel decides, and asks for `stop_worker`.

Worker ids are never used twice, so a late answer can always be told from a new one.
"""

import os
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from inorder.core.events import Envelope, Event

WORKERS_MAX = 1024
"""Of one run, whoever asks for them."""
SLACK_BYTES = 2**20
"""What a batch may bring beyond what was set aside for it before its worker gives the rest of it back."""


class Task(NamedTuple):
    """One attempt at one item."""

    seq: int
    attempt: int
    item: Any


PackedTask = tuple[int, int, bytes]
"""Seq, attempt, and the pickle of the item: a task as it is sent to a process."""
PackTasks = Callable[[list[Task]], tuple[list[PackedTask], list[Envelope]]]
"""Turns tasks into what is sent to a process, and into envelopes for those that are not sent."""


class Batch(NamedTuple):
    """What one worker is to do next, in this order."""

    worker: int
    tasks: list[Task]
    isolated: bool
    bytes_max: int = SLACK_BYTES
    """Results together larger than this were not foreseen: the worker gives back what it has not started."""


class Engine(Protocol):
    """A set of workers."""

    def start(self) -> None:
        """Bring the workers up; each announces itself by pulling."""
        ...

    def dispatch(self, batch: Batch) -> None:
        """Give a batch to the worker that pulled."""
        ...

    def stop_worker(self, worker: int, reason: str) -> None:
        """End this worker and put a new one in its place."""
        ...

    def poll(self, timeout_s: float | None) -> list[Event]:
        """What has happened; waits up to `timeout_s` for the first event. None: for as long as it takes, and an empty
        answer then means that nothing can come any more."""
        ...

    def wake(self) -> None:
        """Have a `poll` that waits return soon. Called from any thread."""
        ...

    def close(self) -> None:
        """End every worker. Work under way is abandoned."""
        ...


class ResizableEngine(Engine, Protocol):
    """An engine whose number of workers can change during a run."""

    def resize(self, count: int) -> None:
        """Change the number of workers to `count`. A worker that is not needed any more finishes its batch first."""
        ...


class BatchSizer:
    """How many items to ask for: as many as take about `target_s`, learned from the batches done.

    Large for items of microseconds, so that the cost of a round trip is shared; one for slow items, so that nobody
    sits on work that an idle worker could do.
    """

    def __init__(self, target_s: float = 0.005, limit_max: int = 1024) -> None:
        self._target_s = target_s
        self._limit_max = limit_max
        self.limit = 1

    def observe(self, count: int, elapsed_s: float) -> None:
        """A batch of `count` items took this long."""
        fitting = int(count * self._target_s / max(elapsed_s, 1e-9))
        self.limit = max(1, min(fitting, self.limit * 2, self._limit_max))


def processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
