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
from time import monotonic, monotonic_ns
from typing import Any, NamedTuple

import msgspec

from inorder.core.retry import Category, Failure

from .attempt import FAIL, SUCCESS, failure_of
from .status import Status
from .wire import Label, Parcel, label, pack, send_buffers

_FLUSH_S = 0.02
"""Answers go out at the latest this long after the ones before them; each message costs the parent a tenth of a
millisecond, which on a small machine is taken from the workers."""
_FLUSH_BYTES = 4 * 1024 * 1024
_CHILDREN_MAX = 1000
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


class Row(msgspec.Struct, array_like=True, gc=False):
    """One answer on the wire."""

    seq: int
    attempt: int
    outcome: int
    payload: Label
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
    outgoing = _Outgoing(connection)
    _belong_to_parent(life, outgoing)
    if options.memory_bytes_max is not None:
        _limit_memory(options.memory_bytes_max)
    status = Status(reduction.recv_handle(connection))
    try:
        function = pickle.loads(function_pickle)
    except BaseException as error:
        connection.send_bytes(failure_of(error).message.encode())
        return
    connection.send_bytes(READY)
    child = _Child(outgoing, status, function)
    with contextlib.suppress(EOFError, OSError):
        while True:
            child.run(connection.recv_bytes())


def _belong_to_parent(life: "Connection[Any, Any]", outgoing: "_Outgoing") -> None:
    os.setsid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    threading.Thread(target=_watch, args=(life, outgoing), name="inorder-watch", daemon=True).start()


def _watch(life: "Connection[Any, Any]", outgoing: "_Outgoing") -> None:
    """End with the parent; until then, see to it that nothing done waits long behind a slow item."""
    with contextlib.suppress(EOFError, OSError):
        while not life.poll(_FLUSH_S):
            outgoing.flush_if_stale()
        life.recv_bytes()
    os.killpg(os.getpgid(0), signal.SIGKILL)


def _limit_memory(size: int) -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (size, size))


class _Outgoing:
    """Answers on their way to the parent, sent in pieces by whoever comes first: the work, or the watch."""

    def __init__(self, connection: "Connection[Any, Any]") -> None:
        self._connection = connection
        self._lock = threading.Lock()
        self._rows: list[Row] = []
        self._parcels: list[Parcel] = []
        self._size = 0
        self._flushed_s = monotonic()

    def add(self, row: Row, parcel: Parcel) -> None:
        """One more answer."""
        with self._lock:
            self._rows.append(row)
            self._size += parcel.size_bytes
            if parcel.buffers:
                self._parcels.append(parcel)
        if self._size >= _FLUSH_BYTES or monotonic() - self._flushed_s >= _FLUSH_S:
            self.flush()

    def flush(self, *, is_last: bool = False) -> None:
        """Send what is done: one message, then the shared memory of each large result in order."""
        with self._lock:
            rows, parcels = self._rows, self._parcels
            self._rows, self._parcels, self._size = [], [], 0
            self._flushed_s = monotonic()
            if rows or is_last:
                self._connection.send_bytes(_ENCODER.encode(Answer(rows, is_last)))
                for parcel in parcels:
                    send_buffers(self._connection, parcel, os.getppid())

    def flush_if_stale(self) -> None:
        """Send what has waited for too long."""
        if self._rows and monotonic() - self._flushed_s >= _FLUSH_S:
            self.flush()


class _Child:
    """Runs batches, one item after the other."""

    def __init__(self, outgoing: _Outgoing, status: Status, function: Callable[[Any], Any]) -> None:
        self._outgoing = outgoing
        self._status = status
        self._function = function
        self._surroundings = _Surroundings()

    def run(self, message: bytes) -> None:
        """Run what the message asks for, as far as the parent allows and as long as results are no larger than
        foreseen. What is not answered for goes back."""
        bytes_left: int
        tasks: list[tuple[int, int, bytes]]
        bytes_left, tasks = pickle.loads(message)
        for number, (seq, attempt, item_pickle) in enumerate(tasks):
            if number >= self._status.allowed() or bytes_left < 0:
                break
            bytes_left -= self._run_one(seq, attempt, item_pickle)
        self._outgoing.flush(is_last=True)

    def _run_one(self, seq: int, attempt: int, item_pickle: bytes) -> int:
        """Run one item; the size of its result."""
        began_ns = monotonic_ns()
        self._status.begin(seq, attempt, began_ns)
        parcel, failure = self._compute(item_pickle)
        elapsed_s = (monotonic_ns() - began_ns) / 1e9
        damage = self._surroundings.damage()
        if damage and failure is None:
            parcel, failure = _NOTHING, Failure(category=Category.RUNTIME, message=damage)
        outcome = SUCCESS if failure is None else FAIL
        row = Row(seq, attempt, outcome, label(parcel), parcel.size_bytes, failure, elapsed_s * 1000)
        self._outgoing.add(row, parcel)
        self._status.rest()
        return parcel.size_bytes

    def _compute(self, item_pickle: bytes) -> tuple[Parcel, Failure | None]:
        try:
            item = pickle.loads(item_pickle)
        except BaseException as error:
            failure = failure_of(error)
            message = f"the item cannot be read in the worker: {failure.message}"
            return _NOTHING, Failure(category=Category.INPUT, message=message, detail=failure.detail)
        try:
            value = self._function(item)
        except BaseException as error:
            return _packed_error(error), failure_of(error)
        try:
            return pack(value), None
        except BaseException as error:
            message = f"the result cannot be sent: {failure_of(error).message}"
            return _NOTHING, Failure(category=Category.RUNTIME, message=message)


def _packed_error(error: BaseException) -> Parcel:
    """The exception itself, for the caller's `__cause__`, where it can travel."""
    try:
        parcel = pack(error)
        pickle.loads(parcel.data)
    except BaseException:
        return _NOTHING
    return parcel if not parcel.buffers else _NOTHING


class _Surroundings:
    """Notices and mends what an item did to the process that others share."""

    def __init__(self) -> None:
        self._saved = [os.dup(number) for number in (1, 2)]

    def damage(self) -> str:
        """What the latest item broke, mended by now; empty: nothing. Costs about two microseconds where all is well."""
        found = ""
        for number, name in ((1, "stdout"), (2, "stderr")):
            stream = getattr(sys, name)
            if stream is None or getattr(stream, "closed", False) or not _is_open(number):
                os.dup2(self._saved[number - 1], number)
                setattr(sys, name, open(number, "w", buffering=1, closefd=False))  # noqa: SIM115
                found = f"closed {name}"
        count = 0
        while _has_children() and count < _CHILDREN_MAX and (pids := self._left_behind()):
            for pid in pids:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
                with contextlib.suppress(OSError):
                    os.waitpid(pid, 0)
            count += len(pids)  # whatever these had started is ours now: look again
        return f"left {count} child process{'es' if count > 1 else ''} behind" if count else found

    @staticmethod
    def _left_behind() -> list[int]:
        pids: list[int] = []
        with contextlib.suppress(OSError):
            for thread in os.listdir("/proc/self/task"):
                with open(f"/proc/self/task/{thread}/children", encoding="ascii") as file:
                    pids.extend(int(pid) for pid in file.read().split() if _is_running(int(pid)))
        return pids


def _has_children() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _is_running(pid: int) -> bool:
    """Whether a child still runs; one that has ended and only waits to be asked for its status does no harm."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True
