"""The driver's state of one actor.

The worker process of an actor may die and be replaced: the handle then continues with a worker of another number.
"""

import threading
from collections.abc import Callable
from time import monotonic
from typing import Any

import msgspec

from inorder.core.events import Event, Finished, Overran, Pulled, Returned, WorkerLost
from inorder.engines.base import Batch
from inorder.engines.pool import RunningItem
from inorder.engines.process.engine import ProcessPoolWorker
from inorder.engines.progress import WorkerActivity

from .protocol import Hello


class ActorHandle:
    """An actor, its worker, and the items that it holds."""

    def __init__(self, number: int, actor: Any) -> None:
        self.number = number
        self.actor = actor
        self.node = self.host = ""
        self.sees_files = False
        self.has_started = False
        """Whether its worker has pulled."""
        self.is_polled = False
        """Whether a `poll` of the actor is pending."""
        self.held_seqs: set[int] = set()
        """Seqs of its batch that have no result."""
        self.activity: list[WorkerActivity] = []
        """What its worker was running at its last report, under the supervisor's number."""
        self.last_report_s = 0.0
        """When its last report came, on the watch clock of the engine."""
        self.last_return_s = 0.0
        """When it was last told to return what it has not started."""
        self._numbers: dict[int, int] = {}
        """The driver's numbers of its workers, by the supervisor's."""
        self._worker: int | None = None
        self._local_process: ProcessPoolWorker | None = None
        """Runs what cannot be sent, on this machine."""
        self._local_batches = 0
        """Batches that a local process runs, or that wait for one."""
        self._reported: RunningItem | None = None
        """The local overrun that was reported."""
        self._is_closed = False
        self._lock = threading.Lock()

    @property
    def worker(self) -> int:
        """The number of its worker."""
        if self._worker is None:
            raise LookupError(f"actor {self.number} has no worker")
        return self._worker

    def list_workers(self) -> list[int]:
        """The number of its worker, if it has one."""
        return [] if self._worker is None else [self._worker]

    def find_remote_number(self, worker: int) -> int:
        """The supervisor's number of this worker; -1 if the supervisor does not know it."""
        return next((remote for remote, number in self._numbers.items() if number == worker), -1)

    def on_hello(self, hello: Hello, files: str) -> None:
        """Store who the supervisor is; `files` is the option of that name."""
        self.node, self.host = hello.node, hello.host
        self.sees_files = files == "shared" or (files == "auto" and hello.sees_files)

    def translate(self, event: Any, allocate_number: Callable[[], int]) -> Event:
        """Replace the supervisor's worker number in an event by the driver's."""
        if event.worker not in self._numbers:
            self._numbers[event.worker] = allocate_number()
        translated: Event = msgspec.structs.replace(event, worker=self._numbers[event.worker])
        return translated

    def try_begin_poll(self) -> bool:
        """Mark the actor as polled. True: it was not, and the caller must poll it now."""
        with self._lock:
            was_polled, self.is_polled = self.is_polled, True
            return not was_polled

    @property
    def is_local(self) -> bool:
        """Whether its batch runs on this machine; then the actor has nothing to report."""
        return self._local_batches > 0

    def run_locally(self) -> None:
        """Count a batch that will run on this machine."""
        with self._lock:
            self._local_batches += 1

    def keep(self, process: ProcessPoolWorker) -> bool:
        """Store the local process that runs its batch. False: the handle is closed, and so is the process."""
        with self._lock:
            self._local_process = process
            if self._is_closed:
                process.stop()
            return not self._is_closed

    def release(self, process: ProcessPoolWorker) -> None:
        """Stop a local process whose batch is done. The next batch may already have another one."""
        with self._lock:
            self._local_batches -= 1
            if self._local_process is process:
                self._local_process = None
        process.stop()

    def close(self) -> None:
        """Stop the local process, and any that comes later."""
        with self._lock:
            self._is_closed = True
            if self._local_process is not None:
                self._local_process.stop()

    def find_overrun(self, now_s: float, timeout_s: float | None) -> Overran | None:
        """The item of the local process that has exceeded its limit, or that of its step. Each is returned once."""
        with self._lock:
            running = None if self._local_process is None else self._local_process.running_item()
        limit_ms = None if running is None else running.find_overrun_ms(now_s, timeout_s)
        if running is None or running == self._reported or limit_ms is None:
            return None
        self._reported = running
        return Overran(self.worker, running.seq, running.attempt, limit_ms, *running.measure(), running.step_name)

    def list_activity(self, silence_s: float) -> list[WorkerActivity]:
        """What its worker is running, `silence_s` after its last report; or a local process in its place."""
        with self._lock:
            process = self._local_process
            running = None if process is None else process.running_item()
            progress = None if process is None or running is None else process.read_progress(running)
        if self._worker is None:
            return []
        if running is not None:
            elapsed_s = max(0.0, monotonic() - running.began_s)
            found = (running.seq, running.attempt, elapsed_s, progress, running.step_name)
            return [WorkerActivity(self._worker, *found)]
        return [
            _advance(activity, self._worker, silence_s) for activity in self.activity if activity.seq in self.held_seqs
        ]

    def hold(self, batch: Batch) -> None:
        """Record the batch that its worker is given."""
        self.held_seqs = {task.seq for task in batch.tasks}
        self.last_return_s = monotonic()

    def track(self, event: Event) -> None:
        """Update the state from an event of the actor."""
        if isinstance(event, Finished):
            self.held_seqs.difference_update(envelope.seq for envelope in event.envelopes)
        elif isinstance(event, Returned):
            self.held_seqs.difference_update(event.seqs)
        elif isinstance(event, Pulled):
            self._worker = event.worker
            self.has_started = True
            self.held_seqs = set()
        elif isinstance(event, WorkerLost):
            self._worker = None
            self.held_seqs = set()


def _advance(activity: WorkerActivity, worker: int, silence_s: float) -> WorkerActivity:
    """The activity with the driver's number of the worker, `silence_s` seconds later."""
    progress = activity.progress
    if progress is not None:
        progress = msgspec.structs.replace(progress, age_s=progress.age_s + silence_s)
    elapsed_s = activity.elapsed_s + silence_s
    return WorkerActivity(worker, activity.seq, activity.attempt, elapsed_s, progress, activity.step)
