"""What runs in a worker process.

The process belongs to its parent alone: see `lifeline`. It repairs the damage that an item did to the process, and
blames the item: a child process left running, a standard stream closed.

A result travels as the `Envelope` that the kernel gets. Until the parent unpacks it, the payload of the envelope is a
plain value, a pickle, or a pickle and the sizes of the buffers that follow it in shared memory.
"""

import contextlib
import gc
import os
import pickle
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.process import current_process
from sys import getsizeof
from time import monotonic_ns, time
from typing import Any

import msgspec

from inorder.core.events import Envelope
from inorder.engines.attempt import FAIL, SKIP, SUCCESS, Skip, add_step, begin_attempt, classify_error, get_classify
from inorder.engines.base import PackedTask
from inorder.engines.memory_estimate import get_held_bytes
from inorder.engines.progress import Reporter, set_reporter
from inorder.errors import Category, Failure
from inorder.host.memory import limit_address_space, read_resident_bytes
from inorder.host.standard_streams import open_standard_streams

from .guard import ProcessGuard
from .lifeline import bind_to_parent, watch_parent
from .lookahead import Lookahead, get_lookahead
from .shared_status import SharedStatus, StatusSnapshot
from .transfer import PackedValue, is_plain_result, measure_buffers, pack, send_buffers

READY = b"ready"
LOAD = b"load:"
"""A message that begins with this has another function. Batches are pickles, which begin otherwise."""
RELEASE = b"release"
"""A message that asks the process to close what its function has open: the engine ends, and the process stays."""
_FLUSH_S = 0.2
"""Results are sent at the latest this long after the ones before them. Each message costs the parent about half a
millisecond, which on a small machine is taken from the workers."""
_FLUSH_NS = int(_FLUSH_S * 1e9)
_FLUSH_BYTES = 1024 * 1024
_EARLY_SHARE = 16
"""The results of a long batch are sent when this part of it is left: the parent handles them while the worker computes,
and not while it waits for its next batch."""
_EARLY_NS = 20_000_000
_CHECK_NS = 5_000_000
_GC_OBJECTS = 10_000
"""New containers between two runs of the garbage collector, in place of 700: most results are far larger than that, and
have no cycles."""
_NO_BUFFERS: list[memoryview] = []
_ENCODER = msgspec.msgpack.Encoder()


class ResultMessage(msgspec.Struct, array_like=True):
    """Results on their way to the parent, or a partial result. `is_last`: the batch is done."""

    envelopes: list[Envelope]
    is_last: bool
    handed_over: tuple[int, int, bytes] | None = None
    """Seq, attempt, and what the item has made so far."""


def worker_main(
    connection: "Connection[Any, Any]",
    lifeline: "Connection[Any, Any]",
    status_descriptor: int,
    function_pickle: bytes,
    memory_bytes_max: int | None,
    recycle_resident_bytes: int | None,
) -> None:
    """Entry point of the process: set up, then run batches until the pipe closes."""
    bind_to_parent()
    _allow_children()
    open_standard_streams()
    statuses: list[SharedStatus] = []
    runners: list[_BatchRunner] = []

    def give_heartbeat() -> None:
        """Give a heartbeat, and send finished results that wait behind a slow item."""
        for status in statuses:
            status.beat()
        for runner in runners:
            runner.flush_if_due()

    threading.Thread(
        target=watch_parent, args=(lifeline, _FLUSH_S, give_heartbeat), name="inorder-watch", daemon=True
    ).start()
    status = SharedStatus(status_descriptor)
    os.close(status_descriptor)
    statuses.append(status)
    results, guard = _ResultBuffer(connection), ProcessGuard()
    with contextlib.suppress(EOFError, OSError):
        message = LOAD + function_pickle
        while True:
            if message.startswith(LOAD):
                was_used = bool(runners)
                runners.clear()
                try:
                    function = pickle.loads(memoryview(message)[len(LOAD) :])
                except BaseException as error:
                    reason = f"the function cannot be loaded: {classify_error(error).message}"
                    connection.send_bytes(reason.encode())
                    return
                if memory_bytes_max is not None and (problem := limit_address_space(memory_bytes_max)):
                    connection.send_bytes(problem.encode())
                    return
                if was_used:
                    gc.collect()  # what the last run has left; frozen, it would stay
                else:
                    gc.freeze()
                gc.set_threshold(_GC_OBJECTS, *gc.get_threshold()[1:])
                runners.append(_BatchRunner(results, status, guard, function, recycle_resident_bytes))
                connection.send_bytes(READY)
            elif message == RELEASE:
                runners[0].release()
                connection.send_bytes(READY)
            else:
                runners[0].run(message)
            message = connection.recv_bytes()


def _allow_children() -> None:
    """Let items start processes: an `imap` of their own, or a pool. `multiprocessing` refuses that to a process which
    ends with its parent, as a worker does; what an item leaves behind is killed by the guard."""
    process: Any = current_process()
    process._config["daemon"] = False


class _ResultBuffer:
    """Results on their way to the parent, sent by the thread that runs items or by the one that watches the parent.

    A result is sent only after it was confirmed: the process was checked after its item, and was intact.
    """

    def __init__(self, connection: "Connection[Any, Any]") -> None:
        self._connection = connection
        self._lock = threading.Lock()
        self._results: list[Envelope] = []
        self._buffers: dict[int, list[memoryview]] = {}
        """Buffers that are sent beside the result of a seq."""
        self._confirmed = 0
        self.size_bytes = 0
        """Size of the results; may be wrong for a moment if both threads change it, and then a message comes earlier or
        later."""
        self._flushed_ns = monotonic_ns()

    def add(self, envelope: Envelope, buffers: list[memoryview]) -> None:
        """Add a result, and the buffers that are sent beside it. Only the thread that runs items calls this, without
        the lock: the other thread removes results from the beginning, which does not disturb an append."""
        if buffers:
            self._buffers[envelope.seq] = buffers
        self._results.append(envelope)
        self.size_bytes += envelope.payload_bytes

    def is_due(self, now_ns: int) -> bool:
        """Whether it is time to send."""
        return now_ns - self._flushed_ns >= _FLUSH_NS or self.size_bytes >= _FLUSH_BYTES

    def confirm(self) -> None:
        """Allow everything added so far to be sent."""
        with self._lock:
            self._confirmed = len(self._results)

    def confirm_before(self, running: StatusSnapshot) -> None:
        """Allow everything added so far to be sent, unless the running item is part of it: then the item has ended
        since `running` was read, and the process has not been checked after it."""
        with self._lock:
            if self._results and self._results[-1].seq != running.seq:
                self._confirmed = len(self._results)

    def drop_unconfirmed(self) -> int:
        """Drop the results that were not confirmed; return how many."""
        with self._lock:
            dropped = self._results[self._confirmed :]
            del self._results[self._confirmed :]
            for envelope in dropped:
                self._buffers.pop(envelope.seq, None)
            return len(dropped)

    def flush(self, *, is_last: bool = False) -> None:
        """Send what is confirmed: one message, then the shared memory of each large result in the same order."""
        with self._lock:
            results = self._results[: self._confirmed]
            del self._results[: self._confirmed]
            self._confirmed = 0
            self.size_bytes = sum([envelope.payload_bytes for envelope in self._results])
            self._flushed_ns = monotonic_ns()
            if results or is_last:
                self._connection.send_bytes(_ENCODER.encode(ResultMessage(results, is_last)))
                for envelope in results if self._buffers else ():
                    buffers = self._buffers.pop(envelope.seq, None)
                    if buffers is not None:
                        send_buffers(self._connection, buffers, os.getppid())

    def hand_over(self, seq: int, attempt: int, partial: bytes) -> None:
        """Send a partial result. It does not wait for a check of the process: it counts only if its item fails."""
        with self._lock:
            self._connection.send_bytes(_ENCODER.encode(ResultMessage([], False, (seq, attempt, partial))))


class _ProcessReporter:
    """Takes what one attempt says. An attempt that has ended says nothing."""

    def __init__(self, results: _ResultBuffer, status: SharedStatus, lock: threading.Lock) -> None:
        self._results = results
        self._status = status
        self._lock = lock
        self._running = status.read()

    def report(self, done: float, total: float | None, note: str) -> None:
        """Write the progress."""
        self._say(self._status.write_progress, done, total, note)

    def begin_step(self, name: str, timeout_s: float | None) -> None:
        """Write the step."""
        self._say(self._status.write_step, name, timeout_s)

    def hand_over(self, partial: bytes) -> None:
        """Send a partial result."""
        self._say(self._results.hand_over, partial)

    def _say(self, write: Callable[..., None], *values: Any) -> None:
        """Write values of this attempt, if it has not ended."""
        with self._lock:
            running = self._running
            if running is not None and self._status.is_running(running):
                write(running.seq, running.attempt, *values)


class _BatchRunner:
    """Runs batches, one item after the other.

    The process is checked for damage every few milliseconds, not after every item: a check costs some microseconds, and
    ten times that if the items have evicted it from the caches. If a check finds damage and several items ran since the
    previous check, they run again one by one, and the check after each finds the one that did it.
    """

    def __init__(
        self,
        results: _ResultBuffer,
        status: SharedStatus,
        guard: ProcessGuard,
        function: Callable[[Any], Any],
        resident_bytes_max: int | None,
    ) -> None:
        self._results = results
        self._status = status
        self._guard = guard
        self._function = function
        self._classify = get_classify(function)
        self._lookahead: Lookahead | None = get_lookahead(function)
        self._resident_bytes_max = resident_bytes_max
        """Above this the rest of a batch is left to the next process."""
        self._unchecked: list[PackedTask] = []
        """Tasks run since the last check."""
        self._checked_ns = monotonic_ns()
        self._latest_times = (0.0, 0.0)
        """Duration and start of the task that ran last."""
        self._group_ms = 0.0
        """The share of an item in the time that reading its group took."""
        self._report_lock = threading.Lock()
        set_reporter(self._make_reporter)

    def _make_reporter(self) -> Reporter:
        return _ProcessReporter(self._results, self._status, self._report_lock)

    def run(self, message: bytes) -> None:
        """Run a batch, as far as the parent allows, until the results are larger than expected or this process is too
        large. The parent takes back the tasks that get no result."""
        bytes_left, seqs, attempts, items = pickle.loads(message)
        batch_began_ns = monotonic_ns()
        left_count = len(seqs) // _EARLY_SHARE
        early_index = len(seqs) - 1 - left_count if left_count else None
        tasks: list[PackedTask] = list(zip(seqs, attempts, items, strict=True))
        group_end = 0
        for index in range(len(tasks)):
            if bytes_left < 0 or not self._status.may_start(index, group_end):
                break
            if self._lookahead is not None and index >= group_end:
                group_end = self._read_group(self._lookahead, tasks, index)
            task = tasks[index]
            size, ended_ns = self._run_one(task)
            bytes_left -= size
            self._unchecked.append(task)
            is_early = index == early_index and ended_ns - batch_began_ns >= _EARLY_NS
            if is_early or ended_ns - self._checked_ns >= _CHECK_NS or self._results.size_bytes >= _FLUSH_BYTES:
                self._check_damage()
                if is_early or self._results.is_due(ended_ns):
                    self._results.flush()
                if self._resident_bytes_max is not None and read_resident_bytes() > self._resident_bytes_max:
                    break
        self._check_damage()
        self._status.clear_item()
        self._results.flush(is_last=True)

    def release(self) -> None:
        """Let the function close what it has open, if it has a method `release`."""
        release = getattr(self._function, "release", None)
        if release is not None:
            release()

    def _read_group(self, lookahead: Lookahead, tasks: list[PackedTask], start: int) -> int:
        """Read what the next items need at once. Returns the index of the first item after them. The parent takes none
        of them back, and their time counts equally for each."""
        began_ns = monotonic_ns()
        self._status.begin_item(tasks[start][0], tasks[start][1], began_ns)
        items = lookahead.unpack(tasks, start)
        wanted = lookahead.count(items)
        end = self._status.reserve(start, start + wanted) if wanted > 1 else start + 1
        self._group_ms = 0.0
        if end > start + 1:
            lookahead.read(items[: end - start])
            self._group_ms = (monotonic_ns() - began_ns) / 1e6 / (end - start)
        return end

    def flush_if_due(self) -> None:
        """Send finished results while an item runs. Called from another thread."""
        if self._results.is_due(monotonic_ns()):
            running = self._status.read()
            if running is not None and self._guard.was_intact_at(running.began_ns):
                self._results.confirm_before(running)
            self._results.flush()

    def _check_damage(self) -> None:
        unchecked, self._unchecked = self._unchecked, []
        damage = self._guard.repair()
        if damage:
            self._attribute(damage, unchecked[len(unchecked) - self._results.drop_unconfirmed() :])
        self._results.confirm()
        self._checked_ns = monotonic_ns()

    def _attribute(self, damage: str, suspects: list[PackedTask]) -> None:
        """Fail the task that did the damage. If there are several suspects, run them again to find it."""
        for task in suspects:
            if len(suspects) > 1:
                self._run_one(task)
                damage = self._guard.repair()
                if not damage:
                    self._results.confirm()
                    continue
                self._results.drop_unconfirmed()
            failure = self._add_step(Failure(category=Category.RUNTIME, message=damage))
            self._results.add(Envelope(task[0], task[1], FAIL, None, 0, failure, *self._latest_times), _NO_BUFFERS)
            self._results.confirm()

    def _run_one(self, task: PackedTask) -> tuple[int, int]:
        """Run one task; return the size of its result, and when it ended. The work around the function costs every item
        about two microseconds, and several times that if the function has evicted it from the caches."""
        seq, attempt, packed_item = task
        began_ms = time() * 1000
        began_ns = monotonic_ns()
        self._status.begin_item(seq, attempt, began_ns)
        begin_attempt(attempt)
        payload, outcome, failure, size = self._compute(packed_item)
        if failure is not None:
            failure = self._add_step(failure)
        ended_ns = monotonic_ns()
        buffers = _NO_BUFFERS
        if type(payload) is PackedValue:
            data, buffers = payload
            payload = (data, measure_buffers(buffers)) if buffers else data
        self._latest_times = times = ((ended_ns - began_ns) / 1e6 + self._group_ms, began_ms)
        self._results.add(Envelope(seq, attempt, outcome, payload, size, failure, *times), buffers)
        return size, ended_ns

    def _add_step(self, failure: Failure) -> Failure:
        """Add the step of the item that runs, or ran last."""
        running = self._status.read()
        step = None if running is None else self._status.read_step(running)
        return failure if step is None else add_step(failure, step.name)

    def _compute(self, packed_item: Any) -> tuple[Any, int, Failure | None, int]:
        """Return the plain or packed result, the outcome, the failure, and the size of the result."""
        try:
            item = pickle.loads(packed_item) if type(packed_item) is bytes else packed_item
        except BaseException as error:
            failure = classify_error(error)
            message = f"the worker cannot unpickle the item: {failure.message}"
            return None, FAIL, Failure(category=Category.INPUT, message=message, detail=failure.detail), 0
        try:
            value = self._function(item)
        except BaseException as error:
            return _pack_error(error), FAIL, classify_error(error, self._classify), 0
        if is_plain_result(value):
            return value, SUCCESS, None, getsizeof(value)
        try:
            packed = pack(value)
        except BaseException as error:
            message = f"the result cannot be pickled: {classify_error(error).message}"
            return None, FAIL, Failure(category=Category.RUNTIME, message=message), 0
        size = packed.size_bytes + get_held_bytes(value)
        return packed, SKIP if type(value) is Skip else SUCCESS, None, size


def _pack_error(error: BaseException) -> PackedValue | None:
    """Pack an exception, which becomes the `__cause__` of the caller's `ItemError`; None if it cannot be pickled."""
    try:
        packed = pack(error)
        pickle.loads(packed.data)
    except BaseException:
        return None
    return packed if not packed.buffers else None
