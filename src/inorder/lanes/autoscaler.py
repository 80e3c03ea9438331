"""The one thread of a dynamic lane that watches the clock.

Growing and shrinking happen after some time in which nothing happens: tasks wait behind busy workers, or workers idle.
Then there is nobody else to notice. A fixed lane has no keeper.
"""

import threading
from collections.abc import Callable
from contextlib import suppress

from .state import Desk
from .workers import call_all


class Keeper:
    """Sleeps until the limit is due to move, and looks. Started when there is something to watch for the first time."""

    def __init__(
        self,
        name: str,
        desk: Desk,
        changed: threading.Condition,
        clock: Callable[[], float],
        follow: Callable[[], list[Callable[[], object]]],
    ) -> None:
        self._desk = desk
        self._changed = changed
        self._clock = clock
        self._follow = follow
        self._until_s: float | None = None
        self._thread = threading.Thread(target=self._keep, name=f"inorder-keeper-{name}", daemon=True)
        self._started = False

    def mind(self) -> None:
        """With the lock held: see to it that the keeper is awake when the limit is due to move."""
        due_s = self._desk.scale.due_s
        if (
            due_s is None
            or self._desk.closed
            or (self._started and self._until_s is not None and self._until_s <= due_s)
        ):
            return
        self._until_s = due_s
        if self._started:
            self._changed.notify_all()
        else:
            with suppress(RuntimeError):  # no thread to be had: the lane stays as it is, and this is tried again
                self._thread.start()
                self._started = True

    def _keep(self) -> None:
        while True:
            with self._changed:
                if self._desk.closed:
                    return
                now_s = self._clock()
                self._desk.changed(now_s)
                self._until_s = self._desk.scale.due_s
                calls = self._follow()
                if not calls:
                    self._changed.wait(None if self._until_s is None else max(0.0, self._until_s - now_s))
            call_all(calls)
            calls.clear()
