"""How many workers to have: a pure rule, fed with what was measured.

It goes up by one while the slowest twentieth of the items takes no longer than before and failures are rare, and down
by a third when either jumps. Items do not know how many workers there are, so results do not change.
"""

import time
from typing import NamedTuple, Protocol

from .monitor.histograms import Histogram

SPIKE = 1.5
"""p95 this many times the best seen: too many workers for whatever is behind them."""
STABLE = 1.15
FORGETTING = 1.1
"""What the best seen grows by while it is not reached: one lucky interval must not hold the number down for good."""
FAILURE_SHARE_MAX = 0.1
DECISION_S = 1.0
ITEMS_MIN = 20
"""Fewer say nothing."""


class Interval(NamedTuple):
    """What was seen since the last decision."""

    items: int
    failures: int
    p95_ms: float


class Concurrency:
    """The number of workers, between 1 and `most`."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.workers = max(1, most // 2)
        self._best_p95_ms: float | None = None

    def decide(self, seen: Interval) -> int:
        """The number from now on."""
        if seen.items < ITEMS_MIN:
            return self.workers
        best_ms = min(seen.p95_ms, self._best_p95_ms or seen.p95_ms)
        self._best_p95_ms = best_ms
        is_failing = seen.failures > FAILURE_SHARE_MAX * seen.items
        is_stable = seen.p95_ms <= STABLE * best_ms
        if is_failing or seen.p95_ms > SPIKE * best_ms:
            self.workers = max(1, self.workers * 2 // 3)
        elif is_stable:
            self.workers = min(self._most, self.workers + 1)
        if not is_stable:
            self._best_p95_ms = best_ms * FORGETTING
        return self.workers


class Resizable(Protocol):
    """An engine whose workers can become more and fewer."""

    def resize(self, count: int) -> None:
        """Have this many workers."""
        ...


class Steering:
    """Feeds the rule with what is measured, and an engine with what it decides."""

    def __init__(self, engine: Resizable, most: int) -> None:
        self._engine = engine
        self._concurrency = Concurrency(most)
        self._recent, self._failures = Histogram(), 0
        self._decided_s = time.monotonic()
        engine.resize(self._concurrency.workers)

    def record(self, exec_ms: float, *, is_failure: bool) -> None:
        """One item is done."""
        self._recent.record(exec_ms)
        self._failures += is_failure

    def steer(self) -> int:
        """Decide, if it is time to, on the thread that the engine is used on; the number of workers now."""
        if time.monotonic() - self._decided_s < DECISION_S:
            return self._concurrency.workers
        self._decided_s = time.monotonic()
        recent, self._recent = self._recent, Histogram()
        failures, self._failures = self._failures, 0
        before = self._concurrency.workers
        wanted = self._concurrency.decide(Interval(recent.count, failures, recent.quantile(0.95)))
        if wanted != before:
            self._engine.resize(wanted)
        return wanted
