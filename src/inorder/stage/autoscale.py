"""Autoscaling: how many workers a stage has, decided by a rule from measurements.

The number rises by one while the p95 of item durations is stable and failures are rare, and falls by a third when
either jumps. Durations are judged once enough items have finished. Where items are too slow for that, the number also
rises by one per interval in which every worker was busy and items were waiting, unless failures are frequent. Items do
not know how many workers there are, so results do not change.
"""

from collections.abc import Callable
from typing import NamedTuple

from inorder.engines.base import ResizableEngine

from .monitor.histograms import Histogram

SPIKE = 1.5
"""A p95 of this many times the best one: too many workers for the resource behind them."""
STABLE = 1.15
BEST_GROWTH = 1.1
"""The best p95 grows by this factor while it is not reached: one lucky interval must not hold the number down."""
FAILURE_SHARE_MAX = 0.1
DECISION_MS = 1000
ITEMS_MIN = 20
"""Fewer items say nothing about durations."""


class LoadSample(NamedTuple):
    """What was measured since durations were last judged."""

    items: int
    failures: int
    p95_ms: float
    is_saturated: bool = False
    """Whether every worker is busy and items are waiting."""

    @property
    def is_failing(self) -> bool:
        """Whether failures are frequent."""
        return self.failures > FAILURE_SHARE_MAX * self.items


class AutoscaleRule:
    """The number of workers, between 1 and `workers_max`. It reads no clock."""

    def __init__(self, workers_max: int) -> None:
        self._workers_max = workers_max
        self.workers = max(1, workers_max // 2)
        self._best_p95_ms: float | None = None

    def decide(self, sample: LoadSample) -> int:
        """Return the number of workers from now on."""
        if sample.items < ITEMS_MIN:
            if sample.is_saturated and not sample.is_failing:
                self.workers = min(self._workers_max, self.workers + 1)
            return self.workers
        best_ms = min(sample.p95_ms, self._best_p95_ms or sample.p95_ms)
        self._best_p95_ms = best_ms
        is_stable = sample.p95_ms <= STABLE * best_ms
        if sample.is_failing or sample.p95_ms > SPIKE * best_ms:
            self.workers = max(1, self.workers * 2 // 3)
        elif is_stable:
            self.workers = min(self._workers_max, self.workers + 1)
        if not is_stable:
            self._best_p95_ms = best_ms * BEST_GROWTH
        return self.workers


class StageAutoscaler:
    """Feeds the rule with measurements, and resizes the engine to its decisions. `is_saturated` says whether every
    worker is busy and items are waiting."""

    def __init__(
        self, engine: ResizableEngine, workers_max: int, is_saturated: Callable[[], bool], now_ms: int
    ) -> None:
        self._engine = engine
        self._is_saturated = is_saturated
        self._rule = AutoscaleRule(workers_max)
        self._recent, self._failures = Histogram(), 0
        self._decided_ms = now_ms
        engine.resize(self._rule.workers)

    @property
    def workers(self) -> int:
        """The current number of workers."""
        return self._rule.workers

    def record(self, exec_ms: float, *, is_failure: bool) -> None:
        """Add one finished item."""
        self._recent.record(exec_ms)
        self._failures += is_failure

    def adjust(self, now_ms: int) -> None:
        """Decide, if an interval is over. Must be called on the thread that uses the engine."""
        if now_ms - self._decided_ms < DECISION_MS:
            return
        self._decided_ms = now_ms
        recent, failures = self._recent, self._failures
        p95_ms = 0.0
        if recent.count >= ITEMS_MIN:
            self._recent, self._failures = Histogram(), 0
            p95_ms = recent.quantile(0.95)
        before = self.workers
        wanted = self._rule.decide(LoadSample(recent.count, failures, p95_ms, self._is_saturated()))
        if wanted != before:
            self._engine.resize(wanted)
