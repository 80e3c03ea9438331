"""What a worker process is on, readable by its parent at any moment without a message.

Sixty-four bytes of shared memory: when the running item began, its seq, its attempt, and up to which item of its batch
the worker may go. The worker writes a few words an item; the parent reads them when it wonders whether an item has
overrun, or what a dead worker died of.

A reader must never mix the words of two items: the seq of a new one with the beginning of a slow one before it would
look like an overrun. So the beginning is a seal. The writer breaks it, writes the rest, and sets it again, to a value
that no other item ever has; a reader that finds the same whole seal before and after has read one item.
"""

import mmap
import os
import tempfile
from typing import NamedTuple

_SIZE = 64
_BEGAN, _SEQ, _ATTEMPT, _LIMIT, _STARTED = range(5)  # words of eight bytes, each written at once
_NOTHING = -1


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
        self._words = memoryview(mmap.mmap(descriptor, _SIZE)).cast("q")

    @classmethod
    def create(cls) -> tuple["Status", int]:
        """A new block, and the descriptor that the other side maps."""
        descriptor = shared_file(_SIZE)
        status = cls(descriptor)
        status.rest()
        return status, descriptor

    def begin(self, seq: int, attempt: int, now_ns: int) -> None:
        """The worker starts an item."""
        words = self._words
        words[_BEGAN] = _NOTHING
        words[_SEQ] = seq
        words[_ATTEMPT] = attempt
        words[_BEGAN] = now_ns

    def rest(self) -> None:
        """The worker has nothing to do."""
        self._words[_BEGAN] = _NOTHING

    def running(self) -> Running | None:
        """The item the worker is on, None between items."""
        words = self._words
        began_ns = words[_BEGAN]
        running = Running(words[_SEQ], words[_ATTEMPT], began_ns)
        return None if began_ns == _NOTHING or words[_BEGAN] != began_ns else running

    def allow(self, count: int) -> None:
        """A new batch: the worker may start this many items of it, and has started none."""
        self._words[_STARTED] = 0
        self._words[_LIMIT] = count

    def may_start(self, number: int) -> bool:
        """The worker is about to start this item of its batch; whether it may. It says so first and asks then, and the
        parent forbids first and looks then: so one of the two always sees the other."""
        self._words[_STARTED] = number + 1
        return number < self._words[_LIMIT]

    def forbid(self, count: int) -> int:
        """Let the worker start no more than this many items of its batch; how many it has started or may start."""
        self._words[_LIMIT] = count
        return max(count, self._words[_STARTED])
