"""How many tasks may run at once, between two bounds.

Two conditions are watched. *Pressed*: every place is busy and tasks wait. *Slack*: a place is free that the lower bound
does not ask for. When either has held without a break for its time, the limit moves by one and the watch starts anew.
Time is a number that is handed in; one that goes back only makes a watch start later.

A fixed lane has a limit that never moves, and nothing to observe.
"""


class Scale:
    """The present limit, and since when it has been too low or too high. Not safe for threads."""

    def __init__(self, limit_min: int, limit_max: int, *, up_after_s: float, down_after_s: float) -> None:
        self.limit = limit_min
        self.dynamic = limit_min < limit_max
        self._limit_min = limit_min
        self._limit_max = limit_max
        self._up_after_s = up_after_s
        self._down_after_s = down_after_s
        self._pressed_since_s: float | None = None
        self._slack_since_s: float | None = None

    def observe(self, now_s: float, running: int, queued: int) -> bool:
        """Take in how busy the lane is, and move the limit if it is time; whether it moved."""
        if not self.dynamic:
            return False
        self._watch(now_s, running, queued)
        due_s = self.due_s
        if due_s is None or now_s < due_s:
            return False
        self.limit += 1 if self._pressed_since_s is not None else -1
        self._pressed_since_s = self._slack_since_s = None
        self._watch(now_s, running, queued)
        return True

    def grow(self) -> bool:
        """One more, now: the lane is full. False at the upper bound."""
        if self.limit >= self._limit_max:
            return False
        self.limit += 1
        self._pressed_since_s = self._slack_since_s = None
        return True

    @property
    def due_s(self) -> float | None:
        """When the limit moves if nothing else happens before; None: it stays."""
        if self._pressed_since_s is not None:
            return self._pressed_since_s + self._up_after_s
        if self._slack_since_s is not None:
            return self._slack_since_s + self._down_after_s
        return None

    def _watch(self, now_s: float, running: int, queued: int) -> None:
        pressed = running >= self.limit and queued > 0 and self.limit < self._limit_max
        slack = running < self.limit and queued == 0 and self.limit > self._limit_min
        self._pressed_since_s = _since(self._pressed_since_s, now_s) if pressed else None
        self._slack_since_s = _since(self._slack_since_s, now_s) if slack else None


def _since(since_s: float | None, now_s: float) -> float:
    return now_s if since_s is None else min(since_s, now_s)
