"""What a worker process promises its parent, each promise by itself and without a process."""

import pickle
import resource
from typing import Any

import msgspec
import pytest

from inorder.core.events import Envelope, Loss, WorkerLost
from inorder.core.transitions import State
from inorder.engines.base import Batch, Task
from inorder.engines.process import engine as process_engine
from inorder.engines.process import worker_main
from inorder.engines.process.engine import ProcessPoolWorker
from inorder.engines.process.shared_status import SharedStatus, StatusSnapshot
from inorder.engines.process.worker_process import ProcessOptions, StartupError
from inorder.errors import InfrastructureError
from inorder.host.memory import limit_address_space

SUCCESS = int(State.TERMINAL_SUCCESS)


class Interposed:
    """Shared words; after the first access of one side, the other side acts."""

    def __init__(self, words: Any, act: Any) -> None:
        self._words = words
        self._act = act

    def _meanwhile(self) -> None:
        act, self._act = self._act, None
        if act is not None:
            act()

    def __getitem__(self, index: int) -> int:
        value = int(self._words[index])
        self._meanwhile()
        return value

    def __setitem__(self, index: int, value: int) -> None:
        self._words[index] = value
        self._meanwhile()


def other_side_of(status: SharedStatus) -> SharedStatus:
    """The same block, as the other process sees it."""
    side = SharedStatus.__new__(SharedStatus)
    side.__dict__.update(status.__dict__)
    return side


@pytest.mark.req("RTY-4")
def test_a_reader_that_is_overtaken_by_the_next_item_sees_none() -> None:
    """It must not see the next item with the start of the one before, which would be an overrun."""
    worker, _ = SharedStatus.create()
    worker.begin_item(75, 1, 1_000)
    parent = other_side_of(worker)
    parent._words = Interposed(worker._words, lambda: worker.begin_item(76, 2, 9_000))  # type: ignore[assignment]
    assert parent.read() is None
    assert parent.read() == StatusSnapshot(76, 2, 9_000)


@pytest.mark.req("CMP-5")
def test_an_item_that_the_parent_takes_back_at_its_start_is_not_started() -> None:
    parent, _ = SharedStatus.create()
    parent.begin_batch(3)
    worker = other_side_of(parent)
    kept: list[int] = []
    worker._words = Interposed(parent._words, lambda: kept.append(parent.limit_batch(0)))  # type: ignore[assignment]
    is_started = worker.may_start(0)
    assert not (is_started and kept == [0]), "the worker runs an item that another worker was given"


class Intact:
    """A process without damage."""

    def repair(self) -> str:
        return ""

    def was_intact_at(self, began_ns: int) -> bool:
        return True


class Recorded:
    """The connection to the parent."""

    def __init__(self) -> None:
        self.messages: list[bytes] = []

    def send_bytes(self, message: bytes) -> None:
        self.messages.append(message)


def make_runner(connection: Recorded, function: Any = None, **limits: Any) -> Any:
    """What runs batches in a worker process, without the guard, which would kill the children of this process."""
    runner = worker_main._BatchRunner.__new__(worker_main._BatchRunner)
    status, _ = SharedStatus.create()
    fields = {
        "_results": worker_main._ResultBuffer(connection),  # type: ignore[arg-type]
        "_status": status,
        "_function": function,
        "_classify": None,
        "_lookahead": None,
        "_group_ms": 0.0,
        "_guard": Intact(),
        "_unchecked": [],
        "_checked_ns": -(10**18),
        "_resident_bytes_max": None,
    }
    for name, value in (fields | limits).items():
        setattr(runner, name, value)
    return runner


def run_four(runner: Any, connection: Recorded, bytes_max: int = 2**20) -> list[int]:
    """Run a batch of four items; the seqs of those that are done."""
    runner._status.begin_batch(4)
    runner.run(pickle.dumps((bytes_max, range(4), [1] * 4, [pickle.dumps(seq) for seq in range(4)])))
    decoder = msgspec.msgpack.Decoder(worker_main.ResultMessage)
    return [envelope.seq for message in connection.messages for envelope in decoder.decode(message).envelopes]


def count_results(connection: Recorded) -> list[int]:
    decoder = msgspec.msgpack.Decoder(worker_main.ResultMessage)
    return [len(decoder.decode(message).envelopes) for message in connection.messages]


@pytest.mark.parametrize(("early_ns", "count", "messages"), [(0, 32, [30, 2]), (10**18, 32, [32]), (0, 15, [15])])
def test_most_results_of_a_long_batch_are_sent_before_it_ends(
    monkeypatch: pytest.MonkeyPatch, early_ns: int, count: int, messages: list[int]
) -> None:
    monkeypatch.setattr(worker_main, "_EARLY_NS", early_ns)
    for name in ("_CHECK_NS", "_FLUSH_NS"):
        monkeypatch.setattr(worker_main, name, 10**18)
    connection = Recorded()
    runner = make_runner(connection, abs, _checked_ns=10**18)
    runner._status.begin_batch(count)
    runner.run(pickle.dumps((2**20, range(count), [1] * count, range(count))))
    assert count_results(connection) == messages


@pytest.mark.req("BPR-1")
def test_a_process_leaves_the_rest_of_a_batch_whose_results_are_larger_than_expected() -> None:
    connection = Recorded()
    assert run_four(make_runner(connection, lambda seq: b"x" * 1000), connection, bytes_max=1500) == [0, 1]


def test_a_process_that_is_too_large_leaves_the_rest_of_its_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = iter([100, 300, 100, 100])
    monkeypatch.setattr(worker_main, "read_resident_bytes", lambda: next(sizes))
    monkeypatch.setattr(worker_main, "_CHECK_NS", 0)
    connection = Recorded()
    assert run_four(make_runner(connection, abs, _resident_bytes_max=200), connection) == [0, 1]


def test_the_result_of_an_item_is_not_sent_before_the_process_was_checked_after_it() -> None:
    """The thread that watches the parent finds the item still marked as running, and its result already there."""
    connection = Recorded()
    runner = make_runner(connection)
    results, status = runner._results, runner._status
    results._flushed_ns = -(10**18)
    for seq in (0, 1):
        status.begin_item(seq, 1, 1_000 + seq)
        results.add(Envelope(seq, 1, SUCCESS, b"", 0, None, 1.0), [])
    runner.flush_if_due()
    assert connection.messages == []
    status.begin_item(2, 1, 1_002)
    results._flushed_ns = -(10**18)
    runner.flush_if_due()
    assert len(connection.messages) == 1, "both are sent once the next item runs"


def test_the_limit_of_memory_is_one_that_an_item_cannot_raise(monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[tuple[int, tuple[int, int]]] = []
    monkeypatch.setattr(resource, "setrlimit", lambda kind, limit: limits.append((kind, limit)))
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (resource.RLIM_INFINITY, 2**50))
    assert limit_address_space(2**45) == ""
    assert limits == [(resource.RLIMIT_AS, (2**45, 2**45))]


class Stillborn:
    """A process that ends before it takes any work."""

    is_reused = False

    def __init__(self, signal_name: str | None) -> None:
        self._signal_name = signal_name

    def send(self, tasks: Any, bytes_max: int) -> None:
        """Do nothing."""

    def receive(self) -> None:
        raise StartupError("ended during startup", self._signal_name)

    @property
    def status(self) -> "Stillborn":
        """Its own status."""
        return self

    def read(self) -> None:
        return None


@pytest.mark.req("RTY-3")
@pytest.mark.parametrize("signal_name", ["SIGKILL", None])
def test_a_start_that_is_killed_is_repeated_and_one_that_fails_by_itself_is_fatal(
    monkeypatch: pytest.MonkeyPatch, signal_name: str | None
) -> None:
    monkeypatch.setattr(process_engine, "WorkerProcess", lambda *_: Stillborn(signal_name))
    events: list[Any] = []
    worker = ProcessPoolWorker(0, events.append, b"", ProcessOptions())
    worker.execute(Batch(0, [Task(0, 1, None)], isolated=False))
    [event] = events
    if signal_name is None:
        assert isinstance(event, InfrastructureError)
    else:
        assert isinstance(event, WorkerLost)
        assert event.cause is Loss.INFRASTRUCTURE
