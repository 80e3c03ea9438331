"""Adoption: results of an interrupted run are taken over instead of computed again.

`ResultRecorder` watches the steps of the kernel and logs every result that it accepts. `AdoptingEngine` stands between
the kernel and the workers: an item whose result is in the log never reaches its worker. To the kernel, an adopted
result is the result of a valid attempt. So it counts against the budgets, waits in the reorder buffer, is fenced and
committed like any other, and no more of them are in memory than the windows hold.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from inorder.core.commands import Command, ResultRefused, RetryScheduled
from inorder.core.events import Committed, Envelope, Event, Finished, Pulled, WorkerLost
from inorder.core.resume_point import ResumePoint
from inorder.core.transitions import State
from inorder.engines.base import Batch, Engine, Task
from inorder.engines.memory_estimate import estimate_bytes, get_held_bytes

from .result_log import ResultLog

_FAIL = int(State.TERMINAL_FAIL)


class ResultRecorder:
    """Logs the results that the kernel accepts. `items` has the items that are not committed, by seq."""

    def __init__(self, log: ResultLog, resume_point: ResumePoint, items: Mapping[int, Any]) -> None:
        self._log = log
        self._items = items
        self._retries = {seq: count for seq, count in resume_point.retries_granted.items() if seq >= resume_point.end}
        self._committed_end = resume_point.end

    def observe(self, event: Event, commands: Sequence[Command]) -> None:
        """Take in one step of the kernel, before its commands are performed."""
        if type(event) is Committed:
            self._on_committed(event.end)
        refused = set()
        for command in commands:
            if type(command) is RetryScheduled:
                self._retries[command.seq] = command.retries
            elif type(command) is ResultRefused:
                refused.add((command.worker, command.seq, command.attempt))
        if type(event) is Finished:
            self._record(event, refused)

    def _record(self, event: Finished, refused: set[tuple[int, int, int]]) -> None:
        frames = []
        last_seq = -1
        for envelope in event.envelopes:
            seq = envelope.seq
            if envelope.outcome == _FAIL or (refused and (event.worker, seq, envelope.attempt) in refused):
                continue
            frame = self._log.encode(envelope, self._items[seq], self._retries.get(seq, 0))
            if frame is not None:
                frames.append(frame)
                last_seq = max(last_seq, seq)
        if frames:
            self._log.append(frames, last_seq)

    def _on_committed(self, end: int) -> None:
        self._log.drop_committed(end)
        if self._retries:
            for seq in range(self._committed_end, end):
                self._retries.pop(seq, None)
        self._committed_end = end


class AdoptingEngine:
    """An engine that answers items from the log, and gives the others to the workers of `engine`."""

    def __init__(self, engine: Engine, log: ResultLog) -> None:
        self._engine = engine
        self._log = log
        self._events: list[Event] = []
        self._limits: dict[int, int] = {}
        """The limit of each worker's latest pull; a worker that is lost has none."""

    def start(self) -> None:
        """Start the workers."""
        self._engine.start()

    def dispatch(self, batch: Batch) -> None:
        """Answer the items of the batch that are in the log, and give the rest to the worker."""
        limit = self._limits.get(batch.worker)
        if limit is None or not self._log.found_count:
            self._engine.dispatch(batch)
            return
        adopted: list[Envelope] = []
        rest: list[Task] = []
        for task in batch.tasks:
            envelope = self._adopt(task)
            if envelope is None:
                rest.append(task)
            else:
                adopted.append(envelope)
        if adopted:
            self._events.append(Finished(batch.worker, adopted))
        if rest:
            self._engine.dispatch(batch._replace(tasks=rest))
        else:
            self._events.append(Pulled(batch.worker, limit))

    def _adopt(self, task: Task) -> Envelope | None:
        found = self._log.take(task.seq, task.item)
        if found is None:
            return None
        record, payload = found
        size = estimate_bytes(payload) + get_held_bytes(payload)
        times = record.exec_ms, record.began_ms
        return Envelope(task.seq, task.attempt, record.outcome, payload, size, None, *times)

    def stop_worker(self, worker: int, reason: str) -> None:
        """End this worker and start another in its place."""
        self._limits.pop(worker, None)
        self._engine.stop_worker(worker, reason)

    def poll(self, timeout_s: float | None) -> list[Event]:
        """Return the answers from the log, then what has happened to the workers."""
        events, self._events = self._events, []
        found = self._engine.poll(0.0 if events else timeout_s)
        for event in found:
            if isinstance(event, Pulled):
                self._limits[event.worker] = event.limit
            elif isinstance(event, WorkerLost):
                self._limits.pop(event.worker, None)
        return events + found if events else found

    def wake(self) -> None:
        """Make a waiting `poll` return soon."""
        self._engine.wake()

    def drain(self) -> None:
        """Have every worker return the items that it has not started."""
        self._engine.drain()

    def close(self, grace_s: float = 0.0) -> list[Task]:
        """End every worker."""
        self._events.clear()
        return self._engine.close(grace_s)


def restore_retries(resume_point: ResumePoint, log: ResultLog) -> ResumePoint:
    """Add the retries of the results in the log: the journal does not have those of items behind the cursor."""
    if not log.retries:
        return resume_point
    granted = dict(resume_point.retries_granted)
    for seq, count in log.retries.items():
        granted[seq] = max(count, granted.get(seq, 0))
    return msgspec.structs.replace(resume_point, retries_granted=granted)
