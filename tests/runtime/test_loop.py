"""The loop between the kernel and the world, with an engine that follows a script and a clock that stands still."""

import gc
import weakref
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from inorder.core.commands import Command, CommitRun, Dispatch, Ended, RetryScheduled, StopWorker
from inorder.core.events import CancelRequested, Committed, Event, Loss, Overran, Planned, Pulled, Tick, WorkerLost
from inorder.core.options import KernelOptions, PressureOptions, RetryOptions, WindowOptions
from inorder.core.windows.plan import PlanItem
from inorder.errors import InvariantViolation, OperatorError
from inorder.runtime.loop import PLAN_SLICE_MS, Runtime
from inorder.runtime.plan_items import ItemHints
from inorder.sim.clock import VirtualClock
from tests.support.scripted import Line, Obedient, Script, Stage, at_once, done, failed, plain, summary_of


def test_a_plan_without_items_ends_at_once() -> None:
    stage = Stage(plain(), Script())
    assert stage.runtime.run() == summary_of(0, 0)
    assert stage.runs == []
    assert stage.engine.log == [("start", None), ("close", None)]


def test_a_run_goes_from_the_plan_through_the_engine_to_the_commit() -> None:
    stage = Stage(plain("a", "b", "c"), Obedient())
    assert stage.runtime.run() == summary_of(3, 3)
    assert [(e.payload, i) for envelopes, items in stage.runs for e, i in zip(envelopes, items, strict=True)] == [
        ("result 0", "a"),
        ("result 1", "b"),
        ("result 2", "c"),
    ]
    assert stage.runtime.summary == summary_of(3, 3)


@pytest.mark.req("COM-1", "CMP-1")
def test_what_came_out_of_order_is_committed_in_order_in_one_call() -> None:
    engine = Script([Pulled(0), Pulled(1), Pulled(2)], [done(2, 2)], [done(1, 1)], [done(0, 0)])
    stage = Stage(plain("a", "b", "c"), engine)
    stage.runtime.run()
    assert [[envelope.seq for envelope in envelopes] for envelopes, _ in stage.runs] == [[0, 1, 2]]
    assert stage.runs[0][1] == ["a", "b", "c"]


def test_a_task_carries_its_item_and_the_attempt_it_is() -> None:
    engine = Script([Pulled(0, 5)], [failed(0, 0)], [Pulled(0, 5)], [done(0, 0, attempt=2)])
    retry = RetryOptions(retries_max=1, backoff_ms=0)
    stage = Stage(plain("a"), engine, retry=retry)
    assert stage.runtime.run() == summary_of(1, 1, retries=1)
    assert [tuple(task) for batch in engine.logged("dispatch") for task in batch.tasks] == [(0, 1, "a"), (0, 2, "a")]


def test_a_suspect_is_dispatched_as_isolated() -> None:
    engine = Script([Pulled(0)], [WorkerLost(0, Loss.DIED, 0), Pulled(1)], [done(1, 0, attempt=2)])
    stage = Stage(plain("a"), engine)
    stage.runtime.run()
    assert [(batch.worker, batch.isolated) for batch in engine.logged("dispatch")] == [(0, False), (1, True)]


def test_a_worker_to_be_stopped_is_stopped_with_the_reason() -> None:
    engine = Script([Pulled(0)], [Overran(0, 0, 1, 50)])
    stage = Stage(plain("a"), engine)
    assert stage.runtime.run() == summary_of(1, 0, failed=1)
    assert engine.logged("stop") == [(0, "seq 0 exceeded its time limit of 50 ms")]


def test_the_commands_of_a_step_are_performed_in_the_order_given() -> None:
    names = {StopWorker: "stop", CommitRun: "commit", Dispatch: "dispatch"}
    engine = Script(
        [Pulled(0)], [done(0, 0), Pulled(0, 2)], [Pulled(1)], [Overran(0, 1, 1, 50)], [done(1, 2, attempt=2)]
    )

    def observe(now_ms: int, event: Event, commands: Sequence[Command] | None) -> None:
        told = [names[type(command)] for command in commands or () if type(command) in names]
        engine.log.append(("told", told))

    def commit(run: CommitRun, items: Sequence[Any]) -> int:
        engine.log.append(("commit", items))
        return run.end

    Runtime(plain("a", "b", "c"), engine, commit, VirtualClock(), options=KernelOptions(), observer=observe).run()
    performed: list[str] = []
    for name, told in reversed(engine.log):
        if name == "told":
            assert performed == told
            performed = []
        elif name in names.values():
            performed.insert(0, name)
    assert ("told", ["stop", "commit", "dispatch"]) in engine.log


@pytest.mark.req("WIN-7")
def test_the_plan_is_asked_for_no_more_than_is_wanted() -> None:
    taken = []

    def endless() -> Iterator[tuple[PlanItem, int]]:
        for number in range(10**9):
            taken.append(number)
            yield PlanItem(), number

    stage = Stage(endless(), Script(), windows=WindowOptions(plan_ahead=10))
    assert taken == []
    stage.runtime.turn(wait=False)
    assert len(taken) == 10


@pytest.mark.req("WIN-7")
def test_a_slow_plan_is_taken_in_slices_of_time() -> None:
    def slow() -> Iterator[tuple[PlanItem, int]]:
        for number in range(7):
            stage.clock.advance_to(stage.clock.true_ms + PLAN_SLICE_MS // 2 - 1)
            yield PlanItem(), number

    stage = Stage(slow(), Obedient())
    assert stage.runtime.run() == summary_of(7, 7)
    assert [len(event.items) for event in stage.happened(Planned)] == [3, 3, 1]
    assert [event.ended for event in stage.happened(Planned)] == [False, False, True]


def test_a_plan_slower_than_a_slice_still_gives_one_item_each_time() -> None:
    def slow() -> Iterator[tuple[PlanItem, int]]:
        for number in range(3):
            stage.clock.advance_to(stage.clock.true_ms + 100 * PLAN_SLICE_MS)
            yield PlanItem(), number

    stage = Stage(slow(), Obedient())
    assert stage.runtime.run() == summary_of(3, 3)
    assert [len(event.items) for event in stage.happened(Planned)] == [1, 1, 1, 0]


def test_an_error_in_the_plan_comes_through_and_lets_the_engine_go() -> None:
    def broken() -> Iterator[tuple[PlanItem, int]]:
        yield PlanItem(), 0
        raise LookupError("the list of files is gone")

    stage = Stage(broken(), Script())
    with pytest.raises(LookupError, match="the list of files is gone"):
        stage.runtime.run()
    assert stage.engine.logged("close") == [None]


def test_an_error_in_the_commit_comes_through_and_lets_the_engine_go() -> None:
    def full(run: CommitRun, items: Sequence[Any]) -> None:
        raise OSError("disk full")

    engine = Script([Pulled(0)], [done(0, 0)])
    with pytest.raises(OSError, match="disk full"):
        Stage(plain("a"), engine, full).runtime.run()
    assert engine.logged("close") == [None]


def test_a_plan_that_yields_more_than_it_announced_is_the_operators_error() -> None:
    with pytest.raises(OperatorError, match="announced 2 items but has more"):
        Stage(plain("a", "b", "c"), Obedient(), total=2).runtime.run()


@pytest.mark.parametrize(
    ("script", "commit", "waits_for"),
    [
        ([], at_once, "a worker to pull seq 0"),
        ([[Pulled(0)], [done(0, 0)]], lambda run, items: None, "the commit lane, from seq 0 on"),
        ([[Pulled(0)], [WorkerLost(0, Loss.RETIRED)]], at_once, "a worker to pull seq 0"),
    ],
    ids=["no worker", "no acknowledgement", "the only worker went home"],
)
def test_a_run_in_which_nothing_can_happen_any_more_says_what_it_waits_for(
    script: list[Line], commit: Any, waits_for: str
) -> None:
    engine = Script(*script)
    with pytest.raises(InvariantViolation, match=f"no event is possible; the run waits for {waits_for}"):
        Stage(plain("a"), engine, commit).runtime.run()
    assert engine.logged("close") == [None]


def test_a_turn_that_does_not_wait_is_never_stuck() -> None:
    stage = Stage(plain("a"), Script())
    for _ in range(3):
        stage.runtime.turn(wait=False)
    assert set(stage.engine.patience_s) == {0.0}
    assert isinstance(stage.steps[-1][1], Tick)


def test_the_engine_is_polled_for_as_long_as_nothing_can_be_done_without_it() -> None:
    engine = Script([Pulled(0)], [failed(0, 0), Pulled(0)], [])
    options = {"retry": RetryOptions(retries_max=1, backoff_ms=1000), "lease_ms": 8000}
    stage = Stage(plain("a"), engine, **options)
    stage.turn_until(stage.has_dispatched)
    stage.runtime.turn()
    assert engine.patience_s[-1] == 2.0  # a quarter of the lease
    [retry] = stage.told(RetryScheduled)
    stage.clock.advance_to(400)
    stage.runtime.turn()
    assert engine.patience_s[-1] == (retry.due_ms - 400) / 1000


def test_the_observer_sees_every_step_with_its_time_and_what_followed() -> None:
    stage = Stage(plain("a", "b"), Obedient())
    stage.clock.advance_to(77)
    stage.runtime.run()
    assert len(stage.steps) == stage.runtime.kernel.statistics().steps
    assert {now_ms for now_ms, _, _ in stage.steps} == {77}
    assert isinstance(stage.steps[0][1], Tick)
    assert stage.told(Ended) == [Ended(stage.runtime.summary)]


def test_the_observer_sees_the_step_that_broke_the_run() -> None:
    stage = Stage(plain("a"), Script([done(0, 5)]))
    with pytest.raises(InvariantViolation, match="never planned"):
        stage.runtime.run()
    assert stage.steps[-1] == (0, done(0, 5), None)


@pytest.mark.req("CAN-1")
def test_a_cancel_without_grace_stops_now_and_drops_what_is_in_flight() -> None:
    engine = Script([Pulled(0, 2), Pulled(1)], [done(0, 0)], lambda: stage.runtime.cancel("enough", 0) or [done(1, 1)])
    stage = Stage(plain("a", "b", "c", "d"), engine, total=4)
    summary = stage.runtime.run()
    assert stage.happened(CancelRequested) == [CancelRequested("enough", 0)]
    assert summary == summary_of(
        4, 1, cancelled=3, was_cancelled=True, stop_kind="cancelled", cancel_reason="enough", stopped_at=1
    )
    assert engine.logged("stop") == [(1, "enough")]
    assert stage.committed == [0]
    assert engine.log[-1] == ("close", None)


@pytest.mark.req("CAN-1")
def test_a_cancel_with_grace_still_commits_what_arrives_in_time_and_nothing_else() -> None:
    def late() -> list[Event]:
        stage.clock.advance_to(101)
        return []

    engine = Script([Pulled(0), Pulled(1), Pulled(2)], [done(0, 0), Pulled(0)], [done(1, 1)], [], late)
    stage = Stage(plain("a", "b", "c", "d"), engine, total=4)
    stage.turn_until(lambda: stage.has_dispatched(3))
    stage.runtime.cancel("enough", 100)
    summary = stage.runtime.run()
    assert stage.committed == [0, 1]
    assert (summary.succeeded, summary.cancelled, summary.stopped_at) == (2, 2, 2)
    assert engine.logged("stop") == [(2, "enough")]
    assert 0.1 in engine.patience_s
    assert sum(len(batch.tasks) for batch in engine.logged("dispatch")) == 3


@pytest.mark.req("CAN-1")
def test_a_second_cancel_shortens_the_grace_of_the_first() -> None:
    stage = Stage(plain("a", "b"), Script([Pulled(0)]), total=2)
    stage.turn_until(stage.has_dispatched)
    stage.runtime.cancel("softly", 10_000)
    stage.runtime.turn()
    assert stage.runtime.summary is None
    stage.runtime.cancel("now", 0)
    assert stage.runtime.run().stop_kind == "cancelled"
    assert stage.told(StopWorker) == [StopWorker(0, "softly")]


def test_acknowledgements_may_be_partial_repeated_and_cumulative() -> None:
    engine = Script([Pulled(0, 3), Pulled(1, 3), Pulled(2, 3)], [done(2, 2), done(1, 1), done(0, 0)])
    stage = Stage(plain("a", "b", "c"), engine, lambda run, items: None)
    runtime = stage.runtime
    stage.turn_until(lambda: stage.committed == [0, 1, 2])
    cursor = []
    for end in (1, 1, 0, 3):
        runtime.post(Committed(end))
        runtime.turn(wait=False)
        cursor.append(runtime.kernel.snapshot().next_commit_seq)
    assert cursor == [1, 1, 1, 3]
    assert runtime.summary == summary_of(3, 3)
    assert stage.happened(Committed) == [Committed(1), Committed(1), Committed(0), Committed(3)]


def test_an_acknowledgement_of_what_was_never_handed_over_breaks_the_run() -> None:
    stage = Stage(plain("a", "b"), Script([Pulled(0)]))
    stage.runtime.turn()
    stage.runtime.post(Committed(1))
    with pytest.raises(InvariantViolation, match="seq 0 is acknowledged but was never handed over for commit"):
        stage.runtime.run()


@pytest.mark.req("BPR-1")
def test_a_commit_lane_that_does_not_come_back_lets_no_more_be_computed_than_the_budget() -> None:
    pressure = PressureOptions(
        buffered_bytes_soft=80, buffered_bytes_hard=80, window_bytes_soft=80, window_bytes_hard=80
    )
    stage = Stage(plain(*range(50)), Obedient(), lambda run, items: None, pressure=pressure)
    for _ in range(200):
        stage.runtime.turn(wait=False)
    computed_bytes = 8 * len(stage.told(Dispatch))
    assert 0 < computed_bytes <= 80


class Thing:
    """An item that can be watched."""


@pytest.mark.slow
@pytest.mark.req("CMP-2", "WIN-7")
@pytest.mark.usefixtures("young_garbage")
def test_an_item_is_let_go_as_soon_as_it_is_committed() -> None:
    alive: weakref.WeakSet[Thing] = weakref.WeakSet()
    most = 0

    def plan() -> Iterator[tuple[PlanItem, Thing]]:
        for _ in range(50):
            thing = Thing()
            alive.add(thing)
            yield PlanItem(), thing
            del thing

    runtime = Runtime(
        plan(), Obedient(), at_once, VirtualClock(), options=KernelOptions(windows=WindowOptions(plan_ahead=2))
    )
    while runtime.summary is None:
        runtime.turn()
        gc.collect()
        most = max(most, len(alive))
    assert 1 <= most <= 5
    assert len(alive) == 0


@pytest.mark.slow
def test_closing_lets_every_item_go() -> None:
    thing = Thing()
    watched = weakref.ref(thing)
    stage = Stage(plain(thing), Script())
    stage.runtime.turn(wait=False)
    del thing
    assert watched() is not None
    stage.runtime.close()
    gc.collect()
    assert watched() is None


class SlowClock(VirtualClock):
    """A clock by which every reading takes longer than a slice of the plan."""

    def now_ms(self) -> int:
        self.advance_to(self.true_ms + PLAN_SLICE_MS + 1)
        return super().now_ms()


def test_items_are_read_while_their_slice_lasts() -> None:
    planned: list[int] = []

    def observe(now_ms: int, event: Event, commands: Sequence[Command] | None) -> None:
        if isinstance(event, Planned):
            planned.append(len(event.items))

    plan = ItemHints().describe_all(range(5))
    Runtime(plan, Obedient(), at_once, SlowClock(), options=KernelOptions(), observer=observe).run()
    assert planned == [1, 1, 1, 1, 1, 0]


@pytest.mark.req("WIN-7")
def test_items_in_memory_are_read_no_further_than_they_are_needed() -> None:
    items = [0] * 100_000
    listed = ItemHints().describe_all(items)
    runtime = Runtime(listed, Script([]), at_once, VirtualClock(), options=KernelOptions())
    runtime.turn(wait=False)
    runtime.close()
    assert len(list(listed)) > 90_000
