"""A token that cancels a waiting submission.

Any object with `is_set()` is accepted, for example a `threading.Event`. A lane can only poll such an object. A
`CancelToken` notifies those that wait, so they stop at once.
"""

import threading
from collections.abc import Callable
from typing import Protocol

POLL_S = 0.02
"""How often a waiting submission polls a signal that cannot notify."""


class CancelSignal(Protocol):
    """What a submission accepts as `cancel`."""

    def is_set(self) -> bool:
        """Whether the caller has cancelled."""


class CancelToken:
    """Cancels the submissions that it was passed to. Set once, from any thread; it stays set.

    A submission that still waits is rejected with `Reason.CANCELLED`. A task that is already accepted is not affected:
    use `Ticket.cancel` for it.

    >>> from inorder.lanes import CancelToken, Lane, LaneConfig
    >>> token = CancelToken()
    >>> token.set()
    >>> with Lane(LaneConfig(name="calls")) as lane:
    ...     lane.submit(print, "never printed", cancel=token).reason
    <Reason.CANCELLED: 'cancelled'>
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._set = False
        self._listeners: dict[object, Callable[[], object]] = {}

    def is_set(self) -> bool:
        """Whether `set` was called."""
        return self._set

    def set(self) -> None:
        """Cancel every submission that waits with this token, and every later one. Idempotent."""
        with self._lock:
            self._set = True
            listeners, self._listeners = self._listeners, {}
        for listener in listeners.values():
            listener()

    def listen(self, listener: Callable[[], object]) -> Callable[[], object]:
        """Call `listener` when the token is set, or at once if it is set already.

        Returns a function that removes the listener.
        """
        key = object()
        with self._lock:
            if not self._set:
                self._listeners[key] = listener
        if self._set:
            listener()
        return lambda: self._listeners.pop(key, None)
