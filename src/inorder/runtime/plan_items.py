"""Describes the items of an iteration to the kernel, with what functions of the user say about each."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from inorder.core.windows.plan import PlanItem
from inorder.errors import OperatorError, require

from .feed import NOT_YET, Feed, NotYet

Planned = tuple[PlanItem, Any] | NotYet
"""An item with its description."""
PLAIN = PlanItem()


class ItemHints(NamedTuple):
    """Functions of an item."""

    cost: Callable[[Any], float] | None = None
    """Its expected cost."""
    size: Callable[[Any], int] | None = None
    """The expected size of its result in bytes."""
    batch_key: Callable[[Any], str] | None = None
    """Items with the same key are run by the same worker, if possible."""

    def check(self) -> None:
        """Raise OperatorError unless each is a function."""
        for name, function in zip(self._fields, self, strict=True):
            require(function is None or callable(function), f"{name} must be a function of one item")

    def describe_all(self, items: Iterable[Any]) -> Iterable[Planned]:
        """Yield each item with its description."""
        describe = _describe_plain if self == ItemHints() else self._describe
        if isinstance(items, Feed):
            return (NOT_YET if item is NOT_YET else (describe(item), item) for item in items)
        if describe is _describe_plain:
            return ((PLAIN, item) for item in items)
        return ((describe(item), item) for item in items)

    def _describe(self, item: Any) -> PlanItem:
        cost = 1.0 if self.cost is None else ask("cost", self.cost, item)
        try:
            cost = float(cost)
        except (TypeError, ValueError) as error:
            raise OperatorError(f"cost must return a number, got {cost!r} for {item!r:.80}") from error
        size: Any = 0 if self.size is None else ask("size", self.size, item)
        if type(size) is not int or size < 0:
            raise OperatorError(f"size must return a number of bytes, got {size!r} for {item!r:.80}")
        key: Any = "" if self.batch_key is None else ask("batch_key", self.batch_key, item)
        if type(key) is not str:
            raise OperatorError(f"batch_key must return a string, got {key!r} for {item!r:.80}")
        return PlanItem(cost=cost, size_bytes=size, batch_key=key)


def ask(name: str, function: Callable[[Any], Any], item: Any) -> Any:
    """Return what a function of the user says of an item. What it raises gets a note that names both."""
    try:
        return function(item)
    except Exception as error:
        note_item(error, name, item)
        raise


def note_item(error: Exception, name: str, item: Any) -> None:
    """Add a note that names the function of the user and the item for which it raised this."""
    error.add_note(f"{name} raised this for the item {item!r:.80}")


def read_until_error(plan: Iterable[Planned], errors: list[Exception], committed_end: int) -> Iterator[Planned]:
    """Yield a plan as far as it comes. What it raises is added to `errors`, but for what it raises before the items end
    that are committed: no result comes before that. Raises OperatorError if they are not all there."""
    iterator, count = iter(plan), 0
    while count < committed_end:
        planned = next(iterator, None)
        if planned is None:
            raise OperatorError(
                f"the input has {count} items, and {committed_end} are committed in the journal; resume with the same "
                "items, or start over with another journal, and with key= if items come and go"
            )
        count += not isinstance(planned, NotYet)
        yield planned
    try:
        yield from iterator
    except Exception as error:
        errors.append(error)


def _describe_plain(item: Any) -> PlanItem:
    return PLAIN
