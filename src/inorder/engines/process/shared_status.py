"""The status of a worker process, readable by its parent at any moment without a message.

It is a block of shared memory: when the running item began, its seq, its attempt, up to which item of its batch the
worker may go, its latest heartbeat, and the progress and the step that the item reported last. The worker writes a few
words per item. The parent reads them to see whether an item has exceeded its time limit, which item a dead worker was
running, and whether the worker still runs at all.

A reader must never mix the words of two items: the seq of a new item with the start time of the slow one before it
would look like an overrun. So the start time works as a sequence lock. The writer invalidates it, writes the other
words, and then sets it to a value that no other item has. A reader that finds the same valid start time before and
after the other words has read one item. Progress and step have sequence locks of their own: a version, odd during a
write.
"""

import mmap
import os
import struct
import tempfile
from math import isnan, nan
from multiprocessing import reduction
from time import monotonic_ns
from typing import Any, NamedTuple

from inorder.engines.progress import NOTE_BYTES_MAX, STEP_BYTES_MAX, ItemProgress, RunningStep, shorten_note

# words of eight bytes, each written atomically
_BEGAN, _SEQ, _ATTEMPT, _LIMIT, _STARTED, _BEAT, _VERSION, _STEP_VERSION, _WORDS = range(9)
_PROGRESS_START = 8 * _WORDS
_PROGRESS = struct.Struct("<qqqddH")
"""Seq, attempt and time of a report, what is done, the total (nan: none), and the length of the note after it."""
_STEP_START = _PROGRESS_START + _PROGRESS.size + NOTE_BYTES_MAX
_STEP = struct.Struct("<qqqdH")
"""Seq, attempt and start of a step, its time limit (nan: that of the engine), and the length of the name after it."""
_STEP_NAME_START = _STEP_START + _STEP.size
_SIZE = _STEP_NAME_START + STEP_BYTES_MAX
_READS_MAX = 3
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


class InheritedDescriptor:
    """A descriptor among the arguments of a process that is spawned. The process gets the number of its own."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def __reduce__(self) -> tuple[Any, ...]:
        return _take_descriptor, (reduction.DupFd(self._descriptor),)


def _take_descriptor(inherited: Any) -> int:
    return int(inherited.detach())


class SharedStatus:
    """The block of one worker, mapped by both processes."""

    def __init__(self, descriptor: int) -> None:
        self._bytes = memoryview(mmap.mmap(descriptor, _SIZE))
        self._words = self._bytes[:_PROGRESS_START].cast("q")

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

    def is_running(self, item: StatusSnapshot) -> bool:
        """Called by the worker: whether it still runs this item, of which it has read the status."""
        return self._words[_BEGAN] == item.began_ns

    def beat(self) -> None:
        """Called by the worker, from a thread of its own: the process runs, and its interpreter is not blocked."""
        self._words[_BEAT] = monotonic_ns()

    def find_last_beat(self) -> int:
        """Return a number that every heartbeat changes; 0 before the first."""
        return self._words[_BEAT]

    def write_progress(self, seq: int, attempt: int, done: float, total: float | None, note: str) -> None:
        """Called by the worker, by one thread at a time: how far this attempt is. Counts as a heartbeat."""
        encoded = shorten_note(note)
        now_ns = monotonic_ns()
        head = _PROGRESS.pack(seq, attempt, now_ns, done, nan if total is None else total, len(encoded))
        words = self._words
        words[_VERSION] += 1
        self._bytes[_PROGRESS_START : _PROGRESS_START + len(head) + len(encoded)] = head + encoded
        words[_VERSION] += 1
        words[_BEAT] = now_ns

    def read_progress(self, seq: int, attempt: int) -> ItemProgress | None:
        """Return what this attempt reported last; None: nothing, or it is being written again and again."""
        for _ in range(_READS_MAX):
            version = self._words[_VERSION]
            data = bytes(self._bytes[_PROGRESS_START:_STEP_START])
            if version % 2 == 0 and self._words[_VERSION] == version:
                found_seq, found_attempt, reported_ns, done, total, length = _PROGRESS.unpack_from(data)
                if version == 0 or (found_seq, found_attempt) != (seq, attempt):
                    return None
                note = data[_PROGRESS.size : _PROGRESS.size + length].decode("utf-8", "replace")
                age_s = (monotonic_ns() - reported_ns) / 1e9
                return ItemProgress(done, None if isnan(total) else total, note, age_s)
        return None

    def write_step(self, seq: int, attempt: int, name: str, timeout_s: float | None) -> None:
        """Called by the worker, by one thread at a time: the step that this attempt begins. Counts as a heartbeat."""
        encoded = shorten_note(name, STEP_BYTES_MAX)
        now_ns = monotonic_ns()
        limit_s = nan if timeout_s is None else timeout_s
        words = self._words
        words[_STEP_VERSION] += 1
        _STEP.pack_into(self._bytes, _STEP_START, seq, attempt, now_ns, limit_s, len(encoded))
        self._bytes[_STEP_NAME_START : _STEP_NAME_START + len(encoded)] = encoded
        words[_STEP_VERSION] += 1
        words[_BEAT] = now_ns

    def read_step(self, running: StatusSnapshot) -> RunningStep | None:
        """Return the step that this item is in; None: it has none."""
        if self._words[_STEP_VERSION] == 0:
            return None
        for _ in range(_READS_MAX):
            version = self._words[_STEP_VERSION]
            data = bytes(self._bytes[_STEP_START:])
            if version % 2 == 0 and self._words[_STEP_VERSION] == version:
                seq, attempt, began_ns, timeout_s, length = _STEP.unpack_from(data)
                if (seq, attempt) != running[:2] or began_ns < running.began_ns:  # it ran before, or is run again
                    return None
                name = data[_STEP.size : _STEP.size + length].decode("utf-8", "replace")
                return RunningStep(name, began_ns / 1e9, None if isnan(timeout_s) else timeout_s)
        return None

    def begin_batch(self, count: int) -> None:
        """Called by the parent before it sends a batch of `count` items: the worker has started none of them."""
        self._words[_STARTED] = 0
        self._words[_LIMIT] = count

    def may_start(self, index: int, reserved: int = 0) -> bool:
        """Called by the worker before it starts this item of its batch: whether it may. `reserved` is where
        the items end that it has reserved.

        The worker announces the start and then reads the limit; the parent sets the limit and then reads what was
        announced. So at least one of the two sees the other.
        """
        self._words[_STARTED] = max(index + 1, reserved)
        return index < self._words[_LIMIT]

    def reserve(self, start: int, end: int) -> int:
        """Called by the worker before it starts the items from `start` to `end` together. Returns where they end, which
        is earlier if the parent has taken back some of them."""
        self._words[_STARTED] = end
        return max(start + 1, min(end, self._words[_LIMIT]))

    def limit_batch(self, count: int) -> int:
        """Called by the parent: start no more than `count` items of the batch. Returns how many the worker has started
        or may still start, which is more if it was faster."""
        self._words[_LIMIT] = count
        return max(count, self._words[_STARTED])
