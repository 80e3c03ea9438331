"""What `imap` promises about time and memory: limits, budgets, look-ahead, and a consumer that takes its time.

"Quiet" is the moment when every worker is idle or held at the gate and the kernel has seen everything: what was not
started by then is not going to be, so counting needs no waiting.
"""

import itertools
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from typing import Any

import pytest

import inorder
from inorder import Category, ItemError
from inorder.engines import inline, threads
from inorder.engines.base import Batch
from inorder.engines.inline import InlineEngine
from inorder.engines.threads import ThreadEngine
from tests.support.gates import (
    GUARD_S,
    FixedSizer,
    Gate,
    alive,
    quiet_engine,
    stop_time,
)
from tests.support.options import for_imap

pytestmark = pytest.mark.usefixtures("no_leaks")

SIZE = 10_000
"""Of a result, in round numbers."""


@pytest.fixture
def gate() -> Iterator[Gate]:
    with Gate() as gate:
        yield gate


@pytest.fixture
def when_quiet(monkeypatch: pytest.MonkeyPatch, gate: Gate) -> Callable[[Callable[[], object]], None]:
    """Has something done when only the gate can bring anything new."""

    def when_quiet(action: Callable[[], object]) -> None:
        monkeypatch.setattr(threads, "ThreadEngine", quiet_engine(gate, action))

    return when_quiet


@pytest.fixture
def one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers ask for one item at a time."""
    monkeypatch.setattr(threads, "BatchSizer", partial(FixedSizer, 1))


# Time limits


@pytest.mark.filterwarnings("ignore:still running")
def test_a_hung_item_fails_by_its_limit_and_everything_else_arrives(
    gate: Gate, when_quiet: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    time = stop_time(monkeypatch)
    when_quiet(lambda: time.advance(60))
    calls: Counter[int] = Counter()

    def function(item: int) -> int:
        calls[item] += 1
        if item == 3:
            gate.hold()
        return item

    with closing(
        inorder.imap(function, range(50), workers=2, timeout_s=60, retries=3, errors="yield", where="threads")
    ) as results:
        arrived = list(results)
    error = arrived.pop(3)
    assert arrived == [n for n in range(50) if n != 3]
    assert isinstance(error, ItemError)
    assert (error.seq, error.item, error.category, error.attempts) == (3, 3, Category.TIMEOUT, 1)
    assert error.message == "exceeded its time limit of 60000 ms"
    assert error.__cause__ is None
    assert calls == dict.fromkeys(range(50), 1)


def test_a_hung_item_ends_the_iteration_if_errors_are_raised(
    gate: Gate, when_quiet: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    time = stop_time(monkeypatch)
    when_quiet(lambda: time.advance(60))
    results = inorder.imap(lambda item: gate.hold(), range(5), workers=1, timeout_s=60, where="threads")
    named = pytest.warns(RuntimeWarning, match=r"cannot be killed: seq 0 \(0\)")
    with (
        named,
        pytest.raises(ItemError, match=r"item 0 failed \(timeout, attempt 1\): exceeded its time limit of 60000 ms"),
    ):
        next(results)


@pytest.mark.filterwarnings("ignore:still running")
def test_every_worker_can_hang_and_the_rest_is_still_done(
    gate: Gate, when_quiet: Any, one_by_one: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    time = stop_time(monkeypatch)
    when_quiet(lambda: time.advance(60))

    def function(item: int) -> int:
        if item < 3:
            gate.hold()
        return item

    with closing(
        inorder.imap(function, range(20), workers=3, timeout_s=60, errors="yield", where="threads")
    ) as results:
        arrived = list(results)
    assert [type(result) for result in arrived[:3]] == [ItemError] * 3
    assert arrived[3:] == list(range(3, 20))


# Look-ahead and budgets


@pytest.mark.req("WIN-7")
def test_the_input_is_consumed_no_further_than_slow_workers_need(gate: Gate, when_quiet: Any) -> None:
    taken: list[int] = []
    taken_when_quiet: list[int] = []

    def quiet() -> None:
        taken_when_quiet.extend(taken)
        gate.open()

    when_quiet(quiet)
    items = (taken.append(n) for n in itertools.count())
    with closing(inorder.imap(lambda item: gate.hold(), items, workers=2, where="threads")) as results:
        next(results)
    assert 2 <= len(taken_when_quiet) <= 6


def ahead_of_a_blocked_first(gate: Gate, when_quiet: Any, size_of: Callable[[int], int], **options: Any) -> list[int]:
    """How large the results were that were computed while the first item was still at work."""
    sizes: list[int] = []
    ahead: list[int] = []

    def function(item: int) -> bytes:
        if item == 0:
            gate.hold()
            return b""
        sizes.append(size_of(item))
        return bytes(size_of(item))

    def quiet() -> None:
        ahead.extend(sizes)
        gate.open()

    when_quiet(quiet)
    with closing(inorder.imap(function, range(200), where="threads", **for_imap(**options))) as results:
        assert [len(result) for result in results] == [0, *(size_of(item) for item in range(1, 200))]
    return ahead


@pytest.mark.req("BPR-1", "BPR-3")
@pytest.mark.parametrize("workers", [2, 4])
def test_results_computed_ahead_of_a_blocked_first_one_stay_within_the_budget(
    gate: Gate, when_quiet: Any, workers: int
) -> None:
    budget = 20 * SIZE
    ahead = ahead_of_a_blocked_first(gate, when_quiet, lambda item: SIZE, workers=workers, buffered_bytes_max=budget)
    assert sum(ahead) <= budget
    assert len(ahead) >= 5


@pytest.mark.req("BPR-3")
@pytest.mark.parametrize("budget", [1, SIZE // 2])
def test_a_budget_smaller_than_one_result_still_completes_in_order(gate: Gate, when_quiet: Any, budget: int) -> None:
    ahead = ahead_of_a_blocked_first(gate, when_quiet, lambda item: SIZE, workers=2, buffered_bytes_max=budget)
    assert len(ahead) <= 1


def test_a_budget_smaller_than_one_result_completes_inline_too() -> None:
    results = inorder.imap(
        lambda item: bytes(SIZE + item), range(50), where="inline", options=inorder.RunOptions(buffered_bytes_max=1)
    )
    assert [len(result) - SIZE for result in results] == list(range(50))


@pytest.mark.slow
@pytest.mark.req("WIN-7")
def test_even_results_of_no_size_are_not_computed_ahead_without_end(gate: Gate, when_quiet: Any) -> None:
    started = 0
    started_when_quiet = []

    def function(item: int) -> None:
        nonlocal started
        if item == 0:
            gate.hold()
        else:
            started += 1

    def quiet() -> None:
        started_when_quiet.append(started)
        gate.open()

    when_quiet(quiet)
    with closing(inorder.imap(function, itertools.count(), workers=2, where="threads")) as results:
        next(results)
    assert 100 <= started_when_quiet[0] < 2 * 8192


# Nothing waits in vain


def test_the_wait_before_an_inline_retry_is_no_busy_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    polls = 0

    class Counting(InlineEngine):
        def poll(self, timeout_s: float | None) -> Any:
            nonlocal polls
            polls += 1
            return super().poll(timeout_s)

    monkeypatch.setattr(inline, "InlineEngine", Counting)
    outcomes = iter([ConnectionError("reset"), "fine"])

    def function(item: str) -> str:
        outcome = next(outcomes)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    assert list(inorder.imap(function, ["item"], retries=1, where="inline")) == ["fine"]
    assert polls <= 20


@pytest.mark.req("CMP-5")
def test_what_waits_behind_a_slow_item_is_done_by_an_idle_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    slow_and_next: list[int] = []
    next_is_done = threading.Event()

    class Watching(ThreadEngine):
        def dispatch(self, batch: Batch) -> None:
            if len(batch.tasks) >= 2 and not slow_and_next:
                slow_and_next.extend(task.item for task in batch.tasks[:2])
            super().dispatch(batch)

    def function(item: int) -> int:
        if slow_and_next[:1] == [item]:
            assert next_is_done.wait(GUARD_S), "the item behind this one waited for it"
        elif slow_and_next[1:] == [item]:
            next_is_done.set()
        return item

    monkeypatch.setattr(threads, "ThreadEngine", Watching)
    monkeypatch.setattr(threads, "BatchSizer", partial(FixedSizer, 8))
    assert list(inorder.imap(function, range(100), workers=2, where="threads")) == list(range(100))
    assert next_is_done.is_set()


def test_an_interrupt_inside_a_thread_does_not_leave_the_run_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    class Impatient(ThreadEngine):
        def poll(self, timeout_s: float | None) -> Any:
            events = super().poll(0.01)
            if not events and not alive() - before:
                events = super().poll(0)  # it may have ended in between
            assert events or alive() - before, "the only worker has ended and the run waits for it"
            return events

    def interrupt(item: int) -> None:
        raise KeyboardInterrupt

    before = alive()
    monkeypatch.setattr(threads, "ThreadEngine", Impatient)
    with pytest.raises((KeyboardInterrupt, ItemError)):
        next(inorder.imap(interrupt, range(3), workers=1, where="threads"))


def test_results_that_suddenly_grow_stay_within_the_budget(
    gate: Gate, when_quiet: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "BatchSizer", partial(FixedSizer, 16))
    budget = 2 * SIZE
    ahead = ahead_of_a_blocked_first(
        gate, when_quiet, lambda item: 1 if item < 50 else SIZE, workers=2, buffered_bytes_max=budget
    )
    assert sum(ahead) <= budget + SIZE


@pytest.mark.parametrize("where", ["threads", "processes"])
def test_an_iteration_ends_where_no_thread_can_be_started(where: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(inorder.InfrastructureError, match="cannot start a thread for a worker: can't start new thread"):
        list(inorder.imap(abs, [-1, -2], workers=2, where=where))
