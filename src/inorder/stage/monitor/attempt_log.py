"""A line at the beginning and one at the end of every attempt, in `DATA/attempts/<run-id>.jsonl`.

For watching from outside, while it happens: nothing depends on it, and it is not synced. `started` is the moment an
attempt was given to a worker.
"""

from collections.abc import Sequence
from typing import Any

from inorder.core.commands import Command, Dispatch, Reclaimed, StopWorker
from inorder.core.events import Event, Finished, Overran, WorkerLost
from inorder.stage.manifest.rows import STATUSES

from .telemetry import Telemetry

ENDS = {
    "success": "it has made its outputs",
    "skip": "it had nothing to do",
    "failure": "it failed; if it may be tried again, another attempt follows",
    "timeout": "it ran past its limit",
    "reclaimed": "it was taken back: given back unstarted, its worker gone, its lease expired; another attempt follows",
    "lost": "its worker died of it, a second time",
    "abandoned": "the run ended before it did",
}
"""How an attempt can finish."""


class Attempts:
    """Follows attempts through the steps of a run."""

    def __init__(self, stream: Telemetry) -> None:
        self._stream = stream
        self._open: dict[tuple[int, int], int] = {}
        """Attempts that were started and not finished, with their worker."""
        self._stopped: set[int] = set()
        """Workers that the run has put an end to: nobody died of an item there."""

    def observe(self, event: Event, commands: Sequence[Command]) -> None:
        """One step."""
        if isinstance(event, Finished):
            for envelope in event.envelopes:
                self._finish(envelope.seq, envelope.attempt, STATUSES[envelope.outcome], exec_ms=envelope.exec_ms)
        elif isinstance(event, Overran):
            self._finish(event.seq, event.attempt, "timeout")
        for command in commands:
            if isinstance(command, Dispatch):
                self._stopped.discard(command.worker)
                for seq, attempt in zip(command.seqs, command.attempts, strict=True):
                    self._open[seq, attempt] = command.worker
                    self._stream.emit("started", seq=seq, attempt=attempt, worker=command.worker)
            elif isinstance(command, Reclaimed):
                self._finish(command.seq, command.attempt, "reclaimed", reason=command.reason)
            elif isinstance(command, StopWorker):
                self._stopped.add(command.worker)
        if isinstance(event, WorkerLost) and event.worker not in self._stopped:
            # what it had and is not given back has failed with it
            for seq, attempt in [key for key, worker in self._open.items() if worker == event.worker]:
                self._finish(seq, attempt, "lost", reason=event.reason)

    def close(self) -> None:
        """Whatever is still under way will not be heard of."""
        for seq, attempt in sorted(self._open):
            self._finish(seq, attempt, "abandoned")
        self._stream.close()

    def flush(self) -> None:
        """Write what has gathered."""
        self._stream.flush()

    def _finish(self, seq: int, attempt: int, status: str, **fields: Any) -> None:
        worker = self._open.pop((seq, attempt), None)
        if worker is not None:
            self._stream.emit("finished", seq=seq, attempt=attempt, worker=worker, status=status, **fields)
