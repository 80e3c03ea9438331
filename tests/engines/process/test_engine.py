"""The process engine by itself: batches, deaths in the middle of one, returned items, and recycled processes."""

import gc
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from inorder.core.commands import CommitRun
from inorder.core.events import Beat, Envelope, Finished, Loss, Overran, Pulled, Returned, WorkerLost
from inorder.core.options import KernelOptions
from inorder.core.transitions import State
from inorder.core.windows.plan import PlanItem
from inorder.engines import pool
from inorder.engines.base import Batch, Task
from inorder.engines.process import engine as process_engine
from inorder.engines.process.engine import ProcessEngine
from inorder.engines.process.worker_process import ProcessOptions
from inorder.errors import Category, OperatorError
from inorder.host.clock import SystemClock
from inorder.runtime.loop import Runtime
from tests.support.gates import FixedSizer, without_times
from tests.support.misbehaviour import (
    GUARD_S,
    HOARD_BYTES,
    MEMORY_BYTES,
    Endings,
    Mischief,
    Unsendable,
    ended_at_last,
    hoard,
    hold_interpreter_for,
    is_running,
    serve,
    sign_or_wait,
    wait_for_the_others,
    whoami,
    word_at,
)

pytestmark = [pytest.mark.usefixtures("no_leaks"), pytest.mark.process]

Make = Callable[..., ProcessEngine]


@pytest.fixture
def make() -> Iterator[Make]:
    """Make engines whose workers have all pulled, and close them."""
    made = []

    def make(function: Callable[[Any], Any], workers: int = 1, **options: Any) -> ProcessEngine:
        engine = ProcessEngine(function, workers, timeout_s=None, options=ProcessOptions(**options))
        made.append(engine)
        engine.start()
        assert {event.worker for event in take(engine, workers, Pulled)} == set(range(workers))
        return engine

    yield make
    for engine in made:
        engine.close()


def take(engine: ProcessEngine, count: int, *kinds: type[Any], within_s: float = GUARD_S) -> list[Any]:
    """Poll until `count` events of these kinds have come; return these."""
    taken: list[Any] = []
    for _ in range(int(within_s * 10)):
        taken += [event for event in engine.poll(0.1) if isinstance(event, kinds)]
        if len(taken) >= count:
            return taken
    raise AssertionError(f"{len(taken)} of {count} events came")


def take_until_pulled(engine: ProcessEngine) -> list[Finished]:
    """Poll until the worker pulls; return what it finished before."""
    events = []
    while not events or not isinstance(events[-1], Pulled):
        events += take(engine, 1, Finished, Pulled)
    return [event for event in events if isinstance(event, Finished)]


def take_envelopes(engine: ProcessEngine, count: int) -> list[Envelope]:
    """Poll until there are `count` results, in any number of parts."""
    envelopes: list[Envelope] = []
    while len(envelopes) < count:
        envelopes += [envelope for event in take(engine, 1, Finished) for envelope in event.envelopes]
    return envelopes


def take_returned(engine: ProcessEngine, count: int) -> set[int]:
    """Poll until `count` items have been returned, in any number of parts."""
    seqs: set[int] = set()
    while len(seqs) < count:
        seqs.update(seq for returned in take(engine, 1, Returned) for seq in returned.seqs)
    return seqs


def give(engine: ProcessEngine, worker: int, *items: Any, isolated: bool = False) -> None:
    engine.dispatch(Batch(worker, [Task(seq, 1, item) for seq, item in enumerate(items)], isolated=isolated))


def run_batch(engine: ProcessEngine, *items: Any, isolated: bool = False, worker: int = 0) -> list[Any]:
    """Run a batch; return the payloads of its results."""
    give(engine, worker, *items, isolated=isolated)
    events = take(engine, 1, Pulled, Finished, WorkerLost)
    while not isinstance(events[-1], Pulled | WorkerLost):
        events += take(engine, 1, Pulled, Finished, WorkerLost)
    assert not [event for event in events if isinstance(event, WorkerLost)]
    return [envelope.payload for event in events if isinstance(event, Finished) for envelope in event.envelopes]


def run_through(engine: ProcessEngine, items: list[Any], **options: Any) -> tuple[list[Envelope], Runtime]:
    """Run the items under the kernel; return the envelopes in order."""
    committed: list[Envelope] = []

    def commit(run: CommitRun, _: Any) -> int:
        committed.extend(run.envelopes)
        return run.end

    plan = ((PlanItem(), item) for item in items)
    runtime = Runtime(plan, engine, commit, SystemClock(), options=KernelOptions(**options))
    runtime.run()
    assert [envelope.seq for envelope in committed] == list(range(len(items)))
    return committed, runtime


@pytest.mark.req("RTY-3")
@pytest.mark.parametrize(("name", "ending"), [("kill", "SIGKILL"), ("exit", "status 3")])
def test_a_death_in_a_batch_names_the_item_and_how_the_process_ended(make: Make, name: str, ending: str) -> None:
    engine = make(serve)
    give(engine, 0, 1, 2, Mischief(name), 3, 4)
    [lost] = take(engine, 1, WorkerLost)
    assert (lost.worker, lost.cause, lost.running_seq) == (0, Loss.DIED, 2)
    assert ending in lost.reason


@pytest.mark.req("RTY-3")
def test_a_death_in_a_batch_of_quick_items_harms_none_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_engine, "BatchSizer", lambda **_: FixedSizer(16))
    items = [Mischief("exit") if seq == 10 else seq for seq in range(60)]
    envelopes, runtime = run_through(ProcessEngine(serve, 2, timeout_s=None), items)
    failed = [envelope for envelope in envelopes if envelope.outcome == State.TERMINAL_FAIL]
    assert [envelope.seq for envelope in failed] == [10]
    assert [envelope.payload for envelope in envelopes if envelope.seq != 10] == [n * 2 for n in range(60) if n != 10]
    counted = runtime.kernel.statistics()
    assert (counted.suspects, counted.poison_items, counted.isolated_dispatches, counted.retries) == (1, 1, 1, 0)
    assert counted.reclaims > 1  # others were queued behind it


@pytest.mark.req("RTY-3")
def test_a_process_that_dies_with_a_fork_of_it_alive_is_lost_at_once(make: Make, tmp_path: Path) -> None:
    path = str(tmp_path / "pid")
    engine = make(serve)
    assert run_batch(engine, 1) == [2]
    with ended_at_last(path):
        give(engine, 0, Mischief("leave fork and exit", path))
        [lost] = take(engine, 1, WorkerLost)
        assert (lost.running_seq, lost.cause) == (0, Loss.DIED)
        assert "exited with status 3" in lost.reason


def test_a_result_whose_unpickling_wants_to_exit_only_fails_its_item(make: Make) -> None:
    engine = make(serve)
    assert run_batch(engine, 1) == [2]
    give(engine, 0, Mischief("return unreadable, as an exit"))
    [finished] = take(engine, 1, Finished, WorkerLost)
    assert "the result cannot be unpickled" in finished.envelopes[0].failure.message


@pytest.mark.parametrize(
    ("item", "text"),
    [
        (Mischief("return unreadable, without words"), "cannot be unpickled"),
        (Unsendable(SystemExit), "cannot be pickled"),
    ],
    ids=["result", "item"],
)
def test_what_cannot_be_pickled_for_unusual_reasons_only_fails_its_item(make: Make, item: Any, text: str) -> None:
    engine = make(serve)
    assert run_batch(engine, 1) == [2]
    give(engine, 0, item)
    [finished] = take(engine, 1, Finished, WorkerLost)
    assert text in finished.envelopes[0].failure.message


@pytest.mark.req("CMP-5")
def test_what_waits_behind_a_slow_item_is_returned_for_an_idle_worker(make: Make, tmp_path: Path) -> None:
    go, behind = str(tmp_path / "go"), str(tmp_path / "behind")
    engine = make(sign_or_wait, workers=2)
    give(engine, 0, Mischief("wait", go), f"{behind}-1", f"{behind}-2")
    assert take_returned(engine, 2) == {1, 2}
    [second] = run_batch(engine, f"{behind}-elsewhere", worker=1)
    Path(go).touch()
    assert [event.worker for event in take(engine, 1, Pulled)] == [0]
    assert not list(tmp_path.glob("behind-[12]")), "it ran items that it had returned"
    assert word_at(f"{behind}-elsewhere") == second


@pytest.mark.req("CMP-5")
def test_of_a_long_row_of_quick_items_an_idle_worker_gets_half(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "SLOW_S", 2 * GUARD_S)  # nothing is slow
    engine = make(serve, workers=2)
    give(engine, 0, Mischief("wait", str(tmp_path / "go")), *range(1, 100))
    returned = take(engine, 1, Returned)[0]
    assert (returned.worker, returned.seqs) == (0, list(range(51, 100)))
    (tmp_path / "go").touch()


def test_among_quick_items_only_the_one_that_left_a_process_behind_is_to_blame(make: Make, tmp_path: Path) -> None:
    pid_file = str(tmp_path / "pid")
    engine = make(serve)
    give(engine, 0, *range(20), Mischief("leave child at once", pid_file), *range(20))
    envelopes = [envelope for event in take_until_pulled(engine) for envelope in event.envelopes]
    assert [envelope.seq for envelope in envelopes] == list(range(41)), "a result was sent twice, or not at all"
    blamed = [(envelope.seq, envelope.failure.message) for envelope in envelopes if envelope.failure is not None]
    assert blamed == [(20, "left 1 child process behind")]
    assert [envelope.payload for envelope in envelopes if envelope.failure is None] == [2 * n for n in range(20)] * 2


def test_what_is_done_does_not_wait_behind_an_item_that_waits_for_a_process_of_its_own(
    make: Make, tmp_path: Path
) -> None:
    go = str(tmp_path / "go")
    engine = make(serve)
    give(engine, 0, 1, 2, Mischief("wait beside a child", go))
    assert [envelope.payload for envelope in take_envelopes(engine, 2)] == [2, 4]
    Path(go).touch()
    assert [(envelope.seq, envelope.failure) for envelope in take_envelopes(engine, 1)] == [(2, None)]


@pytest.mark.req("CMP-5")
def test_with_no_idle_worker_nothing_is_returned(make: Make, tmp_path: Path) -> None:
    go = str(tmp_path / "go")
    engine = make(sign_or_wait)
    give(engine, 0, Mischief("wait", go), str(tmp_path / "behind"))
    for _ in range(5):
        assert not [event for event in engine.poll(0.05) if not isinstance(event, Beat)]
    Path(go).touch()
    take(engine, 1, Pulled)
    assert (tmp_path / "behind").exists()


@pytest.mark.req("CMP-5")
def test_returned_items_are_not_started_even_after_items_that_could_not_be_pickled(make: Make, tmp_path: Path) -> None:
    go, behind = str(tmp_path / "go"), str(tmp_path / "behind")
    engine = make(sign_or_wait, workers=2)
    give(engine, 0, Unsendable(), Unsendable(), Mischief("wait", go), f"{behind}-1", f"{behind}-2")
    assert take_returned(engine, 2) == {3, 4}
    Path(go).touch()
    take(engine, 1, Pulled)
    assert not list(tmp_path.glob("behind-*")), "it ran items that it had returned"


@pytest.mark.req("CMP-5")
def test_followers_of_a_slow_item_are_done_before_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_engine, "BatchSizer", lambda **_: FixedSizer(16))
    items = [(str(tmp_path), number, number == 20) for number in range(40)]
    envelopes, runtime = run_through(ProcessEngine(wait_for_the_others, 2, timeout_s=None), items)
    assert [envelope.payload for envelope in envelopes] == list(range(40))
    assert runtime.kernel.statistics().returns > 0
    signatures = {number: word_at(tmp_path / f"{number}.done") for number in range(40)}
    assert signatures[21] != signatures[20]


@pytest.mark.req("LED-7")
def test_a_worker_that_computes_in_c_with_the_interpreter_lock_keeps_its_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "BEAT_S", 0.05)
    engine = ProcessEngine(hold_interpreter_for, 1, timeout_s=None)
    [envelope], runtime = run_through(engine, [4500], lease_ms=1500)
    assert (envelope.payload, envelope.attempt) == (4500, 1)
    counted = runtime.kernel.statistics()
    assert (counted.expired_leases, counted.lost_workers) == (0, 0)


def test_an_item_that_holds_the_interpreter_lock_is_reported_as_overrun(tmp_path: Path) -> None:
    engine = ProcessEngine(serve, 1, timeout_s=2.0)
    try:
        engine.start()
        take(engine, 1, Pulled)
        engine.dispatch(Batch(0, [Task(7, 2, Mischief("hang in C", str(tmp_path / "pid")))], isolated=False))
        assert without_times(take(engine, 1, Overran)[0]) == Overran(0, 7, 2, 2000)
        engine.stop_worker(0, "late")
        assert not is_running(word_at(tmp_path / "pid"))
    finally:
        engine.close()


@pytest.mark.req("RTY-3")
def test_an_isolated_item_gets_a_process_that_has_run_nothing(make: Make) -> None:
    engine = make(whoami)
    [used] = run_batch(engine, "first")
    [fresh] = run_batch(engine, "alone", isolated=True)
    assert fresh != used
    assert not is_running(used)


def test_it_knows_the_processes_that_it_has_at_present(make: Make) -> None:
    engine = make(whoami, workers=2)
    assert engine.process_ids() == []
    [pid] = run_batch(engine, 0)
    assert engine.process_ids() == [pid]


def test_a_process_is_recycled_after_the_given_number_of_items(make: Make) -> None:
    engine = make(whoami, recycle_tasks=3)
    pids = [run_batch(engine, number)[0] for number in range(9)]
    assert [pids.index(pid) for pid in pids] == [0, 0, 0, 3, 3, 3, 6, 6, 6]
    assert not any(map(is_running, pids[:6]))


def test_a_process_is_recycled_once_it_has_grown_too_large(make: Make) -> None:
    engine = make(hoard, recycle_resident_bytes=HOARD_BYTES)
    [before, grown, after] = [run_batch(engine, item)[0] for item in ("small", "hoard", "small")]
    assert before == grown
    assert after != grown
    assert not is_running(grown)


def test_a_process_that_has_grown_too_large_in_a_batch_gives_back_the_rest_of_it(make: Make) -> None:
    engine = make(hoard, recycle_resident_bytes=HOARD_BYTES)
    give(engine, 0, "small", "hoard", "small", "small")
    [returned, _] = take(engine, 2, Returned, Pulled)
    assert returned.seqs == [2, 3]


@pytest.mark.req("RTY-4")
def test_what_an_item_has_started_dies_with_its_worker(make: Make, tmp_path: Path) -> None:
    engine = make(serve)
    give(engine, 0, Mischief("hang beside a child", str(tmp_path / "pid")))
    endings = Endings([word_at(tmp_path / "pid")])
    engine.stop_worker(0, "the item took too long")
    assert endings.come(), "the child of a stopped item lives on"


def test_an_item_beyond_the_memory_limit_fails_and_its_worker_continues(make: Make) -> None:
    engine = make(serve, memory_bytes_max=MEMORY_BYTES)
    give(engine, 0, 1, Mischief("want memory"), 3)
    events = take(engine, 1, Pulled, Finished, WorkerLost)
    while not isinstance(events[-1], Pulled):
        events += take(engine, 1, Pulled, Finished, WorkerLost)
    envelopes = [envelope for event in events[:-1] for envelope in event.envelopes]
    assert [envelope.payload for envelope in envelopes if envelope.seq != 1] == [2, 6]
    failure = envelopes[1].failure
    assert (failure.category, failure.message) == (Category.RUNTIME, "MemoryError")


def test_recycling_a_process_leaves_no_descriptor_open(make: Make) -> None:
    engine = make(whoami, recycle_tasks=1)
    run_batch(engine, 0)
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    for number in range(5):
        run_batch(engine, number)
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) <= before


@pytest.mark.parametrize("name", ["memory_bytes_max", "recycle_tasks", "recycle_resident_bytes"])
def test_a_limit_below_one_is_refused(name: str) -> None:
    with pytest.raises(OperatorError, match=name):
        ProcessOptions(**{name: 0})


@pytest.mark.parametrize("count", [1, 2])
def test_an_engine_that_starts_with_few_workers_gets_the_others_when_one_has_worked_for_a_while(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, count: int
) -> None:
    monkeypatch.setattr(pool, "ALONE_S", 10**6)
    engine = ProcessEngine(serve, 3, timeout_s=None, start_count=count)
    try:
        engine.start()
        assert [event.worker for event in take(engine, count, Pulled)] == [*range(count)]
        assert run_batch(engine, 7) == [14]
        assert len(engine._workers) == count
        monkeypatch.setattr(pool, "ALONE_S", 0.0)
        engine._alone_until_s = None
        give(engine, 0, Mischief("hang", str(tmp_path / "word")))
        assert {event.worker for event in take(engine, 3 - count, Pulled)} == {*range(count, 3)}
    finally:
        engine.close()
