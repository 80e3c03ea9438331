"""What may enter: the items of a plan, checked one by one as they are consumed.

A plan is consumed lazily, so a fault in it shows when the item is reached, not before. Each fault is the operator's
and is named with the item: a cost that is negative or not a number, a size below zero, an id seen before, more or
fewer items than announced.

Ids must be unique over the whole plan, and a plan may have tens of millions of them. `IdentitySet` therefore keeps
64 bits an id in one flat table. Two different ids share those bits with a chance of about three in a million for ten
million items, which is the price of not keeping the ids themselves.
"""

import math
from array import array
from collections.abc import Sequence
from hashlib import blake2b

import msgspec

from inorder.errors import OperatorError, require


class PlanItem(msgspec.Struct, frozen=True, gc=False):
    """What the kernel needs to know of an item; the item itself stays with the runtime."""

    item_id: str = ""
    """Stable name, unique in the plan; empty: the seq is the only name."""
    cost: float = 1.0
    """Predicted work in any unit, the same for the whole plan."""
    size_bytes: int = 0
    """Predicted size of the result; 0: unknown, learned from the results seen."""
    batch_key: str = ""
    """Items that share it are dispatched together."""


class IdentitySet:
    """Ids seen so far: open addressing over one array, at most 2/3 full, 8 bytes a slot."""

    _EMPTY = 0

    def __init__(self) -> None:
        self._slots = array("Q", bytes(8 * 64))
        self._count = 0

    def add(self, item_id: str) -> bool:
        """Whether `item_id` was new."""
        print_ = _print(item_id)
        slots = self._slots
        mask = len(slots) - 1
        position = print_ & mask
        while (found := slots[position]) != self._EMPTY:
            if found == print_:
                return False
            position = (position + 1) & mask
        slots[position] = print_
        self._count += 1
        if self._count * 3 > len(slots) * 2:
            self._grow()
        return True

    def __contains__(self, item_id: str) -> bool:
        print_ = _print(item_id)
        slots = self._slots
        mask = len(slots) - 1
        position = print_ & mask
        while (found := slots[position]) not in (self._EMPTY, print_):
            position = (position + 1) & mask
        return found == print_

    def _grow(self) -> None:
        old = self._slots
        slots = array("Q", bytes(8 * 2 * len(old)))
        mask = len(slots) - 1
        for print_ in old:
            if print_ == self._EMPTY:
                continue
            position = print_ & mask
            while slots[position] != self._EMPTY:
                position = (position + 1) & mask
            slots[position] = print_
        self._slots = slots

    def __len__(self) -> int:
        return self._count

    @property
    def size_bytes(self) -> int:
        """Memory held by the table."""
        return len(self._slots) * self._slots.itemsize


def _print(item_id: str) -> int:
    """64 bits that stand for an id; never 0, which is an empty slot."""
    return int.from_bytes(blake2b(item_id.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little") or 1


class Intake:
    """Admits items in plan order and holds the plan to what it announced."""

    def __init__(self, total: int | None) -> None:
        require(total is None or total >= 0, f"a plan cannot announce {total} items")
        self.total = total
        self.admitted = 0
        self.ended = False
        self._identities = IdentitySet()

    def admit(self, items: Sequence[PlanItem]) -> None:
        """Check the next items of the plan; the first bad one is refused by name."""
        position = self.admitted
        add = self._identities.add
        for item in items:
            cost = item.cost
            if not 0.0 <= cost < math.inf:
                raise OperatorError(f"{_name(position, item)} has cost {cost}; a cost is a number from 0 up")
            if item.size_bytes < 0:
                raise OperatorError(f"{_name(position, item)} has size {item.size_bytes}; a size is from 0 bytes up")
            if item.item_id and not add(item.item_id):
                raise OperatorError(f"{_name(position, item)} repeats an earlier id; ids are unique in a plan")
            position += 1
            if self.total is not None and position > self.total:
                raise OperatorError(
                    f"the plan announced {self.total} items but yields more: {_name(position - 1, item)} is too many"
                )
        self.admitted = position

    def end(self) -> None:
        """The plan has no more items."""
        self.ended = True
        if self.total is not None and self.admitted < self.total:
            raise OperatorError(f"the plan announced {self.total} items but ended after {self.admitted}")


def _name(position: int, item: PlanItem) -> str:
    return f"plan item {position} ({item.item_id!r})" if item.item_id else f"plan item {position}"
