"""The engine whose workers are processes: for work that computes, and for work that may crash, hang or leak memory.

Each worker is one spawned process behind one pipe. While it has a batch, a thread of this process talks to it. The end
of a process is seen at once by its pipe, and affects no other worker. A process that must be stopped is killed with
everything it started. An isolated item gets a process that has run nothing before.
"""

import threading
from collections.abc import Callable
from time import monotonic
from typing import Any

from inorder.core.events import Envelope, Event, Finished, HandedOver, Loss, Pulled, Returned, WorkerLost
from inorder.engines.attempt import classify_error
from inorder.engines.base import LEASE_S, Batch, BatchSizer, PackTasks
from inorder.engines.pool import Outbox, PoolEngine, PoolWorker, RunningItem
from inorder.engines.progress import ItemProgress
from inorder.errors import InfrastructureError, OperatorError
from inorder.host.standard_streams import open_standard_streams

from .idle import IdleProcesses
from .lookahead import get_lookahead
from .main_pickle import dump_for_worker
from .transfer import PACKED_KINDS
from .worker_process import ProcessDied, ProcessOptions, StartupError, WorkerProcess, pack_tasks, unpack_result

BATCH_S = 0.4
"""Work in one batch: long compared to the round trip to a process, during which the process waits for a millisecond.
Results come earlier: see `_FLUSH_S` in `worker_main`."""
GROUP_START = 64
"""Items in the second batch of a worker that processes groups. How long the first one takes says nothing of the next:
it waits for what the function opens."""
GROUP_FALL_MAX = 2
"""A batch that took long makes the next one at most this many times smaller: a later one may be the one that waits."""
GROUP_MAX = 128
"""Most items in a batch of such a worker. Results are committed in order: those of all others wait for a large batch
that was given out first."""


class ProcessPoolWorker(PoolWorker):
    """One process after another, under one worker number. The first is started with the first batch."""

    def __init__(
        self,
        number: int,
        put: Callable[[Event | Exception], None],
        function_pickle: bytes,
        options: ProcessOptions,
        *,
        pack: PackTasks = pack_tasks,
        unpack: Callable[[Envelope], Envelope] = unpack_result,
        batch_s: float = BATCH_S,
        has_groups: bool = False,
        idle: IdleProcesses | None = None,
    ) -> None:
        self.number = number
        self._idle = idle
        self._is_idle = True
        self._put_event = put
        self._function_pickle = function_pickle
        self._options = options
        self._pack = pack
        self._unpack = unpack
        self._has_groups = has_groups
        self._sizer = (
            BatchSizer(target_s=batch_s, limit_max=GROUP_MAX, limit=GROUP_START, fall_max=GROUP_FALL_MAX)
            if has_groups
            else BatchSizer(target_s=batch_s)
        )
        self._lock = threading.Lock()
        self._batch_seqs: list[int] = []
        self._finished_seqs: set[int] = set()
        self._is_stopped = False
        self._process: WorkerProcess | None = None

    def prepare(self, batch: Batch) -> None:
        """End the process if it is due for replacement, or if the batch is isolated and the process has run items."""
        process = self._process
        if process is not None and ((batch.isolated and process.tasks_done) or self._must_recycle(process)):
            with self._lock:
                process.close()
                self._process = None

    def execute(self, batch: Batch) -> None:
        """Run a batch. Any error on the way ends this worker with a `WorkerLost`."""
        self._is_idle = False
        try:
            self._execute(batch)
        except BaseException as error:
            self._put_lost(f"unexpected error: {classify_error(error).message}")

    def _execute(self, batch: Batch) -> None:
        began_s = monotonic()
        tasks, refused = self._pack(batch.tasks)
        with self._lock:
            self._batch_seqs = [task[0] for task in tasks]
            self._finished_seqs = set()
        process = None
        try:
            process = self._ensure_process(batch) if tasks else None
            if process is not None:
                process.send(tasks, batch.bytes_max)
            self._put_finished(refused)
            is_last = process is None
            while process is not None and not is_last:
                results, is_last, handed_over = process.receive()
                if handed_over is not None:
                    self._put(HandedOver(self.number, *handed_over))
                unpack = self._unpack
                self._put_finished(
                    [unpack(result) if type(result.payload) in PACKED_KINDS else result for result in results]
                )
        except (ProcessDied, StartupError) as error:
            if process is not None and process.is_reused and not process.is_ready:
                self._drop(process)
                self._execute(batch)  # it has run nothing of the batch
            else:
                self._report_end(error)
            return
        except InfrastructureError as error:
            self._put(error)
            return
        is_first = process is not None and process.tasks_done - process.tasks_before <= len(self._finished_seqs)
        if not (is_first and self._has_groups):
            self._sizer.observe(max(1, len(self._finished_seqs)), monotonic() - began_s)
        with self._lock:
            self._put_unstarted(0)
            self._batch_seqs = []
            self._is_idle = True
            self._put_locked(Pulled(self.number, self._pull_limit()))

    def _report_end(self, error: ProcessDied | StartupError) -> None:
        if isinstance(error, ProcessDied):
            self._put_lost(str(error), error.detail)
        elif error.signal_name is not None:
            self._put(WorkerLost(self.number, Loss.INFRASTRUCTURE, reason=str(error)))
        else:
            self._put(_make_startup_error(error))

    def _drop(self, process: WorkerProcess) -> None:
        """End a process that could not be used again."""
        with self._lock:
            process.close()
            self._process = None

    def running_item(self) -> RunningItem | None:
        """The item that the process is running."""
        process = self._process
        status = None if process is None else process.status.read()
        if process is None or status is None:
            return None
        return RunningItem(status.seq, status.attempt, status.began_ns / 1e9, process.status.read_step(status))

    def read_progress(self, running: RunningItem) -> ItemProgress | None:
        """What this item reported last."""
        process = self._process
        return None if process is None else process.status.read_progress(running.seq, running.attempt)

    def find_last_beat(self) -> int | None:
        """A number that every heartbeat of the process changes. A process that was stopped, or whose interpreter lock
        is held, gives none; None: there is no process."""
        process = self._process
        return None if process is None else process.status.find_last_beat()

    def flush(self) -> None:
        """The process sends its results without being asked."""

    def return_unstarted(self, *, half: bool = False) -> None:
        """Return the items after the running one, or the later half of them, that the process has not started."""
        running = self.running_item()
        with self._lock:
            if running is not None and running.seq in self._batch_seqs:
                started = self._batch_seqs.index(running.seq) + 1
                kept = started + (len(self._batch_seqs) - started + 1) // 2 if half else started
                if kept < len(self._batch_seqs) and self._process is not None:
                    self._put_unstarted(self._process.status.limit_batch(kept))

    def process_id(self) -> int | None:
        """The id of its process; None: it has none at present."""
        process = self._process
        return None if process is None else process.pid

    def is_alive(self) -> bool:
        """Whether the process exists. Heartbeats show whether it runs."""
        return self._process is None or self._process.is_alive()

    def begin_stop(self) -> None:
        """Kill the process, without waiting for its end, unless it is kept for the next engine."""
        with self._lock:
            self._is_stopped = True
            if self._process is not None and not self._keep_process(self._process):
                self._process.kill()

    def stop(self) -> None:
        """Kill the process, unless it is kept for the next engine."""
        with self._lock:
            self._is_stopped = True
            if self._process is not None and not self._keep_process(self._process):
                self._process.close()

    def _keep_process(self, process: WorkerProcess) -> bool:
        """Leave a process that has nothing to run to the next engine. Returns whether it is left."""
        if self._idle is None or not self._is_idle or not process.is_ready or self._must_recycle(process):
            return False
        if not process.release():
            return False
        self._process = None
        self._idle.add(process)
        return True

    def _ensure_process(self, batch: Batch) -> WorkerProcess:
        with self._lock:
            if self._is_stopped:
                raise ProcessDied("the worker was stopped before it began")
            if self._process is None:
                self._process = self._take_idle(is_unused=batch.isolated)
            if self._process is None:
                try:
                    self._process = WorkerProcess(self._function_pickle, self._options)
                except OSError as error:
                    raise InfrastructureError(f"cannot start a worker process: {error}") from error
            return self._process

    def _take_idle(self, *, is_unused: bool) -> WorkerProcess | None:
        """A process of an earlier engine, with the function of this one; or one that has run nothing."""
        found = None if self._idle is None else self._idle.take(self._options, is_unused=is_unused)
        if found is not None:
            found.load(self._function_pickle)
        return found

    def _pull_limit(self) -> int:
        """How many items to ask for: no more than the process may run before it is replaced."""
        tasks = self._options.recycle_tasks
        if tasks is None:
            return self._sizer.limit
        left = tasks - (0 if self._process is None else self._process.tasks_done)
        return min(self._sizer.limit, left if left > 0 else tasks)

    def _must_recycle(self, process: WorkerProcess) -> bool:
        tasks, size = self._options.recycle_tasks, self._options.recycle_resident_bytes
        if tasks is not None and process.tasks_done >= tasks:
            return True
        return size is not None and process.resident_bytes() > size

    def _put_finished(self, envelopes: list[Envelope]) -> None:
        if envelopes:
            self._finished_seqs.update([envelope.seq for envelope in envelopes])
            self._put(Finished(self.number, envelopes))

    def _put_lost(self, reason: str, detail: str = "") -> None:
        running = self.running_item()
        if running is None:
            self._put(WorkerLost(self.number, Loss.DIED, None, reason, detail))
        else:
            end = (running.seq, reason, detail, *running.measure(), running.step_name)
            self._put(WorkerLost(self.number, Loss.DIED, *end))

    def _put_unstarted(self, start: int) -> None:
        """Return the items of the batch from this index on that have no result. The caller holds the lock."""
        seqs = [seq for seq in self._batch_seqs[start:] if seq not in self._finished_seqs]
        if seqs:
            self._batch_seqs = self._batch_seqs[:start]
            self._put_locked(Returned(self.number, seqs))

    def _put(self, event: Event | Exception) -> None:
        with self._lock:
            self._put_locked(event)

    def _put_locked(self, event: Event | Exception) -> None:
        if not self._is_stopped:
            self._put_event(event)


def _make_startup_error(cause: StartupError) -> Exception:
    error = InfrastructureError(f"cannot start a worker process: {cause}")
    error.__cause__ = cause
    return error


class ProcessEngine(PoolEngine):
    """An engine of `workers` processes, of which `start_count` begin. It uses those that `idle` has, and leaves its own
    there at the end."""

    def __init__(
        self,
        function: Callable[[Any], Any],
        workers: int,
        *,
        timeout_s: float | None,
        options: ProcessOptions | None = None,
        lease_s: float = LEASE_S,
        idle: IdleProcesses | None = None,
        start_count: int | None = None,
    ) -> None:
        open_standard_streams()  # before any pipe
        function_pickle = pickle_function(function)
        limits = options or ProcessOptions()
        has_groups = get_lookahead(function) is not None

        def make_worker(number: int, outbox: Outbox) -> ProcessPoolWorker:
            return ProcessPoolWorker(number, outbox.put, function_pickle, limits, has_groups=has_groups, idle=idle)

        super().__init__(
            make_worker,
            workers,
            timeout_s=timeout_s,
            name="processes",
            lease_s=lease_s,
            start_count=start_count,
        )

    def process_ids(self) -> list[int]:
        """The ids of the worker processes."""
        workers = [worker for worker in self._workers.values() if isinstance(worker, ProcessPoolWorker)]
        return [pid for worker in workers if (pid := worker.process_id()) is not None]


def pickle_function(function: Callable[[Any], Any]) -> bytes:
    """Pickle the function for the workers. Raises `OperatorError`, with what to do instead, if that is impossible."""
    try:
        return dump_for_worker(function)
    except Exception as error:
        name = getattr(function, "__qualname__", repr(function))
        raise OperatorError(
            f"{name} cannot be sent to a worker process ({type(error).__name__}: {error}): it, or what it uses of the "
            "main script, holds an open file, a lock or a connection; open that in the function, or run it in threads: "
            "where='threads', for a stage policy='io'"
        ) from error
