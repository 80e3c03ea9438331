"""A token that calls a waiting submission off.

Anything with `is_set()` will do, a `threading.Event` for one. A lane can only look at such a thing from time to time.
A `CancelToken` tells those who wait, so they stop at once.
"""

import threading
from collections.abc import Callable
from typing import Protocol

LOOK_S = 0.02
"""How often a waiting submission looks at a signal that cannot tell by itself."""


class CancelSignal(Protocol):
    """What a submission accepts as `cancel`."""

    def is_set(self) -> bool:
        """Whether the caller has given up."""
        ...


class CancelToken:
    """Set once, by any thread; stays set."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._set = False
        self._listeners: dict[object, Callable[[], object]] = {}

    def is_set(self) -> bool:
        """Whether `set` was called."""
        return self._set

    def set(self) -> None:
        """Call off every submission that waits with this token, and those that come later."""
        with self._lock:
            self._set = True
            listeners, self._listeners = self._listeners, {}
        for listener in listeners.values():
            listener()

    def listen(self, listener: Callable[[], object]) -> Callable[[], object]:
        """Have `listener` called when the token is set, at once if it is; the answer ends the listening."""
        key = object()
        with self._lock:
            if not self._set:
                self._listeners[key] = listener
        if self._set:
            listener()
        return lambda: self._listeners.pop(key, None)
