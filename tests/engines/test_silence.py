"""Workers without a heartbeat, on a clock that moves when told to."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from inorder.core.events import Beat, Event, Loss, Pulled, WorkerLost
from inorder.engines.base import Batch, Task
from inorder.engines.pool import START_S_MAX, Outbox, PoolEngine, RunningItem
from inorder.engines.progress import ItemProgress
from tests.support.gates import ManualTime, stop_time

LEASE_S = 8.0


class Patient:
    """A worker that has an item for ever."""

    def __init__(self, number: int, outbox: Outbox) -> None:
        self.number = number
        self.beat: int | None = 1
        self.running: RunningItem | None = RunningItem(7, 1, 0.0)
        self.is_stopped = False

    def prepare(self, batch: Batch) -> None:
        """Do nothing."""

    def execute(self, batch: Batch) -> None:
        """Do nothing."""

    def running_item(self) -> RunningItem | None:
        return self.running

    def read_progress(self, running: RunningItem) -> ItemProgress | None:
        return ItemProgress(31, 900, "page", 2.0)

    def find_last_beat(self) -> int | None:
        return self.beat

    def flush(self) -> None:
        """Do nothing."""

    def return_unstarted(self, *, half: bool = False) -> None:
        """Do nothing."""

    def is_alive(self) -> bool:
        return True

    def begin_stop(self) -> None:
        """Do nothing."""

    def stop(self) -> None:
        self.is_stopped = True

    def find_survivor(self) -> Task | None:
        return None


class Bench:
    """One busy worker, a clock, and what the engine reports."""

    def __init__(self, time: ManualTime, timeout_s: float | None, lease_s: float) -> None:
        self.time = time
        self.made: list[Patient] = []
        self.engine = PoolEngine(self._make, 1, timeout_s=timeout_s, name="patient", lease_s=lease_s)
        self.engine.start()
        self.poll()
        self.engine.dispatch(Batch(0, [Task(7, 1, None)], isolated=False))
        self.poll()

    def _make(self, number: int, outbox: Outbox) -> Patient:
        self.made.append(Patient(number, outbox))
        return self.made[-1]

    def poll(self) -> list[Event]:
        found = [*self.engine.poll(0.0), *self.engine.poll(0.0)]
        return [event for event in found if not isinstance(event, Beat)]

    def pass_time(self, seconds: float, *, is_beating: bool = False) -> list[Event]:
        """Poll twice per second."""
        found: list[Event] = []
        for _ in range(int(seconds * 2)):
            self.time.advance(0.5)
            if is_beating and self.made[0].beat is not None:
                self.made[0].beat += 1
            found += self.poll()
        return found


@contextmanager
def bench(monkeypatch: pytest.MonkeyPatch, timeout_s: float | None = None, lease_s: float = LEASE_S) -> Iterator[Bench]:
    made = Bench(stop_time(monkeypatch), timeout_s, lease_s)
    try:
        yield made
    finally:
        made.engine.close()


@pytest.mark.req("HBT-1")
def test_a_worker_without_a_heartbeat_is_replaced_after_the_lease_time(monkeypatch: pytest.MonkeyPatch) -> None:
    with bench(monkeypatch) as one:
        assert one.pass_time(LEASE_S - 1) == []
        lost, pulled = one.pass_time(3)
        assert lost == WorkerLost(0, Loss.DIED, 7, "its process gave no heartbeat for 8 s")
        assert pulled == Pulled(1)
        assert one.made[0].is_stopped


@pytest.mark.req("HBT-1")
def test_a_worker_that_is_lost_between_items_blames_none_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    with bench(monkeypatch, timeout_s=1e6) as one:
        one.made[0].running = None
        lost = one.pass_time(LEASE_S + 2)[0]
        assert lost == WorkerLost(0, Loss.INFRASTRUCTURE, None, "its process gave no heartbeat for 8 s")


@pytest.mark.req("HBT-1", "LED-7")
@pytest.mark.parametrize("timeout_s", [None, 1e6])
def test_a_worker_that_is_stopped_before_its_first_item_is_replaced_soon(
    monkeypatch: pytest.MonkeyPatch, timeout_s: float | None
) -> None:
    """No time limit ends it, because no item has begun."""
    with bench(monkeypatch, timeout_s, lease_s=300.0) as one:
        one.made[0].running = None
        lost, pulled = one.pass_time(START_S_MAX + 2)
        assert lost == WorkerLost(0, Loss.INFRASTRUCTURE, None, "its process gave no heartbeat for 30 s")
        assert pulled == Pulled(1)


@pytest.mark.req("HBT-1")
def test_a_worker_with_a_heartbeat_may_take_as_long_as_it_likes(monkeypatch: pytest.MonkeyPatch) -> None:
    with bench(monkeypatch) as one:
        assert one.pass_time(20 * LEASE_S, is_beating=True) == []


@pytest.mark.req("HBT-1")
def test_a_thread_never_falls_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    with bench(monkeypatch) as one:
        one.made[0].beat = None
        assert one.pass_time(20 * LEASE_S) == []


@pytest.mark.req("HBT-1")
def test_the_time_limit_of_an_item_decides_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    with bench(monkeypatch, timeout_s=1e6) as one:
        assert one.pass_time(2 * LEASE_S) == []


@pytest.mark.req("HBT-1")
def test_no_worker_seems_silent_after_the_whole_machine_was_suspended(monkeypatch: pytest.MonkeyPatch) -> None:
    with bench(monkeypatch) as one:
        one.pass_time(LEASE_S / 2)
        one.time.advance(3600)
        assert one.poll() == []
        assert one.pass_time(LEASE_S, is_beating=True) == []


@pytest.mark.req("HBT-1")
def test_a_batch_for_a_worker_that_fell_silent_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    with bench(monkeypatch) as one:
        one.pass_time(LEASE_S + 2)
        one.engine.dispatch(Batch(0, [Task(8, 1, None)], isolated=False))
        assert one.poll() == [WorkerLost(0, Loss.RETIRED, reason="the worker ended before it got a batch")]


@pytest.mark.req("HBT-1")
def test_the_engine_tells_what_its_workers_are_running(monkeypatch: pytest.MonkeyPatch) -> None:
    with bench(monkeypatch) as one:
        [found] = one.engine.list_activity()
        assert (found.worker, found.seq, found.attempt, found.elapsed_s) == (0, 7, 1, one.time.now_s)
        assert found.progress is not None
        assert found.progress.describe() == "page 31 of 900"
