"""The items of a plan, validated as they are read.

A plan is read lazily, so an error in it is found when the item is reached. Each error is an `OperatorError` that names
the item: a cost that is negative or not a number, a negative size, a repeated id, more or fewer items than announced.

Ids must be unique in the whole plan, which may have tens of millions of items: see `id_set`.
"""

import math
from collections.abc import Sequence

import msgspec

from inorder.errors import OperatorError, require

from .id_set import IdSet


class PlanItem(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What the kernel needs to know about an item. The item itself stays in the runtime."""

    item_id: str = ""
    """Stable name, unique in the plan. Empty: the item has no name but its seq."""
    cost: float = 1.0
    """Predicted work, in any unit that is the same for the whole plan."""
    size_bytes: int = 0
    """Predicted size of the result. 0: unknown, estimated from earlier results."""
    batch_key: str = ""
    """Items with the same key are dispatched together."""
    input_bytes: int = 0
    """Size of what the item reads: its weight in `windows.bytes_max` if the size of its result is unknown."""
    is_part: bool = False
    """Whether it is a part of another item, which fails with it: its own failure does not count in the error budget."""


class PlanIntake:
    """Validates items in plan order, and their number against what the plan announced."""

    def __init__(self, total: int | None) -> None:
        require(total is None or total >= 0, f"a plan cannot announce {total} items")
        self.total = total
        self.admitted = 0
        self.is_ended = False
        self._ids = IdSet()

    def admit(self, items: Sequence[PlanItem]) -> None:
        """Validate the next items of the plan. Raises `OperatorError` for the first invalid one."""
        position = self.admitted
        total = math.inf if self.total is None else self.total
        validated: PlanItem | None = None
        for item in items:
            if item is not validated:  # a plan without ids may repeat one object
                self._validate(position, item)
                validated = None if item.item_id else item
            position += 1
            if position > total:
                raise OperatorError(
                    f"the plan announced {self.total} items but has more: {_format_name(position - 1, item)}"
                )
        self.admitted = position

    def _validate(self, position: int, item: PlanItem) -> None:
        if not 0.0 <= item.cost < math.inf:
            raise OperatorError(
                f"{_format_name(position, item)} has cost {item.cost}; a cost must be a finite number of at least 0"
            )
        if item.size_bytes < 0 or item.input_bytes < 0:
            size = min(item.size_bytes, item.input_bytes)
            raise OperatorError(f"{_format_name(position, item)} has size {size}; a size must be at least 0 bytes")
        if item.item_id and not self._ids.add(item.item_id):
            raise OperatorError(f"{_format_name(position, item)} repeats an earlier id; ids must be unique in a plan")

    def end(self) -> None:
        """Note that the plan has no more items."""
        self.is_ended = True
        if self.total is not None and self.admitted < self.total:
            raise OperatorError(f"the plan announced {self.total} items but ended after {self.admitted}")


def _format_name(position: int, item: PlanItem) -> str:
    return f"plan item {position} ({item.item_id!r})" if item.item_id else f"plan item {position}"
