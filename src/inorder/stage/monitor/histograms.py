"""Statistics of a run. Their size does not grow with the number of items."""

import math
from collections import Counter

from inorder.stage.contracts import StageErrorSummary

_PER_DECADE = 100
"""Buckets per power of ten: neighbours differ by 2.3 %."""
_ERRORS_MAX = 1000
"""Distinct messages that are counted; further ones are counted by category only."""
_SHOWN_MAX = 10
SLOWEST_MAX = 5


class Histogram:
    """Durations in buckets of a logarithmic scale."""

    def __init__(self) -> None:
        self._buckets: Counter[int] = Counter()
        self.count = 0
        self.total = 0.0
        self.largest = 0.0

    def record(self, value: float) -> None:
        """Add one value."""
        self.count += 1
        self.total += value
        if value > self.largest:
            self.largest = value
        self._buckets[int(math.log10(value) * _PER_DECADE) if value > 0.001 else -3 * _PER_DECADE] += 1

    def quantile(self, share: float) -> float:
        """Return the value that this share of all values does not exceed, within 2.5 %; 0 without values."""
        wanted = share * self.count
        seen = 0
        for bucket in sorted(self._buckets):
            seen += self._buckets[bucket]
            if seen >= wanted:
                return round(10 ** (bucket / _PER_DECADE), 3)
        return 0.0

    def list_buckets(self) -> list[tuple[float, int]]:
        """Return upper bounds and counts, ten per power of ten. Empty buckets are left out."""
        step = _PER_DECADE // 10
        coarse: Counter[int] = Counter()
        for bucket, count in dict(self._buckets).items():
            coarse[bucket // step + 1] += count
        return [(round(10 ** (place / 10), 4), coarse[place]) for place in sorted(coarse)]

    def summarize(self) -> dict[str, float]:
        """Return count, quantiles, maximum and sum, as telemetry has them."""
        return {
            "count": self.count,
            "p50": self.quantile(0.5),
            "p95": self.quantile(0.95),
            "p99": self.quantile(0.99),
            "max": round(self.largest, 3),
            "sum": round(self.total, 3),
        }


class ErrorTally:
    """Counts failures by category and message."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()
        self._first: dict[tuple[str, str], str] = {}
        self.categories: Counter[str] = Counter()

    def record(self, item_id: str, category: str, message: str) -> None:
        """Add one failure. Called in the order of the plan."""
        self.categories[category] += 1
        key = (category, message)
        if key not in self._first and len(self._first) >= _ERRORS_MAX:
            key = (category, "(other messages)")
        self._first.setdefault(key, item_id)
        self._counts[key] += 1

    def summarize(self) -> list[StageErrorSummary]:
        """Return the first kinds of failure, then the most frequent of the others."""
        firsts = list(self._first)[: _SHOWN_MAX // 2]
        frequent = [key for key, _ in self._counts.most_common(_SHOWN_MAX) if key not in firsts]
        shown = (firsts + frequent)[:_SHOWN_MAX]
        return [StageErrorSummary(*key, self._counts[key], self._first[key]) for key in shown]


class SlowestItems:
    """The `SLOWEST_MAX` items that took longest."""

    def __init__(self) -> None:
        self.items: list[tuple[float, str]] = []
        """Duration in milliseconds and item_id, the slowest first."""

    def record(self, item_id: str, exec_ms: float) -> None:
        """Add one item."""
        if len(self.items) < SLOWEST_MAX or exec_ms > self.items[-1][0]:
            self.items = sorted([*self.items, (exec_ms, item_id)], reverse=True)[:SLOWEST_MAX]
