"""The concurrency limit of a lane, which changes between two bounds.

The *load* of a lane is the number of tasks that run or are queued. A lane is *busy* while its load is above the limit,
and *idle* while its load is below the limit and the limit above its lower bound. When a lane has been busy without a
break for its time, the limit doubles; when it has been idle, the limit falls by one. Then the time is measured from the
start again. Between the end of a task and the start of the next one the load is what matters, so short tasks count as
long ones do. Time is an argument; a clock that goes back only makes the measurement start later.

A fixed lane has a limit that does not change by itself.
"""


class Scale:
    """The current limit, and since when the lane has been busy or idle. Not safe for threads."""

    def __init__(self, limit_min: int, limit_max: int, *, up_after_s: float, down_after_s: float) -> None:
        self.limit = limit_min
        self._limit_min = limit_min
        self._limit_max = limit_max
        self._up_after_s = up_after_s
        self._down_after_s = down_after_s
        self._busy_since_s: float | None = None
        self._idle_since_s: float | None = None

    @property
    def is_dynamic(self) -> bool:
        """Whether the limit changes by itself."""
        return self._limit_min < self._limit_max

    def observe(self, now_s: float, load: int) -> bool:
        """Take the current load, and change the limit if that is due. Returns whether it changed."""
        if not self.is_dynamic:
            return False
        self._update_timers(now_s, load)
        due_s = self.due_s
        if due_s is None or now_s < due_s:
            return False
        self.limit = min(2 * self.limit, self._limit_max) if self._busy_since_s is not None else self.limit - 1
        self._restart_timers()
        self._update_timers(now_s, load)
        return True

    def grow(self) -> bool:
        """Raise the limit by one at once, because the lane is full. False at the upper bound."""
        if self.limit >= self._limit_max:
            return False
        self.limit += 1
        self._restart_timers()
        return True

    def change_bounds(self, limit_min: int, limit_max: int) -> None:
        """Change the bounds. A limit beyond them moves to the nearer one."""
        self._limit_min, self._limit_max = limit_min, limit_max
        self.limit = max(limit_min, min(self.limit, limit_max))
        self._restart_timers()

    @property
    def due_s(self) -> float | None:
        """When the limit is due to change if the load stays as it is; None: it does not change."""
        if self._busy_since_s is not None:
            return self._busy_since_s + self._up_after_s
        if self._idle_since_s is not None:
            return self._idle_since_s + self._down_after_s
        return None

    def _restart_timers(self) -> None:
        self._busy_since_s = self._idle_since_s = None

    def _update_timers(self, now_s: float, load: int) -> None:
        busy = self.limit < load and self.limit < self._limit_max
        idle = self.limit > load and self.limit > self._limit_min
        self._busy_since_s = _start_time(self._busy_since_s, now_s) if busy else None
        self._idle_since_s = _start_time(self._idle_since_s, now_s) if idle else None


def _start_time(since_s: float | None, now_s: float) -> float:
    return now_s if since_s is None else min(since_s, now_s)
