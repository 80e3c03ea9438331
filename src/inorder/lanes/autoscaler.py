"""The timer thread of a dynamic lane.

A lane grows when tasks have waited behind busy workers for some time, and shrinks when workers have been idle for some
time. No other thread may be active then, so a dynamic lane has a timer thread. A fixed lane has none. The thread ends
with the last task of a lane that is closed: until then a backlog still grows the lane.
"""

import threading
from collections.abc import Callable
from contextlib import suppress

from .state import LaneState
from .workers import call_all


class Autoscaler:
    """Sleeps until the concurrency limit is due to change, then changes it. Its thread starts when first needed."""

    def __init__(
        self,
        name: str,
        state: LaneState,
        changed: threading.Condition,
        clock: Callable[[], float],
        finish_change: Callable[[], list[Callable[[], object]]],
    ) -> None:
        self._state = state
        self._changed = changed
        self._clock = clock
        self._finish_change = finish_change
        self._name = f"inorder-autoscaler-{name}"
        self._wake_at_s: float | None = None
        self._is_started = False

    def schedule(self) -> None:
        """Make sure that the thread is awake when the limit is due to change. The lock must be held."""
        due_s = self._state.scale.due_s
        if due_s is None or self._is_over:
            return
        if self._is_started and self._wake_at_s is not None and self._wake_at_s <= due_s:
            return
        self._wake_at_s = due_s
        if self._is_started:
            self._changed.notify_all()
        else:
            with suppress(RuntimeError):  # no thread can be started now: the next call tries again
                threading.Thread(target=self._run, name=self._name, daemon=True).start()
                self._is_started = True

    @property
    def _is_over(self) -> bool:
        return self._state.closed and self._state.is_idle

    def _run(self) -> None:
        while True:
            with self._changed:
                if self._is_over:
                    return
                now_s = self._clock()
                self._state.update(now_s)
                self._wake_at_s = self._state.scale.due_s
                calls = self._finish_change()
                if not calls:
                    self._changed.wait(None if self._wake_at_s is None else max(0.0, self._wake_at_s - now_s))
            call_all(calls)
            calls.clear()
