"""The state of a run that is under way, for `inorder inspect`: a small file beside the lock of the stage.

It is replaced as a whole every `diagnostics_interval_s`, and when a stall begins or ends. It is not synced: it matters
only while the run holds the lock.
"""

import contextlib
import time
from typing import Any

import msgspec

from inorder.host.filesystem import Filesystem, write_atomic
from inorder.host.regular_file import read_regular


class LiveState:
    """Writes the file."""

    def __init__(self, filesystem: Filesystem, path: str) -> None:
        self._filesystem = filesystem
        self._path = path
        self.remove()

    def write(self, **fields: Any) -> None:
        """Replace the file. A write error is ignored: the run does not depend on it."""
        data = msgspec.json.encode({"time": int(time.time() * 1000), **fields})
        with contextlib.suppress(OSError):
            write_atomic(self._filesystem, self._path, data, is_durable=False)

    def remove(self) -> None:
        """Remove the file, at the beginning and at the end of a run."""
        with contextlib.suppress(OSError):
            self._filesystem.unlink(self._path)


def read_live_state(path: str) -> dict[str, Any] | None:
    """Read the file; None: there is none, or it cannot be read."""
    try:
        found = msgspec.json.decode(read_regular(path))
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    return found if isinstance(found, dict) else None
