"""One simulation of a cluster: the real runtime and kernel, a commit lane of finite speed, and samples over time."""

from collections.abc import Sequence
from typing import Any

import msgspec

from inorder.core.commands import Command, CommitRun, Summary
from inorder.core.events import Committed, Event
from inorder.core.state import Counters
from inorder.errors import InvariantViolation
from inorder.runtime.loop import Runtime
from inorder.sim.clock import VirtualClock
from inorder.sim.referee import PromiseBroken, expect

from .books import ClusterBooks
from .engine import ClusterEngine
from .options import ClusterOptions, make_plan

SAMPLES = 200
"""Number of samples over the expected duration of a run, about."""
DURATION_FACTOR_MAX = 100
"""A run that takes longer than this many times the expected duration, plus an hour, does not end."""


class Sample(msgspec.Struct, frozen=True):
    """A cluster at one moment. Rates and shares cover the time since the previous sample."""

    at_ms: int
    utilisation: float
    """Share of the configured workers that were computing."""
    commit_lag: int
    """Seqs started and not committed."""
    buffered_bytes: int
    """Bytes of results that are not committed, and those reserved for running items."""
    workers: int
    """Workers that are alive and can be reached."""
    committed_per_s: float


class ClusterReport(msgspec.Struct, kw_only=True):
    """The result of a simulation."""

    options: ClusterOptions
    broken_promise: str | None
    """The promise that was broken, if any."""
    stop: str | None
    """Why the run ended before the end of its plan."""
    committed: int
    duration_ms: int
    utilisation: float
    """Over the whole run."""
    fed_ms: int
    """When the last item of the plan was dispatched; after that there is not enough work for all workers."""
    fed_utilisation: float
    """Over the time until `fed_ms`."""
    items_per_s: float
    commit_lag_max: int
    used_bytes_max: int
    budget_bytes: int
    refused: int
    faults: dict[str, int]
    moments: list[tuple[int, str]]
    statistics: Counters
    samples: list[Sample]


class Cluster:
    """The runtime with a simulated clock, cluster and commit lane."""

    def __init__(self, options: ClusterOptions) -> None:
        self.options = options
        self.clock = VirtualClock()
        self.engine = ClusterEngine(options, self.clock)
        kernel = options.kernel()
        self.books = ClusterBooks(kernel.pressure.buffered_bytes_hard)
        self.samples: list[Sample] = []
        self._sample_ms = options.sample_ms or max(1, options.expected_ms // SAMPLES)
        self._duration_ms_max = 3_600_000 + DURATION_FACTOR_MAX * options.expected_ms
        self._latest_sample = (0, 0, 0)
        """Time, busy time and commits at the latest sample."""
        self._fed = (0, 0)
        """Time and busy time until the last item was dispatched."""
        self.runtime = Runtime(
            make_plan(options),
            self.engine,
            self._commit,
            self.clock,
            options=kernel,
            total=options.items,
            observer=self._observe,
        )
        self.engine.event_queue.schedule(self._sample_ms, self._sample)

    def run(self) -> ClusterReport:
        """Run the simulation to its end."""
        broken_promise = None
        try:
            summary = self.runtime.run()
            self._check_result(summary)
        except PromiseBroken as error:
            broken_promise = str(error)
        except InvariantViolation as error:
            broken_promise = f"the kernel aborted: {error}"
        self._take_sample()
        return self._build_report(broken_promise)

    def _build_report(self, broken_promise: str | None) -> ClusterReport:
        options, engine, books = self.options, self.engine, self.books
        duration_ms = max(1, self.clock.true_ms)
        summary = self.runtime.summary
        return ClusterReport(
            options=options,
            broken_promise=broken_promise,
            stop=None if summary is None else summary.cancel_reason,
            committed=books.acknowledged,
            duration_ms=duration_ms,
            utilisation=engine.busy_ms / (duration_ms * options.workers),
            fed_ms=self._fed[0],
            fed_utilisation=self._fed[1] / (max(1, self._fed[0]) * options.workers),
            items_per_s=books.acknowledged / duration_ms * 1000,
            commit_lag_max=max(sample.commit_lag for sample in self.samples),
            used_bytes_max=books.used_bytes_max,
            budget_bytes=options.buffered_mb * 2**20,
            refused=books.refused,
            faults=dict(engine.fault_counts),
            moments=engine.moments,
            statistics=self.runtime.kernel.statistics(),
            samples=self.samples,
        )

    def _observe(self, now_ms: int, event: Event, commands: Sequence[Command] | None) -> None:
        self.books.observe(now_ms, event, commands)
        if self.books.begun < self.options.items:
            self._fed = (now_ms, self.engine.busy_ms)
        if now_ms > self._duration_ms_max:
            raise PromiseBroken(f"the run ends; it waits for {self.runtime.kernel.snapshot().waiting_for}")

    def _commit(self, run: CommitRun, items: Sequence[Any]) -> None:
        """Simulate the commit lane, which acknowledges after its own time."""
        for seq, item in enumerate(items, run.start):
            expect(item.number == seq, f"seq {seq} is still the same item")
        options = self.options
        took_ms = options.commit_run_ms + len(items) * options.commit_us / 1000
        self.engine.event_queue.schedule(max(1, round(took_ms)), lambda: [Committed(run.end)])

    def _check_result(self, summary: Summary) -> None:
        books = self.books
        expect(books.handed == books.acknowledged, "the run ends after the last acknowledgement")
        expect(summary.succeeded == books.acknowledged, "the summary counts what was committed")
        if summary.stop_kind is None:
            expect(books.acknowledged == self.options.items, f"{self.options.items} seqs are committed")
            expect(books.used_bytes == 0, f"no bytes stay buffered, but {books.used_bytes} do")

    def _sample(self) -> list[Event]:
        """Take a sample, and schedule the next one while anything else is scheduled."""
        self._take_sample()
        if self.engine.event_queue:
            self.engine.event_queue.schedule(self._sample_ms, self._sample)
        return []

    def _take_sample(self) -> None:
        began_ms, busy_ms, committed = self._latest_sample
        now_ms, books = self.clock.true_ms, self.books
        self._latest_sample = (now_ms, self.engine.busy_ms, books.acknowledged)
        elapsed_ms = max(self._sample_ms, now_ms - began_ms)
        snapshot = self.runtime.kernel.snapshot()
        self.samples.append(
            Sample(
                at_ms=now_ms,
                utilisation=(self._latest_sample[1] - busy_ms) / (elapsed_ms * self.options.workers),
                commit_lag=snapshot.in_flight_count + snapshot.terminal_count - snapshot.committed_count,
                buffered_bytes=books.used_bytes,
                workers=self.engine.alive,
                committed_per_s=(books.acknowledged - committed) / elapsed_ms * 1000,
            )
        )


def run_cluster(options: ClusterOptions) -> ClusterReport:
    """Simulate one cluster."""
    return Cluster(options).run()
