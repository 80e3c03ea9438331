"""Workers that are processes: for work that computes, and for work that may crash, hang or leak.

Each worker is one spawned process behind one pipe; while it has a batch, a thread of ours speaks to it. A process
that dies is seen by its pipe at once, and nobody else is touched. One that must go is killed with everything it
started. An isolated item gets a process that has run nothing before.
"""

import pickle
import threading
from collections.abc import Callable
from time import monotonic
from typing import Any, NamedTuple

import msgspec

from inorder.core.events import Envelope, Event, Finished, Loss, Pulled, Returned, WorkerLost
from inorder.engines.attempt import failure_of
from inorder.engines.base import Batch, BatchSizer, PackTasks
from inorder.engines.pool import Outbox, PooledEngine, Running
from inorder.errors import InfrastructureError, OperatorError, require

from .worker_main import ChildOptions
from .worker_process import ProcessDied, Sealed, StartupError, WorkerProcess, opened, packed

BATCH_S = 0.2
"""Work in one batch: long against the round trip to a process, which costs some milliseconds of two processors, and
short for somebody who watches the results."""


class ProcessOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of a worker process."""

    memory_bytes_max: int | None = None
    """Address space of a worker: an item that wants more gets a MemoryError instead of taking the machine down."""
    recycle_tasks: int | None = None
    """Items after which a worker is replaced: for libraries that leak."""
    recycle_resident_bytes: int | None = None
    """Resident memory above which a worker is replaced once its batch is done."""

    def __post_init__(self) -> None:
        for name in ("memory_bytes_max", "recycle_tasks", "recycle_resident_bytes"):
            value = getattr(self, name)
            require(value is None or value >= 1, f"option {name} must be at least 1, got {value}")


class Packing(NamedTuple):
    """How items become what is sent to a process, and what it answers becomes envelopes."""

    pack: PackTasks = packed
    open: Callable[[Sealed], Envelope] = opened


class ProcessWorker:
    """One process after another, under one number. The first is started when there is something for it to do."""

    def __init__(
        self,
        number: int,
        put: Callable[[Event | Exception], None],
        function_pickle: bytes,
        options: ProcessOptions,
        *,
        packing: Packing = Packing(),  # noqa: B008
        batch_s: float = BATCH_S,
    ) -> None:
        self.number = number
        self._put_out = put
        self._function_pickle = function_pickle
        self._options = options
        self._packing = packing
        self._sizer = BatchSizer(target_s=batch_s)
        self._lock = threading.Lock()
        self._order: list[int] = []
        """Seqs of the batch, in order."""
        self._answered: set[int] = set()
        self._is_stopped = False
        self._process: WorkerProcess | None = None

    def prepare(self, batch: Batch) -> None:
        """End a process that is worn out, or has run something where the item must run in one that has not: another
        takes its place."""
        process = self._process
        if process is not None and ((batch.isolated and process.tasks_done) or self._is_worn_out(process)):
            with self._lock:
                process.close()
                self._process = None

    def execute(self, batch: Batch) -> None:
        """Run a batch; whatever goes wrong on the way is the end of this worker, never silence."""
        try:
            self._execute(batch)
        except BaseException as error:
            self._lost(f"it cannot be understood: {failure_of(error).message}")

    def _execute(self, batch: Batch) -> None:
        """Send the batch and pass the answers on."""
        began_s = monotonic()
        tasks, refused = self._packing.pack(batch.tasks)
        with self._lock:
            self._order = [task[0] for task in tasks]
            self._answered = set()
        try:
            process = self._manned() if tasks else None
            if process is not None:
                process.send(tasks, batch.bytes_max)
            self._pass_on(refused)
            is_last = process is None
            while process is not None and not is_last:
                answers, is_last = process.receive()
                self._pass_on([self._packing.open(answer) for answer in answers])
        except ProcessDied as error:
            self._lost(str(error))
            return
        except InfrastructureError as error:
            self._put(error)
            return
        except StartupError as error:
            is_killed = error.signal_name is not None
            self._put(
                WorkerLost(self.number, Loss.INFRASTRUCTURE, reason=str(error)) if is_killed else _startup_error(error)
            )
            return
        self._sizer.observe(max(1, len(self._answered)), monotonic() - began_s)
        with self._lock:
            self._give_back(0)
            self._order = []
            self._post(Pulled(self.number, self._appetite()))

    def running(self) -> Running | None:
        """The item it is on."""
        process = self._process
        running = None if process is None else process.running()
        return None if running is None else Running(running.seq, running.attempt, running.began_ns / 1e9)

    def hand_over(self) -> None:
        """The process does that by itself."""

    def take_back(self, *, half: bool = False) -> None:
        """Forbid it to start what comes after the item it is on, or the later half of that, and give back what it has
        not started by then."""
        running = self.running()
        with self._lock:
            if running is not None and running.seq in self._order:
                started = self._order.index(running.seq) + 1
                kept = started + (len(self._order) - started + 1) // 2 if half else started
                if kept < len(self._order) and self._process is not None:
                    self._give_back(self._process.take_back(kept))

    def is_beating(self) -> bool:
        """Whether the process lives. What it computes, and whether it holds the interpreter's lock, does not matter."""
        return self._process is None or self._process.is_alive()

    def stop(self) -> None:
        """Kill it."""
        with self._lock:
            self._is_stopped = True
            if self._process is not None:
                self._process.close()

    def _manned(self) -> WorkerProcess:
        """The process, started if there is none."""
        with self._lock:
            if self._is_stopped:
                raise ProcessDied("it was stopped before it began")
            if self._process is None:
                options = ChildOptions(memory_bytes_max=self._options.memory_bytes_max)
                try:
                    self._process = WorkerProcess(self._function_pickle, options)
                except OSError as error:
                    raise InfrastructureError(f"a worker process cannot be started: {error}") from error
            return self._process

    def _appetite(self) -> int:
        """How many items to ask for: no more than the process is to run before it is replaced."""
        tasks = self._options.recycle_tasks
        if tasks is None:
            return self._sizer.limit
        left = tasks - (0 if self._process is None else self._process.tasks_done)
        return min(self._sizer.limit, left if left > 0 else tasks)

    def _is_worn_out(self, process: WorkerProcess) -> bool:
        tasks, size = self._options.recycle_tasks, self._options.recycle_resident_bytes
        if tasks is not None and process.tasks_done >= tasks:
            return True
        return size is not None and process.resident_bytes() > size

    def _pass_on(self, envelopes: list[Any]) -> None:
        if envelopes:
            self._answered.update(envelope.seq for envelope in envelopes)
            self._put(Finished(self.number, envelopes))

    def _lost(self, reason: str) -> None:
        running = self.running()
        self._put(WorkerLost(self.number, Loss.DIED, None if running is None else running.seq, reason))

    def _give_back(self, started: int) -> None:
        """Under the lock: what stands from there on in the batch and was not answered goes back."""
        seqs = [seq for seq in self._order[started:] if seq not in self._answered]
        if seqs:
            self._order = self._order[:started]
            self._post(Returned(self.number, seqs))

    def _put(self, event: Event | Exception) -> None:
        with self._lock:
            self._post(event)

    def _post(self, event: Event | Exception) -> None:
        """Under the lock."""
        if not self._is_stopped:
            self._put_out(event)


def _startup_error(error: StartupError) -> Exception:
    hint = "a script that starts work must do so under: if __name__ == '__main__':"
    told = InfrastructureError(f"a worker process cannot start; {error}; {hint}")
    told.__cause__ = error
    return told


class ProcessEngine(PooledEngine):
    """`workers` processes."""

    def __init__(
        self,
        function: Callable[[Any], Any],
        workers: int,
        *,
        timeout_s: float | None,
        options: ProcessOptions | None = None,
        packing: Packing = Packing(),  # noqa: B008
    ) -> None:
        function_pickle = sendable(function)
        limits = options or ProcessOptions()

        def make_worker(number: int, outbox: Outbox) -> ProcessWorker:
            return ProcessWorker(number, outbox.put, function_pickle, limits, packing=packing)

        super().__init__(make_worker, workers, timeout_s=timeout_s, name="processes")


_ADVICE = "bind arguments with functools.partial, or use policy='io' to run it in threads"


def sendable(
    function: Callable[[Any], Any],
    dumps: Callable[..., bytes] = pickle.dumps,
    to: str = "a process",
    advice: str = _ADVICE,
) -> bytes:
    """The function as it travels; one that cannot travel is refused with what to do instead."""
    try:
        return bytes(dumps(function, protocol=5))
    except Exception as error:
        name = getattr(function, "__qualname__", repr(function))
        raise OperatorError(
            f"{name} cannot be sent to {to} ({type(error).__name__}: {error}); define it at the top level of a module, "
            f"{advice}"
        ) from error
