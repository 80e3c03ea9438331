"""`imap`: the kernel for any Python programmer.

A result counts as committed when the consumer comes back for the next one. Work goes on while the consumer iterates:
every `next` also gives idle workers something to do, and between two calls at most the byte budget is buffered.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, TypeVar

from inorder.core.events import Envelope
from inorder.core.invariants import raise_violation
from inorder.core.options import KernelOptions, PressureOptions, RetryOptions, WindowOptions, entries_for
from inorder.core.transitions import State
from inorder.core.windows.plan import PlanItem
from inorder.engines.base import WORKERS_MAX, Engine
from inorder.engines.factory import EngineSpec, create_engine
from inorder.engines.ray.options import RayOptions
from inorder.errors import InfrastructureError, ItemError, OperatorError, require
from inorder.host.clock import SystemClock
from inorder.runtime.delivery import Delivery
from inorder.runtime.loop import Runtime

T = TypeVar("T")
R = TypeVar("R")

POLICIES = ("io", "cpu", "inline", "ray")
ERRORS = ("raise", "yield")
_FAIL = int(State.TERMINAL_FAIL)
_FEED_MS = 2
_ENTRIES = 8192
_PLAIN = PlanItem()


def imap(
    function: Callable[[T], R],
    items: Iterable[T],
    *,
    workers: int | Literal["auto"] | None = None,
    policy: Literal["io", "cpu", "inline", "ray"] = "io",
    timeout_s: float | None = None,
    retries: int = 0,
    buffered_bytes_max: int = 256 * 2**20,
    errors: Literal["raise", "yield"] = "raise",
    schedule: Literal["fifo", "sjf"] = "fifo",
    cost: Callable[[T], float] | None = None,
    memory_bytes_max: int | None = None,
    recycle_tasks: int | None = None,
    ray: RayOptions | None = None,
    journal: str | os.PathLike[str] | None = None,
    fsync: Literal["always", "batch", "interval", "off"] = "batch",
    key: Callable[[T], Any] | None = None,
) -> Iterator[R | ItemError]:
    """Apply `function` to each item on several workers; yield the results in the order of the items.

    * `policy`: `cpu` runs processes, `io` threads, `inline` this thread, `ray` processes on a Ray cluster. Processes
      need a function at the top level of a module, and a script that starts work under `if __name__ == "__main__":`.
    * `workers`: how many; by default, or with `auto`, one a processor for `cpu`, two for `io`, always one for `inline`,
      and for `ray` as many as the cluster has room for, also when it grows or shrinks meanwhile.
    * `timeout_s`: an item that runs longer fails, and the rest go on (not with `inline`, which cannot interrupt). A
      process is killed; a thread cannot be, it is left behind and replaced.
    * `retries`: further attempts for failures that may pass (network, disk, unknown), with growing waits.
    * `buffered_bytes_max`: results that wait for their turn hold no more than this, even behind a slow first item.
    * `errors`: `raise` ends the iteration with an `ItemError` at the failed item; `yield` yields the error instead.
    * `schedule`: `sjf` starts the cheapest of the items in sight first, by `cost(item)`; results keep their order.
    * `memory_bytes_max`, `recycle_tasks` (`cpu` and `ray`): the address space of a worker, beyond which an item fails
      with a MemoryError; and the items after which a worker is replaced, for libraries that leak.
    * `ray` (`ray` only): which cluster, and what one worker needs of it.
    * `journal`: a file in which the iteration remembers how far it came. A result is committed when the consumer comes
      back for the next one; after a crash, the same call goes on with the first result that was not. `fsync` says when
      to wait for the disk: `always`, `batch`, `interval` or `off`; whatever it is, a killed process repeats at most the
      one result it was on. Items are recognised by their value; give `key` where that is no plain data.

    The input is consumed lazily and may be endless. Closing the iterator, or leaving it to the garbage collector, stops
    the workers.
    """
    _check(policy, workers, timeout_s, errors, buffered_bytes_max)
    require(ray is None or policy == "ray", "ray says how to use a Ray cluster; use policy='ray'")
    count = None if workers == "auto" else workers
    spec = EngineSpec(
        engine="ray" if policy == "ray" else "local",
        policy="cpu" if policy == "ray" else policy,
        workers=count,
        timeout_s=timeout_s,
        memory_bytes_max=memory_bytes_max,
        recycle_tasks=recycle_tasks,
        ray=ray or RayOptions(),
    )
    for name in ("memory_bytes_max", "recycle_tasks"):
        is_given = getattr(spec, name) is not None
        require(spec.has_processes or not is_given, f"{name} is for worker processes; use policy='cpu'")
    engine = create_engine(function, spec)
    require(cost is None or callable(cost), "cost must be a function of an item")
    entries = max(_ENTRIES, entries_for(count or WORKERS_MAX)) if policy == "ray" else _ENTRIES
    options = KernelOptions(
        windows=WindowOptions(entries=entries, entries_max=entries, plan_ahead=4096, plan_by_demand=schedule == "fifo"),
        pressure=_pressure(buffered_bytes_max),
        retry=RetryOptions(retries_max=retries),
        schedule=schedule,
    )
    plan = ((_PLAIN, item) for item in items) if cost is None else ((_priced(cost, item), item) for item in items)
    clock = SystemClock()
    return _Iteration(plan, engine, options, errors, _delivery(journal, function, fsync, key, clock), clock)


def _delivery(
    journal: str | os.PathLike[str] | None,
    function: Callable[[T], R],
    fsync: Any,
    key: Callable[[T], Any] | None,
    clock: SystemClock,
) -> Delivery:
    if journal is None:
        require(
            fsync == "batch" and key is None, "fsync and key are for an iteration with a journal; give journal=PATH"
        )
        return Delivery()
    from inorder.journal.writer import JournalOptions
    from inorder.runtime.identity import digest_of, qualified_name
    from inorder.runtime.journaled_delivery import JournaledDelivery

    path = os.fspath(journal)
    return JournaledDelivery(path, digest_of("imap", qualified_name(function)), JournalOptions(fsync=fsync), key, clock)


def _priced(cost: Callable[[T], float], item: T) -> PlanItem:
    price = cost(item)
    try:
        return PlanItem(cost=float(price))
    except (TypeError, ValueError) as error:
        raise OperatorError(f"cost must give a number, got {price!r} for {item!r:.80}") from error


def _check(policy: str, workers: Any, timeout_s: float | None, errors: str, buffered_bytes_max: int) -> None:
    require(policy in POLICIES, f"policy must be one of {', '.join(POLICIES)}, got {policy!r}")
    require(errors in ERRORS, f"errors must be one of {', '.join(ERRORS)}, got {errors!r}")
    is_number = type(workers) is int and 1 <= workers <= WORKERS_MAX
    require(is_number or workers in (None, "auto"), f"workers must be from 1 to {WORKERS_MAX}, got {workers}")
    require(timeout_s is None or timeout_s > 0, f"timeout_s must be above 0, got {timeout_s}")
    require(buffered_bytes_max >= 1, f"buffered_bytes_max must be at least 1, got {buffered_bytes_max}")
    if policy == "inline":
        require(workers in (None, "auto", 1), f"the inline policy has one worker, got workers={workers}")
        require(timeout_s is None, "the inline policy cannot interrupt an item; use policy='io' for a timeout_s")


def _pressure(hard: int) -> PressureOptions:
    """The whole budget for either window: a straggler at the head of the first is the case the budget is for."""
    soft = max(1, hard * 3 // 4)
    return PressureOptions(
        buffered_bytes_soft=soft, buffered_bytes_hard=hard, window_bytes_soft=soft, window_bytes_hard=hard
    )


class _Iteration(Iterator[Any]):
    """The consumer's side of a run."""

    def __init__(
        self,
        plan: Iterable[tuple[PlanItem, Any]],
        engine: Engine,
        options: KernelOptions,
        errors: str,
        delivery: Delivery,
        clock: SystemClock,
    ) -> None:
        self._clock = clock
        self._errors = errors
        self._delivery = delivery
        self._ready = delivery.ready
        self._position = self._returned = self._acknowledged = delivery.memory.restored.end
        self._item: Any = None
        self._fed_ms = 0
        self._closed = False
        # Nothing here is a method of ours: the runtime must not hold the iteration, or leaving a loop would not end it.
        try:
            self._runtime = Runtime(plan, engine, delivery.commit, clock, options=options, memory=delivery.memory)
        except BaseException:
            delivery.close(is_end=False)
            raise

    @property
    def position(self) -> int:
        """The seq of the next result."""
        return self._position

    def __next__(self) -> Any:
        if self._closed:
            raise StopIteration
        try:
            self._come_back()
            return self._take()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Stop the workers. What was not yielded is dropped."""
        self._close(is_end=False)

    def __del__(self) -> None:
        if hasattr(self, "_runtime"):
            self.close()

    def _close(self, *, is_end: bool) -> None:
        if not self._closed:
            self._closed = True
            try:
                self._runtime.close()
            finally:
                self._delivery.close(is_end=is_end)

    def _come_back(self) -> None:
        """The consumer has done with what it got."""
        if self._position > self._returned:
            self._returned = self._position
            self._delivery.came_back(self._position, self._item)
            self._item = None

    def _take(self) -> Any:
        while not self._ready:
            self._acknowledge()
            if self._runtime.summary is not None:
                self._end()
            self._runtime.turn()
        now_ms = self._clock.now_ms()
        if now_ms - self._fed_ms >= _FEED_MS:
            self._acknowledge()
            self._runtime.turn(wait=False)
            self._fed_ms = self._clock.now_ms()
        envelope, item = self._ready.popleft()
        self._position = envelope.seq + 1
        self._item = item
        if envelope.outcome != _FAIL:
            return envelope.payload
        error = _item_error(envelope, item)
        if self._errors == "raise":
            raise error
        return error

    def _acknowledge(self) -> None:
        """Everything the consumer came back from is committed."""
        if self._position > self._acknowledged:
            self._acknowledged = self._position
            self._runtime.acknowledge(self._position)

    def _end(self) -> None:
        summary = self._runtime.summary
        was_cancelled = summary is not None and summary.was_cancelled
        self._close(is_end=not was_cancelled)
        if summary is not None and was_cancelled:
            raise InfrastructureError(summary.cancel_reason)
        raise StopIteration


def _item_error(envelope: Envelope, item: Any) -> ItemError:
    if envelope.failure is None:
        raise_violation(f"item {envelope.seq} failed without saying why")
    cause = envelope.payload if isinstance(envelope.payload, BaseException) else None
    return ItemError(envelope.seq, item, envelope.failure, envelope.attempt, cause)
