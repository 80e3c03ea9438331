"""One worker process, as its parent sees it."""

import contextlib
import os
import pickle
import select
import signal
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

import msgspec

from inorder.core.events import Envelope
from inorder.engines.attempt import FAIL, classify_error
from inorder.engines.base import PackedTask, Task
from inorder.errors import Category, Failure, require
from inorder.host.memory import describe_address_space_limit, read_resident_bytes

from .shared_status import InheritedDescriptor, SharedStatus
from .spawner import SpawnedProcess, start_process
from .transfer import PACKED_KINDS, PLAIN_ITEMS, PackedValue, pack_item, receive_buffers, unpack
from .worker_main import LOAD, READY, RELEASE, ResultMessage, worker_main

_JOIN_S = 5.0
_RELEASE_S = 1.0
"""A process that takes longer to close what it has open is killed."""
_DECODER = msgspec.msgpack.Decoder(ResultMessage)


class StartupError(Exception):
    """The process ended, or could not load the function, before it took any work."""

    def __init__(self, message: str, signal_name: str | None = None) -> None:
        super().__init__(message)
        self.signal_name = signal_name
        """The signal that killed it; None: it exited by itself."""


class ProcessDied(Exception):
    """The process ended while it had work. `detail` says which process it was."""

    def __init__(self, message: str, detail: str = "") -> None:
        super().__init__(message)
        self.detail = detail


class ProcessOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of a worker process."""

    memory_bytes_max: int | None = None
    """Address space of a worker. An item that needs more gets a MemoryError; the machine does not run out of memory.
    macOS has no such limit, and ignores it."""
    recycle_tasks: int | None = None
    """Items after which a worker is replaced: for libraries that leak."""
    recycle_resident_bytes: int | None = None
    """Resident memory above which a worker is replaced after an item. Quick items are checked a few milliseconds
    apart."""

    def __post_init__(self) -> None:
        for name in ("memory_bytes_max", "recycle_tasks", "recycle_resident_bytes"):
            value = getattr(self, name)
            require(value is None or value >= 1, f"option {name} must be at least 1, got {value}")


class WorkerProcess:
    """A child process with one pipe, one status block and one lifeline."""

    def __init__(self, function_pickle: bytes, limits: ProcessOptions) -> None:
        context = get_context("spawn")
        self._connection: Connection[Any, Any]
        self._connection, theirs = context.Pipe()
        lifeline_theirs, self._lifeline = context.Pipe(duplex=False)
        self.status, descriptor = SharedStatus.create()
        self.limits = limits
        self._loading_count = 1
        """Functions that it was given, and has not said to have loaded."""
        self.tasks_done = 0
        self.tasks_before = 0
        """Items that it had run when it was given its function."""
        self.is_reused = False
        """Whether it has, or had, another function before."""
        self._process = SpawnedProcess(
            target=worker_main,
            args=(
                theirs,
                lifeline_theirs,
                InheritedDescriptor(descriptor),
                function_pickle,
                limits.memory_bytes_max,
                limits.recycle_resident_bytes,
            ),
            name="inorder-worker",
            daemon=True,
        )
        try:
            start_process(self._process)
            theirs.close()
            lifeline_theirs.close()
        finally:
            os.close(descriptor)
        self._pidfd: int | None = None
        self._poll = select.poll()
        if hasattr(os, "pidfd_open"):
            self._pidfd = os.pidfd_open(self.pid)
            self._poll.register(self._pidfd, select.POLLIN)
            self._poll.register(self._connection.fileno(), select.POLLIN)

    @property
    def pid(self) -> int:
        """The process id of the child."""
        return self._process.pid or 0

    def is_alive(self) -> bool:
        """Whether the process is running."""
        return self._process.is_alive()

    def resident_bytes(self) -> int:
        """Its resident memory; 0 where that cannot be read."""
        return read_resident_bytes(self.pid)

    @property
    def is_ready(self) -> bool:
        """Whether it is known to have loaded its function."""
        return self._loading_count == 0

    def load(self, function_pickle: bytes) -> None:
        """Give it another function. It has nothing to run."""
        self.is_reused = True
        self.tasks_before = self.tasks_done
        self._loading_count += 1
        with contextlib.suppress(OSError):  # it has ended, which the next message shows
            self._connection.send_bytes(LOAD + function_pickle)

    def release(self) -> bool:
        """Let its function close what it has open. Returns whether it has done so, and can be given another one."""
        self._loading_count += 1
        try:
            self._connection.send_bytes(RELEASE)
            if self._connection.poll(_RELEASE_S):
                self._await_ready()
        except (OSError, StartupError):
            return False  # it has ended
        return self.is_ready

    def send(self, tasks: list[PackedTask], bytes_max: int) -> None:
        """Send a batch. Raises `ProcessDied`."""
        self.status.begin_batch(len(tasks))
        try:
            self._connection.send_bytes(pickle.dumps((bytes_max, *zip(*tasks, strict=True)), protocol=5))
        except OSError as error:
            raise ProcessDied(self.describe_end(), f"process {self.pid}") from error

    def receive(self) -> tuple[list[Envelope], bool, tuple[int, int, bytes] | None]:
        """Wait for the next results, which are still packed, and whether they are the last of the batch; or for a
        partial result: its seq, its attempt, and what the item has made so far.

        Raises `ProcessDied`, or `StartupError` before the first message.
        """
        try:
            self._await_ready()
            message = _DECODER.decode(self._read())
            envelopes = [
                self._receive_buffers(envelope) if type(envelope.payload) is list else envelope
                for envelope in message.envelopes
            ]
        except (EOFError, OSError) as error:
            raise ProcessDied(self.describe_end(), f"process {self.pid}") from error
        self.tasks_done += len(envelopes)
        return envelopes, message.is_last, message.handed_over

    def _receive_buffers(self, envelope: Envelope) -> Envelope:
        data, sizes = envelope.payload
        return msgspec.structs.replace(envelope, payload=PackedValue(data, receive_buffers(self._connection, sizes)))

    def _await_ready(self) -> None:
        while self._loading_count:
            try:
                message = self._read()
            except (EOFError, OSError) as error:
                reason = self.describe_end()
                code = self._process.exitcode
                signal_name = _get_signal_name(-code) if code is not None and code < 0 else None
                raise StartupError(f"{reason} during startup{describe_address_space_limit()}", signal_name) from error
            if message != READY:
                raise StartupError(message.decode(errors="replace"))
            self._loading_count -= 1

    def _read(self) -> bytes:
        """Read the next message. The pidfd shows the end of the process even if a fork of it holds the pipe open."""
        pidfd = self._pidfd
        if pidfd is not None and [descriptor for descriptor, _ in self._poll.poll()] == [pidfd]:
            raise EOFError
        return self._connection.recv_bytes()

    def describe_end(self) -> str:
        """Wait for the end of the process and describe it, in words that are the same for every process."""
        if self._pidfd is None:
            self._process.join(_JOIN_S)
        else:  # `join` waits for a pipe, which a fork of the process may hold open
            select.select([self._pidfd], [], [], _JOIN_S)
        code = self._process.exitcode
        if code is None:
            return "the process closed its pipe"
        if code < 0:
            return f"the process was killed by {_get_signal_name(-code)}"
        return f"the process exited with status {code}"

    def kill(self) -> None:
        """Kill the process and everything that its items started."""
        with contextlib.suppress(OSError):
            os.killpg(self.pid, signal.SIGKILL)
        with contextlib.suppress(OSError):
            self._process.kill()

    def close(self) -> None:
        """Kill the process and wait for its end. Its descriptors are closed with this object and not here: a thread may
        be waiting on them, and a closed number could belong to another worker a moment later."""
        self.kill()
        self._process.join(_JOIN_S)

    def __del__(self) -> None:
        pidfd = getattr(self, "_pidfd", None)
        if pidfd is not None:
            os.close(pidfd)


def unpack_result(envelope: Envelope) -> Envelope:
    """Replace the packed payload of a result by the value. A value that cannot be unpickled fails its item."""
    packed = envelope.payload
    kind = type(packed)
    if kind not in PACKED_KINDS:
        return envelope
    try:
        value = pickle.loads(packed) if kind is bytes else unpack(packed)
    except BaseException as error:
        message = f"the result cannot be unpickled: {classify_error(error).message}"
        failure = Failure(category=Category.RUNTIME, message=message)
        return Envelope(envelope.seq, envelope.attempt, FAIL, None, 0, failure, envelope.exec_ms, envelope.began_ms)
    return Envelope(
        envelope.seq,
        envelope.attempt,
        envelope.outcome,
        value,
        envelope.payload_bytes,
        envelope.failure,
        envelope.exec_ms,
        envelope.began_ms,
    )


def pack_tasks(tasks: list[Task], pack: Callable[[Any], Any] = pack_item) -> tuple[list[PackedTask], list[Envelope]]:
    """Pack the items of tasks; return an envelope with a failure for each item that cannot be pickled."""
    if pack is pack_item and PLAIN_ITEMS.issuperset([type(item) for _, _, item in tasks]):
        return [*tasks], []
    packed, refused = [], []
    for task in tasks:
        seq, attempt, item = task
        try:
            packed.append((seq, attempt, pack(item)))
        except BaseException as error:
            refused.append(_refuse(task, error))
    return packed, refused


def _refuse(task: Task, error: BaseException) -> Envelope:
    failure = classify_error(error)
    message = f"the item cannot be pickled: {failure.message}"
    return Envelope(
        task.seq, task.attempt, FAIL, error, 0, Failure(category=Category.INPUT, message=message, detail=failure.detail)
    )


def _get_signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
