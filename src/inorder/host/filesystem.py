"""Durable files, behind two small protocols.

Everything that must survive a crash is written through a `Filesystem` and its `AppendFile`s. So the crashable
filesystem of the simulator sees every operation, can drop what was not synced, and can make any operation fail.

Durability:

* `append` and `truncate` survive the death of the process. They survive a power loss only after `sync`.
* A new, renamed or removed *name* survives a power loss only after `sync_directory` of its directory, even if the file
  itself was synced. For a rename between two directories, this is the target directory.
* `rename` is atomic: a reader sees either the old or the new file, complete.

Errors are `OSError`s of the operating system. After a failed `sync` the content of the disk is unknown, and a later
`sync` that succeeds proves nothing: stop, and let recovery decide.
"""

import contextlib
import ctypes
import os
import stat
from typing import NamedTuple, Protocol

from .regular_file import open_descriptor, read_regular

CLOSED_DESCRIPTOR = 2**31 - 1
"""A descriptor that no file has. Using it fails with EBADF."""


class PathInfo(NamedTuple):
    """Size and kind of a path."""

    size: int
    """Bytes in the file; 0 for a directory."""
    is_directory: bool


class AppendFile(Protocol):
    """An open file that is read at any offset and written only at its end."""

    @property
    def size(self) -> int:
        """Bytes in the file, synced or not."""

    def read(self, offset: int, size: int) -> bytes:
        """Read `size` bytes from `offset`; fewer only at the end of the file."""

    def append(self, data: bytes) -> None:
        """Append all of `data`. If this raises, a part of it may have been written."""

    def truncate(self, size: int) -> None:
        """Truncate the file. No effect if it is not longer than `size`."""

    def sync(self) -> None:
        """Make everything written to the file durable."""

    def close(self) -> None:
        """Close the file. Idempotent."""


class Filesystem(Protocol):
    """Directories and files. Paths are strings with `/`.

    >>> from inorder.sinks import Filesystem, SystemFilesystem
    >>> from inorder.testing import Disk
    >>> real: Filesystem = SystemFilesystem()
    >>> in_memory: Filesystem = Disk()
    """

    def open(self, path: str) -> AppendFile:
        """Open a file, and create it empty if it does not exist."""

    def read(self, path: str) -> bytes:
        """Read a whole file. Raises FileNotFoundError if it does not exist."""

    def stat(self, path: str) -> PathInfo | None:
        """Return size and kind of a path; None if it does not exist."""

    def rename(self, old: str, new: str) -> None:
        """Rename a file and replace an existing file of that name. Directories are not renamed."""

    def unlink(self, path: str) -> None:
        """Remove a file. Raises FileNotFoundError if it does not exist."""

    def make_directory(self, path: str) -> None:
        """Create a directory and its parents. No effect if it exists."""

    def list(self, path: str) -> list[str]:
        """Return the names in a directory, sorted."""

    def sync_directory(self, path: str) -> None:
        """Make every new, renamed and removed name in this directory durable."""

    def sync_all(self, path: str) -> None:
        """Make everything on the disk of this directory durable. For many files this is much faster than one by one,
        which takes about a second per thousand."""


class SystemFile:
    """A file of the operating system."""

    def __init__(self, path: str) -> None:
        self._descriptor = open_descriptor(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)

    @property
    def size(self) -> int:
        """Bytes in the file."""
        return os.fstat(self._descriptor).st_size

    def read(self, offset: int, size: int) -> bytes:
        """Read `size` bytes from `offset`; fewer only at the end of the file."""
        parts = []
        while size > 0 and (part := os.pread(self._descriptor, size, offset)):
            parts.append(part)
            offset += len(part)
            size -= len(part)
        return b"".join(parts)

    def append(self, data: bytes) -> None:
        """Append all of `data`."""
        written = os.write(self._descriptor, data)
        while written < len(data):  # a short write, rare for regular files
            written += os.write(self._descriptor, memoryview(data)[written:])

    def truncate(self, size: int) -> None:
        """Truncate the file. No effect if it is not longer than `size`."""
        if size < self.size:
            os.ftruncate(self._descriptor, size)

    def sync(self) -> None:
        """Make everything written to the file durable."""
        os.fsync(self._descriptor)

    def close(self) -> None:
        """Close the file. Idempotent: the descriptor is forgotten, because another file may soon have it."""
        descriptor, self._descriptor = self._descriptor, CLOSED_DESCRIPTOR
        if descriptor != CLOSED_DESCRIPTOR:
            os.close(descriptor)


class SystemFilesystem:
    """The filesystem of the operating system.

    >>> from inorder.sinks import SystemFilesystem
    >>> SystemFilesystem().stat("a file that is not there") is None
    True
    """

    def open(self, path: str) -> SystemFile:
        """Open a file, and create it empty if it does not exist."""
        return SystemFile(path)

    def read(self, path: str) -> bytes:
        """Read a whole file."""
        return read_regular(path)

    def stat(self, path: str) -> PathInfo | None:
        """Return size and kind of a path; None if it does not exist."""
        try:
            found = os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        is_directory = stat.S_ISDIR(found.st_mode)
        return PathInfo(0 if is_directory else found.st_size, is_directory)

    def rename(self, old: str, new: str) -> None:
        """Rename a file and replace an existing file of that name."""
        os.replace(old, new)

    def unlink(self, path: str) -> None:
        """Remove a file."""
        os.unlink(path)

    def make_directory(self, path: str) -> None:
        """Create a directory and its parents."""
        make_directories(path)

    def list(self, path: str) -> list[str]:
        """Return the names in a directory, sorted."""
        return sorted(os.listdir(path))

    def sync_directory(self, path: str) -> None:
        """Make every new, renamed and removed name in this directory durable."""
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def sync_all(self, path: str) -> None:
        """Make everything on the disk of this directory durable."""
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            _sync_disk(descriptor)
        finally:
            os.close(descriptor)


def make_directories(path: str) -> None:
    """Create a directory and its parents, however many. `os.makedirs` recurses, and fails at a depth of about 1,000."""
    missing = []
    while not os.path.isdir(path):
        missing.append(path)
        parent = os.path.dirname(path)
        if parent in ("", path) or os.path.lexists(parent):  # a file there is refused by the system
            break
        path = parent
    for folder in reversed(missing):
        try:
            os.mkdir(folder)
        except FileExistsError:  # created by another process meanwhile, or not a directory
            if not os.path.isdir(folder):
                raise


def _sync_disk(descriptor: int) -> None:
    """Sync the disk of an open directory, or all disks if the system cannot sync a single one."""
    libc = ctypes.CDLL(None, use_errno=True)
    if not hasattr(libc, "syncfs"):
        os.sync()
    elif libc.syncfs(descriptor) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def write_atomic(filesystem: Filesystem, path: str, data: bytes, *, is_durable: bool = True) -> None:
    """Create or replace a file atomically: a reader, or a crash, finds either the old or the new content. Without
    `is_durable`, a power loss may leave neither.

    >>> from inorder.sinks import write_atomic
    >>> from inorder.testing import Disk
    >>> disk = Disk()
    >>> write_atomic(disk, "results.json", b"[]")
    >>> disk.read("results.json")
    b'[]'
    """
    temporary = f"{path}.new"
    with contextlib.suppress(FileNotFoundError):
        filesystem.unlink(temporary)
    file = filesystem.open(temporary)
    try:
        file.append(data)
        if is_durable:
            file.sync()
    finally:
        file.close()
    filesystem.rename(temporary, path)
    if is_durable:
        filesystem.sync_directory(os.path.dirname(path) or ".")
