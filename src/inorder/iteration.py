"""`imap`: apply a function to items in parallel and iterate over the results.

A result is committed when the consumer asks for the next one. Workers run while the consumer iterates: each `next`
also dispatches items to idle workers, and between two calls at most the byte budget is buffered. Results come in input
order, or, as a matter of delivery alone, as they come or in input order per key.
"""

import os
from collections.abc import AsyncIterable, AsyncIterator, Callable, Coroutine, Iterable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Literal, Self, TypedDict, TypeVar, Unpack, cast, overload
from weakref import WeakSet

from inorder.core.events import Envelope
from inorder.core.invariants import raise_violation
from inorder.core.options import KernelOptions, entries_for
from inorder.core.transitions import State
from inorder.engines.base import WORKERS_MAX, Engine, Task
from inorder.engines.factory import EngineSpec, create_engine, is_coroutine_function
from inorder.errors import InfrastructureError, InvariantViolation, ItemError, OperatorError, require
from inorder.host.caller import warn_caller
from inorder.host.clock import SystemClock
from inorder.runtime.delivery import ORDERS, Delivery, make_delivery
from inorder.runtime.former_options import FormerOptions, read_former
from inorder.runtime.limits import make_retry_options
from inorder.runtime.loop import IN_THREADS, Runtime, describe_survivors
from inorder.runtime.memory_probe import create_memory_probe
from inorder.runtime.plan_items import ItemHints, read_until_error
from inorder.runtime.run_options import RunOptions, require_whole, require_word
from inorder.runtime.stall_notice import StallNotice

if TYPE_CHECKING:
    from inorder.engines.coroutines import CoroutineEngine
    from inorder.runtime.async_turns import AsyncInput, AsyncTurns

T = TypeVar("T")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
Where = Literal["processes", "threads", "inline", "ray"]
Items = Iterable[T] | AsyncIterable[T]
PLACES = {
    "processes": ("cpu", "local"),
    "threads": ("io", "local"),
    "inline": ("inline", "local"),
    "ray": ("cpu", "ray"),
}
"""Policy and engine of each place."""
ERRORS = ("raise", "yield")
_FAIL = int(State.TERMINAL_FAIL)
_FEED_MS = 2
"""While results are ready, the event loop still runs this often, so that workers stay busy."""
_ENTRIES = 8192
"""Seqs per window."""
_PLAN_AHEAD = 4096
_COROUTINES = 100
_COROUTINES_MAX = 65_536
_RESULT_BYTES = 64
"""Expected size of a coroutine's result before there is one: many begin at once."""


class _ImapOptions(TypedDict, Generic[T], total=False):
    """The parameters of `imap` that say nothing about the type of its results."""

    workers: int | Literal["auto"] | None
    where: Where | None
    timeout_s: float | None
    retries: int
    order: Literal["input", "none", "key"]
    key: Callable[[T], Any] | None
    journal: str | os.PathLike[str] | None
    version: str
    spool: Literal["memory", "disk"]
    cost: Callable[[T], float] | None
    size: Callable[[T], int] | None
    batch_key: Callable[[T], str] | None
    options: RunOptions | None


@overload
def imap(
    function: Callable[[T], Coroutine[Any, Any, R]],
    items: Items[T],
    *,
    errors: Literal["raise"] = "raise",
    **options: Unpack[_ImapOptions[T]],
) -> "Imap[R]": ...


@overload
def imap(
    function: Callable[[T], Coroutine[Any, Any, R]],
    items: Items[T],
    *,
    errors: Literal["yield"],
    **options: Unpack[_ImapOptions[T]],
) -> "Imap[R | ItemError]": ...


@overload
def imap(
    function: Callable[[T], R],
    items: Items[T],
    *,
    errors: Literal["raise"] = "raise",
    **options: Unpack[_ImapOptions[T]],
) -> "Imap[R]": ...


@overload
def imap(
    function: Callable[[T], R], items: Items[T], *, errors: Literal["yield"], **options: Unpack[_ImapOptions[T]]
) -> "Imap[R | ItemError]": ...


def imap(
    function: Callable[[T], Any],
    items: Items[T],
    *,
    workers: int | Literal["auto"] | None = None,
    where: Where | None = None,
    timeout_s: float | None = None,
    retries: int = 0,
    errors: Literal["raise", "yield"] = "raise",
    order: Literal["input", "none", "key"] = "input",
    key: Callable[[T], Any] | None = None,
    journal: str | os.PathLike[str] | None = None,
    version: str = "",
    spool: Literal["memory", "disk"] = "memory",
    cost: Callable[[T], float] | None = None,
    size: Callable[[T], int] | None = None,
    batch_key: Callable[[T], str] | None = None,
    options: RunOptions | None = None,
    **former: Unpack[FormerOptions],
) -> "Imap[Any]":
    """Apply `function` to each item on several workers and iterate over the results, in input order.

    Workers are processes: an item that crashes, hangs or leaks harms no other. What follows from that: the function
    works on a copy of what it uses of the main script, made when the iteration starts; items and results are copied;
    the first result takes a few tenths of a second longer. `where="threads"` shares everything and isolates nothing.

    The input is consumed lazily and may be infinite. Closing the iterator, or dropping it, stops the workers:
    afterwards nothing of `function` runs, except in threads that a warning names.

    `for` and `async for` both work; with `async for` the input may be asynchronous, and `function` may be a coroutine
    function. Coroutines run on the caller's event loop: bounded in number, cancelled at their time limit, not isolated.

    >>> list(imap(str.upper, ["a", "b", "c"], workers=2))
    ['A', 'B', 'C']

    Args:
        function: Called with one item. A function of the main script, of a notebook or of an interactive session, a
            lambda and a closure work, unless they use something that cannot be copied to a process.
        items: Any iterable, or an asynchronous one for `async for`.
        workers: Number of workers. Default, or `"auto"`: one per CPU for processes, two per CPU for threads, one for
            `inline`, 100 for coroutines, and on Ray as many as fit on the cluster, also while it grows or shrinks.
        where: Where items run: in `"processes"` (the default), in `"threads"`, in the calling thread (`"inline"`), or
            in processes on a Ray cluster (`"ray"`). Not for coroutine functions.
        timeout_s: An item that runs longer fails and the others continue. A process is killed, a coroutine cancelled. A
            thread cannot be killed: it is abandoned and replaced. Not available for `inline`.
        retries: Further attempts after a failure that may be transient, with exponential backoff.
        errors: `"raise"` raises `ItemError` at the failed item and ends the iteration; `"yield"` yields the error in
            the item's place and continues.
        order: `"input"`: results in input order. `"none"`: as they come. `"key"`: those of equal `key(item)` in input
            order, and none waits for one of another key. Each result is delivered once, and memory is bounded, in any
            order.
        key: With `order="key"`, what items have in common. With `journal`, plain data that identifies an item: then the
            input may change between two runs. Items whose keys were delivered are left out, others are not.
        journal: Path of a journal that makes the iteration resumable, in input order. A result is committed when the
            consumer asks for the next one. After a crash the same call resumes at the first uncommitted result.
            `Imap.position` says how many results there were.
        version: Identifies the function and `key` in the journal, in place of their code: to change the code and go on.
            Without it, the call is refused after an edit of the function, or of what it uses of its module.
        spool: `"disk"` also writes every result to the folder `JOURNAL.results` until it is committed. After a crash,
            results that were computed behind a slow item are then adopted and not computed again, if they are plain
            data: None, numbers, text, bytes, lists, and dicts with text as keys. Nothing is unpickled.
        cost: The expected cost of an item, for `RunOptions(schedule="sjf")` and `Windows(cost_max=)`.
        size: The expected size of an item's result in bytes, which is reserved in the byte budgets while the item runs.
            Default: that of the largest recent result.
        batch_key: Items with the same key are run one after the other by the same worker, if possible, so that what it
            has loaded for them is used again. The order of results does not change.
        options: What few programs set: memory limits, budgets, windows, recycling, backoff; see `RunOptions`.
        former: Names of earlier versions, which work with a warning until 0.4.

    Returns:
        An iterator over the results, which is also a context manager.

    Raises:
        ItemError: An item failed (`errors="raise"`).
        OperatorError: An argument is invalid, or the journal belongs to another function or to other items.
        InfrastructureError: Workers, disk or cluster failed. The same call can be repeated.
    """
    require(callable(function), f"the first argument of imap must be a function, got {function!r:.80}")
    if former:
        where, options = read_former(former, where, options)
    chosen = options or RunOptions()
    require(type(chosen) is RunOptions, f"options must be RunOptions, got {type(chosen).__name__}")
    for name, value, words in (("errors", errors, ERRORS), ("order", order, ORDERS)):
        require_word(name, value, words)
    require_whole("retries", retries, 0, 1000)
    require(type(version) is str, f"version must be text, got {version!r}")
    require_place(where, chosen)
    hints = ItemHints(cost, size, batch_key)
    hints.check()
    count = None if workers == "auto" else workers
    engine: Engine
    coroutines: CoroutineEngine | None = None
    if is_coroutine_function(function):
        coroutines = engine = _make_coroutine_engine(function, count, where, timeout_s, chosen)
        slots = count or _COROUTINES
    else:
        spec = make_spec(where, count, timeout_s, chosen)
        engine, slots = create_engine(function, spec), spec.workers or WORKERS_MAX
    is_roomy = where == "ray" or coroutines is not None
    kernel = KernelOptions(
        windows=chosen.windows.to_window_options(
            max(_ENTRIES, entries_for(slots)) if is_roomy else _ENTRIES,
            _PLAN_AHEAD,
            plan_by_demand=chosen.schedule == "fifo" and batch_key is None,
        ),
        pressure=chosen.budgets.to_pressure_options(chosen.buffered_bytes_max),
        retry=make_retry_options(retries, chosen.retry_backoff_s, chosen.windows.retries_max),
        schedule=chosen.schedule,
        aged_ms=chosen.windows.aged_ms,
        infrastructure_budget=chosen.infrastructure_budget,
        outage_ms_max=int(chosen.outage_s_max * 1000),
        cancel_grace_ms=int(chosen.cancel_grace_s * 1000),
        announces=order != "input",
        expected_bytes=-1 if coroutines is None else _RESULT_BYTES,
    )
    clock = SystemClock()
    delivery = make_delivery(order, key, journal, function, version, chosen.fsync, spool, clock)
    return Imap(items, hints, engine, coroutines, slots, kernel, errors, delivery, clock, chosen)


def require_place(where: str | None, options: RunOptions) -> None:
    """Raise OperatorError unless items can run there with these options."""
    require(where is None or where in PLACES, f"where must be one of {', '.join(PLACES)}, got {where!r}")
    require(where == "ray" or options.ray == RunOptions().ray, "the option ray needs where='ray'")
    for name in ("memory_bytes_max", "recycle_tasks", "recycle_resident_bytes"):
        has_processes = where in (None, "processes", "ray")
        require(has_processes or getattr(options, name) is None, f"{name} needs worker processes, not where={where!r}")


def make_spec(where: str | None, workers: int | None, timeout_s: float | None, options: RunOptions) -> EngineSpec:
    """Describe the engine. Raises OperatorError if no engine has this combination."""
    policy, engine = PLACES[where or "processes"]
    require_whole("workers", workers, 1, WORKERS_MAX, is_optional=True)
    _require_timeout(timeout_s)
    if where == "inline":
        require(workers in (None, 1), f"where='inline' has one worker, got workers={workers}")
        require(timeout_s is None, "where='inline' cannot interrupt an item; leave out timeout_s, or where")
    spec = EngineSpec(
        engine=cast("Literal['local', 'ray']", engine),
        policy=cast("Literal['io', 'cpu', 'inline']", policy),
        workers=workers,
        timeout_s=timeout_s,
        memory_bytes_max=options.memory_bytes_max,
        recycle_tasks=options.recycle_tasks,
        recycle_resident_bytes=options.recycle_resident_bytes,
        lease_s=options.lease_s,
        ray=options.ray,
        classify=options.classify,
    )
    spec.check()
    return spec


def _make_coroutine_engine(
    function: Callable[[Any], Coroutine[Any, Any, Any]],
    slots: int | None,
    where: str | None,
    timeout_s: float | None,
    options: RunOptions,
) -> "CoroutineEngine":
    from inorder.engines.coroutines import CoroutineEngine  # importing asyncio takes as long as all the rest

    require(where is None, f"a coroutine function runs on the caller's event loop; leave out where={where!r}")
    require_whole("workers", slots, 1, _COROUTINES_MAX, is_optional=True)
    _require_timeout(timeout_s)
    return CoroutineEngine(function, slots or _COROUTINES, timeout_s=timeout_s, classify=options.classify)


def _require_timeout(timeout_s: Any) -> None:
    is_number = type(timeout_s) in (int, float) or timeout_s is None
    require(is_number, f"timeout_s must be a number of seconds, got {timeout_s!r}")
    require(timeout_s is None or timeout_s > 0, f"timeout_s must be greater than 0, got {timeout_s}")


_open: "WeakSet[Imap[Any]]" = WeakSet()
"""Iterations that a fork of this process must leave alone: their workers, pipes and journals belong to the parent."""


def _disown() -> None:
    for iteration in list(_open):
        iteration._closed = iteration._is_foreign = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_disown)


class Imap(Iterator[R_co], AsyncIterator[R_co], Generic[R_co]):
    """The iterator that `imap` returns: results for `for` and `async for`, and a context manager that stops the
    workers.

    Create it with `imap`, not directly.

    >>> with imap(abs, [-3, -2, -1]) as results:
    ...     first = next(results)
    >>> first, results.position
    (3, 1)
    """

    def __init__(
        self,
        items: Items[Any],
        hints: ItemHints,
        engine: Engine,
        coroutines: "CoroutineEngine | None",
        slots: int,
        options: KernelOptions,
        errors: str,
        delivery: Delivery,
        clock: SystemClock,
        run_options: RunOptions,
    ) -> None:
        self._items = items
        self._hints = hints
        self._engine = engine
        self._coroutines = coroutines
        """The engine, if it runs coroutines."""
        self._slots = slots
        self._options = options
        self._run_options = run_options
        self._errors = errors
        self._delivery = delivery
        self._clock = clock
        self._ready = delivery.ready
        self._acknowledge = delivery.acknowledge
        self._base = delivery.base
        self._position = self._base + delivery.resume.resume_point.end
        self._last: tuple[Envelope, Any] | None = None
        """The result that the consumer has, until it asks for the next one."""
        self._now_ms = clock.now_ms
        self._feed_due_ms = 0
        self._closed = False
        self._is_foreign = False
        """Whether this process is a fork of the one that began the iteration."""
        self._is_busy = False
        """Whether a thread or a task is taking a result."""
        self._input_errors: list[Exception] = []
        self._grace_s = options.cancel_grace_ms / 1000
        self._turns: AsyncTurns | None = None
        """Set by the first `async for`."""
        self._input: AsyncInput | None = None
        _open.add(self)
        try:
            self._notice = StallNotice(run_options.stall_warning_s, clock)
            self._runtime: Runtime | None = None
            if coroutines is None and not isinstance(items, AsyncIterable):
                self._runtime = self._start(items)
            self._blocking = self._runtime
            """The run, as long as `for` may drive it."""
        except BaseException:
            delivery.close(is_end=False)
            raise

    def _start(self, items: Iterable[Any]) -> Runtime:
        # The runtime gets no bound method of this object: a reference cycle would keep an abandoned iteration alive.
        delivery = self._delivery
        plan = delivery.order_plan(self._hints.describe_all(items))
        return Runtime(
            read_until_error(plan, self._input_errors, delivery.resume.resume_point.end),
            self._engine,
            delivery.commit,
            self._clock,
            options=self._options,
            resume=delivery.resume,
            poll_committed=delivery.poll_committed,
            announce=delivery.announce if delivery.announces else None,
            poll_delivered=delivery.poll_delivered if delivery.announces else None,
            results=delivery.results,
            memory=create_memory_probe(self._engine, self._run_options.budgets, None),
        )

    @property
    def position(self) -> int:
        """The number of results yielded so far, including those of resumed runs."""
        return self._position

    # ---- for

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __next__(self) -> R_co:
        if self._closed:
            self._require_own()
            raise StopIteration
        if self._is_busy:
            raise RuntimeError("another thread is taking a result of this iteration")
        self._is_busy = True
        try:
            runtime = self._blocking or self._start_late()
            if self._last is not None:
                self._acknowledge(*self._last)
            while not self._ready:
                if runtime.summary is not None:
                    self._end(runtime)
                    raise StopIteration
                self._notice.turn(runtime, self._ready)
            if self._now_ms() >= self._feed_due_ms:
                runtime.turn(wait=False)
                self._feed_due_ms = self._now_ms() + _FEED_MS
            self._last = last = self._ready.popleft()
            self._position += 1
            envelope = last[0]
            result: R_co = self._deliver_error(last) if envelope.outcome == _FAIL else envelope.payload
            return result
        except InvariantViolation:
            if self._closed:  # by another thread, while this one waited
                raise StopIteration from None
            self.close()
            raise
        except BaseException:
            self.close()
            raise
        finally:
            self._is_busy = False

    def _start_late(self) -> Runtime:
        """Start the run of an input that can be iterated both ways, now that `for` asks for it."""
        if self._turns is not None:
            raise OperatorError("the iteration began with `async for`; go on with it")
        if self._coroutines is not None or not isinstance(self._items, Iterable):
            raise OperatorError("a coroutine function and an asynchronous input need `async for`")
        self._runtime = self._blocking = self._start(self._items)
        return self._runtime

    def close(self) -> None:
        """Stop the workers and drop results that were not yielded. Idempotent."""
        self._close(is_end=False)

    def __del__(self) -> None:
        if hasattr(self, "_runtime"):
            self.close()

    # ---- async for

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> R_co:
        if self._closed:
            self._require_own()
            raise StopAsyncIteration
        if self._is_busy:
            raise RuntimeError("another task is waiting for the next result of this iteration")
        self._is_busy = True
        try:
            turns = self._turns or self._start_turns()
            turns.require_loop()
            runtime = self._require_runtime()
            if self._last is not None:
                self._acknowledge(*self._last)
                self._last = None
            while not self._ready:
                if runtime.summary is not None:
                    await self._aclose(is_end=not runtime.summary.was_cancelled and not self._input_errors)
                    self._end(runtime)
                    raise StopAsyncIteration
                await self._wait(turns)
            if self._now_ms() >= self._feed_due_ms:
                turns.feed_workers()
                self._feed_due_ms = self._now_ms() + _FEED_MS
            self._last = last = self._ready.popleft()
            self._position += 1
            envelope = last[0]
            result: R_co = self._deliver_error(last) if envelope.outcome == _FAIL else envelope.payload
            return result
        except BaseException:
            await self.aclose()
            raise
        finally:
            self._is_busy = False

    async def _wait(self, turns: "AsyncTurns") -> None:
        try:
            await turns.wait()
        except InvariantViolation:
            if not self._closed:
                raise
        if self._closed:  # by another task, meanwhile
            raise StopAsyncIteration

    async def aclose(self) -> None:
        """Stop the workers, wait for coroutines that were cancelled, and drop results that were not yielded."""
        await self._aclose(is_end=False)

    async def _aclose(self, *, is_end: bool) -> None:
        was_closed = self._closed
        self._close(is_end=is_end)
        if was_closed:
            return
        if self._input is not None:
            await self._input.close()
        if self._turns is not None:
            await self._turns.close()
        if self._coroutines is not None:
            survivors = await self._coroutines.wait_for_end(self._grace_s)
            _warn_of_survivors(survivors, "as coroutines, which did not end when they were cancelled")

    def _start_turns(self) -> "AsyncTurns":
        from inorder.runtime.async_turns import AsyncInput, LoopTurns, ThreadTurns

        self._blocking = None
        engine = self._engine
        if self._coroutines is not None and not isinstance(self._items, AsyncIterable):
            self._runtime = self._start(self._items)
        elif self._runtime is None:
            self._input = AsyncInput(self._items, 2 * self._slots, engine.wake)
            self._runtime = self._start(self._input.feed)
            self._input.start()
        runtime = self._require_runtime()
        self._turns = (
            ThreadTurns(runtime, engine.wake)
            if self._coroutines is None
            else LoopTurns(runtime, self._coroutines, self._ready)
        )
        return self._turns

    def _require_runtime(self) -> Runtime:
        if self._runtime is None:
            raise_violation("the iteration has not begun")
        return self._runtime

    # ---- both

    def _require_own(self) -> None:
        if self._is_foreign:
            raise OperatorError("an iteration cannot go on in a fork of its process; begin another one there")

    def _close(self, *, is_end: bool) -> None:
        if self._closed:
            return
        self._closed = True
        self._last = None
        survivors: list[Task] = []
        try:
            if self._runtime is not None:
                survivors = self._runtime.close(0.0 if is_end else self._grace_s)
                if self._is_busy:  # perhaps another thread, which waits
                    self._engine.wake()
        finally:
            self._delivery.close(is_end=is_end)
        _warn_of_survivors(survivors)

    def _deliver_error(self, last: tuple[Envelope, Any]) -> R_co:
        error = to_item_error(*last, self._base)
        if self._errors == "raise":
            raise error
        return cast("R_co", error)

    def _end(self, runtime: Runtime) -> None:
        """Close the iteration at the end of its run. Raises what the input has raised, after the results of the items
        before that, and InfrastructureError if something else ended the run."""
        summary = runtime.summary
        was_cancelled = summary is not None and summary.was_cancelled
        self._close(is_end=not was_cancelled and not self._input_errors)
        if self._input_errors:
            raise self._input_errors.pop()
        if summary is not None and was_cancelled:
            raise InfrastructureError(summary.cancel_reason)


def _warn_of_survivors(survivors: list[Task], where: str = IN_THREADS) -> None:
    if survivors:
        names = [f"seq {task.seq} ({task.item!r:.40})" for task in survivors]
        warn_caller(describe_survivors(names, where))


def to_item_error(envelope: Envelope, item: Any, base: int) -> ItemError:
    """Make the error of a failed item. `base` is added to its seq."""
    if envelope.failure is None:
        raise_violation(f"item {envelope.seq} failed without a failure")
    cause = envelope.payload if isinstance(envelope.payload, BaseException) else None
    return ItemError(base + envelope.seq, item, envelope.failure, envelope.attempt, cause)
