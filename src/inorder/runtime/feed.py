"""Items of a plan that come when they come: from an asynchronous iterable, or from calls of an executor."""

from collections import deque
from collections.abc import Callable
from typing import Any


class NotYet:
    """Stands in a plan for items that are not there yet."""


NOT_YET = NotYet()


class Feed:
    """A plan that is filled while it is read. `on_hungry` is called, by the thread that reads, when nothing is left."""

    def __init__(self, on_hungry: Callable[[], None] = lambda: None) -> None:
        self._items: deque[Any] = deque()
        self._on_hungry = on_hungry
        self._is_ended = False
        self._error: BaseException | None = None

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> "Feed":
        return self

    def __next__(self) -> Any:
        try:
            return self._items.popleft()
        except IndexError:
            pass
        if not self._is_ended:
            self._on_hungry()
            return NOT_YET
        if self._items:  # the last one came in between
            return self._items.popleft()
        if self._error is not None:
            raise self._error
        raise StopIteration

    def put(self, item: Any) -> None:
        """Add an item. May be called from any thread."""
        self._items.append(item)

    def end(self, error: BaseException | None = None) -> None:
        """Add no further item. `error` is raised to the one who reads, after the last item."""
        self._error = error
        self._is_ended = True
