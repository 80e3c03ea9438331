"""A supervisor and its worker process, with nothing of Ray around them: the test is the driver."""

import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from inorder.core.events import Envelope, Event, Finished, Loss, Overran, Pulled, Returned, WorkerLost
from inorder.engines import pool
from inorder.engines.pool import PoolEngine
from inorder.engines.process.worker_process import ProcessOptions
from inorder.engines.ray import supervisor as supervisor_module
from inorder.engines.ray.protocol import Hello, Order, Report, SupervisorOptions, decode_report, encode_order
from inorder.engines.ray.supervisor import Supervisor
from tests.engines.process.silent import tell_pid_and_wait
from tests.support.gates import without_times
from tests.support.misbehaviour import (
    GUARD_S,
    Mischief,
    Tensor,
    is_running,
    serve,
    sign_or_wait,
    wait_until,
    whoami,
    word_at,
)

pytestmark = [pytest.mark.usefixtures("no_leaks"), pytest.mark.process]

PATIENT_S = 1000.0
"""Before results are reported, if nothing urgent comes."""


@pytest.fixture(autouse=True)
def main(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A main module, a path and a current folder that a supervisor may change."""
    module = ModuleType("__main__")
    module.__file__ = "/somewhere/ray/default_worker.py"
    monkeypatch.setitem(sys.modules, "__main__", module)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(".")
    return module


class Driver:
    """Polls the supervisor."""

    def __init__(self, supervisor: Supervisor) -> None:
        self.supervisor = supervisor
        self.reports: list[Report] = []

    def poll(self, order: Order | None = None, timeout_s: float = GUARD_S) -> list[Event]:
        """Get one report, through a pickle."""
        encoded = self.supervisor.poll(None if order is None else encode_order(order), timeout_s)
        buffers: list[pickle.PickleBuffer] = []
        data = pickle.dumps(encoded, protocol=5, buffer_callback=buffers.append)
        report, events = decode_report(*pickle.loads(data, buffers=buffers))
        self.reports.append(report)
        return events

    def poll_until(self, kind: type[Any], order: Order | None = None) -> list[Any]:
        """Get reports up to the first that has such an event."""
        events = self.poll(order)
        while not any(isinstance(event, kind) for event in events):
            more = self.poll()
            assert more, f"no {kind.__name__} came: {events}"
            events += more
        return events

    def answers(self, order: Order) -> list[Envelope]:
        """The results of a batch."""
        events = self.poll_until(Pulled, order)
        return [envelope for event in events if isinstance(event, Finished) for envelope in event.envelopes]


def order_of(*items: Any, worker: int = 0, attempt: int = 1, isolated: bool = False) -> Order:
    packed = [(seq, attempt, pickle.dumps(item)) for seq, item in enumerate(items)]
    return Order(worker, packed, isolated, 2**30)


RETURN_UNSTARTED = Order(0, [])
Start = Callable[..., Driver]


@pytest.fixture
def start() -> Iterator[Start]:
    """Start supervisors, take their hello, and close them."""
    started = []

    def start(function: Callable[[Any], Any] | bytes = serve, **options: Any) -> Driver:
        data = function if isinstance(function, bytes) else pickle.dumps(function)
        started.append(Supervisor(data, SupervisorOptions(**options), "node-1"))
        driver = Driver(started[-1])
        assert driver.poll() == [Pulled(0)]
        return driver

    yield start
    for supervisor in started:
        supervisor.close()


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> "type[Watched]":
    """The engine class of the next supervisor, which shows what it sees."""
    chosen = type("Chosen", (Watched,), {"is_waiting": threading.Event(), "on_event": staticmethod(lambda event: None)})
    monkeypatch.setattr(supervisor_module, "PoolEngine", chosen)
    return chosen


class Watched(PoolEngine):
    """Shows when a thread waits in `poll`, and the events that it gets."""

    is_waiting: threading.Event
    on_event: Callable[[Event], object]

    def poll(self, timeout_s: float | None) -> list[Event]:
        if timeout_s:
            self.is_waiting.set()
        events = super().poll(timeout_s)
        for event in events:
            self.on_event(event)
        return events


# ---- hello


def test_the_first_report_has_a_hello(start: Start) -> None:
    driver = start()
    hello = driver.reports[0].hello
    assert isinstance(hello, Hello)
    assert (hello.pid, hello.node, hello.sees_files) == (os.getpid(), "node-1", False)
    assert hello.host
    driver.poll(timeout_s=0.0)
    assert driver.reports[1].hello is None


@pytest.mark.parametrize(
    ("content", "secret", "sees_files"),
    [
        (b"5ecret", "5ecret", True),
        (b"another", "5ecret", False),
        (b"5ecret\n", "5ecret", False),
        (b"\xff\xfe", "5ecret", False),
        (None, "5ecret", False),
        (b"", "", False),
    ],
    ids=["right", "wrong", "longer", "no text", "no file", "no secret"],
)
def test_a_node_sees_the_files_of_the_driver_if_it_finds_the_secret_in_the_marker_file(
    start: Start, tmp_path: Path, content: bytes | None, secret: str, sees_files: bool
) -> None:
    if content is not None:
        (tmp_path / "mark").write_bytes(content)
    hello = start(marker_path=str(tmp_path / "mark"), marker_secret=secret).reports[0].hello
    assert hello is not None
    assert hello.sees_files is sees_files


def test_folders_of_the_driver_s_path_that_exist_are_added_to_the_path(start: Start, tmp_path: Path) -> None:
    (tmp_path / "module_of_the_driver.py").write_text("def treble(number):\n    return number * 3\n")
    before = list(sys.path)
    places = [before[-1], str(tmp_path), str(tmp_path / "not there")]
    driver = start(b"cmodule_of_the_driver\ntreble\n.", path=places)
    assert sys.path == [*before, str(tmp_path)]
    assert [envelope.payload for envelope in driver.answers(order_of(7))] == [21]


def test_the_current_folder_is_that_of_the_driver_if_it_exists(start: Start, tmp_path: Path) -> None:
    driver = start(os.path.abspath, folder=str(tmp_path))
    assert [envelope.payload for envelope in driver.answers(order_of("x"))] == [str(tmp_path / "x")]
    start(folder=str(tmp_path / "not there"))
    assert os.getcwd() == str(tmp_path), "it stays where it is"


# ---- work


def test_a_batch_is_answered_in_order_and_then_the_worker_pulls(start: Start) -> None:
    driver = start()
    events = driver.poll_until(Pulled, order_of(1, 2, 3, attempt=4))
    assert [type(event) for event in events[-1:]] == [Pulled]
    answers = [envelope for event in events if isinstance(event, Finished) for envelope in event.envelopes]
    assert [(answer.seq, answer.attempt, answer.payload) for answer in answers] == [(0, 4, 2), (1, 4, 4), (2, 4, 6)]
    assert all(event.worker == 0 for event in events)


def test_an_item_that_raises_costs_only_itself(start: Start) -> None:
    good, bad, better = start().answers(order_of(1, None, 3))
    assert (good.payload, better.payload) == (2, 6)
    assert bad.failure is not None
    assert bad.failure.message.startswith("TypeError: ")
    assert isinstance(bad.payload, TypeError)


def test_a_poll_that_times_out_reports_nothing(start: Start) -> None:
    driver = start()
    assert driver.poll(timeout_s=0.01) == []
    assert [envelope.payload for envelope in driver.answers(order_of(1))] == [2]


def test_an_order_is_executed_while_another_thread_polls(
    start: Start, watched: type[Watched], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "BEAT_S", 10 * GUARD_S)  # otherwise the poll would soon see the order without being woken
    driver = start()
    with ThreadPoolExecutor(1) as listener:
        heard = listener.submit(driver.poll_until, Pulled)
        assert watched.is_waiting.wait(GUARD_S)
        driver.supervisor.submit(encode_order(order_of(1)))
        events = heard.result(GUARD_S)
    assert [type(event) for event in events] == [Finished, Pulled]


@pytest.mark.req("CMP-6")
def test_a_large_result_comes_beside_the_report(start: Start) -> None:
    driver = start()
    [answer] = driver.answers(order_of(Mischief("tensor")))
    assert isinstance(answer.payload, Tensor)
    assert answer.payload.data == b"\xcd" * (8 * 2**20)
    memory = answer.payload.data
    while isinstance(memory, memoryview):
        memory = memory.obj
    assert type(memory).__name__ == "mmap", "it was copied on the way"


# ---- errors


@pytest.mark.req("RTY-3")
@pytest.mark.parametrize(("name", "ending"), [("kill", "SIGKILL"), ("segfault", "SIGSEGV"), ("exit", "status 3")])
def test_an_item_that_ends_its_process_is_named_and_a_new_worker_pulls(start: Start, name: str, ending: str) -> None:
    driver = start()
    events = driver.poll_until(Pulled, order_of(1, Mischief(name), 3))
    [lost] = [event for event in events if isinstance(event, WorkerLost)]
    assert (lost.worker, lost.cause, lost.running_seq) == (0, Loss.DIED, 1)
    assert ending in lost.reason
    assert events[-1] == Pulled(1)
    assert [envelope.payload for envelope in driver.answers(order_of(5, worker=1))] == [10]


@pytest.mark.req("RTY-4")
def test_an_item_that_hangs_is_reported_and_killed_if_the_driver_does_nothing(start: Start, tmp_path: Path) -> None:
    driver = start(timeout_s=2.0)
    pid_file = str(tmp_path / "pid")
    events = driver.poll_until(Pulled, order_of(Mischief("hang in C", pid_file), attempt=2))
    assert without_times(events[0]) == Overran(0, 0, 2, 2000)
    [lost] = [event for event in events if isinstance(event, WorkerLost)]
    assert (lost.worker, lost.cause) == (0, Loss.RETIRED)
    assert events[-1] == Pulled(1)
    assert not is_running(word_at(pid_file))


@pytest.mark.req("CMP-5")
def test_unstarted_items_are_returned_on_request(start: Start, tmp_path: Path) -> None:
    go = tmp_path / "go"
    driver = start(sign_or_wait)
    behind = [str(tmp_path / f"behind-{number}") for number in range(4)]
    events = driver.poll(order_of(Mischief("wait", str(go)), *behind), 0.0)
    while sum(len(event.seqs) for event in events if isinstance(event, Returned)) < len(behind):
        events += driver.poll(RETURN_UNSTARTED, 0.05)
    returned = [seq for event in events if isinstance(event, Returned) for seq in event.seqs]
    assert sorted(returned) == [1, 2, 3, 4]
    go.touch()
    events = driver.poll_until(Pulled)
    assert [envelope.seq for event in events if isinstance(event, Finished) for envelope in event.envelopes] == [0]
    assert not list(tmp_path.glob("behind-*")), "it ran items that it had returned"


def test_an_idle_worker_has_nothing_to_return(start: Start) -> None:
    driver = start()
    assert driver.poll(RETURN_UNSTARTED, 0.01) == []
    assert [envelope.payload for envelope in driver.answers(order_of(1))] == [2]


def test_a_function_that_cannot_be_loaded_is_reported_as_an_error(start: Start) -> None:
    driver = start(b"cmodule_that_is_missing\nnothing\n.")
    assert driver.poll(order_of(1)) == []
    error = driver.reports[-1].error
    assert error == "the function cannot be loaded: ModuleNotFoundError: No module named 'module_that_is_missing'"


def test_a_process_is_recycled_after_the_given_number_of_items(start: Start) -> None:
    driver = start(whoami, limits=ProcessOptions(recycle_tasks=1))
    pids = [envelope.payload for _ in range(2) for envelope in driver.answers(order_of(None))]
    assert len(set(pids)) == 2


def test_closing_a_supervisor_ends_its_worker(start: Start, tmp_path: Path) -> None:
    driver = start()
    pid_file = str(tmp_path / "pid")
    driver.poll(order_of(Mischief("hang", pid_file)), 0.0)
    pid = word_at(pid_file)
    driver.supervisor.close()
    assert not is_running(pid)


# ---- how often it reports


def one_then_wait(driver: Driver, watched: type[Watched], go: Path) -> list[Event]:
    """The first report on a quick item and one that ends only after the result of the first was seen."""

    def let_go(event: Event) -> None:
        if isinstance(event, Finished):
            go.touch()

    watched.on_event = staticmethod(let_go)  # type: ignore[method-assign]
    return driver.poll(order_of(1, Mischief("wait", str(go))))


def seqs_of(events: list[Event]) -> list[int]:
    return [envelope.seq for event in events if isinstance(event, Finished) for envelope in event.envelopes]


def test_with_few_workers_a_result_is_reported_at_once(start: Start, watched: type[Watched], tmp_path: Path) -> None:
    driver = start()
    events = one_then_wait(driver, watched, tmp_path / "go")
    assert seqs_of(events) == [0]
    assert seqs_of(driver.poll_until(Pulled)) == [1]


def test_with_many_workers_results_wait_for_more_until_something_urgent_comes(
    start: Start, watched: type[Watched], tmp_path: Path
) -> None:
    driver = start(batch_s=PATIENT_S)
    events = one_then_wait(driver, watched, tmp_path / "go")
    assert seqs_of(events) == [0, 1]
    assert isinstance(events[-1], Pulled)


def test_a_large_result_is_reported_at_once_with_any_number_of_workers(start: Start, tmp_path: Path) -> None:
    go = tmp_path / "go"
    driver = start(batch_s=PATIENT_S)
    events = driver.poll(order_of(Mischief("tensor"), Mischief("wait", str(go))))
    assert seqs_of(events) == [0]
    go.touch()
    assert seqs_of(driver.poll_until(Pulled)) == [1]


@pytest.mark.req("RTY-3")
def test_a_death_is_reported_at_once_with_any_number_of_workers(start: Start) -> None:
    driver = start(batch_s=PATIENT_S)
    events = driver.poll(order_of(*range(3), Mischief("kill")))
    assert any(isinstance(event, WorkerLost) for event in events)


@pytest.mark.req("HBT-1")
def test_a_silent_worker_process_is_reported_with_what_it_was_running(start: Start, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "never")
    driver = start(tell_pid_and_wait, lease_s=1.0)
    order = Order(0, [(7, 2, pickle.dumps(str(tmp_path)))], False, 2**20)
    assert driver.poll(order, timeout_s=0.0) == []
    assert wait_until((tmp_path / "pid").exists)
    assert driver.poll(timeout_s=0.0) == []
    [activity] = driver.reports[-1].activity
    assert (activity.worker, activity.seq, activity.attempt) == (0, 7, 2)
    assert activity.progress is not None
    assert activity.progress.describe() == "page 31 of 900"
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGSTOP)
    [lost] = [event for event in driver.poll_until(WorkerLost) if isinstance(event, WorkerLost)]
    assert (lost.worker, lost.cause, lost.running_seq) == (0, Loss.DIED, 7)
    assert lost.reason == "its process gave no heartbeat for 1 s"
