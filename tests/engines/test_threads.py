"""Threads as workers: time limits, abandoned threads, and late results of these.

The engine's clock is one that stands still unless the test moves it, so no item is late because the machine is slow.
"""

import gc
import itertools
import threading
import weakref
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from typing import Any

import pytest

from inorder.core.events import Beat, Envelope, Event, Finished, Loss, Overran, Pulled, Returned, WorkerLost
from inorder.engines import pool as pooled
from inorder.engines import threads
from inorder.engines.base import Batch, Task
from inorder.engines.threads import ThreadEngine
from tests.support.gates import GUARD_S, Gate, ManualTime, alive, stop_time, wait_for_end, without_times

pytestmark = pytest.mark.usefixtures("no_leaks")

LIMIT_S = 2.0
LONG_S = 1.0
"""Longer than any item takes that is not held at the gate, shorter than the limit."""
Make = Callable[..., ThreadEngine]


@pytest.fixture
def gate() -> Iterator[Gate]:
    with Gate() as gate:
        yield gate


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> ManualTime:
    return stop_time(monkeypatch)


@pytest.fixture
def make(time: ManualTime) -> Iterator[Make]:
    """Make engines whose workers have all pulled, and close them."""
    made = []

    def make(function: Callable[[Any], Any], workers: int = 1, *, timeout_s: float | None = LIMIT_S) -> ThreadEngine:
        engine = ThreadEngine(function, workers, timeout_s=timeout_s)
        made.append(engine)
        engine.start()
        assert {event.worker for event in take(engine, workers, Pulled)} == set(range(workers))
        return engine

    yield make
    for engine in made:
        engine.close()


def take(engine: ThreadEngine, count: int, *kinds: type[Any]) -> list[Any]:
    """Poll until `count` events of these kinds have come; return these."""
    taken: list[Any] = []
    for _ in range(int(GUARD_S * 10)):
        taken += [event for event in engine.poll(0.1) if isinstance(event, kinds)]
        if len(taken) >= count:
            return taken
    raise AssertionError(f"{len(taken)} of {count} events came")


def poll_now(engine: ThreadEngine) -> list[Event]:
    """Poll without waiting; return the events except beats."""
    return [event for event in engine.poll(0) if not isinstance(event, Beat)]


def give(engine: ThreadEngine, worker: int, *items: Any) -> None:
    engine.dispatch(Batch(worker, [Task(seq, 1, item) for seq, item in enumerate(items)], isolated=False))


class Host:
    """A function that returns at once, except for the item `stay`, and records its calls."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self.guests: list[str] = []
        self.occupied: threading.Thread

    def __call__(self, item: str) -> str:
        self.guests.append(item)
        if item == "stay":
            self.occupied = threading.current_thread()
            self._gate.hold()
        return item.upper()


@pytest.fixture
def host(gate: Gate) -> Host:
    return Host(gate)


def delivered(events: list[Event]) -> list[str]:
    envelopes: list[Envelope] = [e for event in events if isinstance(event, Finished) for e in event.envelopes]
    return [envelope.payload for envelope in envelopes]


def test_an_item_past_its_limit_is_reported_with_its_worker_attempt_and_limit(
    make: Make, host: Host, gate: Gate, time: ManualTime
) -> None:
    engine = make(host)
    engine.dispatch(Batch(0, [Task(41, 3, "stay")], isolated=False))
    gate.await_arrivals()
    time.advance(LIMIT_S)
    assert [without_times(event) for event in poll_now(engine)] == [Overran(0, 41, 3, 2000)]


def test_an_item_within_its_limit_is_not_reported(make: Make, host: Host, gate: Gate, time: ManualTime) -> None:
    engine = make(host)
    give(engine, 0, "stay")
    gate.await_arrivals()
    time.advance(LIMIT_S * 0.99)
    assert poll_now(engine) == []


def test_without_a_limit_nothing_is_ever_late(make: Make, host: Host, gate: Gate, time: ManualTime) -> None:
    engine = make(host, timeout_s=None)
    give(engine, 0, "stay")
    gate.await_arrivals()
    time.advance(1e6)
    assert poll_now(engine) == []


def test_an_idle_worker_is_never_late(make: Make, time: ManualTime) -> None:
    engine = make(str.upper, workers=2)
    time.advance(1e6)
    assert poll_now(engine) == []


def test_the_limit_counts_for_each_item_and_not_for_the_batch(make: Make, time: ManualTime) -> None:
    arrived, go_on = threading.Semaphore(0), threading.Semaphore(0)

    def function(item: int) -> int:
        arrived.release()
        assert go_on.acquire(timeout=GUARD_S)
        return item

    engine = make(function)
    give(engine, 0, 10, 11, 12)
    for _ in range(3):
        assert arrived.acquire(timeout=GUARD_S)
        time.advance(LIMIT_S * 0.9)
        assert not [event for event in poll_now(engine) if isinstance(event, Overran)]
        go_on.release()
    take(engine, 1, Pulled)


def test_only_the_late_worker_is_reported(make: Make, host: Host, gate: Gate, time: ManualTime) -> None:
    engine = make(host, workers=2)
    give(engine, 0, "stay")
    gate.await_arrivals()
    time.advance(LIMIT_S)
    engine.dispatch(Batch(1, [Task(9, 1, "stay")], isolated=False))
    gate.await_arrivals()
    assert [without_times(event) for event in poll_now(engine)] == [Overran(0, 0, 1, 2000)]


def test_what_the_late_worker_finished_before_arrives_first(
    make: Make, host: Host, gate: Gate, time: ManualTime
) -> None:
    engine = make(host)
    give(engine, 0, "a", "b", "stay", "c")
    gate.await_arrivals()
    time.advance(LIMIT_S)
    finished, overran = poll_now(engine)
    assert delivered([finished]) == ["A", "B"]
    assert without_times(overran) == Overran(0, 2, 1, 2000)


def test_a_stopped_worker_is_reported_lost_and_another_takes_its_place(make: Make, host: Host, gate: Gate) -> None:
    engine = make(host)
    give(engine, 0, "stay")
    gate.await_arrivals()
    engine.stop_worker(0, "too slow")
    lost, pulled = take(engine, 2, WorkerLost, Pulled)
    assert lost == WorkerLost(0, Loss.RETIRED, reason="too slow")
    assert pulled == Pulled(1, 1)
    give(engine, 1, "next")
    assert delivered(take(engine, 1, Finished)) == ["NEXT"]


def test_an_abandoned_thread_ends_after_its_item_and_says_nothing_more(make: Make, host: Host, gate: Gate) -> None:
    engine = make(host)
    give(engine, 0, "a", "stay", "never")
    gate.await_arrivals()
    engine.stop_worker(0, "enough")
    gate.open()
    assert wait_for_end({host.occupied})
    said = [event for event in [*engine.poll(1), *engine.poll(0)] if getattr(event, "worker", None) == 0]
    assert said == [WorkerLost(0, Loss.RETIRED, reason="enough")]
    assert host.guests == ["a", "stay"]


def test_closing_ends_the_idle_threads_and_lets_busy_ones_finish_their_item(make: Make, host: Host, gate: Gate) -> None:
    before = alive()
    engine = make(host, workers=3)
    for worker in range(3):
        give(engine, worker, "hello")
    take(engine, 3, Pulled)
    give(engine, 0, "stay", "never")
    gate.await_arrivals()
    threads = alive() - before
    engine.close()
    assert wait_for_end(threads - {host.occupied})
    assert host.occupied.is_alive()
    gate.open()
    assert wait_for_end(threads)
    assert delivered(poll_now(engine)) == []
    assert "never" not in host.guests


def test_no_thread_of_an_engine_keeps_the_process_alive(make: Make, host: Host, gate: Gate) -> None:
    before = alive()
    engine = make(host, workers=2)
    give(engine, 0, "stay")
    gate.await_arrivals()
    assert {thread.daemon for thread in alive() - before} == {True}


def test_workers_beat_together_at_every_interval(make: Make, host: Host, gate: Gate, time: ManualTime) -> None:
    engine = make(host, workers=2, timeout_s=None)
    give(engine, 0, "stay")
    gate.await_arrivals()
    time.advance(4.9)
    assert engine.poll(0) == []
    time.advance(0.1)
    assert engine.poll(0) == [Beat([0, 1])]
    assert engine.poll(0) == []


def test_a_stopped_worker_beats_no_more(make: Make, time: ManualTime) -> None:
    engine = make(str.upper, workers=2)
    engine.stop_worker(0, "enough")
    take(engine, 1, Pulled)
    time.advance(5.0)
    assert engine.poll(0) == [Beat([1, 2])]


def test_a_poll_without_a_timeout_does_not_return_nothing_while_a_worker_is_busy(
    make: Make, host: Host, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = itertools.count()

    def patient_time() -> float:
        if next(looks) == 5:
            gate.open()
        return 1000.0

    engine = make(host)
    give(engine, 0, "stay")
    gate.await_arrivals()
    monkeypatch.setattr(pooled, "monotonic", patient_time)
    assert delivered(engine.poll(None)) == ["STAY"]


def test_an_interrupt_raised_by_the_function_is_no_silent_end_of_its_worker(make: Make) -> None:
    def interrupt(item: str) -> None:
        raise KeyboardInterrupt

    engine = make(interrupt)
    give(engine, 0, "item")
    assert take(engine, 1, Finished, WorkerLost)


def test_a_finished_result_does_not_wait_for_the_slow_item_behind_it(
    make: Make, host: Host, gate: Gate, time: ManualTime
) -> None:
    engine = make(host)
    give(engine, 0, "done", "stay")
    gate.await_arrivals()
    time.advance(LONG_S)
    assert delivered(poll_now(engine)) == ["DONE"]


@pytest.mark.req("CMP-5")
def test_what_waits_behind_a_slow_item_is_returned_while_a_worker_is_idle(
    make: Make, host: Host, gate: Gate, time: ManualTime
) -> None:
    engine = make(host, workers=2)
    give(engine, 0, "stay", "b", "c")
    gate.await_arrivals()
    time.advance(LONG_S)
    assert poll_now(engine) == [Returned(0, [1, 2])]
    gate.open()
    take(engine, 1, Pulled)
    assert host.guests == ["stay"]


def test_nothing_is_returned_while_all_workers_are_busy(make: Make, host: Host, gate: Gate, time: ManualTime) -> None:
    engine = make(host, workers=2)
    for worker in (0, 1):
        give(engine, worker, "stay", "b")
        gate.await_arrivals()
    time.advance(LONG_S)
    assert poll_now(engine) == []


class Weighty:
    """An object whose end `freed` shows."""

    def __init__(self, freed: threading.Semaphore) -> None:
        weakref.finalize(self, freed.release)


@pytest.mark.req("CMP-2")
@pytest.mark.parametrize("kept", ["item", "result"])
def test_an_idle_worker_keeps_neither_its_last_item_nor_its_last_result(make: Make, kept: str) -> None:
    freed = threading.Semaphore(0)
    engine = make((lambda item: None) if kept == "item" else (lambda item: Weighty(freed)))
    give(engine, 0, Weighty(freed) if kept == "item" else None)
    take(engine, 1, Pulled)
    gc.collect()
    assert freed.acquire(timeout=GUARD_S)


class StoppingTime:
    """A clock that stops worker 0 when its thread reads the time, at the given reading after `begin`."""

    def __init__(self, engine: ThreadEngine, monkeypatch: pytest.MonkeyPatch) -> None:
        self._engine = engine
        self._home = threading.current_thread()
        self._looks_left = 0
        self.stopped: SimpleQueue[threading.Thread] = SimpleQueue()
        monkeypatch.setattr(threads, "monotonic", self)

    def begin(self, looks: int) -> None:
        self._looks_left = looks

    def __call__(self) -> float:
        thread = threading.current_thread()
        if self._looks_left and thread is not self._home:
            self._looks_left -= 1
            if self._looks_left == 0:
                self._engine.stop_worker(0, "in between")
                self.stopped.put(thread)
        return 1000.0


@pytest.mark.parametrize("looks", [1, 2], ids=["before it delivers", "before it pulls"])
def test_a_worker_stopped_just_after_its_item_ended_says_nothing_after_its_loss(
    make: Make, monkeypatch: pytest.MonkeyPatch, looks: int
) -> None:
    engine = make(lambda item: time.begin(looks))
    time = StoppingTime(engine, monkeypatch)
    give(engine, 0, "item")
    assert wait_for_end({time.stopped.get(timeout=GUARD_S)})
    mine = [event for event in engine.poll(0) if getattr(event, "worker", None) == 0]
    assert mine[-1] == WorkerLost(0, Loss.RETIRED, reason="in between")


def test_a_worker_stopped_before_it_began_starts_nothing(
    make: Make, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = make(host)
    time = StoppingTime(engine, monkeypatch)
    time.begin(1)
    give(engine, 0, "item")
    assert wait_for_end({time.stopped.get(timeout=GUARD_S)})
    assert host.guests == []
