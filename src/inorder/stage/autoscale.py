"""Autoscaling: how many workers a stage has, decided by a rule from measurements.

The number rises by one while the p95 of item durations is stable and failures are rare, and falls by a third when
either jumps. Items do not know how many workers there are, so results do not change.
"""

import time
from typing import NamedTuple, Protocol

from .monitor.histograms import Histogram

SPIKE = 1.5
"""A p95 of this many times the best one: too many workers for the resource behind them."""
STABLE = 1.15
BEST_GROWTH = 1.1
"""The best p95 grows by this factor while it is not reached: one lucky interval must not hold the number down."""
FAILURE_SHARE_MAX = 0.1
DECISION_S = 1.0
ITEMS_MIN = 20
"""Fewer items in an interval decide nothing."""


class LoadSample(NamedTuple):
    """What was measured since the last decision."""

    items: int
    failures: int
    p95_ms: float


class AutoscaleRule:
    """The number of workers, between 1 and `workers_max`. It reads no clock."""

    def __init__(self, workers_max: int) -> None:
        self._workers_max = workers_max
        self.workers = max(1, workers_max // 2)
        self._best_p95_ms: float | None = None

    def decide(self, sample: LoadSample) -> int:
        """Return the number of workers from now on."""
        if sample.items < ITEMS_MIN:
            return self.workers
        best_ms = min(sample.p95_ms, self._best_p95_ms or sample.p95_ms)
        self._best_p95_ms = best_ms
        is_failing = sample.failures > FAILURE_SHARE_MAX * sample.items
        is_stable = sample.p95_ms <= STABLE * best_ms
        if is_failing or sample.p95_ms > SPIKE * best_ms:
            self.workers = max(1, self.workers * 2 // 3)
        elif is_stable:
            self.workers = min(self._workers_max, self.workers + 1)
        if not is_stable:
            self._best_p95_ms = best_ms * BEST_GROWTH
        return self.workers


class Resizable(Protocol):
    """An engine whose number of workers can change."""

    def resize(self, count: int) -> None:
        """Change the number of workers."""
        ...


class StageAutoscaler:
    """Feeds the rule with measurements, and resizes the engine to its decisions."""

    def __init__(self, engine: Resizable, workers_max: int) -> None:
        self._engine = engine
        self._rule = AutoscaleRule(workers_max)
        self._recent, self._failures = Histogram(), 0
        self._decided_s = time.monotonic()
        engine.resize(self._rule.workers)

    @property
    def workers(self) -> int:
        """The current number of workers."""
        return self._rule.workers

    def record(self, exec_ms: float, *, is_failure: bool) -> None:
        """Add one finished item."""
        self._recent.record(exec_ms)
        self._failures += is_failure

    def adjust(self) -> None:
        """Decide, if an interval is over. Must be called on the thread that uses the engine."""
        if time.monotonic() - self._decided_s < DECISION_S:
            return
        self._decided_s = time.monotonic()
        recent, self._recent = self._recent, Histogram()
        failures, self._failures = self._failures, 0
        before = self.workers
        wanted = self._rule.decide(LoadSample(recent.count, failures, recent.quantile(0.95)))
        if wanted != before:
            self._engine.resize(wanted)
