"""One simulated cluster from beginning to end: the real runtime and kernel, a commit lane of finite speed, samples."""

from collections.abc import Sequence
from typing import Any

import msgspec

from inorder.core.commands import Command, CommitRun, Summary
from inorder.core.events import Committed, Event
from inorder.core.state import Counters
from inorder.errors import InvariantViolation
from inorder.runtime.loop import Runtime
from inorder.sim.clock import VirtualClock
from inorder.sim.referee import Foul, demand

from .books import ClusterBooks
from .engine import ClusterEngine
from .options import ClusterOptions, plan_of

SAMPLES = 200
"""About so many over the expected time of a run."""
PATIENCE = 100
"""A run that takes longer than this many times the expected time, and an hour, is not going to end."""


class Sample(msgspec.Struct, frozen=True):
    """A cluster at one moment; rates and shares are of the time since the sample before."""

    at_ms: int
    utilisation: float
    """Share of the workers wanted that were computing."""
    commit_lag: int
    """Seqs begun and not committed."""
    buffered_bytes: int
    """Results not committed, and what is set aside for running items."""
    workers: int
    """Alive, and within reach."""
    committed_per_s: float


class ClusterReport(msgspec.Struct, kw_only=True):
    """What became of it."""

    options: ClusterOptions
    foul: str | None
    """The promise that was broken."""
    stop: str | None
    """Why the run ended before its plan."""
    committed: int
    duration_ms: int
    utilisation: float
    """Over the whole run."""
    fed_ms: int
    """When the last item of the plan was given out; after that there is not work for everybody."""
    fed_utilisation: float
    """Until then."""
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
    """Everything around the runtime."""

    def __init__(self, options: ClusterOptions) -> None:
        self.options = options
        self.clock = VirtualClock()
        self.engine = ClusterEngine(options, self.clock)
        kernel = options.kernel()
        self.books = ClusterBooks(kernel.pressure.buffered_bytes_hard)
        self.samples: list[Sample] = []
        self._sample_ms = options.sample_ms or max(1, options.expected_ms // SAMPLES)
        self._patience_ms = 3_600_000 + PATIENCE * options.expected_ms
        self._sampled = (0, 0, 0)
        """Time, busy time and commits at the latest sample."""
        self._fed = (0, 0)
        """Time and busy time while there was something to give out."""
        self.runtime = Runtime(
            plan_of(options),
            self.engine,
            self._commit,
            self.clock,
            options=kernel,
            total=options.items,
            observer=self._observe,
        )
        self.engine.agenda.at(self._sample_ms, self._sample)

    def run(self) -> ClusterReport:
        """Let it happen."""
        foul = None
        try:
            summary = self.runtime.run()
            self._judge(summary)
        except Foul as error:
            foul = str(error)
        except InvariantViolation as error:
            foul = f"the kernel aborted: {error}"
        self._take_sample()
        return self._report(foul)

    def _report(self, foul: str | None) -> ClusterReport:
        options, engine, books = self.options, self.engine, self.books
        duration_ms = max(1, self.clock.true_ms)
        summary = self.runtime.summary
        return ClusterReport(
            options=options,
            foul=foul,
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
            faults=dict(engine.occurred),
            moments=engine.moments,
            statistics=self.runtime.kernel.statistics(),
            samples=self.samples,
        )

    def _observe(self, now_ms: int, event: Event, commands: Sequence[Command] | None) -> None:
        self.books.observe(now_ms, event, commands)
        if self.books.begun < self.options.items:
            self._fed = (now_ms, self.engine.busy_ms)
        if now_ms > self._patience_ms:
            raise Foul(f"the run ends; it waits for {self.runtime.kernel.snapshot().waiting_for}")

    def _commit(self, run: CommitRun, items: Sequence[Any]) -> None:
        """The commit lane: busy for as long as it takes, then it says so."""
        for seq, job in enumerate(items, run.start):
            demand(job.number == seq, f"seq {seq} is still the same item")
        options = self.options
        took_ms = options.commit_run_ms + len(items) * options.commit_us / 1000
        self.engine.agenda.at(max(1, round(took_ms)), lambda: [Committed(run.end)])

    def _judge(self, summary: Summary) -> None:
        books = self.books
        demand(books.handed == books.acknowledged, "the run ends after the last acknowledgement")
        demand(summary.succeeded == books.acknowledged, "the summary counts what was committed")
        if summary.stop_kind is None:
            demand(books.acknowledged == self.options.items, f"{self.options.items} seqs are committed")
            demand(books.used_bytes == 0, f"nothing is left over, but {books.used_bytes} bytes are")

    def _sample(self) -> list[Event]:
        """Look, and come back, as long as something else is going to happen."""
        self._take_sample()
        if self.engine.agenda:
            self.engine.agenda.at(self._sample_ms, self._sample)
        return []

    def _take_sample(self) -> None:
        began_ms, busy_ms, committed = self._sampled
        now_ms, books = self.clock.true_ms, self.books
        self._sampled = (now_ms, self.engine.busy_ms, books.acknowledged)
        elapsed_ms = max(self._sample_ms, now_ms - began_ms)
        snapshot = self.runtime.kernel.snapshot()
        self.samples.append(
            Sample(
                at_ms=now_ms,
                utilisation=(self._sampled[1] - busy_ms) / (elapsed_ms * self.options.workers),
                commit_lag=snapshot.in_flight_count + snapshot.terminal_count - snapshot.committed_count,
                buffered_bytes=books.used_bytes,
                workers=self.engine.alive,
                committed_per_s=(books.acknowledged - committed) / elapsed_ms * 1000,
            )
        )


def run_cluster(options: ClusterOptions) -> ClusterReport:
    """Simulate one cluster."""
    return Cluster(options).run()
