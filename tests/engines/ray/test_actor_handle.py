"""The driver's state of one actor."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import pytest

from inorder.core.events import Envelope, Finished, Loss, Overran, Pulled, Returned, WorkerLost
from inorder.engines.attempt import SUCCESS
from inorder.engines.base import Batch, Task
from inorder.engines.pool import RunningItem
from inorder.engines.progress import ItemProgress, WorkerActivity
from inorder.engines.ray.actor_handle import ActorHandle
from inorder.engines.ray.protocol import Hello
from tests.support.gates import without_times

THREADS = 8


class Process:
    """Stands in for a local process."""

    def __init__(self) -> None:
        self.is_stopped = False
        self.on: RunningItem | None = None

    def running_item(self) -> RunningItem | None:
        return self.on

    def read_progress(self, running: RunningItem) -> ItemProgress | None:
        return ItemProgress(3, None, "row")

    def stop(self) -> None:
        self.is_stopped = True


@pytest.fixture
def actor() -> ActorHandle:
    return ActorHandle(5, None)


@pytest.fixture
def numbers() -> Iterator[int]:
    return count(100)


def up(actor: ActorHandle, worker: int = 100) -> ActorHandle:
    actor.track(Pulled(worker))
    return actor


def batch_of(*seqs: int, worker: int = 100) -> Batch:
    return Batch(worker, [Task(seq, 1, None) for seq in seqs], isolated=False)


def finished(*seqs: int) -> Finished:
    return Finished(100, [Envelope(seq, 1, SUCCESS) for seq in seqs])


def start_local(actor: ActorHandle) -> Any:
    process: Any = Process()
    actor.run_locally()
    assert actor.keep(process)
    return process


def test_a_worker_keeps_its_number_in_every_event(actor: ActorHandle, numbers: Iterator[int]) -> None:
    said = [Pulled(0, 7), Finished(0, []), Overran(0, 3, 1, 500), Returned(0, [4])]
    translated = [actor.translate(event, lambda: next(numbers)) for event in said]
    assert translated == [Pulled(100, 7), Finished(100, []), Overran(100, 3, 1, 500), Returned(100, [4])]


def test_the_worker_after_a_lost_one_has_another_number(actor: ActorHandle, numbers: Iterator[int]) -> None:
    for event in (Pulled(0), WorkerLost(0, Loss.DIED, 7, "SIGKILL"), Pulled(1)):
        heard: Any = actor.translate(event, lambda: next(numbers))
        actor.track(heard)
    assert actor.worker == 101
    assert (actor.find_remote_number(100), actor.find_remote_number(101), actor.find_remote_number(999)) == (0, 1, -1)
    assert actor.translate(WorkerLost(0, Loss.DIED, 7, "SIGKILL"), lambda: next(numbers)) == WorkerLost(
        100, Loss.DIED, 7, "SIGKILL"
    )


def test_it_has_a_worker_from_its_first_pull_to_its_loss(actor: ActorHandle) -> None:
    assert actor.list_workers() == []
    assert not actor.has_started
    with pytest.raises(LookupError, match="actor 5 has no worker"):
        _ = actor.worker
    up(actor)
    assert (actor.list_workers(), actor.worker, actor.has_started) == ([100], 100, True)
    actor.track(WorkerLost(100, Loss.DIED))
    assert actor.list_workers() == []
    assert actor.has_started, "it was, once"


def test_results_returns_pulls_and_losses_update_what_it_holds(actor: ActorHandle) -> None:
    up(actor)
    actor.hold(batch_of(1, 2, 3, 4, 5))
    actor.track(finished(1, 2))
    assert actor.held_seqs == {3, 4, 5}
    actor.track(Returned(100, [5]))
    assert actor.held_seqs == {3, 4}
    actor.track(Overran(100, 3, 1, 500))
    assert actor.held_seqs == {3, 4}
    actor.track(Pulled(100))
    assert actor.held_seqs == set()
    actor.hold(batch_of(6))
    actor.track(WorkerLost(100, Loss.DIED))
    assert actor.held_seqs == set()


def test_only_one_of_many_threads_begins_a_poll(actor: ActorHandle) -> None:
    barrier = threading.Barrier(THREADS)

    def want() -> bool:
        barrier.wait()
        return actor.try_begin_poll()

    with ThreadPoolExecutor(THREADS) as threads:
        told = [future.result() for future in [threads.submit(want) for _ in range(THREADS)]]
    assert told.count(True) == 1
    assert actor.is_polled
    actor.is_polled = False
    assert actor.try_begin_poll()
    assert not actor.try_begin_poll()


@pytest.mark.parametrize(
    ("files", "sees_marker", "sees_files"),
    [
        ("auto", True, True),
        ("auto", False, False),
        ("shared", False, True),
        ("shared", True, True),
        ("send", True, False),
        ("send", False, False),
    ],
)
def test_the_option_decides_whether_files_are_sent_and_with_auto_the_marker_file(
    actor: ActorHandle, files: str, sees_marker: bool, sees_files: bool
) -> None:
    actor.on_hello(Hello("host-a", 77, "node-a", sees_marker), files)
    assert (actor.host, actor.node, actor.sees_files) == ("host-a", "node-a", sees_files)


# ---- local processes


def test_a_local_overrun_is_reported_once(actor: ActorHandle) -> None:
    up(actor)
    process = start_local(actor)
    assert actor.find_overrun(1000.0, 0.5) is None, "it is on nothing"
    process.on = RunningItem(7, 2, 10.0)
    assert actor.find_overrun(10.4, 0.5) is None
    assert without_times(actor.find_overrun(10.5, 0.5)) == Overran(100, 7, 2, 500)
    assert actor.find_overrun(99.0, 0.5) is None
    process.on = RunningItem(7, 3, 100.0)
    assert without_times(actor.find_overrun(101.0, 0.5)) == Overran(100, 7, 3, 500)


def test_without_a_local_process_there_is_no_local_overrun(actor: ActorHandle) -> None:
    assert up(actor).find_overrun(1e9, 0.001) is None


def test_a_local_process_is_stopped_when_it_is_released(actor: ActorHandle) -> None:
    assert not actor.is_local
    process = start_local(actor)
    assert actor.is_local
    assert not process.is_stopped
    actor.release(process)
    assert process.is_stopped
    assert not actor.is_local


def test_a_batch_that_waits_for_a_local_process_is_local(actor: ActorHandle) -> None:
    actor.run_locally()
    assert actor.is_local


def test_releasing_a_process_does_not_stop_the_next_one(actor: ActorHandle) -> None:
    """The worker may get its next batch before the thread of the previous one has released its process."""
    first = start_local(actor)
    second = start_local(actor)
    actor.release(first)
    assert (first.is_stopped, second.is_stopped) == (True, False)
    assert actor.is_local
    actor.close()
    assert second.is_stopped


def test_closing_a_handle_stops_its_process(actor: ActorHandle) -> None:
    process = start_local(actor)
    actor.close()
    assert process.is_stopped


def test_a_process_that_starts_after_the_close_is_stopped_at_once(actor: ActorHandle) -> None:
    actor.close()
    process: Any = Process()
    assert not actor.keep(process)
    assert process.is_stopped


@pytest.mark.req("HBT-1")
def test_what_its_worker_runs_is_known_from_its_last_report(actor: ActorHandle) -> None:
    actor.activity = [WorkerActivity(0, 7, 2, 10.0, ItemProgress(31, 900, "page", 4.0))]
    assert actor.list_activity(1.0) == []
    up(actor).hold(Batch(100, [Task(7, 2, None)], isolated=False))
    assert actor.list_activity(1.5) == [WorkerActivity(100, 7, 2, 11.5, ItemProgress(31, 900, "page", 5.5))]
    actor.activity = [WorkerActivity(0, 7, 2, 10.0)]
    assert actor.list_activity(0.0) == [WorkerActivity(100, 7, 2, 10.0)]
    actor.track(Returned(100, [7]))
    assert actor.list_activity(1.5) == []


@pytest.mark.req("HBT-1")
def test_what_its_local_process_runs_is_known_at_once(actor: ActorHandle) -> None:
    process: Any = Process()
    up(actor).run_locally()
    assert actor.keep(process)
    assert actor.list_activity(0.0) == []
    process.on = RunningItem(7, 2, 0.0)
    [found] = actor.list_activity(0.0)
    assert (found.worker, found.seq, found.attempt, found.progress) == (100, 7, 2, ItemProgress(3, None, "row"))
