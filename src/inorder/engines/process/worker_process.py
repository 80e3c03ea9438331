"""One worker process, seen from its parent."""

import contextlib
import os
import pickle
import select
import signal
from collections.abc import Callable
from multiprocessing import get_context, reduction
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import msgspec

from inorder.core.events import Envelope
from inorder.engines.attempt import FAIL, failure_of
from inorder.engines.base import PackedTask, Task
from inorder.errors import Category, Failure

from .shared_status import Running, Status
from .spawner import start
from .transfer import receive_buffers, unpack
from .worker_main import READY, Answer, ChildOptions, Row, child_main

_JOIN_S = 5.0
_DECODER = msgspec.msgpack.Decoder(Answer)


class StartupError(Exception):
    """The process ended, or could not load the function, before it took any work."""

    def __init__(self, message: str, signal_name: str | None = None) -> None:
        super().__init__(message)
        self.signal_name = signal_name
        """The signal that ended it; None: it ended by itself."""


class ProcessDied(Exception):
    """The process ended while it had work."""


class Sealed(NamedTuple):
    """An answer as it came, not looked into: the row, and the large buffers beside it."""

    row: Row
    buffers: list[memoryview]


class WorkerProcess:
    """A child with one pipe, one block of status and one life line."""

    def __init__(self, function_pickle: bytes, options: ChildOptions) -> None:
        context = get_context("spawn")
        self._connection: Connection[Any, Any]
        self._connection, theirs = context.Pipe()
        life_theirs, self._life = context.Pipe(duplex=False)
        self._status, descriptor = Status.create()
        self._is_ready = False
        self.tasks_done = 0
        self._process = context.Process(
            target=child_main,
            args=(theirs, life_theirs, function_pickle, options),
            name="inorder-worker",
            daemon=True,
        )
        try:
            start(self._process)
            theirs.close()
            life_theirs.close()
            reduction.send_handle(self._connection, descriptor, self.pid)
        finally:
            os.close(descriptor)
        self._ending: int | None = None
        self._poll = select.poll()
        if hasattr(os, "pidfd_open"):
            self._ending = os.pidfd_open(self.pid)
            self._poll.register(self._ending, select.POLLIN)
            self._poll.register(self._connection.fileno(), select.POLLIN)

    @property
    def pid(self) -> int:
        """Of the child."""
        return self._process.pid or 0

    def running(self) -> Running | None:
        """The item it is on."""
        return self._status.running()

    def take_back(self, kept: int) -> int:
        """Forbid it to start more than the first `kept` items of its batch; how many it keeps, if it was quicker."""
        return self._status.forbid(kept)

    def is_alive(self) -> bool:
        """Whether it lives."""
        return self._process.is_alive()

    def resident_bytes(self) -> int:
        """Its memory; 0 where that cannot be read."""
        try:
            with open(f"/proc/{self.pid}/statm", encoding="ascii") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        except (OSError, ValueError):
            return 0

    def send(self, tasks: list[PackedTask], bytes_max: int) -> None:
        """Give it a batch."""
        self._status.allow(len(tasks))
        try:
            self._connection.send_bytes(pickle.dumps((bytes_max, tasks), protocol=5))
        except OSError as error:
            raise ProcessDied(self.reason()) from error

    def receive(self) -> tuple[list[Sealed], bool]:
        """Wait for the next answers; whether they are the last of the batch."""
        try:
            self._await_ready()
            answer = _DECODER.decode(self._read())
            answers = [Sealed(row, receive_buffers(self._connection, row.sizes)) for row in answer.rows]
        except (EOFError, OSError) as error:
            raise ProcessDied(self.reason()) from error
        self.tasks_done += len(answers)
        return answers, answer.is_last

    def _await_ready(self) -> None:
        if self._is_ready:
            return
        try:
            said = self._read()
        except (EOFError, OSError) as error:
            reason = self.reason()
            code = self._process.exitcode
            signal_name = _signal_name(-code) if code is not None and code < 0 else None
            raise StartupError(f"it ended while starting: {reason}", signal_name) from error
        if said != READY:
            raise StartupError(f"it cannot load the function: {said.decode(errors='replace')}")
        self._is_ready = True

    def _read(self) -> bytes:
        """The next message. The end of the process is seen also where something it forked holds the pipe open."""
        ending = self._ending
        if ending is not None and [descriptor for descriptor, _ in self._poll.poll()] == [ending]:
            raise EOFError
        return self._connection.recv_bytes()

    def reason(self) -> str:
        """How it ended, in words."""
        if self._ending is None:
            self._process.join(_JOIN_S)
        else:  # `join` waits for a pipe, which something it forked may hold open
            select.select([self._ending], [], [], _JOIN_S)
        code = self._process.exitcode
        if code is None:
            return f"process {self.pid} closed its pipe"
        if code < 0:
            return f"process {self.pid} was ended by {_signal_name(-code)}"
        return f"process {self.pid} exited with status {code}"

    def kill(self) -> None:
        """End it and everything its items started, now."""
        with contextlib.suppress(OSError):
            os.killpg(self.pid, signal.SIGKILL)
        with contextlib.suppress(OSError):
            self._process.kill()

    def close(self) -> None:
        """End it. Its descriptors are let go with this object and not before: a thread may be waiting on them, and a
        number that is free can be another worker's a moment later."""
        self.kill()
        self._process.join(_JOIN_S)

    def __del__(self) -> None:
        ending = getattr(self, "_ending", None)
        if ending is not None:
            os.close(ending)


def _pickled(item: Any) -> bytes:
    return pickle.dumps(item, protocol=5)


def opened(sealed: Sealed) -> Envelope:
    """An answer, with the value in it."""
    row = sealed.row
    try:
        value = unpack(row.payload, sealed.buffers)
    except BaseException as error:
        message = f"the result cannot be read: {failure_of(error).message}"
        failure = Failure(category=Category.RUNTIME, message=message)
        return Envelope(row.seq, row.attempt, FAIL, None, 0, failure, row.exec_ms)
    return Envelope(row.seq, row.attempt, row.outcome, value, row.payload_bytes, row.failure, row.exec_ms)


def packed(tasks: list[Task], pickled: Callable[[Any], bytes] = _pickled) -> tuple[list[PackedTask], list[Envelope]]:
    """Tasks as they travel, and the answers for those that cannot."""
    sendable, refused = [], []
    for task in tasks:
        try:
            sendable.append((task.seq, task.attempt, pickled(task.item)))
        except BaseException as error:
            refused.append(_unsendable(task, error))
    return sendable, refused


def _unsendable(task: Task, error: BaseException) -> Envelope:
    failure = failure_of(error)
    message = f"the item cannot be sent to a process: {failure.message}"
    return Envelope(
        task.seq, task.attempt, FAIL, error, 0, Failure(category=Category.INPUT, message=message, detail=failure.detail)
    )


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
