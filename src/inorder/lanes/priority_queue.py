"""A bounded queue in which the higher priority goes first and equals keep their order.

Entries of one priority stand in one ordered table, and a heap holds the priorities that are in use. With few priorities
everything costs the same however long the queue is; with all different it costs a step in the heap. An entry can be
taken out of the middle at once, so a cancelled one takes no place. A priority whose last entry was taken out leaves a
stale mark in the heap; marks are swept out before they are half of it.
"""

from collections import OrderedDict
from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from itertools import chain
from typing import Generic, TypeVar

Entry = TypeVar("Entry")

_STALE_MIN = 16


class PriorityQueue(Generic[Entry]):
    """Holds each entry, by identity or equality, at most once. Not safe for threads."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._count = 0
        self._tables: dict[int, OrderedDict[Entry, None]] = {}
        self._priorities: list[int] = []  # negated, so that the highest is the first of the heap

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Entry]:
        """All entries, in no particular order."""
        return chain.from_iterable(self._tables.values())

    def push(self, entry: Entry, priority: int = 0) -> bool:
        """Queue an entry behind its equals. False, and nothing changes, when the queue is full."""
        if self._count >= self._capacity:
            return False
        table = self._tables.get(priority)
        if table is None:
            table = self._tables[priority] = OrderedDict()
            heappush(self._priorities, -priority)
        table[entry] = None
        self._count += 1
        return True

    def peek(self) -> Entry:
        """The entry that would be popped next. The queue must not be empty."""
        return next(iter(self._first()))

    def pop(self) -> Entry:
        """Take the oldest entry of the highest priority. The queue must not be empty."""
        table = self._first()
        entry, _ = table.popitem(last=False)
        self._count -= 1
        if not table:
            del self._tables[-heappop(self._priorities)]
        return entry

    def remove(self, entry: Entry, priority: int = 0) -> bool:
        """Take this entry out, wherever it stands. False when it is not there."""
        table = self._tables.get(priority)
        if table is None or entry not in table:
            return False
        del table[entry]
        self._count -= 1
        if not table:
            del self._tables[priority]
            self._sweep()
        return True

    def drain(self) -> list[Entry]:
        """Take everything, in the order of popping."""
        return [self.pop() for _ in range(self._count)]

    def _first(self) -> OrderedDict[Entry, None]:
        while (table := self._tables.get(-self._priorities[0])) is None:
            heappop(self._priorities)
        return table

    def _sweep(self) -> None:
        if len(self._priorities) > 2 * len(self._tables) + _STALE_MIN:
            self._priorities = [-priority for priority in self._tables]
            heapify(self._priorities)
