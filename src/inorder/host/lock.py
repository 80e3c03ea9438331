"""One holder at a time, also across processes.

The lock is the operating system's advisory lock on a file beside the thing it guards. It ends with the process that
holds it, however that ends. The file itself is never removed: whoever unlinks it lets a second holder in, through a new
file of the same name. It says which process has it, where and since when, for people and for the error of whoever comes
second.
"""

import datetime
import fcntl
import os
import platform

from inorder.errors import BusyError

from .os_errors import translate_os_errors


def _whoami() -> str:
    since = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    return f"process {os.getpid()} on {platform.node()} since {since}\n"


class Lock:
    """Held from the moment it is made until `release`."""

    def __init__(self, path: str, guarded: str) -> None:
        with translate_os_errors(f"{guarded} cannot be locked"):
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            self._is_held = True
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.ftruncate(self._descriptor, 0)
                os.pwrite(self._descriptor, _whoami().encode("utf-8", "replace"), 0)
            except BlockingIOError:
                holder = os.pread(self._descriptor, 512, 0).decode("utf-8", "replace").strip()
                self.release()
                raise BusyError(f"{guarded} is in use by {holder or 'another process'}") from None
            except BaseException:
                self.release()
                raise

    def release(self) -> None:
        """Let the next one in. Twice is once."""
        if self._is_held:
            self._is_held = False
            os.close(self._descriptor)
