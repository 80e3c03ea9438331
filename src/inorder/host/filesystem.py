"""Every durable act, behind two small protocols.

Nothing that must survive a crash is written except through a `Filesystem` and its `File`s. So the crashable filesystem
of the simulator sees every act, can forget what was not synced, and can fail any of them.

What survives what:

* `append` and `truncate` survive the death of the process; only `sync` makes them survive the loss of power.
* A new, renamed or removed *name* survives the loss of power only after `sync_directory` of its folder, however often
  the file itself was synced. Of a rename between two folders it is the one it went to.
* `rename` is atomic: whoever looks sees the old file or the new one, whole.

Trouble is an `OSError`, as the operating system gives it. After a failed `sync` nobody knows what is on the disk, and a
second one that succeeds proves nothing: stop, and let recovery decide.
"""

import contextlib
import ctypes
import os
import shutil
import stat
from typing import NamedTuple, Protocol

CLOSED = 2**31 - 1
"""No file ever has so high a number: whoever uses it gets EBADF."""


class PathInfo(NamedTuple):
    """What a folder says of a name."""

    size: int
    """Bytes in the file; 0 for a folder."""
    is_directory: bool


class AppendFile(Protocol):
    """An open file that is read anywhere and written at its end."""

    @property
    def size(self) -> int:
        """Bytes in it, as far as anybody who reads it now can see."""
        ...

    def read(self, offset: int, size: int) -> bytes:
        """Up to `size` bytes from there; fewer only at the end."""
        ...

    def append(self, data: bytes) -> None:
        """Put all of it at the end, or raise; a part of it may be there then."""
        ...

    def truncate(self, size: int) -> None:
        """Cut it there. It is never made longer."""
        ...

    def sync(self) -> None:
        """Return once everything written to it is safe from a loss of power."""
        ...

    def close(self) -> None:
        """Let it go. Twice is once."""
        ...


class Filesystem(Protocol):
    """Names and files. Paths are strings with `/`."""

    def open(self, path: str) -> AppendFile:
        """The file of this name, made empty where there is none."""
        ...

    def read(self, path: str) -> bytes:
        """All of a file. Raises FileNotFoundError where there is none."""
        ...

    def stat(self, path: str) -> PathInfo | None:
        """What is known of a name; None: there is no such name."""
        ...

    def rename(self, old: str, new: str) -> None:
        """Give a file another name, in the place of the file that had it. Folders keep their names."""
        ...

    def unlink(self, path: str) -> None:
        """Remove a name. Raises FileNotFoundError where there is none."""
        ...

    def make_directory(self, path: str) -> None:
        """Make a folder, and those above it; one that exists is left alone."""
        ...

    def list(self, path: str) -> list[str]:
        """The names in a folder, sorted."""
        ...

    def sync_directory(self, path: str) -> None:
        """Return once every change of names in this folder is safe from a loss of power."""
        ...

    def sync_all(self, path: str) -> None:
        """Return once everything, bytes and names, on the disk that this folder lies on is safe from a loss of power:
        for many files at once, where one by one would take a second a thousand."""
        ...

    def free_bytes(self, path: str) -> int:
        """Room left where this folder lies."""
        ...


class SystemFile:
    """A file of the operating system."""

    def __init__(self, path: str) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)

    @property
    def size(self) -> int:
        """Bytes in it."""
        return os.fstat(self._descriptor).st_size

    def read(self, offset: int, size: int) -> bytes:
        """Up to `size` bytes from there."""
        parts = []
        while size > 0 and (part := os.pread(self._descriptor, size, offset)):
            parts.append(part)
            offset += len(part)
            size -= len(part)
        return b"".join(parts)

    def append(self, data: bytes) -> None:
        """Put all of it at the end."""
        written = os.write(self._descriptor, data)
        while written < len(data):  # a short write, which files seldom do
            written += os.write(self._descriptor, memoryview(data)[written:])

    def truncate(self, size: int) -> None:
        """Cut it there."""
        if size < self.size:
            os.ftruncate(self._descriptor, size)

    def sync(self) -> None:
        """Wait for the disk."""
        os.fsync(self._descriptor)

    def close(self) -> None:
        """Let it go. The number is forgotten, for it may soon be that of another file."""
        descriptor, self._descriptor = self._descriptor, CLOSED
        if descriptor != CLOSED:
            os.close(descriptor)


class SystemFilesystem:
    """The operating system's own."""

    def open(self, path: str) -> SystemFile:
        """The file of this name, made empty where there is none."""
        return SystemFile(path)

    def read(self, path: str) -> bytes:
        """All of a file."""
        with open(path, "rb") as file:
            return file.read()

    def stat(self, path: str) -> PathInfo | None:
        """What is known of a name."""
        try:
            found = os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        is_directory = stat.S_ISDIR(found.st_mode)
        return PathInfo(0 if is_directory else found.st_size, is_directory)

    def rename(self, old: str, new: str) -> None:
        """Give a file another name."""
        os.replace(old, new)

    def unlink(self, path: str) -> None:
        """Remove a name."""
        os.unlink(path)

    def make_directory(self, path: str) -> None:
        """Make a folder, and those above it."""
        os.makedirs(path, exist_ok=True)

    def list(self, path: str) -> list[str]:
        """The names in a folder, sorted."""
        return sorted(os.listdir(path))

    def sync_directory(self, path: str) -> None:
        """Wait for the disk."""
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def sync_all(self, path: str) -> None:
        """Wait for the disk."""
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            _sync_disk_of(descriptor)
        finally:
            os.close(descriptor)

    def free_bytes(self, path: str) -> int:
        """Room left where this folder lies."""
        return shutil.disk_usage(path).free


def _sync_disk_of(descriptor: int) -> None:
    """The disk that an open folder lies on, or all of them where the system knows no way to sync one."""
    libc = ctypes.CDLL(None, use_errno=True)
    if not hasattr(libc, "syncfs"):
        os.sync()
    elif libc.syncfs(descriptor) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def write_atomic(filesystem: Filesystem, path: str, data: bytes) -> None:
    """Put a whole file in the place of another, so that every reader, and every crash, finds the old or the new."""
    beside = f"{path}.new"
    with contextlib.suppress(FileNotFoundError):
        filesystem.unlink(beside)
    file = filesystem.open(beside)
    try:
        file.append(data)
        file.sync()
    finally:
        file.close()
    filesystem.rename(beside, path)
    filesystem.sync_directory(os.path.dirname(path) or ".")
