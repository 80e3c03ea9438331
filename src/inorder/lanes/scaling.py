"""The concurrency limit of a lane, which changes between two bounds.

A lane is *busy* when as many tasks run as the limit allows and others are queued. It is *idle* when fewer run than the
limit allows, none is queued, and the limit is above its lower bound. When either condition has held without a break for
its time, the limit changes by one and the time is measured from the start again. Time is an argument; a clock that
goes back only makes the measurement start later.

A fixed lane has a limit that never changes.
"""


class Scale:
    """The current limit, and since when the lane has been busy or idle. Not safe for threads."""

    def __init__(self, limit_min: int, limit_max: int, *, up_after_s: float, down_after_s: float) -> None:
        self.limit = limit_min
        self.is_dynamic = limit_min < limit_max
        self._limit_min = limit_min
        self._limit_max = limit_max
        self._up_after_s = up_after_s
        self._down_after_s = down_after_s
        self._busy_since_s: float | None = None
        self._idle_since_s: float | None = None

    def observe(self, now_s: float, running: int, queued: int) -> bool:
        """Take the current load, and change the limit by one if that is due. Returns whether it changed."""
        if not self.is_dynamic:
            return False
        self._update_timers(now_s, running, queued)
        due_s = self.due_s
        if due_s is None or now_s < due_s:
            return False
        self.limit += 1 if self._busy_since_s is not None else -1
        self._busy_since_s = self._idle_since_s = None
        self._update_timers(now_s, running, queued)
        return True

    def grow(self) -> bool:
        """Raise the limit by one at once, because the lane is full. False at the upper bound."""
        if self.limit >= self._limit_max:
            return False
        self.limit += 1
        self._busy_since_s = self._idle_since_s = None
        return True

    @property
    def due_s(self) -> float | None:
        """When the limit is due to change if the load stays as it is; None: it does not change."""
        if self._busy_since_s is not None:
            return self._busy_since_s + self._up_after_s
        if self._idle_since_s is not None:
            return self._idle_since_s + self._down_after_s
        return None

    def _update_timers(self, now_s: float, running: int, queued: int) -> None:
        busy = running >= self.limit and queued > 0 and self.limit < self._limit_max
        idle = running < self.limit and queued == 0 and self.limit > self._limit_min
        self._busy_since_s = _start_time(self._busy_since_s, now_s) if busy else None
        self._idle_since_s = _start_time(self._idle_since_s, now_s) if idle else None


def _start_time(since_s: float | None, now_s: float) -> float:
    return now_s if since_s is None else min(since_s, now_s)
