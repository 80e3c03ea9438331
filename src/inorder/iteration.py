"""`imap`: apply a function to items in parallel and iterate over the results in input order.

A result is committed when the consumer asks for the next one. Workers run while the consumer iterates: each `next`
also dispatches items to idle workers, and between two calls at most the byte budget is buffered.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import Any, Generic, Literal, Self, TypedDict, TypeVar, Unpack, cast, overload
from warnings import warn

from inorder.core.events import Envelope
from inorder.core.invariants import raise_violation
from inorder.core.options import KernelOptions, entries_for
from inorder.core.transitions import State
from inorder.core.windows.plan import PlanItem
from inorder.engines.base import WORKERS_MAX, Engine
from inorder.engines.error_table import Classify
from inorder.engines.factory import EngineSpec, create_engine
from inorder.engines.ray.options import RayOptions
from inorder.errors import InfrastructureError, ItemError, require
from inorder.host.clock import SystemClock
from inorder.runtime.delivery import Delivery, make_delivery
from inorder.runtime.limits import Budgets, Windows, make_retry_options
from inorder.runtime.loop import Runtime, describe_survivors
from inorder.runtime.memory_probe import MemoryProbe, create_memory_probe
from inorder.runtime.plan_items import ItemHints
from inorder.runtime.stall_notice import StallNotice

T = TypeVar("T")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
Policy = Literal["io", "cpu", "inline"]
POLICIES = ("io", "cpu", "inline")
ENGINES = ("local", "ray")
ERRORS = ("raise", "yield")
_FAIL = int(State.TERMINAL_FAIL)
_FEED_MS = 2
"""While results are ready, the event loop still runs this often, so that workers stay busy."""
_ENTRIES = 8192
"""Seqs per window."""


class _ImapOptions(TypedDict, Generic[T], total=False):
    """The parameters of `imap` that say nothing about the type of its results."""

    workers: int | Literal["auto"] | None
    policy: Policy
    engine: Literal["local", "ray"]
    timeout_s: float | None
    retries: int
    retry_backoff_s: float
    classify: Classify | None
    buffered_bytes_max: int
    windows: Windows | None
    budgets: Budgets | None
    schedule: Literal["fifo", "sjf"]
    cost: Callable[[T], float] | None
    size: Callable[[T], int] | None
    batch_key: Callable[[T], str] | None
    memory_bytes_max: int | None
    recycle_tasks: int | None
    recycle_resident_bytes: int | None
    lease_s: float
    infrastructure_budget: int
    stall_warning_s: float
    cancel_grace_s: float
    ray: RayOptions | None
    journal: str | os.PathLike[str] | None
    fsync: Literal["always", "batch", "interval", "off"]
    key: Callable[[T], Any] | None
    spool: Literal["memory", "disk"]


@overload
def imap(
    function: Callable[[T], R],
    items: Iterable[T],
    *,
    errors: Literal["raise"] = "raise",
    **options: Unpack[_ImapOptions[T]],
) -> "Imap[R]": ...


@overload
def imap(
    function: Callable[[T], R], items: Iterable[T], *, errors: Literal["yield"], **options: Unpack[_ImapOptions[T]]
) -> "Imap[R | ItemError]": ...


def imap(
    function: Callable[[T], R],
    items: Iterable[T],
    *,
    workers: int | Literal["auto"] | None = None,
    policy: Policy = "io",
    engine: Literal["local", "ray"] = "local",
    timeout_s: float | None = None,
    retries: int = 0,
    retry_backoff_s: float = 0.1,
    classify: Classify | None = None,
    buffered_bytes_max: int = 256 * 2**20,
    windows: Windows | None = None,
    budgets: Budgets | None = None,
    errors: Literal["raise", "yield"] = "raise",
    schedule: Literal["fifo", "sjf"] = "fifo",
    cost: Callable[[T], float] | None = None,
    size: Callable[[T], int] | None = None,
    batch_key: Callable[[T], str] | None = None,
    memory_bytes_max: int | None = None,
    recycle_tasks: int | None = None,
    recycle_resident_bytes: int | None = None,
    lease_s: float = 300.0,
    infrastructure_budget: int = 32,
    stall_warning_s: float = 0.0,
    cancel_grace_s: float = 5.0,
    ray: RayOptions | None = None,
    journal: str | os.PathLike[str] | None = None,
    fsync: Literal["always", "batch", "interval", "off"] = "batch",
    key: Callable[[T], Any] | None = None,
    spool: Literal["memory", "disk"] = "memory",
) -> "Imap[R] | Imap[R | ItemError]":
    """Apply `function` to each item on several workers and yield the results in input order.

    The input is consumed lazily and may be infinite. Closing the iterator, or dropping it, stops the workers:
    afterwards nothing of `function` runs, except in threads that a warning names.

    >>> list(imap(str.upper, ["a", "b", "c"], workers=2))
    ['A', 'B', 'C']

    Args:
        function: Called with one item. Under `policy="cpu"` it must be defined at the top level of a module, and the
            main script must start work under `if __name__ == "__main__":`.
        items: Any iterable.
        workers: Number of workers. Default, or `"auto"`: one per CPU for `cpu`, two per CPU for `io`, one for `inline`,
            and on Ray as many as fit on the cluster, also while it grows or shrinks.
        policy: `"io"` runs threads, `"cpu"` processes, `"inline"` the calling thread.
        engine: `"local"` runs on this machine, `"ray"` in processes on a Ray cluster.
        timeout_s: An item that runs longer fails and the others continue. A process is killed; a thread cannot be
            killed: it is abandoned and replaced. Not available for `inline`.
        retries: Further attempts after a failure that may be transient, with exponential backoff.
        retry_backoff_s: Wait before the first retry. It doubles with each further one.
        classify: Maps an exception to `(category, retryable)`, or to None if the table of exceptions shall decide.
            Called in the worker.
        buffered_bytes_max: Upper bound on results that wait for their turn, also behind a slow first item.
        windows: How far the iteration goes ahead of a slow item; see `Windows`.
        budgets: When the iteration slows down or pauses, by bytes, lag and memory; see `Budgets`.
        errors: `"raise"` raises `ItemError` at the failed item and ends the iteration; `"yield"` yields the error in
            the item's place and continues.
        schedule: `"sjf"` starts the cheapest items first, by `cost(item)`. Results stay in input order.
        cost: The expected cost of an item, for `schedule="sjf"` and `Windows(cost_max=)`.
        size: The expected size of an item's result in bytes, which is reserved in the byte budgets while the item runs.
            Default: that of the largest recent result.
        batch_key: Items with the same key are run one after the other by the same worker, if possible, so that what it
            has loaded for them is used again. Results stay in input order.
        memory_bytes_max: Address space of a worker process. An item that needs more fails with a MemoryError.
        recycle_tasks: Replace a worker process after this many items.
        recycle_resident_bytes: Replace a worker process between two items when its resident memory is above this. Linux
            only.
        lease_s: Replace a worker process that gives no heartbeat for this long, and run its item again. A process that
            was stopped gives none, nor does one whose item keeps the interpreter lock in a C library. An item with a
            time limit is left to it.
        infrastructure_budget: Lost workers that are tolerated until a window of items is committed. One more raises
            `InfrastructureError`. An item that kills its workers does not count: it fails.
        stall_warning_s: Warn after waiting this long for a result: a RuntimeWarning names the item. 0: never.
        cancel_grace_s: How long threads may finish the items they run when the iteration is closed early or an item
            raises. Items that still run after that are named in a RuntimeWarning. Processes are killed at once.
        ray: Which cluster to use and what one worker needs there (`engine="ray"` only).
        journal: Path of a journal that makes the iteration resumable. A result is committed when the consumer asks for
            the next one. After a crash the same call resumes at the first uncommitted result. `Imap.position` is its
            seq.
        fsync: When the journal waits for the disk. With any value a killed process repeats at most one result.
        key: Maps an item to plain data that identifies it in the journal. Needed if the item is not plain data.
        spool: `"disk"` also writes every result to the folder `JOURNAL.results` until it is committed. After a crash,
            results that were computed behind a slow item are then adopted and not computed again, if they are plain
            data: None, numbers, text, bytes, lists, and dicts with text as keys. Nothing is unpickled.

    Returns:
        An iterator over the results, which is also a context manager.

    Raises:
        ItemError: An item failed (`errors="raise"`).
        OperatorError: An argument is invalid, or the journal belongs to another function or to other items.
        InfrastructureError: Workers, disk or cluster failed. The same call can be repeated.
    """
    require(callable(function), f"the first argument of imap must be a function, got {function!r:.80}")
    _check_options(policy, engine, workers, cancel_grace_s, errors, buffered_bytes_max)
    require(ray is None or engine == "ray", "the option ray needs engine='ray'")
    count = None if workers == "auto" else workers
    spec = EngineSpec(
        engine=engine,
        policy=policy,
        workers=count,
        timeout_s=timeout_s,
        memory_bytes_max=memory_bytes_max,
        recycle_tasks=recycle_tasks,
        recycle_resident_bytes=recycle_resident_bytes,
        lease_s=lease_s,
        ray=ray or RayOptions(),
        classify=classify,
    )
    spec.check()
    workers_engine = create_engine(function, spec)
    hints = ItemHints(cost, size, batch_key)
    hints.check()
    windows, budgets = windows or Windows(), budgets or Budgets()
    entries = max(_ENTRIES, entries_for(count or WORKERS_MAX)) if engine == "ray" else _ENTRIES
    options = KernelOptions(
        windows=windows.to_window_options(entries, 4096, plan_by_demand=schedule == "fifo" and batch_key is None),
        pressure=budgets.to_pressure_options(buffered_bytes_max),
        retry=make_retry_options(retries, retry_backoff_s, windows.retries_max),
        schedule=schedule,
        aged_ms=windows.aged_ms,
        infrastructure_budget=infrastructure_budget,
        cancel_grace_ms=int(cancel_grace_s * 1000),
    )
    clock = SystemClock()
    memory = create_memory_probe(workers_engine, budgets, None)
    delivery = make_delivery(journal, function, fsync, key, spool, clock)
    plan = hints.describe_all(items)
    return Imap(plan, workers_engine, options, errors, delivery, clock, memory, stall_warning_s)


def _check_options(
    policy: str,
    engine: str,
    workers: Any,
    cancel_grace_s: float,
    errors: str,
    buffered_bytes_max: int,
) -> None:
    for name, value, choices in (("policy", policy, POLICIES), ("engine", engine, ENGINES), ("errors", errors, ERRORS)):
        require(value in choices, f"{name} must be one of {', '.join(choices)}, got {value!r}")
    is_number = type(workers) is int and 1 <= workers <= WORKERS_MAX
    require(is_number or workers in (None, "auto"), f"workers must be between 1 and {WORKERS_MAX}, got {workers}")
    require(0 <= cancel_grace_s <= 10**9, f"cancel_grace_s must be between 0 and 1000000000, got {cancel_grace_s}")
    require(buffered_bytes_max >= 1, f"buffered_bytes_max must be at least 1, got {buffered_bytes_max}")


class Imap(Iterator[R_co], Generic[R_co]):
    """The iterator that `imap` returns: results in input order, and a context manager that stops the workers.

    Create it with `imap`, not directly.

    >>> with imap(abs, [-3, -2, -1]) as results:
    ...     first = next(results)
    >>> first, results.position
    (3, 1)
    """

    def __init__(
        self,
        plan: Iterable[tuple[PlanItem, Any]],
        engine: Engine,
        options: KernelOptions,
        errors: str,
        delivery: Delivery,
        clock: SystemClock,
        memory: MemoryProbe | None = None,
        stall_warning_s: float = 0.0,
    ) -> None:
        self._errors = errors
        self._delivery = delivery
        self._ready = delivery.ready
        self._position = self._acknowledged = delivery.resume.resume_point.end
        self._item: Any = None
        self._is_durable = delivery.is_durable
        self._now_ms = clock.now_ms
        self._feed_due_ms = 0
        self._closed = False
        self._grace_s = options.cancel_grace_ms / 1000
        # The runtime gets no bound method of this object: a reference cycle would keep an abandoned iteration alive.
        try:
            self._notice = StallNotice(stall_warning_s, clock)
            self._runtime = Runtime(
                plan,
                engine,
                delivery.commit,
                clock,
                options=options,
                resume=delivery.resume,
                poll_committed=delivery.poll_committed,
                results=delivery.results,
                memory=memory,
            )
        except BaseException:
            delivery.close(is_end=False)
            raise

    @property
    def position(self) -> int:
        """The seq of the next result: the number of results yielded so far, including those of resumed runs."""
        return self._position

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __next__(self) -> R_co:
        if self._closed:
            raise StopIteration
        try:
            if self._is_durable:
                self._acknowledge()
            else:
                self._delivery.committed_end = self._position
            while not self._ready:
                if self._runtime.summary is not None:
                    self._raise_end()
                self._notice.turn(self._runtime, self._ready)
            if self._now_ms() >= self._feed_due_ms:
                self._runtime.turn(wait=False)
                self._feed_due_ms = self._now_ms() + _FEED_MS
            envelope, item = self._ready.popleft()
            self._position = envelope.seq + 1
            if self._is_durable:
                self._item = item
            return self._deliver_error(envelope, item) if envelope.outcome == _FAIL else cast("R_co", envelope.payload)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Stop the workers and drop results that were not yielded. Idempotent."""
        self._close(is_end=False)

    def __del__(self) -> None:
        if hasattr(self, "_runtime"):
            self.close()

    def _close(self, *, is_end: bool) -> None:
        if not self._closed:
            self._closed = True
            try:
                survivors = self._runtime.close(0.0 if is_end else self._grace_s)
            finally:
                self._delivery.close(is_end=is_end)
            if survivors:
                names = [f"seq {task.seq} ({task.item!r:.40})" for task in survivors]
                warn(describe_survivors(names), RuntimeWarning, stacklevel=3)

    def _acknowledge(self) -> None:
        """Commit the last result: the consumer has finished with it."""
        if self._position > self._acknowledged:
            self._acknowledged = self._position
            self._delivery.acknowledge(self._position, self._item)
            self._item = None

    def _deliver_error(self, envelope: Envelope, item: Any) -> R_co:
        error = _to_item_error(envelope, item)
        if self._errors == "raise":
            raise error
        return cast("R_co", error)

    def _raise_end(self) -> None:
        summary = self._runtime.summary
        was_cancelled = summary is not None and summary.was_cancelled
        self._close(is_end=not was_cancelled)
        if summary is not None and was_cancelled:
            raise InfrastructureError(summary.cancel_reason)
        raise StopIteration


def _to_item_error(envelope: Envelope, item: Any) -> ItemError:
    if envelope.failure is None:
        raise_violation(f"item {envelope.seq} failed without a failure")
    cause = envelope.payload if isinstance(envelope.payload, BaseException) else None
    return ItemError(envelope.seq, item, envelope.failure, envelope.attempt, cause)
