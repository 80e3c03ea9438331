"""The asyncio interface: submissions that are awaited, and tasks that are coroutines.

A coroutine task runs on the event loop of its caller, because what it uses (sessions, locks, streams) belongs to that
loop. It needs no thread, but takes a slot of the lane and is counted like any other task. It starts when a slot is
free, and its end is counted before an `await` of its ticket returns.

An await can be cancelled at any moment, also at the moment at which its slot is granted. So a slot is only reserved for
such a caller, and the caller claims it in the same step in which its wait ends. If the cancellation comes first, the
slot and the token go back, and the task never runs.
"""

import asyncio
import inspect
import threading
from collections.abc import AsyncGenerator, Callable
from contextvars import copy_context
from typing import Any
from weakref import WeakKeyDictionary

from .cancel import CancelSignal
from .locked import LockedLane
from .submission import run_submission
from .ticket import AnyTicket, Result, Ticket, require_priority
from .waiters import Request
from .workers import current_lane, drop_first_frame


async def submit(
    lane: LockedLane,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    priority: int,
    deadline_s: float | None,
    cancel: CancelSignal | None,
) -> Ticket[Any]:
    """Submit a task, and wait for its admission without blocking the event loop."""
    require_priority(priority)
    loop = asyncio.get_running_loop()
    now_s = lane.clock()
    ticket: Ticket[Any] = Ticket(lane, function, args, priority, now_s)
    if _is_coroutine_function(function):
        ticket._async_task = CoroutineTask(ticket, loop, await _get_finalizer(loop))
    if cancel is not None or not lane.try_admit(ticket, now_s):
        waker = LoopWaker(loop)
        deadline_at_s = None if deadline_s is None else now_s + deadline_s
        steps = run_submission(lane, ticket, Request(waker, deadline_at_s=deadline_at_s, cancel=cancel))
        for wait_s_max in steps:
            try:
                await waker.wait(wait_s_max)
            except BaseException as error:
                steps.throw(error)  # raises it again once every lane has counted the submission
    return ticket


async def wait_for_result(ticket: Ticket[Result]) -> Result:
    """Wait for a task without blocking the event loop. Cancelling this wait does not cancel the task."""
    loop = asyncio.get_running_loop()
    waker = LoopWaker(loop)
    if not ticket.done and ticket._owner.subscribe(ticket, waker.wake):
        try:
            await waker.wait(float("inf"))
        finally:
            ticket._owner.unsubscribe(ticket, waker.wake)
    return ticket.result(0)


class LoopWaker:
    """Wakes a coroutine of one event loop, from any thread."""

    must_claim = True

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._woken = asyncio.Event()

    async def wait(self, timeout_s: float) -> None:
        """Wait until woken, or until the timeout has passed."""
        try:
            async with asyncio.timeout(None if timeout_s == float("inf") else timeout_s):
                await self._woken.wait()
        except TimeoutError:
            return
        self._woken.clear()

    def wake(self) -> bool:
        """Wake the coroutine. False when its loop is closed."""
        try:
            self._loop.call_soon_threadsafe(self._woken.set)
        except RuntimeError:
            return False
        return True


class LoopFinalizer:
    """Cancels the coroutine tasks of all lanes on one event loop when that loop shuts down.

    A loop that shuts down cancels its tasks. Each of them frees a slot for the next task of its lane, which would start
    on the same loop and never end. But before a loop closes, it closes the asynchronous generators that it has met. So
    one generator is left suspended on every loop that lanes use, and its `finally` clause runs at shutdown.
    """

    def __init__(self) -> None:
        self.is_shut_down = False
        self.tasks: set[CoroutineTask] = set()

    async def wait_for_shutdown(self) -> AsyncGenerator[None, None]:
        """Suspend at once, and cancel the tasks when the loop closes its generators."""
        try:
            yield
        finally:
            self.is_shut_down = True
            tasks = [task for each in list(self.tasks) if (task := each.cancel_at_shutdown()) is not None]
            await asyncio.gather(*tasks, return_exceptions=True)


_finalizers: WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[LoopFinalizer, AsyncGenerator[None, None]]] = (
    WeakKeyDictionary()
)


async def _get_finalizer(loop: asyncio.AbstractEventLoop) -> LoopFinalizer:
    """Return the finalizer of the running loop, which is created on first use."""
    known = _finalizers.get(loop)
    if known is None:
        finalizer = LoopFinalizer()
        known = _finalizers[loop] = (finalizer, finalizer.wait_for_shutdown())
        await anext(known[1])
    return known[0]


class CoroutineTask:
    """A coroutine function as a task of a lane."""

    def __init__(self, ticket: AnyTicket, loop: asyncio.AbstractEventLoop, finalizer: LoopFinalizer) -> None:
        self.thread = threading.get_ident()
        self._ticket = ticket
        self._loop = loop
        self._finalizer = finalizer
        self._context = copy_context()
        self._task: asyncio.Task[tuple[Any, BaseException | None]] | None = None
        self._is_abandoned = False

    def begin(self) -> None:
        """Have the loop start the coroutine. Where the loop has shut down, the task counts as cancelled."""
        try:
            if not self._finalizer.is_shut_down:
                self._loop.call_soon_threadsafe(self._start)
                return
        except RuntimeError:  # the loop is closed
            pass
        self._end(None, None, cancelled=True)

    def cancel_at_shutdown(self) -> "asyncio.Task[Any] | None":
        """Cancel the coroutine because its loop shuts down. Returns its asyncio task, if it has started."""
        self._end(None, None, cancelled=True)
        self._cancel()
        return self._task

    def abandon(self) -> None:
        """Cancel the coroutine, or never start it. Its outcome is ignored from now on."""
        self._is_abandoned = True
        try:
            self._loop.call_soon_threadsafe(self._cancel)
        except RuntimeError:
            return  # the loop is closed: there is nothing to cancel

    def is_lost(self) -> bool:
        """Whether the loop was closed before the coroutine ended."""
        return self._loop.is_closed()

    def _end(self, value: Any, error: BaseException | None, *, cancelled: bool) -> None:
        self._ticket._owner.end_async_task(self._ticket, value, error, cancelled=cancelled)

    def _start(self) -> None:
        if self._finalizer.is_shut_down:
            self._end(None, None, cancelled=True)
        elif not self._is_abandoned:
            self._finalizer.tasks.add(self)
            self._task = self._loop.create_task(self._run(), context=self._context)
            # Not inside the coroutine: one that is cancelled before its first step never gets there.
            self._task.add_done_callback(self._on_done)

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> tuple[Any, BaseException | None]:
        current_lane.set(self._ticket._owner)
        function, args = self._ticket._function, self._ticket._args
        self._ticket._function, self._ticket._args = None, ()
        try:
            return await function(*args), None  # type: ignore[misc]
        except (asyncio.CancelledError, GeneratorExit):
            raise
        except BaseException as error:
            del self, function, args  # the traceback holds this frame, and the ticket will hold the error
            return None, drop_first_frame(error)

    def _on_done(self, task: "asyncio.Task[tuple[Any, BaseException | None]]") -> None:
        self._finalizer.tasks.discard(self)
        if task.cancelled():
            self._end(None, None, cancelled=True)
        else:
            value, error = task.result()
            self._end(value, error, cancelled=False)
        self._task = self._ticket._async_task = None  # breaks the reference cycle, so the ticket is freed at once


def _is_coroutine_function(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)
