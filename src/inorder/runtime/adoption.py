"""Adoption: results of an interrupted run are taken over instead of computed again.

`ResultRecorder` watches the steps of the kernel and logs every result, and every partial result, that it accepts. With
`adopt_result`, an `AnsweringEngine` stands between the kernel and the workers: an item whose result is in the log never
reaches its worker, and one with a partial result there is offered that.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from inorder.core.commands import Command, ResultRefused, RetryScheduled
from inorder.core.events import Committed, Envelope, Event, Finished, HandedOver
from inorder.core.resume_point import ResumePoint
from inorder.core.transitions import State
from inorder.engines.base import Task
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
        elif type(event) is HandedOver and not refused:
            self._record_partial(event)

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

    def _record_partial(self, event: HandedOver) -> None:
        frame = self._log.encode_partial(event, self._items[event.seq])
        if frame is not None:
            self._log.append([frame], event.seq)

    def _on_committed(self, end: int) -> None:
        self._log.drop_committed(end)
        if self._retries:
            for seq in range(self._committed_end, end):
                self._retries.pop(seq, None)
        self._committed_end = end


def adopt_result(log: ResultLog, task: Task) -> Envelope | bytes | None:
    """Return the result of an item from the log, or a partial one; None: neither is there and still valid."""
    if not log.is_adopting:
        return None
    found = log.take(task.seq, task.item)
    if found is None:
        return log.take_partial(task.seq, task.item)
    record, payload = found
    size = estimate_bytes(payload) + get_held_bytes(payload)
    times = record.exec_ms, record.began_ms
    return Envelope(task.seq, task.attempt, record.outcome, payload, size, None, *times)


def restore_retries(resume_point: ResumePoint, log: ResultLog) -> ResumePoint:
    """Add the retries of the results in the log: the journal does not have those of items behind the cursor."""
    if not log.retries:
        return resume_point
    granted = dict(resume_point.retries_granted)
    for seq, count in log.retries.items():
        granted[seq] = max(count, granted.get(seq, 0))
    return msgspec.structs.replace(resume_point, retries_granted=granted)
