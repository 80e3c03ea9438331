"""Lanes by name, and what must be looked at across them: redirects, statistics, the end.

The manager's lock guards its tables only. Nothing that can take long happens under it: lanes are submitted to, measured
and closed without it, so a lane that is slow to close holds up nobody who uses another one.
"""

import threading
import time
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, TypeVar

from inorder.errors import OperatorError

from .cancel import CancelSignal
from .config import LaneConfig
from .lane import Lane
from .redirects import RedirectGraph
from .statistics import Durations, LaneStatistics
from .ticket import Ticket

Result = TypeVar("Result")

_PRESENT = ("depth", "running", "waiting", "concurrency", "workers")
"""Fields that a lane which is no longer there has nothing to add to."""


class LaneManager:
    """Safe for any number of threads."""

    def __init__(self, *configs: LaneConfig, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._lanes: dict[str, Lane] = {}
        self._redirects = RedirectGraph()
        self._former: list[Lane] = []
        self._past = _Sum()
        self._closed = False
        self.register(*configs)

    def register(self, *configs: LaneConfig) -> None:
        """Make lanes, all or none. Refused: a name twice, an unknown redirect target, a redirect cycle.

        Lanes that redirect to each other's names in any order are registered together.
        """
        targets = {config.name: config.redirect_to for config in configs}
        if len(targets) < len(configs):
            raise OperatorError(f"lanes must differ in name: {', '.join(config.name for config in configs)}")
        with self._lock:
            if self._closed:
                raise OperatorError("the lane manager is closed")
            self._redirects.add(targets)
            self._lanes.update((config.name, Lane(config, self._clock, find=self.find)) for config in configs)

    def find(self, name: str) -> Lane | None:
        """The lane of this name, if there is one."""
        return self._lanes.get(name)

    def lane(self, name: str) -> Lane:
        """The lane of this name."""
        lane = self._lanes.get(name)
        if lane is None:
            raise OperatorError(f"no lane is named {name!r}")
        return lane

    def names(self) -> list[str]:
        """The names of all lanes, in the order of registration."""
        with self._lock:
            return list(self._lanes)

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
        """`Lane.submit` on the lane of this name."""
        return self.lane(name).submit(function, *args, priority=priority, deadline_s=deadline_s, cancel=cancel)

    def try_submit(
        self,
        name: str,
        function: Callable[..., Result],
        /,
        *args: Any,
        priority: int = 0,
        cancel: CancelSignal | None = None,
    ) -> Ticket[Result]:
        """`Lane.try_submit` on the lane of this name."""
        return self.lane(name).try_submit(function, *args, priority=priority, cancel=cancel)

    async def submit_async(
        self,
        name: str,
        function: Callable[..., Coroutine[Any, Any, Result]] | Callable[..., Result],
        /,
        *args: Any,
        priority: int = 0,
        deadline_s: float | None = None,
        cancel: CancelSignal | None = None,
    ) -> Ticket[Result]:
        """`Lane.submit_async` on the lane of this name."""
        lane = self.lane(name)
        return await lane.submit_async(function, *args, priority=priority, deadline_s=deadline_s, cancel=cancel)

    def unregister(self, name: str, drain: bool = True, timeout_s: float | None = None) -> LaneStatistics:
        """Take a lane out and close it; its last statistics. Those that redirect to it drop their overflow.

        Its counts stay in the aggregate. The name is free again at once.
        """
        with self._lock:
            lane = self._lanes.pop(name, None)
            if lane is None:
                raise OperatorError(f"no lane is named {name!r}")
            self._redirects.discard(name)
            self._fold_former()
            self._former.append(lane)
        lane.close(drain, timeout_s)
        return lane.statistics()

    def statistics(self) -> dict[str, LaneStatistics]:
        """Every lane at this moment, by name."""
        with self._lock:
            lanes = dict(self._lanes)
        return {name: lane.statistics() for name, lane in lanes.items()}

    def aggregate(self) -> LaneStatistics:
        """All lanes added up, those included that were unregistered. Percentiles are of the latest of present lanes."""
        with self._lock:
            self._fold_former()
            lanes = [*self._lanes.values(), *self._former]
            total = self._past.copy()
        for lane in lanes:
            total.add(lane)
        return total.statistics()

    def close(self, drain: bool = True, timeout_s: float | None = None) -> bool:
        """Close every lane, all at once, and wait for all; `timeout_s` is for all together. See `Lane.close`."""
        with self._lock:
            self._closed = True
            lanes = [*self._lanes.values(), *self._former]
        for lane in lanes:
            lane._shell.begin_close(drain)
        until_s = None if timeout_s is None else time.monotonic() + timeout_s
        ended = [lane.close(drain, None if until_s is None else max(0.0, until_s - time.monotonic())) for lane in lanes]
        return all(ended)

    def __enter__(self) -> "LaneManager":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(drain=error is None)

    def _fold_former(self) -> None:
        """Of lanes in which nothing can happen any more, keep the counts and nothing else."""
        for lane in [lane for lane in self._former if lane._shell.is_at_rest()]:
            self._former.remove(lane)
            self._past.add(lane)
            self._past.forget_present()


class _Sum:
    """Counts and durations of several lanes."""

    def __init__(self) -> None:
        self._counts = dict.fromkeys(LaneStatistics.__struct_fields__[:-2], 0)
        self._waits = Durations()
        self._runs = Durations()

    def add(self, lane: Lane) -> None:
        statistics, waits, runs = lane._shell.measure()
        for name in self._counts:
            self._counts[name] += getattr(statistics, name)
        self._waits.add(waits)
        self._runs.add(runs)

    def copy(self) -> "_Sum":
        """One that can be added to."""
        total = _Sum()
        total._counts = dict(self._counts)
        total._waits, total._runs = self._waits.copy(), self._runs.copy()
        return total

    def forget_present(self) -> None:
        """Keep what was counted, not what was there at the moment."""
        self._counts.update(dict.fromkeys(_PRESENT, 0))
        self._waits.latest.clear()
        self._runs.latest.clear()

    def statistics(self) -> LaneStatistics:
        counts: dict[str, Any] = dict(self._counts)
        return LaneStatistics(**counts, wait_s=self._waits.statistics(), run_s=self._runs.statistics())
