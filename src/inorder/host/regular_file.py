"""The one way to open a file that was found, as opposed to one that a user names.

What is found in a source or in DATA may be a FIFO, a socket or a device, whatever its name. Opening a FIFO waits for
somebody at its other end, and a device may have no end: a run would hang. So nothing waits here, and what is no regular
file is an error like a missing permission.
"""

import errno
import os
import stat
from io import BufferedReader

NOT_REGULAR = "not a regular file"
_AT_ONCE = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
_BESIDE_DATABASE = ("", "-wal", "-shm", "-journal")
"""What SQLite adds to the path of a database for the files beside it."""


def open_descriptor(path: str | os.PathLike[str], flags: int, mode: int = 0o666) -> int:
    """Open a path without waiting. Raises OSError if it cannot be opened, or is no regular file. `mode`: of a file that
    is created."""
    try:
        descriptor = os.open(path, flags | _AT_ONCE, mode)
    except OSError as error:
        if error.errno in (errno.ENXIO, errno.ENODEV, errno.EOPNOTSUPP):  # a socket, or a device without a driver
            raise _make_error(path) from error
        raise
    try:
        _require_regular(os.fstat(descriptor).st_mode, path)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def open_regular(path: str | os.PathLike[str]) -> BufferedReader:
    """Open a file for reading. Raises OSError if it cannot be opened, or is no regular file."""
    return open(path, "rb", opener=open_descriptor)


def read_regular(path: str | os.PathLike[str]) -> bytes:
    """Read a file. Raises OSError if it cannot be read, or is no regular file."""
    with open(path, "rb", buffering=0, opener=open_descriptor) as file:  # a buffer costs more than a small file
        return file.read()


def require_regular_database(path: str) -> None:
    """Raise OSError if a database of SQLite, or a file beside it, is there and no regular file: SQLite would wait for
    it, and no signal would end that."""
    for suffix in _BESIDE_DATABASE:
        try:
            mode = os.stat(f"{path}{suffix}").st_mode
        except OSError:
            continue
        _require_regular(mode, f"{path}{suffix}")


def _require_regular(mode: int, path: str | os.PathLike[str]) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if not stat.S_ISREG(mode):
        raise _make_error(path)


def _make_error(path: str | os.PathLike[str]) -> OSError:
    return OSError(errno.EINVAL, NOT_REGULAR, os.fspath(path))
