"""The other side: what runs in a worker process.

A child belongs to its parent and to nobody else. It has a session of its own, so a Ctrl-C at the terminal reaches only
the parent; it dies with the parent, whatever it is doing; and one kill of its process group takes along whatever its
items left running. Between items it puts right what an item broke and says so: a child process left behind, a standard
stream closed.
"""

import contextlib
import ctypes
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable
from multiprocessing import reduction
from multiprocessing.connection import Connection
from time import monotonic_ns
from typing import Any, NamedTuple

import msgspec

from inorder.engines.attempt import FAIL, SKIP, SUCCESS, Skip, failure_of
from inorder.engines.base import PackedTask
from inorder.errors import Category, Failure

from .guard import Surroundings
from .shared_status import Running, Status
from .transfer import Parcel, pack, send_buffers, sizes

_FLUSH_S = 0.2
"""Answers go out at the latest this long after the ones before them; each message costs the parent about half a
millisecond, which on a small machine is taken from the workers."""
_FLUSH_NS = int(_FLUSH_S * 1e9)
_LOOK_NS = 5_000_000
_FLUSH_BYTES = 1024 * 1024
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


class Row(msgspec.Struct, array_like=True, gc=False):
    """One answer on the wire."""

    seq: int
    attempt: int
    outcome: int
    payload: bytes
    sizes: list[int]
    """Of the buffers that follow in shared memory."""
    payload_bytes: int
    failure: Failure | None
    exec_ms: float


class Answer(msgspec.Struct, array_like=True):
    """Some answers; `is_last`: the batch is done."""

    rows: list[Row]
    is_last: bool


class ChildOptions(NamedTuple):
    """How a worker process is set up."""

    memory_bytes_max: int | None = None


READY = b"ready"
_NOTHING = Parcel(pickle.dumps(None), [])
_ENCODER = msgspec.msgpack.Encoder()


def child_main(
    connection: "Connection[Any, Any]", life: "Connection[Any, Any]", function_pickle: bytes, options: ChildOptions
) -> None:
    """Entry point of the process: set up, then run batches until the pipe closes."""
    _belong_to_parent()
    child: list[_Child] = []
    threading.Thread(target=_watch, args=(life, child), name="inorder-watch", daemon=True).start()
    if options.memory_bytes_max is not None:
        _limit_memory(options.memory_bytes_max)
    status = Status(reduction.recv_handle(connection))
    try:
        function = pickle.loads(function_pickle)
    except BaseException as error:
        connection.send_bytes(failure_of(error).message.encode())
        return
    connection.send_bytes(READY)
    child.append(_Child(_Outgoing(connection), status, function))
    with contextlib.suppress(EOFError, OSError):
        while True:
            child[0].run(connection.recv_bytes())


def _belong_to_parent() -> None:
    os.setsid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _watch(life: "Connection[Any, Any]", children: "list[_Child]") -> None:
    """End with the parent; until then, see to it that nothing done waits long behind a slow item."""
    with contextlib.suppress(EOFError, OSError):
        while not life.poll(_FLUSH_S):
            for child in children:
                child.watch()
        life.recv_bytes()
    os.killpg(os.getpgid(0), signal.SIGKILL)


def _limit_memory(size: int) -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (size, size))


class _Outgoing:
    """Answers on their way to the parent, sent in pieces by whoever comes first: the work, or the watch.

    An answer leaves only once somebody has vouched for it: looked around after its item, and found nothing broken.
    """

    def __init__(self, connection: "Connection[Any, Any]") -> None:
        self._connection = connection
        self._lock = threading.Lock()
        self._answers: list[tuple[Row, Parcel]] = []
        self._vouched = 0
        self._size = 0
        self._flushed_ns = monotonic_ns()

    def add(self, row: Row, parcel: Parcel) -> None:
        """One more answer."""
        with self._lock:
            self._answers.append((row, parcel))
            self._size += row.payload_bytes

    def is_due(self, now_ns: int) -> bool:
        """Whether it is time to send."""
        return now_ns - self._flushed_ns >= _FLUSH_NS or self._size >= _FLUSH_BYTES

    def vouch(self) -> None:
        """Everything added so far may go."""
        with self._lock:
            self._vouched = len(self._answers)

    def vouch_before(self, running: Running) -> None:
        """Everything added so far may go, unless the running item is among it: then it has ended by now, and nobody has
        looked around."""
        with self._lock:
            if self._answers and self._answers[-1][0].seq != running.seq:
                self._vouched = len(self._answers)

    def recall(self) -> int:
        """Forget the answers that nobody has vouched for; how many they were."""
        with self._lock:
            count = len(self._answers) - self._vouched
            del self._answers[self._vouched :]
            return count

    def flush(self, *, is_last: bool = False) -> None:
        """Send what may go: one message, then the shared memory of each large result in order."""
        with self._lock:
            answers = self._answers[: self._vouched]
            del self._answers[: self._vouched]
            self._vouched = 0
            self._size = sum(row.payload_bytes for row, _ in self._answers)
            self._flushed_ns = monotonic_ns()
            if answers or is_last:
                rows = [row for row, _ in answers]
                self._connection.send_bytes(_ENCODER.encode(Answer(rows, is_last)))
                for _, parcel in answers:
                    if parcel.buffers:
                        send_buffers(self._connection, parcel, os.getppid())


class _Child:
    """Runs batches, one item after the other.

    What an item broke is looked for every few milliseconds, not after every item: a look costs some microseconds, and
    ten times that where the items have pushed it out of the caches. Where a look finds something and several items ran
    since the one before, they are run again one by one, and the look that finds it then knows whose it is.
    """

    def __init__(self, outgoing: _Outgoing, status: Status, function: Callable[[Any], Any]) -> None:
        self._outgoing = outgoing
        self._status = status
        self._function = function
        self._surroundings = Surroundings()
        self._recent: list[PackedTask] = []
        """Run since the last look."""
        self._looked_ns = monotonic_ns()

    def run(self, message: bytes) -> None:
        """Run what the message asks for, as far as the parent allows and as long as results are no larger than
        foreseen. What is not answered for goes back."""
        bytes_left: int
        tasks: list[PackedTask]
        bytes_left, tasks = pickle.loads(message)
        for number, task in enumerate(tasks):
            if bytes_left < 0 or not self._status.may_start(number):
                break
            row, ended_ns = self._run_one(task)
            bytes_left -= row.payload_bytes
            self._recent.append(task)
            if ended_ns - self._looked_ns >= _LOOK_NS or self._outgoing.is_due(ended_ns):
                self._look_around()
                if self._outgoing.is_due(ended_ns):
                    self._outgoing.flush()
        self._look_around()
        self._status.rest()
        self._outgoing.flush(is_last=True)

    def watch(self) -> None:
        """Called every now and then from another thread: see to it that nothing done waits long behind a slow item."""
        if self._outgoing.is_due(monotonic_ns()):
            running = self._status.running()
            if running is not None and self._surroundings.is_whole(running.began_ns):
                self._outgoing.vouch_before(running)
            self._outgoing.flush()

    def _look_around(self) -> None:
        recent, self._recent = self._recent, []
        damage = self._surroundings.damage()
        if damage:
            self._find_culprit(recent[len(recent) - self._outgoing.recall() :], damage)
        self._outgoing.vouch()
        self._looked_ns = monotonic_ns()

    def _find_culprit(self, suspects: list[PackedTask], damage: str) -> None:
        """Blame the only one it can have been, or run them again to see."""
        for task in suspects:
            if len(suspects) > 1:
                self._run_one(task)
                damage = self._surroundings.damage()
                if not damage:
                    self._outgoing.vouch()
                    continue
                self._outgoing.recall()
            failure = Failure(category=Category.RUNTIME, message=damage)
            self._outgoing.add(Row(task[0], task[1], FAIL, _NOTHING.data, [], 0, failure, 0.0), _NOTHING)
            self._outgoing.vouch()

    def _run_one(self, task: PackedTask) -> tuple[Row, int]:
        """Run one item; its answer, and when it ended. What is done around the function here costs every item: about
        five microseconds, and some times that where the function has pushed us out of the caches."""
        seq, attempt, item_pickle = task
        began_ns = monotonic_ns()
        self._status.begin(seq, attempt, began_ns)
        parcel, outcome, failure = self._compute(item_pickle)
        ended_ns = monotonic_ns()
        data, buffers = parcel
        size = len(data) if not buffers else parcel.size_bytes
        row = Row(seq, attempt, outcome, data, sizes(buffers), size, failure, (ended_ns - began_ns) / 1e6)
        self._outgoing.add(row, parcel)
        return row, ended_ns

    def _compute(self, item_pickle: bytes) -> tuple[Parcel, int, Failure | None]:
        try:
            item = pickle.loads(item_pickle)
        except BaseException as error:
            failure = failure_of(error)
            message = f"the item cannot be read in the worker: {failure.message}"
            return _NOTHING, FAIL, Failure(category=Category.INPUT, message=message, detail=failure.detail)
        try:
            value = self._function(item)
        except BaseException as error:
            return _packed_error(error), FAIL, failure_of(error)
        try:
            return pack(value), SKIP if type(value) is Skip else SUCCESS, None
        except BaseException as error:
            message = f"the result cannot be sent: {failure_of(error).message}"
            return _NOTHING, FAIL, Failure(category=Category.RUNTIME, message=message)


def _packed_error(error: BaseException) -> Parcel:
    """The exception itself, for the caller's `__cause__`, where it can travel."""
    try:
        parcel = pack(error)
        pickle.loads(parcel.data)
    except BaseException:
        return _NOTHING
    return parcel if not parcel.buffers else _NOTHING
