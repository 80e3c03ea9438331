"""The latest run of every stage in DATA, read from the telemetry without locking anything.

Only the first line and the end of a file are read, so that the cost does not depend on the length of the run.
"""

import contextlib
import os
from functools import lru_cache
from typing import Any

import msgspec

from inorder.host.liveness import is_held
from inorder.host.regular_file import open_regular
from inorder.stage.data_layout import DataLayout

_TAIL_BYTES = 64 * 1024
_TAIL_BYTES_MAX = 16 * 1024 * 1024
_HEAD_BYTES = 64 * 1024
_FILES_MAX = 2000


class LatestRun(msgspec.Struct, kw_only=True):
    """A run as its telemetry shows it."""

    stage: str
    run_id: str
    state: str
    """`running`, `finished`, `stopped`, `failed`, or `killed`: it ended without a word."""
    started_ms: int
    updated_ms: int
    """When the last event was written."""
    ended_ms: int | None
    snapshot: dict[str, Any]
    """The last metrics; empty: none are written yet."""
    outcome: dict[str, Any] | None
    """What the run reported at its end."""

    @property
    def is_successful(self) -> bool:
        """Whether the run came to its end and no item failed."""
        return self.state == "finished" and self.outcome is not None and not self.outcome.get("failed")


class TelemetryFile(msgspec.Struct, frozen=True):
    """The telemetry of one process, and how its run began."""

    path: str
    run_id: str
    stage: str
    started_ms: int
    resumed_at: int | None = None
    """The seq at which it resumed an interrupted run; None: it began one."""


class _Line(msgspec.Struct):
    event: str
    time: int = 0


class _Started(msgspec.Struct):
    event: str
    time: int
    stage: str
    run_id: str
    resumed_at: int | None = None


_LINE = msgspec.json.Decoder(_Line)
_STARTED = msgspec.json.Decoder(_Started)


def read_latest_runs(data: str, folder: str | os.PathLike[str] | None = None) -> list[LatestRun]:
    """The latest run of each stage, by name. A stage whose runs write no telemetry to DATA, or to this folder, is left
    out."""
    files = list_telemetry(os.path.join(os.path.abspath(data), "telemetry") if folder is None else folder)
    latest = {file.stage: file for file in sorted(files, key=lambda file: file.started_ms)}
    found = (_read_run(data, latest[stage]) for stage in sorted(latest))
    return [run for run in found if run is not None]


def list_telemetry(folder: str | os.PathLike[str]) -> list[TelemetryFile]:
    """The telemetry files in a folder, in the order in which they were changed: the last `_FILES_MAX` of them."""
    files: list[tuple[int, str, int]] = []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".jsonl"):
                with contextlib.suppress(FileNotFoundError):
                    status = entry.stat()
                    files.append((status.st_mtime_ns, entry.path, status.st_ino))
    found = []
    for _, path, inode in sorted(files)[-_FILES_MAX:]:
        with contextlib.suppress(OSError, LookupError):
            found.append(_read_start(path, inode))
    return found


@lru_cache(maxsize=4096)
def _read_start(path: str, inode: int) -> TelemetryFile:
    """How the run of a file began. Raises LookupError if that is not written yet."""
    with open_regular(path) as file:
        head = file.read(_HEAD_BYTES)
    for line in head.splitlines():
        with contextlib.suppress(msgspec.MsgspecError, UnicodeDecodeError):
            found = _STARTED.decode(line)
            if found.event == "run_started":
                return TelemetryFile(path, found.run_id, found.stage, found.time, found.resumed_at)
    raise LookupError(path)


def _read_run(data: str, file: TelemetryFile) -> LatestRun | None:
    size = _TAIL_BYTES
    while True:
        try:
            events, is_whole = _read_tail(file.path, size)
        except OSError:
            return None
        if is_whole or size >= _TAIL_BYTES_MAX or "snapshot" in events:
            break
        size *= 8
    last_ms = max((event["time"] for event in events.values()), default=file.started_ms)
    ended = events.get("run_ended") or events.get("run_failed")
    outcome = None if ended is None else ended.get("outcome", ended)
    return LatestRun(
        stage=file.stage,
        run_id=file.run_id,
        state=_find_state(data, file.stage, events),
        started_ms=file.started_ms,
        updated_ms=last_ms,
        ended_ms=None if ended is None else ended["time"],
        snapshot=events.get("snapshot", {}),
        outcome=outcome,
    )


def _read_tail(path: str, size: int) -> tuple[dict[str, Any], bool]:
    """The last event of each kind in the last `size` bytes, and whether that is the whole file."""
    with open_regular(path) as file:
        total = file.seek(0, os.SEEK_END)
        start = max(0, total - size)
        file.seek(start)
        lines = file.read(size).split(b"\n")
    events: dict[str, Any] = {}
    for line in reversed(lines if not start else lines[1:]):
        with contextlib.suppress(msgspec.MsgspecError, UnicodeDecodeError):
            event = _LINE.decode(line).event
            if event not in events:
                events[event] = msgspec.json.decode(line)
    return events, not start


def _find_state(data: str, stage: str, events: dict[str, Any]) -> str:
    if "run_ended" in events:
        return "stopped" if events["run_ended"]["outcome"].get("was_cancelled") else "finished"
    if "run_failed" in events:
        return "failed"
    return "running" if is_held(DataLayout(data, stage).lock) else "killed"
