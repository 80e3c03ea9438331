"""A bounded queue: higher priority first, and items of the same priority in the order in which they came.

Items of one priority are in one ordered table, and a heap holds the priorities in use. With few priorities the cost
does not depend on the length of the queue; with many it is one heap operation. An item can be removed from the middle
at once, so a cancelled one takes no slot. A priority whose last item was removed stays in the heap as a stale entry;
stale entries are removed before they are half of the heap.
"""

from collections import OrderedDict
from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from itertools import chain
from typing import Generic, TypeVar

Item = TypeVar("Item")

_STALE_MIN = 16


class PriorityQueue(Generic[Item]):
    """Holds each item, by identity or equality, at most once. Not safe for threads."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._count = 0
        self._tables: dict[int, OrderedDict[Item, None]] = {}
        self._priorities: list[int] = []  # negated, so that the highest is the first of the heap

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Item]:
        """All items, in no particular order."""
        return chain.from_iterable(self._tables.values())

    def push(self, item: Item, priority: int = 0) -> bool:
        """Queue an item behind those of the same priority. False, and nothing changes, when the queue is full."""
        if self._count >= self.capacity:
            return False
        table = self._tables.get(priority)
        if table is None:
            table = self._tables[priority] = OrderedDict()
            heappush(self._priorities, -priority)
        table[item] = None
        self._count += 1
        return True

    def peek(self) -> Item:
        """Return the item that would be popped next. The queue must not be empty."""
        return next(iter(self._first_table()))

    def pop(self) -> Item:
        """Remove and return the oldest item of the highest priority. The queue must not be empty."""
        table = self._first_table()
        item, _ = table.popitem(last=False)
        self._count -= 1
        if not table:
            del self._tables[-heappop(self._priorities)]
        return item

    def remove(self, item: Item, priority: int = 0) -> bool:
        """Remove this item. False if it is not in the queue."""
        table = self._tables.get(priority)
        if table is None or item not in table:
            return False
        del table[item]
        self._count -= 1
        if not table:
            del self._tables[priority]
            self._remove_stale()
        return True

    def drain(self) -> list[Item]:
        """Remove and return all items, in the order of popping."""
        return [self.pop() for _ in range(self._count)]

    def _first_table(self) -> OrderedDict[Item, None]:
        while (table := self._tables.get(-self._priorities[0])) is None:
            heappop(self._priorities)
        return table

    def _remove_stale(self) -> None:
        if len(self._priorities) > 2 * len(self._tables) + _STALE_MIN:
            self._priorities = [-priority for priority in self._tables]
            heapify(self._priorities)
