"""The asyncio front: submissions that await, and tasks that are coroutines.

A coroutine task runs on the loop of whoever submitted it, because what it uses (sessions, locks, streams) belongs to
that loop. It needs no thread, takes a place of the lane like any task, and is counted like any task. It begins when the
lane says so, whoever frees the place, and the books are closed when it has ended, before anybody who awaits it goes on.

An await can be cancelled at any moment, also in the moment in which its place is granted. So a place is not handed to
such a caller but reserved, and the caller claims it in one step with the end of its wait. If the cancellation comes
first, the place and the token go back, and the task never runs.
"""

import asyncio
import inspect
import threading
from collections.abc import AsyncGenerator, Callable
from contextvars import copy_context
from typing import Any
from weakref import WeakKeyDictionary

from .cancel import CancelSignal
from .locked import Shell
from .submission import steps_through
from .ticket import AnyTicket, Result, Ticket, require_priority
from .waiters import Request
from .workers import here, without_our_frame


async def submit(
    shell: Shell,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    priority: int,
    deadline_s: float | None,
    cancel: CancelSignal | None,
) -> Ticket[Any]:
    """Take a submission through, waiting as a coroutine waits."""
    require_priority(priority)
    loop = asyncio.get_running_loop()
    now_s = shell.clock()
    ticket: Ticket[Any] = Ticket(shell, function, args, priority, now_s)
    if _is_coroutine_function(function):
        ticket._job = CoroutineJob(ticket, loop, await _watch_of(loop))
    if cancel is not None or not shell.admit_at_once(ticket, now_s):
        gate = LoopGate(loop)
        deadline_at_s = None if deadline_s is None else now_s + deadline_s
        steps = steps_through(shell, ticket, Request(gate, deadline_at_s=deadline_at_s, cancel=cancel))
        for patience_s in steps:
            try:
                await gate.wait(patience_s)
            except BaseException as error:
                steps.throw(error)  # which raises it again, once the books are right
    return ticket


async def result_of(ticket: Ticket[Result]) -> Result:
    """Wait for a task without blocking the loop. To cancel this wait does not cancel the task."""
    loop = asyncio.get_running_loop()
    gate = LoopGate(loop)
    if not ticket.done and ticket._holder.subscribe(ticket, gate.wake):
        try:
            await gate.wait(float("inf"))
        finally:
            ticket._holder.unsubscribe(ticket, gate.wake)
    return ticket.result(0)


class LoopGate:
    """Wakes a coroutine of one loop, from any thread."""

    reserves = True

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._woken = asyncio.Event()

    async def wait(self, timeout_s: float) -> None:
        """Wait to be woken, at most so long."""
        try:
            async with asyncio.timeout(None if timeout_s == float("inf") else timeout_s):
                await self._woken.wait()
        except TimeoutError:
            return
        self._woken.clear()

    def wake(self) -> bool:
        """Let the coroutine go on. False when its loop is closed."""
        try:
            self._loop.call_soon_threadsafe(self._woken.set)
        except RuntimeError:
            return False
        return True


class LoopWatch:
    """Knows when a loop is about to end, and ends what lanes have begun on it.

    A loop that ends cancels its tasks, and each of them frees a place for the next one of its lane, which would be
    begun on the same loop and never come to an end. But before it is closed, a loop closes the asynchronous generators
    it has met. So one of those is left waiting on every loop that lanes use.
    """

    def __init__(self) -> None:
        self.ended = False
        self.jobs: set[CoroutineJob] = set()

    async def watch(self) -> AsyncGenerator[None, None]:
        """Ends when the loop does."""
        try:
            yield
        finally:
            self.ended = True
            tasks = [task for job in list(self.jobs) if (task := job.end_with_loop()) is not None]
            await asyncio.gather(*tasks, return_exceptions=True)


_watches: WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[LoopWatch, AsyncGenerator[None, None]]] = (
    WeakKeyDictionary()
)


async def _watch_of(loop: asyncio.AbstractEventLoop) -> LoopWatch:
    """The watch over the running loop."""
    known = _watches.get(loop)
    if known is None:
        watch = LoopWatch()
        known = _watches[loop] = (watch, watch.watch())
        await anext(known[1])
    return known[0]


class CoroutineJob:
    """A coroutine function as a task of a lane."""

    def __init__(self, ticket: AnyTicket, loop: asyncio.AbstractEventLoop, watch: LoopWatch) -> None:
        self.thread = threading.get_ident()
        self._ticket = ticket
        self._loop = loop
        self._watch = watch
        self._context = copy_context()
        self._task: asyncio.Task[tuple[Any, BaseException | None]] | None = None
        self._unwanted = False

    def begin(self) -> None:
        """Have the loop start the coroutine; where the loop has ended, the task is cancelled."""
        try:
            if not self._watch.ended:
                self._loop.call_soon_threadsafe(self._start)
                return
        except RuntimeError:  # closed
            pass
        self._end(None, None, cancelled=True)

    def end_with_loop(self) -> "asyncio.Task[Any] | None":
        """The loop is ending: cancel the coroutine; its task, if it has begun."""
        self._end(None, None, cancelled=True)
        self._stop()
        return self._task

    def give_up(self) -> None:
        """Cancel the coroutine, or never start it. Its outcome has no effect any more."""
        self._unwanted = True
        try:
            self._loop.call_soon_threadsafe(self._stop)
        except RuntimeError:
            return  # there is no loop for it to run on

    def is_lost(self) -> bool:
        """Whether the loop was closed under it."""
        return self._loop.is_closed()

    def _end(self, value: Any, error: BaseException | None, *, cancelled: bool) -> None:
        self._ticket._holder.end_job(self._ticket, value, error, cancelled=cancelled)

    def _start(self) -> None:
        if self._watch.ended:
            self._end(None, None, cancelled=True)
        elif not self._unwanted:
            self._watch.jobs.add(self)
            self._task = self._loop.create_task(self._run(), context=self._context)
            # Not inside the coroutine: one that is cancelled before its first step never gets there.
            self._task.add_done_callback(self._ended)

    def _stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> tuple[Any, BaseException | None]:
        here.set(self._ticket._holder)
        function, args = self._ticket._function, self._ticket._args
        self._ticket._function, self._ticket._args = None, ()
        try:
            return await function(*args), None  # type: ignore[misc]
        except (asyncio.CancelledError, GeneratorExit):
            raise
        except BaseException as error:
            del self, function, args  # the traceback holds this frame, and the ticket will hold the error
            return None, without_our_frame(error)

    def _ended(self, task: "asyncio.Task[tuple[Any, BaseException | None]]") -> None:
        self._watch.jobs.discard(self)
        if task.cancelled():
            self._end(None, None, cancelled=True)
        else:
            value, error = task.result()
            self._end(value, error, cancelled=False)
        self._task = self._ticket._job = None  # let the ticket go as soon as its caller does


def _is_coroutine_function(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)
