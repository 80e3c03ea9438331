"""`Executor`: the calls of `concurrent.futures`, on the workers of `imap`."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor as AnyExecutor
from concurrent.futures import Future
from typing import Any, ParamSpec, TypeVar, cast

from inorder.core.events import Envelope
from inorder.core.options import KernelOptions
from inorder.core.transitions import State
from inorder.engines.factory import create_engine
from inorder.errors import InfrastructureError, require
from inorder.host.clock import SystemClock
from inorder.iteration import Where, make_spec, require_place, to_item_error
from inorder.runtime.delivery import AnyOrderDelivery
from inorder.runtime.feed import NOT_YET, Feed
from inorder.runtime.limits import make_retry_options
from inorder.runtime.loop import Runtime
from inorder.runtime.memory_probe import create_memory_probe
from inorder.runtime.plan_items import PLAIN, Planned
from inorder.runtime.run_options import RunOptions, require_whole

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
_FAIL = int(State.TERMINAL_FAIL)
_WITHOUT_MEANING = ("schedule", "fsync", "stall_warning_s")
"""Options for costs of items, for journals, and for a consumer that waits for the next result."""
_PLAIN = RunOptions()


class _Call:
    """A call that was submitted. Its future stays here when it is sent to a worker."""

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.function = function
        self.args = args
        self.kwargs = kwargs
        self.future: Future[Any] | None = Future()

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild_call, (self.function, self.args, self.kwargs)

    def __repr__(self) -> str:
        return f"call of {getattr(self.function, '__qualname__', repr(self.function))}"


def _rebuild_call(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Call:
    call = _Call.__new__(_Call)
    call.function, call.args, call.kwargs, call.future = function, args, kwargs, None
    return call


def _run_call(call: _Call) -> Any:
    return call.function(*call.args, **call.kwargs)


class Executor(AnyExecutor):
    """Runs calls as `imap` runs items: isolated, killable at a time limit, with retries and bounded memory.

    It has `submit`, `map` and `shutdown` of `concurrent.futures.Executor`. A future raises what its function raised,
    with an `ItemError` as `__cause__`, or that `ItemError` for a call that was killed.

    >>> with Executor(workers=2, where="threads") as executor:
    ...     future = executor.submit(pow, 2, 10)
    >>> future.result()
    1024

    Args:
        workers: Number of workers. Default: one per CPU for processes, two for threads.
        where: Where calls run, as for `imap`: `"processes"`, `"threads"` or `"ray"`.
        timeout_s: A call that runs longer fails; see `imap`.
        retries: Further attempts after a failure that may be transient.
        options: See `RunOptions`. `schedule`, `fsync` and `stall_warning_s` are refused: a call has no cost, there is
            no journal, and a future is waited for on its own.

    Raises:
        OperatorError: An argument is invalid. The message names it.
    """

    def __init__(
        self,
        *,
        workers: int | None = None,
        where: Where = "processes",
        timeout_s: float | None = None,
        retries: int = 0,
        options: RunOptions | None = None,
    ) -> None:
        chosen = options or RunOptions()
        require(where != "inline", "an executor has workers; where must be one of processes, threads, ray")
        require_place(where, chosen)
        for name in _WITHOUT_MEANING:
            require(getattr(chosen, name) == getattr(_PLAIN, name), f"{name} has no meaning for an executor")
        require_whole("retries", retries, 0, 1000)
        self._engine = create_engine(_run_call, make_spec(where, workers, timeout_s, chosen))
        self._kernel = KernelOptions(
            windows=chosen.windows.to_window_options(8192, 4096, plan_by_demand=True),
            pressure=chosen.budgets.to_pressure_options(chosen.buffered_bytes_max),
            retry=make_retry_options(retries, chosen.retry_backoff_s, chosen.windows.retries_max),
            infrastructure_budget=chosen.infrastructure_budget,
            outage_ms_max=int(chosen.outage_s_max * 1000),
            cancel_grace_ms=int(chosen.cancel_grace_s * 1000),
            announces=True,
        )
        self._memory = create_memory_probe(self._engine, chosen.budgets, None)
        self._open: set[_Call] = set()
        """Calls that the run has taken and not settled."""
        self._are_futures_cancelled = False
        self._feed = Feed()
        self._lock = threading.Lock()
        self._is_shut_down = False
        self._thread: threading.Thread | None = None

    def submit(
        self, fn: Callable[Parameters, Result], /, *args: Parameters.args, **kwargs: Parameters.kwargs
    ) -> Future[Result]:
        """Submit a call, and return its future. Raises RuntimeError after `shutdown`."""
        call = _Call(fn, args, kwargs)
        with self._lock:
            if self._is_shut_down:
                raise RuntimeError("cannot schedule new futures after shutdown")
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="inorder-executor", daemon=True)
                self._thread.start()
            self._feed.put(call)
        self._engine.wake()
        return cast("Future[Result]", call.future)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no further calls. Those that were submitted are run; `cancel_futures` cancels the waiting ones."""
        with self._lock:
            self._is_shut_down = True
            self._are_futures_cancelled |= cancel_futures
            self._feed.end()
            thread = self._thread
        if thread is not None:
            self._engine.wake()
            if wait:
                thread.join()

    def _run(self) -> None:
        """Run calls until the last one after `shutdown`. On the executor's own thread."""
        delivery = AnyOrderDelivery()
        error: BaseException | None = None
        try:
            runtime = Runtime(
                self._take_calls(),
                self._engine,
                delivery.commit,
                SystemClock(),
                options=self._kernel,
                memory=self._memory,
                announce=delivery.announce,
                poll_delivered=delivery.poll_delivered,
            )
            try:
                while runtime.summary is None:
                    runtime.turn()
                    while delivery.ready:
                        envelope, call = delivery.ready.popleft()
                        self._settle(envelope, call)
                        delivery.acknowledge(envelope, call)
            finally:
                runtime.close()
            if runtime.summary is not None and runtime.summary.was_cancelled:
                error = InfrastructureError(runtime.summary.cancel_reason)
        except BaseException as caught:
            error = caught
        with self._lock:
            self._is_shut_down = True
            self._feed.end()
        for call in [*self._open, *(each for each in self._feed if isinstance(each, _Call))]:
            if call.future is not None and not call.future.done():
                call.future.set_exception(error or InfrastructureError("the executor was closed"))

    def _take_calls(self) -> Iterator[Planned]:
        for call in self._feed:
            if call is NOT_YET:
                yield NOT_YET
                continue
            if self._are_futures_cancelled:
                call.future.cancel()
            if call.future.set_running_or_notify_cancel():
                self._open.add(call)
                yield PLAIN, call

    def _settle(self, envelope: Envelope, call: _Call) -> None:
        self._open.discard(call)
        future = call.future
        if future is not None and envelope.outcome == _FAIL:
            failure = to_item_error(envelope, call, 0)
            raised, failure.__cause__ = failure.__cause__, None
            if raised is not None:
                raised.__cause__ = failure
            future.set_exception(raised or failure)
        elif future is not None:
            future.set_result(envelope.payload)
