"""`Executor`: the calls of `concurrent.futures`, on the workers of `imap`.

The thread that runs the calls knows them and not the executor. So an executor that is dropped is collected, which ends
its workers after the calls that were submitted, as does the end of the program.
"""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor as AnyExecutor
from concurrent.futures import Future
from typing import Any, Literal, ParamSpec, TypeVar, cast
from weakref import finalize

from inorder.core.events import Envelope
from inorder.core.options import KernelOptions
from inorder.core.transitions import State
from inorder.engines.base import Engine, Task
from inorder.engines.factory import create_engine
from inorder.errors import InfrastructureError, require
from inorder.host.clock import SystemClock
from inorder.iteration import Where, make_spec, require_place, to_item_error
from inorder.runtime.delivery import AnyOrderDelivery
from inorder.runtime.feed import NOT_YET, Feed
from inorder.runtime.limits import make_retry_options
from inorder.runtime.loop import Runtime
from inorder.runtime.memory_probe import MemoryProbe, create_memory_probe
from inorder.runtime.plan_items import PLAIN, Planned
from inorder.runtime.run_options import RunOptions, require_whole

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
_FAIL = int(State.TERMINAL_FAIL)
_SUCCESS = int(State.TERMINAL_SUCCESS)
_WITHOUT_MEANING = ("schedule", "fsync", "stall_warning_s")
"""Options for costs of items, for journals, and for a consumer that waits for the next result."""
_PLAIN = RunOptions()


class _Call:
    """A function and its arguments, as a worker gets them."""

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.function = function
        self.args = args
        self.kwargs = kwargs

    def __repr__(self) -> str:
        return f"call of {getattr(self.function, '__qualname__', repr(self.function))}"


class _Submitted(_Call):
    """A call with its future, which stays here when the call is sent to a worker."""

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        super().__init__(function, args, kwargs)
        self.future: Future[Any] = Future()
        self.is_begun = False
        """Whether it is too late to cancel it."""
        self.is_cancelled = False

    def __reduce__(self) -> tuple[Any, ...]:
        return _Call, (self.function, self.args, self.kwargs)

    def begin(self) -> bool:
        """Return whether it is to be run. False: its future was cancelled before, and whoever waits for it is told."""
        if not self.is_begun:
            self.is_begun = True
            self.is_cancelled = not self.future.set_running_or_notify_cancel()
        return not self.is_cancelled

    def cancel(self) -> None:
        """Cancel it, unless it is too late."""
        if not self.is_begun:
            self.future.cancel()
            self.begin()

    def fail(self, error: BaseException) -> None:
        """Have its future raise this error, unless it is cancelled."""
        if self.begin():
            self.future.set_exception(error)

    def settle(self, envelope: Envelope) -> None:
        """Give its future the result."""
        if self.is_cancelled:
            return
        if envelope.outcome != _FAIL:
            self.future.set_result(envelope.payload)
            return
        failure = to_item_error(envelope, self, 0)
        raised, failure.__cause__ = failure.__cause__, None
        if raised is not None:
            raised.__cause__ = failure
        self.future.set_exception(raised or failure)


def _run_call(call: _Submitted) -> Any:
    return call.function(*call.args, **call.kwargs)


def _answer_cancelled(task: Task) -> Envelope | None:
    """Keep a cancelled call from the workers. Any other is running from now on."""
    return None if task.item.begin() else Envelope(task.seq, task.attempt, _SUCCESS)


class _Calls:
    """The calls of one executor, and the thread that has workers run them."""

    def __init__(self, engine: Engine, options: KernelOptions, memory: MemoryProbe | None) -> None:
        self._engine = engine
        self._options = options
        self._memory = memory
        self._open: set[_Submitted] = set()
        """Calls that the run has taken and not settled."""
        self._feed = Feed()
        self._lock = threading.RLock()
        """Reentrant: the garbage collector may call `end` anywhere."""
        self._is_ended = False
        self._are_futures_cancelled = False
        self.thread: threading.Thread | None = None

    def submit(self, call: _Submitted) -> None:
        """Add a call. Raises RuntimeError after the end."""
        with self._lock:
            if self._is_ended:
                raise RuntimeError("cannot schedule new futures after shutdown")
            if self.thread is None:
                thread = threading.Thread(target=self._run, name="inorder-executor", daemon=True)
                thread.start()
                self.thread = thread
                _end_at_exit(self)
            self._feed.put(call)
        self._engine.wake()

    def end(self, *, cancel_futures: bool = False) -> None:
        """Take no further calls. Those that were submitted are run, or cancelled as long as they wait."""
        with self._lock:
            self._is_ended = True
            self._are_futures_cancelled |= cancel_futures
            self._feed.end()
        self._engine.wake()

    def _run(self) -> None:
        """Run calls until the last one after the end."""
        error: BaseException | None = None
        try:
            delivery = AnyOrderDelivery()
            runtime = Runtime(
                self._take_calls(),
                self._engine,
                delivery.commit,
                SystemClock(),
                options=self._options,
                memory=self._memory,
                announce=delivery.announce,
                poll_delivered=delivery.poll_delivered,
                answer=_answer_cancelled,
            )
            try:
                while runtime.summary is None:
                    runtime.turn()
                    self._settle(delivery)
                    if self._are_futures_cancelled:
                        self._cancel_waiting()
            finally:
                runtime.close()
            if runtime.summary is not None and runtime.summary.was_cancelled:
                error = InfrastructureError(runtime.summary.cancel_reason)
        except BaseException as caught:
            error = caught
        self.end()
        for call in (*self._open, *self._take_rest()):
            call.fail(error or InfrastructureError("the executor was closed"))
        with _running_lock:
            _running.discard(self)

    def _take_calls(self) -> Iterator[Planned]:
        for call in self._feed:
            if call is NOT_YET:
                yield NOT_YET
                continue
            self._open.add(call)
            yield PLAIN, call

    def _settle(self, delivery: AnyOrderDelivery) -> None:
        while delivery.ready:
            envelope, call = delivery.ready.popleft()
            self._open.discard(call)
            call.settle(envelope)
            delivery.acknowledge(envelope, call)

    def _cancel_waiting(self) -> None:
        for call in (*self._open, *self._take_rest()):
            call.cancel()

    def _take_rest(self) -> list[_Submitted]:
        """Return the calls that the run has not taken."""
        return list(iter(self._feed.__next__, NOT_YET))


_running: set[_Calls] = set()
_running_lock = threading.Lock()
_watcher: threading.Thread | None = None


def _end_at_exit(calls: _Calls) -> None:
    """Have the interpreter wait for these calls before it exits. `atexit` would be too late: no thread can be started
    then."""
    global _watcher
    with _running_lock:
        _running.add(calls)
        if _watcher is None or not _watcher.is_alive():  # the first one, or in a fork
            _watcher = threading.Thread(target=_wait_for_exit, name="inorder-exit", daemon=False)
            _watcher.start()


def _wait_for_exit() -> None:
    global _watcher
    threading.main_thread().join()
    while True:
        with _running_lock:
            if not _running:
                _watcher = None
                return
            calls = _running.pop()
        calls.end()
        if calls.thread is not None:
            calls.thread.join()


class Executor(AnyExecutor):
    """Runs calls as `imap` runs items: isolated, killable at a time limit, with retries and bounded memory.

    It has `submit`, `map` and `shutdown` of `concurrent.futures.Executor`. A future raises what its function raised,
    with an `ItemError` as `__cause__`, or that `ItemError` for a call that was killed. Without `shutdown`, the workers
    end when the executor is no longer referenced or the program ends; in both cases after the calls that were
    submitted.

    >>> with Executor(workers=2, where="threads") as executor:
    ...     future = executor.submit(pow, 2, 10)
    >>> future.result()
    1024

    Args:
        workers: Number of workers. Default, or `"auto"`: one per CPU for processes, two per CPU for threads.
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
        workers: int | Literal["auto"] | None = None,
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
        count = None if workers == "auto" else workers
        engine = create_engine(_run_call, make_spec(where, count, timeout_s, chosen))
        kernel = KernelOptions(
            windows=chosen.windows.to_window_options(8192, 4096, plan_by_demand=True),
            pressure=chosen.budgets.to_pressure_options(chosen.buffered_bytes_max),
            retry=make_retry_options(retries, chosen.retry_backoff_s, chosen.windows.retries_max),
            infrastructure_budget=chosen.infrastructure_budget,
            outage_ms_max=int(chosen.outage_s_max * 1000),
            cancel_grace_ms=int(chosen.cancel_grace_s * 1000),
            announces=True,
        )
        self._calls = _Calls(engine, kernel, create_memory_probe(engine, chosen.budgets, None))
        finalize(self, self._calls.end).atexit = False

    def submit(
        self, fn: Callable[Parameters, Result], /, *args: Parameters.args, **kwargs: Parameters.kwargs
    ) -> Future[Result]:
        """Submit a call, and return its future, which can be cancelled until a worker gets the call. Raises
        RuntimeError after `shutdown`."""
        call = _Submitted(fn, args, kwargs)
        self._calls.submit(call)
        return cast("Future[Result]", call.future)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no further calls. Those that were submitted are run; `cancel_futures` cancels the waiting ones."""
        self._calls.end(cancel_futures=cancel_futures)
        if wait and self._calls.thread is not None:
            self._calls.thread.join()
