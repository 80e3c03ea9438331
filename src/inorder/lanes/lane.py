"""A lane: tasks come in at one end under rules, and a bounded number of them runs.

Read in this order: `desk` decides who gets in and what runs next, `crew` is the threads that work, `shell` puts both
under one lock, `passage` is the way of a submission from its arrival to its outcome. This module is the face of it.
"""

import time
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, TypeVar

from inorder.errors import OperatorError

from .cancel import CancelSignal
from .close_order import awaiting
from .config import LaneConfig
from .locked import Shell
from .statistics import LaneStatistics
from .submission import walk
from .ticket import AnyTicket, Ticket, require_priority
from .waiters import Request, ThreadGate
from .workers import here

Result = TypeVar("Result")


class Lane:
    """Safe for any number of threads. Close it, or leave its `with` block, to end its workers.

    A lane that redirects needs `find`, which gives a lane by name; a `LaneManager` passes its own. Lanes that redirect
    to each other must share one clock.
    """

    def __init__(
        self,
        config: LaneConfig,
        clock: Callable[[], float] = time.monotonic,
        *,
        find: "Callable[[str], Lane | None] | None" = None,
    ) -> None:
        if config.strategy == "redirect" and find is None:
            raise OperatorError(f"lane {config.name!r} redirects: register it with a LaneManager, or pass find=")
        self.config = config
        self.name = config.name
        self._clock = clock
        self._find = find
        self._shell = Shell(config, clock, self._find_target)

    def __repr__(self) -> str:
        return f"<Lane {self.name!r}{', closed' if self.closed else ''}>"

    # ---- Submitting

    def submit(
        self,
        function: Callable[..., Result],
        /,
        *args: Any,
        priority: int = 0,
        deadline_s: float | None = None,
        cancel: CancelSignal | None = None,
    ) -> Ticket[Result]:
        """Hand in `function(*args)`. Waits where the lane's rules say so, until `cancel` is set or `deadline_s` passes.

        The outcome is on the ticket: nothing is raised for it.
        """
        if priority != 0:
            require_priority(priority)
        now_s = self._clock()
        shell = self._shell
        ticket: Ticket[Result] = Ticket(shell, function, args, priority, now_s)
        if cancel is not None or not shell.admit_at_once(ticket, now_s):
            gate = ThreadGate()
            deadline_at_s = None if deadline_s is None else now_s + deadline_s
            walk(shell, ticket, Request(gate, deadline_at_s=deadline_at_s, cancel=cancel), gate)
        return ticket

    def try_submit(
        self, function: Callable[..., Result], /, *args: Any, priority: int = 0, cancel: CancelSignal | None = None
    ) -> Ticket[Result]:
        """Like `submit`, but never waits: what would have waited is rejected."""
        if priority != 0:
            require_priority(priority)
        now_s = self._clock()
        ticket: Ticket[Result] = Ticket(self._shell, function, args, priority, now_s)
        if cancel is not None or not self._shell.admit_at_once(ticket, now_s):
            walk(self._shell, ticket, Request(None, cancel=cancel), None)
        return ticket

    async def submit_async(
        self,
        function: Callable[..., Coroutine[Any, Any, Result]] | Callable[..., Result],
        /,
        *args: Any,
        priority: int = 0,
        deadline_s: float | None = None,
        cancel: CancelSignal | None = None,
    ) -> Ticket[Result]:
        """Like `submit`, waiting without blocking the event loop. A coroutine function runs on the caller's loop.

        `await` the ticket for the result. A submission whose await is cancelled never runs, and counts as rejected.
        """
        from .aio import submit

        return await submit(self._shell, function, args, priority, deadline_s, cancel)

    def abandon(self, ticket: AnyTicket) -> bool:
        """Give up a task, also one that runs: it counts as cancelled now, and its late outcome is ignored.

        Its thread cannot be killed but is replaced at once, so the lane keeps its concurrency, and closing does not
        wait for it. A coroutine is cancelled. False if the task has ended already.
        """
        return ticket._holder.abandon(ticket)

    # ---- The lane itself

    @property
    def closed(self) -> bool:
        """Whether nothing gets in any more."""
        return self._shell.desk.closed

    def statistics(self) -> LaneStatistics:
        """The lane at this moment."""
        return self._shell.measure()[0]

    def tick(self) -> None:
        """Look at the clock now: admit those whose token is due, turn away the late, adjust the workers.

        A lane does this by itself; it is for clocks that jump, as those of tests do.
        """
        self._shell.tick()

    def close(self, drain: bool = True, timeout_s: float | None = None) -> bool:
        """Let nobody in any more, and wait until every accepted task has ended.

        Queued tasks still run (`drain`) or are cancelled; running ones are waited for. After `timeout_s`, what has not
        ended is given up and counts as cancelled. May be called again, also more strictly, and from any thread. From
        where waiting would never end (a task of this lane, the event loop that its coroutines need) it does not wait
        and returns False. Otherwise every accepted task has ended, and it returns True.
        """
        shell = self._shell
        shell.begin_close(drain)
        with awaiting(shell, here.get()) as allowed:
            ended = shell.wait_over(timeout_s) if allowed else None
        if ended is False:
            shell.give_up_all()
        return ended is not None

    async def close_async(self, drain: bool = True, timeout_s: float | None = None) -> bool:
        """`close`, waiting without blocking the event loop."""
        from asyncio import to_thread

        return await to_thread(self.close, drain, timeout_s)

    def __enter__(self) -> "Lane":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(drain=error is None)

    def _find_target(self) -> Shell | None:
        target = self._find(self.config.redirect_to) if self._find and self.config.redirect_to else None
        return None if target is None else target._shell
