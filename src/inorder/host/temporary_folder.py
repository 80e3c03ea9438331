"""Temporary folders that do not outlive their process for long.

A process that is killed cannot remove its folder. So the folder is locked for as long as the process lives, and the
next one of the same user removes those that nobody has locked. A folder gets its name after it was locked: whatever has
such a name and no lock is abandoned.
"""

import contextlib
import os
import shutil
import tempfile

from .system import require_posix

_PREFIX, _NEW_PREFIX = "inorder-tmp-", "inorder-new-"


class TemporaryFolder:
    """An empty folder that only this user can enter, until `close`."""

    def __init__(self, parent: str | None = None) -> None:
        """`parent` is the folder that it is created in, other than that of the system."""
        require_posix("temporary folders")
        import fcntl

        made = tempfile.mkdtemp(prefix=_NEW_PREFIX, dir=parent)
        self._lock = os.open(made, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        folder, name = os.path.split(made)
        self.path = os.path.join(folder, f"{_PREFIX}{name.removeprefix(_NEW_PREFIX)}")
        os.rename(made, self.path)

    def __enter__(self) -> str:
        return self.path

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove the folder. Idempotent."""
        lock, self._lock = self._lock, -1
        if lock >= 0:
            shutil.rmtree(self.path, ignore_errors=True)
            os.close(lock)


def remove_abandoned_folders(parent: str | None = None) -> None:
    """Remove the folders of processes that were killed. Those of another user, and those that a process still has, are
    left alone."""
    parent = tempfile.gettempdir() if parent is None else parent
    with contextlib.suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            if entry.name.startswith(_PREFIX):
                with contextlib.suppress(OSError):
                    _remove_if_abandoned(entry.path)


def _remove_if_abandoned(path: str) -> None:
    import fcntl

    lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if os.fstat(lock).st_uid == os.getuid():
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(lock)
