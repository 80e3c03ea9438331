"""Files that a user names, which may be pipes and devices.

Each is opened without waiting. Whoever has to wait then, for a pipe that is empty or full, waits in Python: a signal
ends that.
"""

import errno
import os
import select
import stat

from .filesystem import SystemFilesystem, write_atomic

_PIECE_BYTES = 2**16


def read_named(path: str | os.PathLike[str], bytes_max: int) -> bytes:
    """Read at most so many bytes. Raises OSError if the file cannot be read."""
    descriptor = _open(path, os.O_RDONLY)
    try:
        is_regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
        content = bytearray()
        while len(content) < bytes_max:
            if not is_regular:
                _wait(descriptor, select.POLLIN)
            try:
                piece = os.read(descriptor, min(_PIECE_BYTES, bytes_max - len(content)))
            except BlockingIOError:
                continue
            if not piece:
                break
            content += piece
        return bytes(content)
    finally:
        os.close(descriptor)


def write_named(path: str | os.PathLike[str], content: bytes, *, wait_s: float | None = None) -> None:
    """Replace a file atomically, or write to a pipe or a device, which stays what it is. Raises OSError if that is
    impossible, or if a pipe takes nothing for `wait_s` seconds."""
    place = os.path.realpath(path)
    try:
        mode = os.stat(place).st_mode
    except FileNotFoundError:
        mode = stat.S_IFREG
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        write_atomic(SystemFilesystem(), place, content)
        return
    descriptor = _open(path, os.O_WRONLY)
    try:
        rest = memoryview(content)
        while rest:
            _wait(descriptor, select.POLLOUT, wait_s)
            try:
                rest = rest[os.write(descriptor, rest[:_PIECE_BYTES]) :]
            except BlockingIOError:
                continue
    finally:
        os.close(descriptor)


def _open(path: str | os.PathLike[str], flags: int) -> int:
    try:
        return os.open(path, flags | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        raise OSError(errno.ENXIO, "nobody reads from this pipe, or it is a socket", os.fspath(path)) from error


def _wait(descriptor: int, event: int, wait_s: float | None = None) -> None:
    poll = select.poll()
    poll.register(descriptor, event)
    if not poll.poll(None if wait_s is None else wait_s * 1000):
        raise TimeoutError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT))
