"""Lets a function read what several items of a batch need at once, before it is called for the first of them.

A function that wants this has an attribute `lookahead` with two methods: `count(items)`, how many of the next items it
reads together, and `read(items)`, which does it. Whatever `read` raises is ignored: the function is then called for
each item as if nothing had been read, and fails where it must.
"""

import contextlib
import pickle
from collections.abc import Callable, Sequence
from typing import Any

from inorder.engines.base import PackedTask

_ITEMS_MAX = 1024


class Lookahead:
    """Unpacks the next items of a batch, and passes them to the function. Nothing in here fails an item."""

    def __init__(self, function: Any) -> None:
        self._function = function
        self._tasks: list[PackedTask] = []
        self._start = 0
        self._items: list[Any] = []
        """The items of `_tasks` from `_start` on."""

    def unpack(self, tasks: list[PackedTask], start: int) -> list[Any]:
        """The items from `start` on, up to the first that cannot be unpickled. The tasks keep the unpickled items. A
        batch is unpacked once, however many of its items form no group."""
        if tasks is not self._tasks or not self._start <= start < self._start + len(self._items):
            self._tasks, self._start, self._items = tasks, start, self._unpack(tasks, start)
        return self._items[start - self._start :]

    def _unpack(self, tasks: list[PackedTask], start: int) -> list[Any]:
        items: list[Any] = []
        for index in range(start, min(len(tasks), start + _ITEMS_MAX)):
            seq, attempt, packed = tasks[index]
            try:
                item = pickle.loads(packed) if type(packed) is bytes else packed
            except Exception:
                break
            if type(item) is not bytes:
                tasks[index] = (seq, attempt, item)
            items.append(item)
        return items

    def count(self, items: Sequence[Any]) -> int:
        """How many of these items are read together."""
        try:
            return min(int(self._function.count(items)), len(items))
        except Exception:
            return 1

    def read(self, items: Sequence[Any]) -> None:
        """Read what these items need."""
        with contextlib.suppress(Exception):
            self._function.read(items)


def get_lookahead(function: Callable[[Any], Any]) -> Lookahead | None:
    """The lookahead of a function; None: it has none."""
    found = getattr(function, "lookahead", None)
    return None if found is None else Lookahead(found)
