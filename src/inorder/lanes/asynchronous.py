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
from collections.abc import Callable
from contextvars import copy_context
from typing import Any

from .applicants import Request
from .cancel import CancelSignal
from .crew import here
from .passage import steps_through
from .shell import Shell
from .ticket import AnyTicket, Result, Ticket


async def submit(
    shell: Shell,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    priority: int,
    deadline_s: float | None,
    cancel: CancelSignal | None,
) -> Ticket[Any]:
    """Take a submission through, waiting as a coroutine waits."""
    loop = asyncio.get_running_loop()
    now_s = shell.clock()
    ticket: Ticket[Any] = Ticket(shell, function, args, priority, now_s)
    if _is_coroutine_function(function):
        ticket._job = CoroutineJob(ticket, loop)
    if cancel is not None or not shell.admit_at_once(ticket, now_s):
        gate = LoopGate(loop)
        deadline_at_s = None if deadline_s is None else now_s + deadline_s
        steps = steps_through(shell, ticket, Request(gate, deadline_at_s=deadline_at_s, cancel=cancel))
        for patience_s in steps:
            try:
                await gate.wait(patience_s)
            except BaseException as error:
                steps.throw(error)
                raise
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


class CoroutineJob:
    """A coroutine function as a task of a lane."""

    def __init__(self, ticket: AnyTicket, loop: asyncio.AbstractEventLoop) -> None:
        self.thread = threading.get_ident()
        self._ticket = ticket
        self._loop = loop
        self._context = copy_context()
        self._task: asyncio.Task[tuple[Any, BaseException | None]] | None = None
        self._unwanted = False

    def begin(self) -> None:
        """Have the loop start the coroutine; where the loop is closed, the task is cancelled."""
        try:
            self._loop.call_soon_threadsafe(self._start)
        except RuntimeError:
            self._holder.end_job(self._ticket, None, None, cancelled=True)

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

    @property
    def _holder(self) -> Shell:
        holder = self._ticket._holder
        if not isinstance(holder, Shell):
            raise TypeError(f"{holder!r} runs no coroutines")
        return holder

    def _start(self) -> None:
        if not self._unwanted:
            self._task = self._loop.create_task(self._run(), context=self._context)
            # Not inside the coroutine: one that is cancelled before its first step never gets there.
            self._task.add_done_callback(self._ended)

    def _stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> tuple[Any, BaseException | None]:
        here.set(self._holder)
        function, args = self._ticket._function, self._ticket._args
        self._ticket._function, self._ticket._args = None, ()
        try:
            return await function(*args), None  # type: ignore[misc]
        except (asyncio.CancelledError, GeneratorExit):
            raise
        except BaseException as error:
            return None, error.with_traceback(error.__traceback__.tb_next if error.__traceback__ else None)

    def _ended(self, task: "asyncio.Task[tuple[Any, BaseException | None]]") -> None:
        self._task = None
        if task.cancelled():
            self._holder.end_job(self._ticket, None, None, cancelled=True)
        else:
            value, error = task.result()
            self._holder.end_job(self._ticket, value, error, cancelled=False)


def _is_coroutine_function(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)
