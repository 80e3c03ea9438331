"""Statistics of a lane: counts, and how long tasks waited and ran.

Counts, totals and maxima cover the lane's whole life. Percentiles cover the latest tasks: they show how a lane performs
now, and memory stays bounded.
"""

import math
from collections import deque
from collections.abc import Sequence

import msgspec

LATEST_MAX = 1024
"""Durations kept for percentiles: enough for a stable 95th, few enough to be copied under a lock."""


class DurationStatistics(msgspec.Struct, frozen=True, kw_only=True):
    """Durations of a lane's tasks, in seconds.

    >>> from inorder.lanes import DurationStatistics
    >>> waits = DurationStatistics(count=2, total_s=3.0, max_s=2.0, p50_s=1.0, p95_s=2.0)
    >>> waits.total_s / waits.count
    1.5
    """

    count: int = 0
    total_s: float = 0.0
    max_s: float = 0.0
    p50_s: float = 0.0
    """Median of the latest tasks."""
    p95_s: float = 0.0
    """95th percentile of the latest tasks."""


class LaneStatistics(msgspec.Struct, frozen=True, kw_only=True):
    """One lane, or several added up, at one moment. Returned by `Lane.statistics` and `LaneManager.aggregate`.

    Counters never decrease: `accepted` is `depth` + `running` + `completed` + `failed` + `cancelled`.

    >>> from inorder.lanes import Lane, LaneConfig
    >>> with Lane(LaneConfig(name="calls")) as lane:
    ...     tickets = [lane.submit(len, word) for word in ("a", "bc")]
    >>> lane.statistics().completed
    2
    """

    depth: int = 0
    """Accepted tasks that are queued."""
    running: int = 0
    """Tasks that run."""
    waiting: int = 0
    """Submissions that wait for a slot or a token."""
    concurrency: int = 0
    """Tasks that may run at once now."""
    workers: int = 0
    """Threads of the lane. They are started on demand; coroutine tasks need none."""
    submitted: int = 0
    """Submissions that arrived."""
    received: int = 0
    """Submissions that another lane redirected here. Without them, the sum over lanes is the number of calls."""
    accepted: int = 0
    """Submissions that this lane accepted."""
    rejected: int = 0
    """Submissions that were refused, or cancelled by their callers."""
    redirected: int = 0
    """Submissions that found this lane full and were accepted by another lane."""
    dropped: int = 0
    """Submissions that found this lane full and were not accepted by any lane."""
    completed: int = 0
    """Tasks that returned."""
    failed: int = 0
    """Tasks that raised."""
    cancelled: int = 0
    """Tasks that were cancelled while queued, or abandoned while they ran."""
    abandoned: int = 0
    """Cancelled tasks that were abandoned while they ran; their threads may still be blocked."""
    wait_s: DurationStatistics = DurationStatistics()
    """Time from the call to the start of the task; for a redirected task, to its acceptance by the other lane."""
    run_s: DurationStatistics = DurationStatistics()
    """Time that completed and failed tasks ran."""


class Durations:
    """Collects durations. Not safe for threads."""

    __slots__ = ("count", "latest", "max_s", "total_s")

    def __init__(self) -> None:
        self.count = 0
        self.total_s = 0.0
        self.max_s = 0.0
        self.latest: deque[float] = deque(maxlen=LATEST_MAX)

    def record(self, seconds: float) -> None:
        """Add one duration. If the clock went back it counts as zero."""
        if seconds < 0.0:
            seconds = 0.0
        self.count += 1
        self.total_s += seconds
        if seconds > self.max_s:
            self.max_s = seconds
        self.latest.append(seconds)

    def copy(self) -> "Durations":
        """Return a copy, so that sorting needs no lock."""
        durations = Durations()
        durations.add(self)
        return durations

    def add(self, other: "Durations") -> None:
        """Add the durations of another lane; of its latest ones, as many as fit."""
        self.count += other.count
        self.total_s += other.total_s
        self.max_s = max(self.max_s, other.max_s)
        self.latest.extend(other.latest)

    def statistics(self) -> DurationStatistics:
        """Summarise the durations."""
        ranked = sorted(self.latest)
        return DurationStatistics(
            count=self.count,
            total_s=self.total_s,
            max_s=self.max_s,
            p50_s=_find_percentile(ranked, 50),
            p95_s=_find_percentile(ranked, 95),
        )


def _find_percentile(ranked: Sequence[float], percent: int) -> float:
    """Find a percentile by the nearest rank: always a duration that occurred."""
    return ranked[max(0, math.ceil(len(ranked) * percent / 100) - 1)] if ranked else 0.0
