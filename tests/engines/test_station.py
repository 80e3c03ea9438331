"""What the driver keeps of one actor."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import pytest

from inorder.core.events import Envelope, Finished, Loss, Overran, Pulled, Returned, WorkerLost
from inorder.engines.attempt import SUCCESS
from inorder.engines.base import Batch, Task
from inorder.engines.pool import Running
from inorder.engines.ray.actor_handle import Station
from inorder.engines.ray.protocol import Hello

THREADS = 8


class Process:
    """Stands in for a process of this machine."""

    def __init__(self) -> None:
        self.is_stopped = False
        self.on: Running | None = None

    def running(self) -> Running | None:
        return self.on

    def stop(self) -> None:
        self.is_stopped = True


@pytest.fixture
def station() -> Station:
    return Station(5, actor=None)


@pytest.fixture
def numbers() -> Iterator[int]:
    return count(100)


def up(station: Station, worker: int = 100) -> Station:
    station.note(Pulled(worker))
    return station


def batch_of(*seqs: int, worker: int = 100) -> Batch:
    return Batch(worker, [Task(seq, 1, None) for seq in seqs], isolated=False)


def finished(*seqs: int) -> Finished:
    return Finished(100, [Envelope(seq, 1, SUCCESS) for seq in seqs])


def at_home(station: Station) -> Any:
    process: Any = Process()
    station.come_home()
    assert station.stay(process)
    return process


def test_a_worker_has_one_number_here_whatever_it_says(station: Station, numbers: Iterator[int]) -> None:
    said = [Pulled(0, 7), Finished(0, []), Overran(0, 3, 1, 500), Returned(0, [4])]
    translated = [station.translated(event, lambda: next(numbers)) for event in said]
    assert translated == [Pulled(100, 7), Finished(100, []), Overran(100, 3, 1, 500), Returned(100, [4])]


def test_the_worker_after_a_lost_one_has_another_number(station: Station, numbers: Iterator[int]) -> None:
    for event in (Pulled(0), WorkerLost(0, Loss.DIED, 7, "SIGKILL"), Pulled(1)):
        heard: Any = station.translated(event, lambda: next(numbers))
        station.note(heard)
    assert station.worker == 101
    assert (station.local(100), station.local(101), station.local(999)) == (0, 1, -1)
    assert station.translated(WorkerLost(0, Loss.DIED, 7, "SIGKILL"), lambda: next(numbers)) == WorkerLost(
        100, Loss.DIED, 7, "SIGKILL"
    )


def test_it_has_a_worker_from_its_first_pull_to_its_loss(station: Station) -> None:
    assert station.workers() == []
    assert not station.is_up
    with pytest.raises(LookupError, match="station 5 has no worker"):
        _ = station.worker
    up(station)
    assert (station.workers(), station.worker, station.is_up) == ([100], 100, True)
    station.note(WorkerLost(100, Loss.DIED))
    assert station.workers() == []
    assert station.is_up, "it was, once"


def test_what_it_holds_goes_with_answers_returns_pulls_and_losses(station: Station) -> None:
    up(station)
    station.hold(batch_of(1, 2, 3, 4, 5))
    station.note(finished(1, 2))
    assert station.held == {3, 4, 5}
    station.note(Returned(100, [5]))
    assert station.held == {3, 4}
    station.note(Overran(100, 3, 1, 500))
    assert station.held == {3, 4}
    station.note(Pulled(100))
    assert station.held == set()
    station.hold(batch_of(6))
    station.note(WorkerLost(100, Loss.DIED))
    assert station.held == set()


def test_only_one_of_many_who_want_to_listen_is_told_to(station: Station) -> None:
    barrier = threading.Barrier(THREADS)

    def want() -> bool:
        barrier.wait()
        return station.starts_listening()

    with ThreadPoolExecutor(THREADS) as threads:
        told = [future.result() for future in [threads.submit(want) for _ in range(THREADS)]]
    assert told.count(True) == 1
    assert station.is_listening
    station.is_listening = False
    assert station.starts_listening()
    assert not station.starts_listening()


@pytest.mark.parametrize(
    ("files", "sees_mark", "sees_files"),
    [
        ("auto", True, True),
        ("auto", False, False),
        ("shared", False, True),
        ("shared", True, True),
        ("send", True, False),
        ("send", False, False),
    ],
)
def test_whether_files_are_sent_is_the_operator_s_to_say_and_else_the_mark_s(
    station: Station, files: str, sees_mark: bool, sees_files: bool
) -> None:
    station.greet(Hello("host-a", 77, "node-a", sees_mark), files)
    assert (station.host, station.node, station.sees_files) == ("host-a", "node-a", sees_files)


# ---- what is done at home


def test_an_overrun_at_home_is_told_once(station: Station) -> None:
    up(station)
    process = at_home(station)
    assert station.overrun(1000.0, 0.5) is None, "it is on nothing"
    process.on = Running(7, 2, 10.0)
    assert station.overrun(10.4, 0.5) is None
    assert station.overrun(10.5, 0.5) == Overran(100, 7, 2, 500)
    assert station.overrun(99.0, 0.5) is None
    process.on = Running(7, 3, 100.0)
    assert station.overrun(101.0, 0.5) == Overran(100, 7, 3, 500)


def test_without_a_process_here_nothing_overruns_here(station: Station) -> None:
    assert up(station).overrun(1e9, 0.001) is None


def test_a_process_of_this_machine_is_stopped_when_it_is_not_needed(station: Station) -> None:
    assert not station.is_home
    process = at_home(station)
    assert station.is_home
    assert not process.is_stopped
    station.leave_home(process)
    assert process.is_stopped
    assert not station.is_home


def test_what_waits_for_a_process_of_this_machine_is_at_home_already(station: Station) -> None:
    station.come_home()
    assert station.is_home


def test_a_process_that_is_not_needed_any_more_leaves_the_next_one_alone(station: Station) -> None:
    """The worker may be given its next batch before the thread of the one before has let go."""
    first = at_home(station)
    second = at_home(station)
    station.leave_home(first)
    assert (first.is_stopped, second.is_stopped) == (True, False)
    assert station.is_home
    station.go()
    assert second.is_stopped


def test_a_station_that_is_given_up_stops_its_process(station: Station) -> None:
    process = at_home(station)
    station.go()
    assert process.is_stopped


def test_a_process_that_comes_too_late_is_stopped_at_once(station: Station) -> None:
    station.go()
    process: Any = Process()
    assert not station.stay(process)
    assert process.is_stopped
