"""Removes the telemetry of old runs: a watch makes thousands of them."""

import contextlib
import os

from inorder.host.filesystem import Filesystem

FILES_PER_RUN = 3
"""A run has at most this many passes, with a file each: its own, that of models, and the export."""
_FOLDERS = ("telemetry", "attempts")
_SUFFIX = ".jsonl"


def prune_telemetry(filesystem: Filesystem, data: str, since_ms: int, runs_kept: int) -> None:
    """Remove telemetry and attempt logs in DATA that were written after `since_ms`, except those of the latest runs.
    Files of earlier runs, and a folder that `telemetry_dir` names, are left alone. An error is ignored."""
    for folder in _FOLDERS:
        place = os.path.join(os.path.abspath(data), folder)
        found = _list_files(place, since_ms)
        for _, path in found[: -runs_kept * FILES_PER_RUN]:
            with contextlib.suppress(OSError):
                filesystem.unlink(path)


def _list_files(folder: str, since_ms: int) -> list[tuple[int, str]]:
    """When each file was written, and its path, the oldest first."""
    found: list[tuple[int, str]] = []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(FileNotFoundError):
                if entry.name.endswith(_SUFFIX) and (written_ns := entry.stat().st_mtime_ns) >= since_ms * 10**6:
                    found.append((written_ns, entry.path))
    return sorted(found)
