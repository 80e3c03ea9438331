"""The attempt log: `DATA/attempts/<run-id>.jsonl`, with one line per start and one per end of every attempt.

It is for observing a run from outside while it happens. The run does not depend on it, and it is not synced. `started`
is the moment at which an attempt was dispatched to a worker; `began` in `finished` is when its execution began.
`step` is the step that the item was in when the attempt failed. `detail` names the process or actor that was lost.
"""

from collections.abc import Sequence
from typing import Any

from inorder.core.commands import Command, Dispatch, Reclaimed, StopWorker
from inorder.core.events import Event, Finished, Overran, WorkerLost
from inorder.stage.manifest.rows import STATUSES

from .stall import FindItemId
from .telemetry import Telemetry

ATTEMPT_STATUSES = {
    "success": "it made its outputs",
    "skip": "it had nothing to do",
    "failure": "it failed; if it may be retried, another attempt follows",
    "timeout": "it exceeded its time limit",
    "reclaimed": "its lease ended: returned unstarted, worker lost, or lease expired; another attempt follows",
    "lost": "its worker was lost a second time while running it; the item failed",
    "abandoned": "the run ended before it did",
}
"""How an attempt can end."""


class AttemptLog:
    """Follows attempts through the steps of a run."""

    def __init__(self, stream: Telemetry, find_item_id: FindItemId) -> None:
        self._stream = stream
        self._find_item_id = find_item_id
        self._open: dict[tuple[int, int], tuple[int, str]] = {}
        """Attempts that were started and have not ended: seq and attempt to worker and `item_id`."""
        self._stopped: set[int] = set()
        """Workers that the run stopped itself: their loss is not the fault of an item."""

    def observe(self, event: Event, commands: Sequence[Command]) -> None:
        """Write the starts and ends in one step of the kernel."""
        if isinstance(event, Finished):
            for envelope in event.envelopes:
                status = STATUSES[envelope.outcome]
                times = {"exec_ms": envelope.exec_ms, "began": int(envelope.began_ms)}
                step = "" if envelope.failure is None else envelope.failure.step
                self._finish(envelope.seq, envelope.attempt, status, **times, **_name_step(step))
        elif isinstance(event, Overran):
            times = {"exec_ms": event.exec_ms, "began": int(event.began_ms)}
            self._finish(event.seq, event.attempt, "timeout", **times, **_name_step(event.step))
        detail = {"detail": event.detail} if isinstance(event, WorkerLost) and event.detail else {}
        for command in commands:
            if isinstance(command, Dispatch):
                self._stopped.discard(command.worker)
                for seq, attempt in zip(command.seqs, command.attempts, strict=True):
                    item_id = self._find_item_id(seq)
                    self._open[seq, attempt] = (command.worker, item_id)
                    self._stream.emit("started", seq=seq, item_id=item_id, attempt=attempt, worker=command.worker)
            elif isinstance(command, Reclaimed):
                self._finish(command.seq, command.attempt, "reclaimed", reason=command.reason, **detail)
            elif isinstance(command, StopWorker):
                self._stopped.add(command.worker)
        if isinstance(event, WorkerLost) and event.worker not in self._stopped:
            # Attempts that were not reclaimed in this step have failed with their worker.
            for seq, attempt in [key for key, (worker, _) in self._open.items() if worker == event.worker]:
                times = {"exec_ms": event.exec_ms, "began": int(event.began_ms)}
                self._finish(seq, attempt, "lost", reason=event.reason, **times, **_name_step(event.step), **detail)

    def close(self) -> None:
        """Write an end for every open attempt, and close the file."""
        for seq, attempt in sorted(self._open):
            self._finish(seq, attempt, "abandoned")
        self._stream.close()

    def flush(self) -> None:
        """Write the buffer."""
        self._stream.flush()

    def _finish(self, seq: int, attempt: int, status: str, **fields: Any) -> None:
        started = self._open.pop((seq, attempt), None)
        if started is not None:
            worker, item_id = started
            self._stream.emit(
                "finished", seq=seq, item_id=item_id, attempt=attempt, worker=worker, status=status, **fields
            )


def _name_step(step: str) -> dict[str, str]:
    """The field with the step that an attempt ended in, if its item has steps."""
    return {"step": step} if step else {}
