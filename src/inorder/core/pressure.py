"""Backpressure with memory: how much dispatch is allowed, and since when.

Four signals are watched: bytes buffered in all windows, bytes of the committing window, commit lag, and resident
memory of the process. Each has a soft and a hard mark. Above a soft mark dispatch slows, above a hard mark it pauses.
It goes on only when *every* signal is at or below the release level, a fixed share of the mark of the level to be
left, so it cannot flap around a mark.

The bytes signals count results computed and not committed, plus what is set aside for those still running, plus one
more result: the question is always whether the next one would fit. Nothing here can stop the item that the cursor
waits for; that is the dispatcher's rule, and it is why backpressure cannot deadlock. Committing is never held back.
"""

from enum import IntEnum

from .options import PressureOptions

Signals = tuple[int, int, int, int]
SIGNALS = ("buffered bytes", "window bytes", "commit lag", "process memory")


class Level(IntEnum):
    """How much dispatch is allowed."""

    NORMAL = 0
    SOFT = 1
    HARD = 2


class Pressure:
    """The level, why it is what it is, and how long dispatch has been paused."""

    def __init__(self, options: PressureOptions) -> None:
        self._marks = {
            Level.SOFT: (
                options.buffered_bytes_soft,
                options.window_bytes_soft,
                options.commit_lag_soft,
                options.memory_bytes_soft,
            ),
            Level.HARD: (
                options.buffered_bytes_hard,
                options.window_bytes_hard,
                options.commit_lag_hard,
                options.memory_bytes_hard,
            ),
        }
        self._ratio = options.release_ratio_percent
        self._prefetch_mark = options.window_bytes_soft
        self._paused_since_ms = 0
        self._paused_ms = 0
        self.level = Level.NORMAL
        self.reason = ""
        self.resumes = 0
        self.prefetch_open = True

    def observe(self, now_ms: int, values: Signals) -> bool:
        """Take in the four signals; whether the level changed."""
        buffered, window, lag, memory = values
        if not self.level:  # the usual case on the hot path: nothing is above a soft mark, and nothing was
            soft = self._marks[Level.SOFT]
            if buffered <= soft[0] and window <= soft[1] and lag <= soft[2] and memory <= soft[3]:
                return False
        level, reason = self._tripped(values)
        if level < self.level:
            level, reason = self._released(values, level, reason)
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
        """Take in the bytes of the window that computes ahead: over its soft mark it is no longer served."""
        if self.prefetch_open:
            self.prefetch_open = window_bytes <= self._prefetch_mark
        else:
            self.prefetch_open = window_bytes * 100 <= self._prefetch_mark * self._ratio

    def paused_ms(self, now_ms: int) -> int:
        """Total time at `hard`, the present pause included."""
        running = now_ms - self._paused_since_ms if self.level == Level.HARD else 0
        return self._paused_ms + running

    def _tripped(self, values: Signals) -> tuple[Level, str]:
        """The highest level that some signal is above the mark of, and which signal."""
        for level, marks in reversed(self._marks.items()):
            for name, value, mark in zip(SIGNALS, values, marks, strict=True):
                if value > mark:
                    return level, f"{name} {value} above the {level.name.lower()} mark {mark}"
        return Level.NORMAL, ""

    def _released(self, values: Signals, level: Level, reason: str) -> tuple[Level, str]:
        """The lowest level that may be entered from the present one: every level left must be released by all."""
        for left, marks in reversed(self._marks.items()):
            if level < left <= self.level:
                for name, value, mark in zip(SIGNALS, values, marks, strict=True):
                    if value * 100 > mark * self._ratio:
                        return left, f"{name} {value} above {self._ratio} % of the {left.name.lower()} mark {mark}"
        return level, reason
