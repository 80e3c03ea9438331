"""What a lane tells about itself: counts, and how long tasks waited and ran.

Counts, totals and maxima are of the lane's whole life. Percentiles are of the latest tasks, which is what one wants to
know of a lane that is in trouble now, and keeps memory bounded.
"""

import math
from collections import deque
from collections.abc import Sequence

import msgspec

LATEST_MAX = 1024
"""Durations kept for percentiles: enough for a steady 95th, small enough to be copied under a lock."""


class DurationStatistics(msgspec.Struct, frozen=True, kw_only=True):
    """Durations in seconds."""

    count: int = 0
    total_s: float = 0.0
    max_s: float = 0.0
    p50_s: float = 0.0
    """Half of the latest were not longer."""
    p95_s: float = 0.0
    """19 of 20 of the latest were not longer."""


class LaneStatistics(msgspec.Struct, frozen=True, kw_only=True):
    """One lane, or several added up, at one moment. Fields that count only ever grow."""

    depth: int = 0
    """Accepted tasks that wait to run."""
    running: int = 0
    """Tasks that run."""
    waiting: int = 0
    """Submissions that wait for a place or a token."""
    concurrency: int = 0
    """Tasks that may run at once at present."""
    workers: int = 0
    """Threads of the lane. They come when they are needed; coroutine tasks need none."""
    submitted: int = 0
    """Submissions that arrived."""
    received: int = 0
    """Those of them that another lane passed on; without these, the sum over lanes is the number of calls."""
    accepted: int = 0
    """Submissions that this lane took."""
    rejected: int = 0
    """Submissions that were refused before admission, or given up by their callers."""
    redirected: int = 0
    """Submissions that found no place here and were taken by another lane."""
    dropped: int = 0
    """Submissions that found no place here and were taken by nobody."""
    completed: int = 0
    """Tasks that returned."""
    failed: int = 0
    """Tasks that raised."""
    cancelled: int = 0
    """Tasks that were taken back while queued, or given up while they ran."""
    abandoned: int = 0
    """Those of the cancelled that were given up while they ran; their threads may still be held."""
    wait_s: DurationStatistics = DurationStatistics()
    """From the call to the start of the task; for a redirected one, to its acceptance elsewhere."""
    run_s: DurationStatistics = DurationStatistics()
    """Of tasks that completed or failed."""


class Durations:
    """Takes in durations. Not safe for threads."""

    __slots__ = ("count", "latest", "max_s", "total_s")

    def __init__(self) -> None:
        self.count = 0
        self.total_s = 0.0
        self.max_s = 0.0
        self.latest: deque[float] = deque(maxlen=LATEST_MAX)

    def record(self, seconds: float) -> None:
        """Take in one duration; a clock that went back makes it zero, never negative."""
        if seconds < 0.0:
            seconds = 0.0
        self.count += 1
        self.total_s += seconds
        if seconds > self.max_s:
            self.max_s = seconds
        self.latest.append(seconds)

    def copy(self) -> "Durations":
        """A copy that stands still, so that sorting needs no lock."""
        durations = Durations()
        durations.add(self)
        return durations

    def add(self, other: "Durations") -> None:
        """Take in all of another; of the latest, as many as there is room for."""
        self.count += other.count
        self.total_s += other.total_s
        self.max_s = max(self.max_s, other.max_s)
        self.latest.extend(other.latest)

    def statistics(self) -> DurationStatistics:
        """The durations as numbers."""
        ranked = sorted(self.latest)
        return DurationStatistics(
            count=self.count,
            total_s=self.total_s,
            max_s=self.max_s,
            p50_s=_percentile(ranked, 50),
            p95_s=_percentile(ranked, 95),
        )


def _percentile(ranked: Sequence[float], percent: int) -> float:
    """The nearest rank: always a duration that really happened."""
    return ranked[max(0, math.ceil(len(ranked) * percent / 100) - 1)] if ranked else 0.0
