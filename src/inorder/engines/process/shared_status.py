"""The status of a worker process, readable by its parent at any moment without a message.

It is 64 bytes of shared memory: when the running item began, its seq, its attempt, and up to which item of its batch
the worker may go. The worker writes a few words per item. The parent reads them to see whether an item has exceeded its
time limit, and which item a dead worker was running.

A reader must never mix the words of two items: the seq of a new item with the start time of the slow one before it
would look like an overrun. So the start time works as a sequence lock. The writer invalidates it, writes the other
words, and then sets it to a value that no other item has. A reader that finds the same valid start time before and
after the other words has read one item.
"""

import mmap
import os
import tempfile
from typing import NamedTuple

_SIZE = 64
_BEGAN, _SEQ, _ATTEMPT, _LIMIT, _STARTED = range(5)  # words of eight bytes, each written atomically
_NONE = -1


class StatusSnapshot(NamedTuple):
    """The item that a worker process is running."""

    seq: int
    attempt: int
    began_ns: int


def create_shared_file(size: int) -> int:
    """Return the descriptor of anonymous memory, which disappears with the last process that holds it."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("inorder")
    else:
        descriptor, name = tempfile.mkstemp()
        os.unlink(name)
    os.ftruncate(descriptor, size)
    return descriptor


class SharedStatus:
    """The block of one worker, mapped by both processes."""

    def __init__(self, descriptor: int) -> None:
        self._words = memoryview(mmap.mmap(descriptor, _SIZE)).cast("q")

    @classmethod
    def create(cls) -> tuple["SharedStatus", int]:
        """Return a new block, and the descriptor that the other process maps."""
        descriptor = create_shared_file(_SIZE)
        status = cls(descriptor)
        status.clear_item()
        return status, descriptor

    def begin_item(self, seq: int, attempt: int, now_ns: int) -> None:
        """Called by the worker when it starts an item."""
        words = self._words
        words[_BEGAN] = _NONE
        words[_SEQ] = seq
        words[_ATTEMPT] = attempt
        words[_BEGAN] = now_ns

    def clear_item(self) -> None:
        """Called by the worker when it has nothing to run."""
        self._words[_BEGAN] = _NONE

    def read(self) -> StatusSnapshot | None:
        """Return the item that the worker is running; None between items."""
        words = self._words
        began_ns = words[_BEGAN]
        snapshot = StatusSnapshot(words[_SEQ], words[_ATTEMPT], began_ns)
        return None if began_ns == _NONE or words[_BEGAN] != began_ns else snapshot

    def begin_batch(self, count: int) -> None:
        """Called by the parent before it sends a batch of `count` items: the worker has started none of them."""
        self._words[_STARTED] = 0
        self._words[_LIMIT] = count

    def may_start(self, index: int) -> bool:
        """Called by the worker before it starts this item of its batch: whether it may.

        The worker announces the start and then reads the limit; the parent sets the limit and then reads what was
        announced. So at least one of the two sees the other.
        """
        self._words[_STARTED] = index + 1
        return index < self._words[_LIMIT]

    def limit_batch(self, count: int) -> int:
        """Called by the parent: start no more than `count` items of the batch. Returns how many the worker has started
        or may still start, which is more if it was faster."""
        self._words[_LIMIT] = count
        return max(count, self._words[_STARTED])
