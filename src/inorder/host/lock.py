"""A lock that also works across processes.

It is an advisory lock of the operating system on a lock file. The system releases it when the process that holds it
ends, in whatever way. The lock file is never removed: a process that unlinked it would let a second holder in, through
a new file of the same name. The file says which process holds the lock, on which machine and since when, for the error
message of the next one.
"""

import datetime
import os
import platform

from inorder.errors import BusyError

from .os_errors import translate_os_errors
from .regular_file import open_descriptor
from .system import require_posix


def _describe_holder() -> str:
    since = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    return f"process {os.getpid()} on {platform.node()} since {since}\n"


class Lock:
    """A lock on `resource`, held from creation until `release`. Raises `BusyError` if another process holds it."""

    def __init__(self, path: str, resource: str) -> None:
        require_posix("locked files")
        import fcntl

        with translate_os_errors(f"{resource} cannot be locked"):
            self._descriptor = open_descriptor(path, os.O_RDWR | os.O_CREAT)
            self._is_held = True
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.ftruncate(self._descriptor, 0)
                os.pwrite(self._descriptor, _describe_holder().encode("utf-8", "replace"), 0)
            except BlockingIOError:
                holder = os.pread(self._descriptor, 512, 0).decode("utf-8", "replace").strip()
                self.release()
                who = holder or "another process"
                raise BusyError(f"{resource} is in use by {who}; wait until it ends, or stop it") from None
            except BaseException:
                self.release()
                raise

    def release(self) -> None:
        """Release the lock. Idempotent."""
        if self._is_held:
            self._is_held = False
            os.close(self._descriptor)
