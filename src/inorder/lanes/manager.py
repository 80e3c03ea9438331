"""Lanes by name, and what concerns several of them: redirects, statistics, closing.

The manager's lock guards its tables only. Lanes are submitted to, measured and closed without it, so a lane that is
slow to close does not delay callers of another one.
"""

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

from inorder.errors import OperatorError

from .cancel import CancelSignal
from .config import LaneConfig
from .lane import Lane
from .redirects import require_valid_redirects
from .statistics import Durations, LaneStatistics
from .ticket import Ticket

Result = TypeVar("Result")

_GAUGES = ("depth", "running", "waiting", "concurrency", "workers")
"""Fields that a finished lane does not add to."""


class LaneManager:
    """Lanes by name, with redirects between them. Safe for any number of threads.

    Close it, or leave its `with` block, to close all its lanes. Raises `OperatorError` as `register` does.

    >>> from inorder.lanes import LaneConfig, LaneManager
    >>> fast = LaneConfig(name="fast", strategy="redirect", redirect_to="slow")
    >>> with LaneManager(fast, LaneConfig(name="slow")) as lanes:
    ...     lanes.submit("fast", len, "abc").result()
    3
    """

    def __init__(self, *configs: LaneConfig, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._lanes: dict[str, Lane] = {}
        self._unregistered: list[Lane] = []
        self._totals = _LaneTotals()
        self._closed = False
        self.register(*configs)

    def register(self, *configs: LaneConfig) -> None:
        """Create lanes, all or none. Lanes that refer to each other are registered in one call.

        Raises `OperatorError` for a name that is used already, an unknown redirect target, a redirect cycle, and on a
        closed manager.
        """
        targets = {config.name: config.redirect_to for config in configs}
        if len(targets) < len(configs):
            raise OperatorError(f"lane names must be unique: {', '.join(config.name for config in configs)}")
        with self._lock:
            if self._closed:
                raise OperatorError("the lane manager is closed")
            require_valid_redirects({name: lane.config.redirect_to for name, lane in self._lanes.items()}, targets)
            self._lanes.update((config.name, Lane(config, self._clock, find=self.find)) for config in configs)

    def find(self, name: str) -> Lane | None:
        """Return the lane of this name, or None."""
        return self._lanes.get(name)

    def lane(self, name: str) -> Lane:
        """Return the lane of this name. Raises `OperatorError` if there is none."""
        lane = self._lanes.get(name)
        if lane is None:
            raise OperatorError(f"no lane is named {name!r}")
        return lane

    def submit(
        self,
        name: str,
        function: Callable[..., Result],
        /,
        *args: Any,
        priority: int = 0,
        deadline_s: float | None = None,
        cancel: CancelSignal | None = None,
    ) -> Ticket[Result]:
        """Call `Lane.submit` on the lane of this name."""
        return self.lane(name).submit(function, *args, priority=priority, deadline_s=deadline_s, cancel=cancel)

    def unregister(self, name: str, drain: bool = True, timeout_s: float | None = None) -> LaneStatistics:
        """Remove a lane and close it. Returns its last statistics.

        Lanes that redirect to it drop their overflow. Its counts stay in the aggregate. The name can be used again at
        once. Raises `OperatorError` if there is no such lane.
        """
        with self._lock:
            lane = self._lanes.pop(name, None)
            if lane is None:
                raise OperatorError(f"no lane is named {name!r}")
            self._fold_finished()
            self._unregistered.append(lane)
        lane.close(drain, timeout_s)
        return lane.statistics()

    def statistics(self) -> dict[str, LaneStatistics]:
        """Return the statistics of every lane at this moment, by name."""
        with self._lock:
            lanes = dict(self._lanes)
        return {name: lane.statistics() for name, lane in lanes.items()}

    def aggregate(self) -> LaneStatistics:
        """Return the sum over all lanes, including unregistered ones.

        Percentiles are of the latest tasks of current lanes.
        """
        with self._lock:
            self._fold_finished()
            lanes = [*self._lanes.values(), *self._unregistered]
            total = self._totals.copy()
        for lane in lanes:
            total.add(lane)
        return total.statistics()

    def close(self, drain: bool = True, timeout_s: float | None = None) -> bool:
        """Close all lanes at once, and wait for all of them. `timeout_s` is for all together. See `Lane.close`."""
        with self._lock:
            self._closed = True
            lanes = [*self._lanes.values(), *self._unregistered]
        for lane in lanes:
            lane._locked.begin_close(drain)
        until_s = None if timeout_s is None else time.monotonic() + timeout_s
        ended = [lane.close(drain, None if until_s is None else max(0.0, until_s - time.monotonic())) for lane in lanes]
        return all(ended)

    def __enter__(self) -> "LaneManager":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(drain=error is None)

    def _fold_finished(self) -> None:
        """Keep only the counts of unregistered lanes that have finished."""
        for lane in [lane for lane in self._unregistered if lane._locked.is_finished()]:
            self._unregistered.remove(lane)
            self._totals.add(lane)
            self._totals.reset_gauges()


class _LaneTotals:
    """Counts and durations of several lanes."""

    def __init__(self) -> None:
        self._counts = dict.fromkeys(LaneStatistics.__struct_fields__[:-2], 0)
        self._waits = Durations()
        self._runs = Durations()

    def add(self, lane: Lane) -> None:
        statistics, waits, runs = lane._locked.measure()
        for name in self._counts:
            self._counts[name] += getattr(statistics, name)
        self._waits.add(waits)
        self._runs.add(runs)

    def copy(self) -> "_LaneTotals":
        total = _LaneTotals()
        total._counts = dict(self._counts)
        total._waits, total._runs = self._waits.copy(), self._runs.copy()
        return total

    def reset_gauges(self) -> None:
        """Reset the fields that describe one moment; keep the counters."""
        self._counts.update(dict.fromkeys(_GAUGES, 0))
        self._waits.latest.clear()
        self._runs.latest.clear()

    def statistics(self) -> LaneStatistics:
        counts: dict[str, Any] = dict(self._counts)
        return LaneStatistics(**counts, wait_s=self._waits.statistics(), run_s=self._runs.statistics())
