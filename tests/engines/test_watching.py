"""How a pool watches its workers: overruns, deaths, a changing number of workers, and results that are too large."""

from collections.abc import Iterator
from queue import SimpleQueue
from typing import Any

import pytest

from inorder.core.events import Beat, Event, Finished, Loss, Overran, Pulled, Returned, WorkerLost
from inorder.engines import pool
from inorder.engines.base import Batch, Task
from inorder.engines.pool import Outbox, PoolEngine, RunningItem
from inorder.engines.threads import ThreadPoolWorker
from tests.support.gates import ManualTime, stop_time


class Puppet:
    """A worker that does what the test says."""

    def __init__(self, number: int, outbox: Outbox) -> None:
        self.number = number
        self.outbox = outbox
        self.running: RunningItem | None = None
        self.is_dead = False
        self.is_stopped = False

    def prepare(self, batch: Batch) -> None:
        """Do nothing."""

    def execute(self, batch: Batch) -> None:
        """Do nothing: the test says when an item begins and ends."""

    def running_item(self) -> RunningItem | None:
        return self.running

    def read_progress(self, running: RunningItem) -> None:
        return None

    def find_last_beat(self) -> None:
        return None

    def flush(self) -> None:
        """Do nothing."""

    def return_unstarted(self, *, half: bool = False) -> None:
        """Do nothing."""

    def is_alive(self) -> bool:
        return not self.is_dead

    def begin_stop(self) -> None:
        """Do nothing."""

    def stop(self) -> None:
        self.is_stopped = True

    def find_survivor(self) -> None:
        return None


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> ManualTime:
    return stop_time(monkeypatch)


@pytest.fixture
def puppets() -> list[Puppet]:
    return []


@pytest.fixture
def engine(time: ManualTime, puppets: list[Puppet]) -> Iterator[PoolEngine]:
    """Two puppets, which have pulled. Items may take ten seconds."""

    def make(number: int, outbox: Outbox) -> Puppet:
        puppets.append(Puppet(number, outbox))
        return puppets[-1]

    engine = PoolEngine(make, 2, timeout_s=10.0, name="puppets")
    engine.start()
    engine.poll(0)
    yield engine
    engine.close()


def give(engine: PoolEngine, worker: int, *seqs: int) -> None:
    engine.dispatch(Batch(worker, [Task(seq, 1, None) for seq in seqs], isolated=False))


def of_kind(events: list[Event], kind: type[Any]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


@pytest.mark.req("RTY-4")
def test_a_worker_whose_overrun_is_not_wanted_any_more_is_replaced(
    engine: PoolEngine, puppets: list[Puppet], time: ManualTime
) -> None:
    """The kernel has taken the item back at the moment it began, and does not stop the worker."""
    give(engine, 0, 7)
    puppets[0].running = RunningItem(7, 1, time.now_s)
    time.advance(10)
    [overran] = of_kind(engine.poll(0), Overran)
    assert (overran.worker, overran.seq, overran.attempt, overran.limit_ms) == (0, 7, 1, 10_000)
    assert not puppets[0].is_stopped
    events = engine.poll(0) + engine.poll(0)
    assert puppets[0].is_stopped
    assert of_kind(events, Overran) == []
    [lost] = of_kind(events, WorkerLost)
    assert (lost.worker, lost.cause) == (0, Loss.RETIRED), "its item must not be blamed, nor the machine"
    assert of_kind(events, Pulled) == [Pulled(2)], "another worker takes its place"


def test_a_dead_worker_gives_no_heartbeat(engine: PoolEngine, puppets: list[Puppet], time: ManualTime) -> None:
    puppets[1].is_dead = True
    time.advance(pool.BEAT_S)
    assert of_kind(engine.poll(0), Beat) == [Beat([0])]


def test_a_number_of_workers_that_falls_and_rises_again_is_the_number_wanted(
    engine: PoolEngine, puppets: list[Puppet]
) -> None:
    give(engine, 0, 1)
    give(engine, 1, 2)
    engine.resize(1)
    engine.resize(3)
    assert len(puppets) == 3, "the one that was about to leave stays, and one is added"
    for puppet in list(puppets):
        puppet.outbox.put(Pulled(puppet.number))
    assert of_kind(engine.poll(0), WorkerLost) == []
    assert not any(puppet.is_stopped for puppet in puppets)


def test_a_worker_that_leaves_is_lost_without_blame(engine: PoolEngine, puppets: list[Puppet]) -> None:
    give(engine, 0, 1)
    give(engine, 1, 2)
    engine.resize(1)
    puppets[1].outbox.put(Pulled(1))
    [lost] = engine.poll(0)
    assert isinstance(lost, WorkerLost)
    assert (lost.worker, lost.cause) == (1, Loss.RETIRED)
    assert puppets[1].is_stopped


@pytest.mark.req("BPR-1")
def test_a_thread_returns_the_rest_of_a_batch_whose_results_are_larger_than_expected() -> None:
    outbox: Outbox = SimpleQueue()
    worker = ThreadPoolWorker(0, outbox, lambda item: b"x" * 1000)
    worker.execute(Batch(0, [Task(seq, 1, None) for seq in range(4)], isolated=False, bytes_max=1500))
    events = [outbox.get() for _ in range(outbox.qsize())]
    done = [envelope.seq for event in events if isinstance(event, Finished) for envelope in event.envelopes]
    assert done == [0, 1]
    assert [event.seqs for event in events if isinstance(event, Returned)] == [[2, 3]]
