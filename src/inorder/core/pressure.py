"""Backpressure with hysteresis: how much dispatch is allowed.

There are four signals: bytes buffered in all windows, bytes of the committing window, commit lag, and resident memory
of the driver and its workers. Each has a soft and a hard mark. Above a soft mark dispatch slows, above a hard mark it
pauses. A level is left only when *every* signal is at or below the release level, a fixed share of the mark of that
level, so that dispatch does not flap around a mark.

The byte signals count results that are computed and not committed, bytes reserved for running items, and one more
result: would the next one fit? The dispatcher always admits the item that the cursor waits for, so backpressure cannot
deadlock. Commits are never held back.
"""

from enum import IntEnum

from .options import PressureOptions

Signals = tuple[int, int, int, int]
SIGNALS = ("buffered bytes", "window bytes", "commit lag", "resident memory")


class Level(IntEnum):
    """How much dispatch is allowed."""

    NORMAL = 0
    SOFT = 1
    HARD = 2


USER_OPTIONS = {
    Level.SOFT: (
        "budgets.buffered_bytes_soft",
        "budgets.window_bytes_soft",
        "budgets.commit_lag_soft",
        "budgets.resident_bytes_soft",
    ),
    Level.HARD: (
        "buffered_bytes_max",
        "budgets.window_bytes_hard",
        "budgets.commit_lag_hard",
        "budgets.resident_bytes_hard",
    ),
}
"""The option by which a user sets the mark of each signal. Reasons name it."""


class Pressure:
    """The present level, its reason, and how long dispatch has been paused."""

    def __init__(self, options: PressureOptions) -> None:
        self._marks = {
            Level.SOFT: (
                options.buffered_bytes_soft,
                options.window_bytes_soft,
                options.commit_lag_soft,
                options.resident_bytes_soft,
            ),
            Level.HARD: (
                options.buffered_bytes_hard,
                options.window_bytes_hard,
                options.commit_lag_hard,
                options.resident_bytes_hard,
            ),
        }
        self._ratio = options.release_ratio_percent
        self._prefetch_mark = min(options.prefetch_bytes_max, options.window_bytes_soft)
        self._paused_since_ms = 0
        self._paused_ms = 0
        self._bytes_peak = 0
        self.level = Level.NORMAL
        self.reason = ""
        self.resumes = 0
        self.is_prefetch_open = True

    def observe(self, now_ms: int, values: Signals) -> bool:
        """Update the level from the four signals and return whether it changed."""
        buffered, window, lag, memory = values
        if not self.level:  # the usual case on the hot path: no signal is, or was, above a soft mark
            soft = self._marks[Level.SOFT]
            if buffered <= soft[0] and window <= soft[1] and lag <= soft[2] and memory <= soft[3]:
                return False
        self._bytes_peak = max(self._bytes_peak, buffered)
        level, reason = self._find_level(values)
        if level < self.level:
            level, reason = self._apply_hysteresis(values, level, reason)
        if level == self.level:
            return False
        if level == Level.HARD:
            self._paused_since_ms = now_ms
        elif self.level == Level.HARD:
            self._paused_ms += now_ms - self._paused_since_ms
            self.resumes += 1
        self.level, self.reason = level, reason
        return True

    def observe_prefetch(self, window_bytes: int) -> None:
        """Update whether the second window is served: not while it is above the mark of prefetch."""
        if self.is_prefetch_open:
            self.is_prefetch_open = window_bytes <= self._prefetch_mark
        else:
            self.is_prefetch_open = window_bytes * 100 <= self._prefetch_mark * self._ratio

    def take_bytes_peak(self) -> int:
        """Return the most buffered bytes since the last call, among those observed while a signal was above its soft
        mark or had not fallen to its release level."""
        peak, self._bytes_peak = self._bytes_peak, 0
        return peak

    def paused_ms(self, now_ms: int) -> int:
        """Return the total time at the hard level, including the present pause."""
        running = now_ms - self._paused_since_ms if self.level == Level.HARD else 0
        return self._paused_ms + running

    def _find_level(self, values: Signals) -> tuple[Level, str]:
        """Find the highest level with a signal above its mark, and the reason."""
        for level, marks in reversed(self._marks.items()):
            for name, option, value, mark in zip(SIGNALS, USER_OPTIONS[level], values, marks, strict=True):
                if value > mark:
                    return level, f"{name} {value} above {option} {mark}"
        return Level.NORMAL, ""

    def _apply_hysteresis(self, values: Signals, level: Level, reason: str) -> tuple[Level, str]:
        """Find the lowest level at or above `level` that may be entered from the present one, and the reason."""
        for left, marks in reversed(self._marks.items()):
            if level < left <= self.level:
                for name, option, value, mark in zip(SIGNALS, USER_OPTIONS[left], values, marks, strict=True):
                    if value * 100 > mark * self._ratio:
                        return left, f"{name} {value} above {self._ratio} % of {option} {mark}"
        return level, reason
