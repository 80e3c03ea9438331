"""One simulation from beginning to end: the real runtime on simulated workers, with a referee and an oracle."""

from collections.abc import Sequence
from functools import partial
from random import Random
from typing import Any

import msgspec

from inorder.core.commands import Command, CommitRun, RetryScheduled, StopWorker, Summary
from inorder.core.events import CancelRequested, Committed, Delivered, Envelope, Event, MemorySampled
from inorder.core.state import Counters
from inorder.core.transitions import State
from inorder.core.windows.plan import PlanItem
from inorder.errors import InvariantViolation
from inorder.runtime.loop import Runtime

from .books import Books
from .clock import VirtualClock
from .engine import SimEngine
from .oracle import Expected, predict
from .referee import PromiseBroken, Referee, expect
from .scenario import Scenario, draw_scenario
from .transcript import Step, format_log

STEPS_MAX = 10_000
"""A run that takes more steps than this does not end."""


class WorldReport(msgspec.Struct, kw_only=True):
    """The result of one simulation."""

    scenario: Scenario
    summary: Summary | None
    broken_promise: str | None
    is_fatal: bool
    """Whether the kernel aborted because an engine answered twice, as it must."""
    steps: int
    statistics: Counters
    faults: dict[str, int]
    books: Books
    """What the referee has seen."""
    log: list[Step]

    def transcript(self) -> list[str]:
        """Format the run as text."""
        return format_log(self.log)


class World:
    """The runtime with a simulated clock, engine and commit lane."""

    def __init__(self, scenario: Scenario, *, keep_log: bool) -> None:
        self.scenario = scenario
        self.clock = VirtualClock()
        self.engine = SimEngine(scenario, self.clock)
        self.referee = Referee(scenario)
        self.log: list[Step] = []
        self.steps = 0
        self._keep_log = keep_log
        self._consumer_rng = Random(f"deliveries of {scenario.seed}")
        self.runtime = Runtime(
            ((_to_plan_item(item), item) for item in scenario.items),
            self.engine,
            self._commit,
            self.clock,
            options=scenario.options,
            total=len(scenario.items) if scenario.announces_total else None,
            observer=self._observe,
            announce=self._announce if scenario.options.announces else None,
        )
        self._schedule_events()

    def run(self) -> WorldReport:
        """Run the simulation to its end."""
        broken_promise, is_fatal = None, False
        try:
            self.runtime.run()
            self._check_result()
        except PromiseBroken as error:
            broken_promise = str(error)
        except InvariantViolation as error:
            is_fatal = "second terminal event" in error.message and self.referee.is_second_answer()
            broken_promise = None if is_fatal else f"the kernel aborted: {error}"
        except Exception as error:
            broken_promise = f"the kernel broke: {type(error).__name__}: {error}"
        kernel = self.runtime.kernel
        return WorldReport(
            scenario=self.scenario,
            summary=kernel.summary,
            broken_promise=broken_promise,
            is_fatal=is_fatal,
            steps=self.steps,
            statistics=kernel.statistics(),
            faults=dict(self.engine.fault_counts),
            books=self.referee.books,
            log=self.log,
        )

    def _schedule_events(self) -> None:
        scenario, engine = self.scenario, self.engine
        if scenario.cancel_at_ms is not None:
            engine.post(scenario.cancel_at_ms, CancelRequested("the user pressed ^C", scenario.cancel_grace_ms))
        for at_ms, by_ms in scenario.clock_jumps:
            engine.act(at_ms, partial(self._jump, by_ms))
        for at_ms, size in scenario.memory_samples:
            engine.post(at_ms, MemorySampled(size))

    def _jump(self, by_ms: int) -> None:
        self.engine.fault_counts["clock jump"] += 1
        self.clock.jump(by_ms)

    def _observe(self, now_ms: int, event: Event, commands: Sequence[Command] | None) -> None:
        self.steps += 1
        if self._keep_log:
            self.log.append((now_ms, event, commands))
        expect(self.steps <= STEPS_MAX, f"the run ends; it waits for {self.runtime.kernel.snapshot().waiting_for}")
        for command in commands or ():
            if isinstance(command, RetryScheduled):
                self.engine.failures[command.seq] += 1
            elif isinstance(command, StopWorker) and command.reason.startswith(f"worker {command.worker} silent"):
                expect(self.engine.is_quiet(command.worker), f"worker {command.worker} beats and keeps its lease")
        self.referee.observe(now_ms, event, commands)

    def _commit(self, run: CommitRun, items: Sequence[Any]) -> int | None:
        for envelope, item in zip(run.envelopes, items, strict=True):
            expect(item is self.scenario.items[envelope.seq], f"seq {envelope.seq} is still the same item")
        if self.scenario.options.announces:
            return None
        for end, delay_ms in self.engine.commit_schedule(run.start, run.end):
            if not delay_ms:
                return end
            self.engine.post(delay_ms, Committed(end))
        return None

    def _announce(self, envelopes: Sequence[Envelope], items: Sequence[Any]) -> None:
        """Take results as a consumer does: each at once, or after a while."""
        for envelope, item in zip(envelopes, items, strict=True):
            expect(item is self.scenario.items[envelope.seq], f"seq {envelope.seq} is still the same item")
            self.engine.post(self._consumer_rng.choice((0, 0, 1, 5, 50)), Delivered([envelope.seq]))

    def _check_result(self) -> None:
        """Compare what was committed with what was expected."""
        expected = predict(self.scenario)
        summary, outcomes = self.runtime.summary, self.referee.books.outcomes
        expect(summary is not None, "the run ends with a summary")
        for seq, applied in enumerate(self.referee.books.applied_partials):
            item = self.scenario.items[seq]
            is_partial = outcomes[seq] == State.TERMINAL_FAIL and item.hand_overs > 0
            expect((applied is not None) == is_partial, f"seq {seq} applies a partial result: {is_partial}")
            last = b"part %d of seq %d," % (item.hand_overs - 1, seq)
            expect(applied is None or applied.startswith(last), f"seq {seq} applies its last partial result")
        outcomes_expected = [int(ending.outcome) for ending in expected.outcomes]
        expect(outcomes == outcomes_expected[: len(outcomes)], f"outcomes are {outcomes_expected}, got {outcomes}")
        if summary is None or summary.stop_kind in ("cancelled", "infrastructure", "budget"):
            return
        expect(
            len(outcomes) == len(outcomes_expected), f"{len(outcomes_expected)} seqs are committed, got {len(outcomes)}"
        )
        wanted = predict_summary(self.scenario, expected)
        expect(summary == wanted, f"the summary is {wanted}, not {summary}")


def predict_summary(scenario: Scenario, expected: Expected) -> Summary:
    """Predict the summary of a run to its end, or until its error budget is exceeded."""
    done = len(expected.outcomes)
    is_known = scenario.announces_total or not expected.stops_early
    total = len(scenario.items) if is_known else None
    return Summary(
        total=total,
        succeeded=expected.count(State.TERMINAL_SUCCESS),
        skipped=expected.count(State.TERMINAL_SKIP),
        failed=expected.count(State.TERMINAL_FAIL),
        cancelled=None if total is None else total - done,
        retries=sum(ending.retries for ending in expected.outcomes),
        was_cancelled=expected.stops_early,
        stop_kind="error budget" if expected.stops_early else None,
        cancel_reason=(
            f"error budget of {scenario.options.error_budget} exceeded at seq {done - 1}"
            if expected.stops_early
            else None
        ),
        stopped_at=done if expected.stops_early else None,
    )


def run_scenario(scenario: Scenario, *, keep_log: bool = False) -> WorldReport:
    """Run the simulation of a scenario."""
    return World(scenario, keep_log=keep_log).run()


def run_seed(seed: int, *, keep_log: bool = False) -> WorldReport:
    """Run the simulation of a seed."""
    return run_scenario(draw_scenario(seed), keep_log=keep_log)


def _to_plan_item(item: Any) -> PlanItem:
    return PlanItem(item.item_id, item.cost, item.size_hint, item.batch_key)
