"""`imap` and a consumer that takes its time: work goes on meanwhile, and nobody is punished for the wait."""

import gc
import itertools
import threading
import weakref
from collections import Counter
from collections.abc import Iterator
from functools import partial
from queue import SimpleQueue
from typing import Any

import pytest

import inorder
from inorder import iteration
from inorder.core.events import Beat, Event, Pulled
from inorder.engines import inline, threads
from inorder.engines.threads import ThreadEngine
from inorder.sim.clock import VirtualClock
from tests.support.gates import GUARD_S, FixedSizer, Gate, QuietEngine, quiet_engine

pytestmark = pytest.mark.usefixtures("no_leaks")


@pytest.fixture
def gate() -> Iterator[Gate]:
    with Gate() as gate:
        yield gate


class Leisure:
    """An iteration with 39 results at hand while the fortieth item is still at work, and a clock to take time on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, tail: Gate) -> None:
        self.clock = VirtualClock()
        self.calls: Counter[int] = Counter()
        self.engine: QuietEngine
        self._pulls = threading.Semaphore(0)
        self._tail = tail
        self._head = threading.Event()
        monkeypatch.setattr(iteration, "SystemClock", lambda: self.clock)
        monkeypatch.setattr(threads, "ThreadEngine", self._hire)
        self.results: Any = inorder.imap(
            self._work, itertools.count(), workers=2, where="threads", options=inorder.RunOptions(cancel_grace_s=0)
        )
        assert self.take(0) == 0

    def take(self, after_ms: int) -> int:
        """The consumer comes back after so long."""
        self.clock.advance_to(self.clock.true_ms + after_ms)
        result: int = next(self.results)
        return result

    def somebody_pulls(self) -> None:
        """Go on once a pull waits to be taken in."""
        assert self._pulls.acquire(timeout=GUARD_S)
        self._pulls.release()

    def _hire(self, function: Any, workers: int, **settings: Any) -> ThreadEngine:
        pulls = self._pulls

        class Outbox(SimpleQueue[Any]):
            def put(self, event: Any) -> None:  # type: ignore[override]
                super().put(event)
                if isinstance(event, Pulled):
                    pulls.release()

        class Engine(quiet_engine(self._tail, lambda: None)):  # type: ignore[misc]
            def __init__(self) -> None:
                super().__init__(function, workers, **settings)
                self._outbox = Outbox()

            def poll(self, timeout_s: float | None) -> list[Event]:
                events: list[Event] = super().poll(timeout_s)
                for event in events:
                    if isinstance(event, Pulled):
                        assert pulls.acquire(timeout=GUARD_S)
                return [*events, Beat(list(self._workers))]  # real time does not keep up with this clock

        self.engine = Engine()
        return self.engine

    def _work(self, item: int) -> int:
        self.calls[item] += 1
        if item == 0:
            assert self._head.wait(GUARD_S)
        elif item == 39:
            self._head.set()
            self._tail.hold()
        return item


@pytest.fixture
def leisure(monkeypatch: pytest.MonkeyPatch, gate: Gate) -> Iterator[Leisure]:
    monkeypatch.setattr(threads, "BatchSizer", partial(FixedSizer, 1))
    leisure = Leisure(monkeypatch, gate)
    yield leisure
    leisure.results.close()


def test_a_consumer_that_takes_its_time_costs_no_worker_its_lease(leisure: Leisure) -> None:
    taken = [leisure.take(after_ms=10_000) for _ in range(38)]
    assert taken == list(range(1, 39))
    assert leisure.engine.stopped == []
    leisure.engine.gate.open()
    assert leisure.take(after_ms=10_000) == 39
    assert leisure.calls[39] == 1


@pytest.mark.filterwarnings("ignore:still running")
def test_idle_workers_are_fed_while_the_consumer_works_through_what_is_at_hand(leisure: Leisure) -> None:
    for _ in range(10):
        leisure.somebody_pulls()
        before = len(leisure.engine.batches)
        leisure.take(after_ms=5)
        assert len(leisure.engine.batches) > before


def test_a_consumer_that_takes_its_time_does_not_get_an_inline_run_stuck(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = VirtualClock()
    monkeypatch.setattr(iteration, "SystemClock", lambda: clock)
    monkeypatch.setattr(inline, "BatchSizer", partial(FixedSizer, 8))
    monkeypatch.setattr(inline, "_SLICE_S", 60.0)
    arrived = []
    for result in inorder.imap(str, range(40), where="inline"):
        arrived.append(result)
        clock.advance_to(clock.true_ms + 10_000)
    assert arrived == [str(n) for n in range(40)]


@pytest.mark.slow
@pytest.mark.req("BPR-1")
def test_results_do_not_pile_up_beyond_the_budget_before_a_slow_consumer(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = VirtualClock()
    monkeypatch.setattr(iteration, "SystemClock", lambda: clock)
    size, budget = 10_000, 100_000
    computed = 0

    def function(item: int) -> bytes:
        nonlocal computed
        computed += 1
        return bytes(size)

    most = 0
    for number, _ in enumerate(
        inorder.imap(function, range(1000), where="inline", options=inorder.RunOptions(buffered_bytes_max=budget))
    ):
        most = max(most, computed - number)
        clock.advance_to(clock.true_ms + 5)
    assert 1 <= most <= budget // size + 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("taken", "kept"),
    [
        pytest.param(2, "at hand", id="at hand"),
        pytest.param(1, "in the kernel", id="in the kernel"),
    ],
)
def test_closing_lets_go_of_every_result_that_was_not_taken(
    monkeypatch: pytest.MonkeyPatch, taken: int, kept: str
) -> None:
    clock = VirtualClock()
    clock.advance_to(5 if kept == "in the kernel" else 0)
    monkeypatch.setattr(iteration, "SystemClock", lambda: clock)
    monkeypatch.setattr(inline, "BatchSizer", partial(FixedSizer, 8))
    monkeypatch.setattr(inline, "_SLICE_S", 60.0)
    alive: weakref.WeakSet[Any] = weakref.WeakSet()

    class Payload:
        def __init__(self, item: int) -> None:
            alive.add(self)

    results: Any = inorder.imap(Payload, range(100), where="inline")
    for _ in range(taken):
        next(results)
    gc.collect()
    assert len(alive) > 1
    results.close()
    gc.collect()
    assert len(alive) == 0
