"""What is measured, as lines of JSON in `DATA/telemetry/<run-id>.jsonl`; `docs/specs/observability.md` lists all of it.

A line has a `time` (milliseconds since 1970), an `event`, and what belongs to it. It is written for reading later or
from outside: nothing depends on it, trouble with it never stops a run, and it is not synced.
"""

import contextlib
import time
from collections.abc import Sequence
from typing import Any

import msgspec

from inorder.core.commands import (
    Command,
    PressureChanged,
    Reclaimed,
    Refused,
    RetryScheduled,
    Stopping,
    WindowClosed,
    WindowOpened,
    WindowSealed,
)
from inorder.core.events import Event, Overran, WorkerLost
from inorder.host.filesystem import File, Filesystem

EVENTS: dict[type[Any], str] = {
    WindowOpened: "window_opened",
    WindowSealed: "window_sealed",
    WindowClosed: "window_closed",
    PressureChanged: "pressure_changed",
    RetryScheduled: "retry_scheduled",
    Reclaimed: "reclaimed",
    Refused: "refused",
    Stopping: "stopping",
    WorkerLost: "worker_lost",
    Overran: "overran",
}
_BUFFER_BYTES = 64 * 1024
_ENCODER = msgspec.json.Encoder()


class Telemetry:
    """Lines on their way to a file."""

    def __init__(self, filesystem: Filesystem, path: str) -> None:
        self._file: File | None = None
        self._buffer = bytearray()
        with contextlib.suppress(OSError):
            filesystem.make_directory(path.rpartition("/")[0])
            self._file = filesystem.open(path)

    def emit(self, event: str, **fields: Any) -> None:
        """One more line."""
        if self._file is None:
            return
        self._buffer += _ENCODER.encode({"time": int(time.time() * 1000), "event": event, **fields}) + b"\n"
        if len(self._buffer) >= _BUFFER_BYTES:
            self.flush()

    def observe(self, event: Event, commands: Sequence[Command]) -> None:
        """Whatever of a step is worth a line."""
        for one in (event, *commands):
            name = EVENTS.get(type(one))
            if name is not None:
                self.emit(name, **msgspec.to_builtins(one))

    def flush(self) -> None:
        """Write what has gathered. A file that cannot be written is given up."""
        data, self._buffer = bytes(self._buffer), bytearray()
        if self._file is not None and data:
            try:
                self._file.append(data)
            except OSError:
                self._file.close()
                self._file = None

    def close(self) -> None:
        """Write the rest."""
        self.flush()
        if self._file is not None:
            self._file.close()
