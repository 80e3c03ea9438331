"""One seed, from beginning to end: the real runtime on simulated workers, with a referee and an oracle."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec

from inorder.core.commands import Command, CommitRun, RetryScheduled, StopWorker, Summary
from inorder.core.events import CancelRequested, Committed, Event, MemorySampled
from inorder.core.state import Counters
from inorder.core.transitions import State
from inorder.core.windows.plan import PlanItem
from inorder.errors import InvariantViolation
from inorder.runtime.loop import Runtime

from .clock import VirtualClock
from .engine import SimEngine
from .oracle import Prophecy, foretell
from .referee import Foul, Referee, demand
from .scenario import Scenario, draw
from .transcript import Step, lines_of

STEPS_MAX = 10_000
"""A run that takes more steps than this is not going to end."""


class Report(msgspec.Struct, kw_only=True):
    """What became of one world."""

    scenario: Scenario
    summary: Summary | None
    foul: str | None
    is_fatal: bool
    """An engine that answered twice was caught, as it must be."""
    steps: int
    statistics: Counters
    faults: dict[str, int]
    committed: list[int]
    sizing: list[str]
    pressure_moves: set[str]
    has_oversize_window: bool
    computed_beyond_stop: bool
    log: list[Step]

    def transcript(self) -> list[str]:
        """The run as text."""
        return lines_of(self.log)


class World:
    """Everything around the runtime."""

    def __init__(self, scenario: Scenario, *, keep_log: bool) -> None:
        self.scenario = scenario
        self.clock = VirtualClock()
        self.engine = SimEngine(scenario, self.clock)
        self.referee = Referee(scenario)
        self.log: list[Step] = []
        self.steps = 0
        self._keep_log = keep_log
        self.runtime = Runtime(
            ((_described(item), item) for item in scenario.items),
            self.engine,
            self._commit,
            self.clock,
            options=scenario.options,
            total=len(scenario.items) if scenario.announces_total else None,
            observer=self._observe,
        )
        self._appoint()

    def run(self) -> Report:
        """Let it happen."""
        foul, is_fatal = None, False
        try:
            self.runtime.run()
            self._judge()
        except Foul as error:
            foul = str(error)
        except InvariantViolation as error:
            is_fatal = "second terminal event" in error.message and self.referee.is_second_answer()
            foul = None if is_fatal else f"the kernel aborted: {error}"
        except Exception as error:
            foul = f"the kernel broke: {type(error).__name__}: {error}"
        kernel, books = self.runtime.kernel, self.referee.books
        return Report(
            scenario=self.scenario,
            summary=kernel.summary,
            foul=foul,
            is_fatal=is_fatal,
            steps=self.steps,
            statistics=kernel.statistics(),
            faults=dict(self.engine.occurred),
            committed=books.outcomes,
            sizing=books.sizing,
            pressure_moves=books.pressure_moves,
            has_oversize_window=books.has_oversize_window,
            computed_beyond_stop=bool(books.final),
            log=self.log,
        )

    def _appoint(self) -> None:
        scenario, engine = self.scenario, self.engine
        if scenario.cancel_at_ms is not None:
            engine.post(scenario.cancel_at_ms, CancelRequested("the user pressed ^C", scenario.cancel_grace_ms))
        for at_ms, by_ms in scenario.clock_jumps:
            engine.act(at_ms, partial(self._jump, by_ms))
        for at_ms, size in scenario.memory_samples:
            engine.post(at_ms, MemorySampled(size))

    def _jump(self, by_ms: int) -> None:
        self.engine.occurred["clock jump"] += 1
        self.clock.jump(by_ms)

    def _observe(self, now_ms: int, event: Event, commands: Sequence[Command] | None) -> None:
        self.steps += 1
        if self._keep_log:
            self.log.append((now_ms, event, commands))
        demand(self.steps <= STEPS_MAX, f"the run ends; it waits for {self.runtime.kernel.snapshot().waiting_for}")
        for command in commands or ():
            if isinstance(command, RetryScheduled):
                self.engine.failures[command.seq] += 1
            elif isinstance(command, StopWorker) and command.reason.startswith(f"worker {command.worker} silent"):
                demand(self.engine.is_quiet(command.worker), f"worker {command.worker} beats and keeps its lease")
        self.referee.observe(now_ms, event, commands)

    def _commit(self, run: CommitRun, items: Sequence[Any]) -> int | None:
        for envelope, item in zip(run.envelopes, items, strict=True):
            demand(item is self.scenario.items[envelope.seq], f"seq {envelope.seq} is still the same item")
        for end, delay_ms in self.engine.commit_schedule(run.start, run.end):
            if not delay_ms:
                return end
            self.engine.post(delay_ms, Committed(end))
        return None

    def _judge(self) -> None:
        """Compare what was committed with what had to be."""
        prophecy = foretell(self.scenario)
        summary, outcomes = self.runtime.summary, self.referee.books.outcomes
        demand(summary is not None, "the run ends with a summary")
        foretold = [int(ending.outcome) for ending in prophecy.endings]
        demand(outcomes == foretold[: len(outcomes)], f"outcomes are {foretold}, got {outcomes}")
        if summary is None or summary.stop_kind in ("cancelled", "infrastructure"):
            return
        demand(len(outcomes) == len(foretold), f"{len(foretold)} seqs are committed, got {len(outcomes)}")
        expected = foretold_summary(self.scenario, prophecy)
        demand(summary == expected, f"the summary is {expected}, not {summary}")


def foretold_summary(scenario: Scenario, prophecy: Prophecy) -> Summary:
    """The summary that a run to its end, or to the end of its error budget, must give."""
    done = len(prophecy.endings)
    is_known = scenario.announces_total or not prophecy.stops_early
    total = len(scenario.items) if is_known else None
    return Summary(
        total=total,
        succeeded=prophecy.count(State.TERMINAL_SUCCESS),
        skipped=prophecy.count(State.TERMINAL_SKIP),
        failed=prophecy.count(State.TERMINAL_FAIL),
        cancelled=None if total is None else total - done,
        retries=sum(ending.retries for ending in prophecy.endings),
        was_cancelled=prophecy.stops_early,
        stop_kind="error budget" if prophecy.stops_early else None,
        cancel_reason=(
            f"error budget of {scenario.options.error_budget} exceeded at seq {done - 1}"
            if prophecy.stops_early
            else None
        ),
        stopped_at=done if prophecy.stops_early else None,
    )


def run_scenario(scenario: Scenario, *, keep_log: bool = False) -> Report:
    """Run a world of your own making."""
    return World(scenario, keep_log=keep_log).run()


def run_seed(seed: int, *, keep_log: bool = False) -> Report:
    """Run the world of this seed."""
    return run_scenario(draw(seed), keep_log=keep_log)


def _described(item: Any) -> PlanItem:
    return PlanItem(item.item_id, item.cost, item.size_hint, item.batch_key)
