"""Telemetry: JSON lines in `DATA/telemetry/<run-id>.jsonl`; `docs/specs/observability.md` lists the events.

Every line has a `time` (milliseconds since 1970), an `event`, and the fields of that event. Telemetry is for reading
later or from outside. The run does not depend on it: a write error never stops a run, and the file is not synced.
"""

import contextlib
import threading
import time
from collections.abc import Sequence
from typing import Any

import msgspec

from inorder.core.commands import (
    Command,
    OutageChanged,
    PressureChanged,
    Reclaimed,
    ResultRefused,
    RetryScheduled,
    Stopping,
    WindowClosed,
    WindowOpened,
    WindowSealed,
)
from inorder.core.events import Event, Overran, WorkerLost
from inorder.host.filesystem import AppendFile, Filesystem

EVENTS: dict[type[Any], str] = {
    WindowOpened: "window_opened",
    WindowSealed: "window_sealed",
    WindowClosed: "window_closed",
    PressureChanged: "pressure_changed",
    OutageChanged: "outage_changed",
    RetryScheduled: "retry_scheduled",
    Reclaimed: "reclaimed",
    ResultRefused: "refused",
    Stopping: "stopping",
    WorkerLost: "worker_lost",
    Overran: "overran",
}
"""Events and commands of the kernel that are written."""
RUN_EVENTS = {
    "run_started": (
        "stage, run_id, resumed_at, staged_results, items_total",
        "the run starts, or resumes at `resumed_at` with `staged_results` results that are not committed",
    ),
    "snapshot": ("the metrics below", "every `diagnostics_interval_s`, and at the end"),
    "sample": (
        "committed, computed, failed, buffered_bytes, resident_bytes, active_workers, seqs_per_count, seqs, busy, "
        "longest",
        "for the timeline of a report, every 0.1 s or 500th part of the time so far, whichever is longer, and at the "
        "end. `seqs`: items computed since the last one, by seq divided by `seqs_per_count`, at most 64 pairs; `busy`: "
        "worker, milliseconds, items of the 64 busiest; `longest`: seq, worker, milliseconds, start of the 8 longest",
    ),
    "histograms": (
        "item_queue_ms, item_start_ms, item_exec_ms, item_wait_ms, commit_ms",
        "the histograms below as pairs of upper bound and count, with a `snapshot` whenever the run is 10 % older",
    ),
    "worker_joined": ("worker", "a worker asked for its first item"),
    "stalled": (
        "seq, item_id, state, worker, running_s, step, retry_in_s, progress, waited_s",
        "nothing was committed for `stall_warning_s`: what the run waits for, once per stall",
    ),
    "stall_ended": ("seq, item_id, waited_s", "something was committed again"),
    "item": ("seq, item_id, fields", "the outcome of an item is final; what the hook `after_item` returned for it"),
    "run_ended": ("outcome", "the run ended; the whole StageOutcome"),
    "run_failed": (
        "stage, run_id, error, message, kernel, scheduled, succeeded, skipped, failed, cancelled",
        "the run raised an exception: a violated invariant, a failing disk, a bad plan; `kernel`: the state of the "
        "kernel at a violated invariant, null otherwise; the counts are those of an outcome",
    ),
}
_BUFFER_BYTES = 64 * 1024
_ENCODER = msgspec.json.Encoder()


class Telemetry:
    """A buffered file of JSON lines. Thread-safe."""

    def __init__(self, filesystem: Filesystem, path: str) -> None:
        self._file: AppendFile | None = None
        self._buffer = bytearray()
        self._lock = threading.Lock()
        with contextlib.suppress(OSError):
            filesystem.make_directory(path.rpartition("/")[0])
            self._file = filesystem.open(path)

    def emit(self, event: str, **fields: Any) -> None:
        """Write one line."""
        if self._file is None:
            return
        line = _ENCODER.encode({"time": int(time.time() * 1000), "event": event, **fields}) + b"\n"
        with self._lock:
            self._buffer += line
            is_full = len(self._buffer) >= _BUFFER_BYTES
        if is_full:
            self.flush()

    def observe(self, event: Event, commands: Sequence[Command]) -> None:
        """Write the event and commands of one step, as far as `EVENTS` has them."""
        for one in (event, *commands):
            name = EVENTS.get(type(one))
            if name is not None:
                self.emit(name, **msgspec.to_builtins(one))

    def flush(self) -> None:
        """Write the buffer. After a write error the file is closed and further lines are dropped."""
        with self._lock:
            data, self._buffer = bytes(self._buffer), bytearray()
            if self._file is not None and data:
                try:
                    self._file.append(data)
                except OSError:
                    self._file.close()
                    self._file = None

    def close(self) -> None:
        """Write the buffer and close the file."""
        self.flush()
        if self._file is not None:
            self._file.close()
