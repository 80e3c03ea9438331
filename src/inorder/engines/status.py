"""What a worker process is on, readable by its parent at any moment without a message.

Sixty-four bytes of shared memory: the running seq, its attempt, when it began, and up to which item of its batch the
worker may go. The worker writes a few words an item; the parent reads them when it wonders whether an item has
overrun, or what a dead worker died of. A read that falls between two writes can be off by one item: whatever follows
from it names seq and attempt, and the kernel refuses what is no longer true.
"""

import mmap
import os
import struct
import tempfile
from typing import NamedTuple

_FORMAT = struct.Struct("<qqq")
_LIMIT = struct.Struct("<q")
_LIMIT_AT = 32
_SIZE = 64
IDLE = -1


class Running(NamedTuple):
    """The item a worker is on."""

    seq: int
    attempt: int
    began_ns: int


def shared_file(size: int) -> int:
    """A file descriptor of anonymous memory: nothing is left behind however the processes end."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("inorder")
    else:
        descriptor, name = tempfile.mkstemp()
        os.unlink(name)
    os.ftruncate(descriptor, size)
    return descriptor


class Status:
    """One worker's block, mapped on both sides."""

    def __init__(self, descriptor: int) -> None:
        self._map = mmap.mmap(descriptor, _SIZE)

    @classmethod
    def create(cls) -> tuple["Status", int]:
        """A new block, and the descriptor that the other side maps."""
        descriptor = shared_file(_SIZE)
        status = cls(descriptor)
        status.rest()
        return status, descriptor

    def begin(self, seq: int, attempt: int, now_ns: int) -> None:
        """The worker starts an item."""
        _FORMAT.pack_into(self._map, 0, seq, attempt, now_ns)

    def rest(self) -> None:
        """The worker is between items."""
        _FORMAT.pack_into(self._map, 0, IDLE, 0, 0)

    def running(self) -> Running | None:
        """The item the worker is on, None between items."""
        running = Running(*_FORMAT.unpack_from(self._map, 0))
        return None if running.seq == IDLE else running

    def allow(self, count: int) -> None:
        """The worker may start this many items of its batch."""
        _LIMIT.pack_into(self._map, _LIMIT_AT, count)

    def allowed(self) -> int:
        """How many items of its batch the worker may start."""
        count: int = _LIMIT.unpack_from(self._map, _LIMIT_AT)[0]
        return count

    def close(self) -> None:
        """Unmap."""
        self._map.close()
