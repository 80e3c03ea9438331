"""A lane: a bounded, rate-limited, prioritised queue of tasks with workers behind it. This is its public class.

Read the package in this order: `state` decides what is admitted and what runs next, `workers` has the threads, `locked`
puts both behind one lock, and `submission` is the path of a submission from its arrival to its outcome.
"""

import time
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, TypeVar

from inorder.errors import OperatorError

from .cancel import CancelSignal
from .close_order import register_wait
from .config import LaneConfig
from .locked import LockedLane
from .statistics import LaneStatistics
from .submission import submit_blocking
from .ticket import AnyTicket, Ticket, require_priority
from .waiters import Request, ThreadWaker
from .workers import current_lane

Result = TypeVar("Result")


class Lane:
    """A bounded queue of tasks with workers behind it. Safe for any number of threads.

    Close it, or leave its `with` block, to end its workers. A lane that redirects needs `find`, which returns a lane by
    name; a `LaneManager` passes its own. Lanes that redirect to each other must share one clock. Raises `OperatorError`
    when the configuration redirects and `find` is missing.

    >>> from inorder.lanes import Lane, LaneConfig
    >>> with Lane(LaneConfig(name="calls", max_concurrency=2)) as lane:
    ...     tickets = [lane.submit(pow, 2, exponent) for exponent in range(4)]
    ...     [ticket.result() for ticket in tickets]
    [1, 2, 4, 8]
    """

    def __init__(
        self,
        config: LaneConfig,
        clock: Callable[[], float] = time.monotonic,
        *,
        find: "Callable[[str], Lane | None] | None" = None,
    ) -> None:
        if config.strategy == "redirect" and find is None:
            raise OperatorError(f"lane {config.name!r} redirects; register it with a LaneManager, or pass find=")
        self.name = config.name
        self._clock = clock
        self._find = find
        self._locked = LockedLane(config, clock, self._find_target)

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
        """Submit `function(*args)`. Waits as configured, until `cancel` is set or `deadline_s` has passed.

        Tasks of a higher `priority` start first. Returns a ticket with the outcome; a refusal raises nothing.
        """
        if priority != 0:
            require_priority(priority)
        now_s = self._clock()
        locked = self._locked
        ticket: Ticket[Result] = Ticket(locked, function, args, priority, now_s)
        if cancel is not None or not locked.try_admit(ticket, now_s):
            waker = ThreadWaker()
            deadline_at_s = None if deadline_s is None else now_s + deadline_s
            submit_blocking(locked, ticket, Request(waker, deadline_at_s=deadline_at_s, cancel=cancel), waker)
        return ticket

    def try_submit(
        self, function: Callable[..., Result], /, *args: Any, priority: int = 0, cancel: CancelSignal | None = None
    ) -> Ticket[Result]:
        """Like `submit`, but never waits: a submission that would wait is rejected."""
        if priority != 0:
            require_priority(priority)
        now_s = self._clock()
        ticket: Ticket[Result] = Ticket(self._locked, function, args, priority, now_s)
        if cancel is not None or not self._locked.try_admit(ticket, now_s):
            submit_blocking(self._locked, ticket, Request(None, cancel=cancel), None)
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
        """Like `submit`, without blocking the event loop. A coroutine function runs on the caller's event loop.

        `await` the ticket for the result. A submission whose await is cancelled never runs, and counts as rejected.
        """
        from .aio import submit

        return await submit(self._locked, function, args, priority, deadline_s, cancel)

    def abandon(self, ticket: AnyTicket) -> bool:
        """Abandon a task, also one that runs: it counts as cancelled, and its late result is ignored.

        Its thread cannot be killed but is replaced at once, so the lane keeps its concurrency, and `close` does not
        wait for it. A coroutine is cancelled. Returns False if the task has ended already.
        """
        return ticket._owner.abandon(ticket)

    # ---- The lane itself

    @property
    def config(self) -> LaneConfig:
        """The present configuration."""
        return self._locked.config

    def change(
        self,
        *,
        max_concurrency: int | None = None,
        min_concurrency: int | None = None,
        rate_per_s: float | None = None,
        burst: int | None = None,
    ) -> None:
        """Change the bounds and the rate of this lane while it runs. What is not given stays as it is.

        Running tasks go on, also those beyond a lower bound, and queued ones stay queued. With equal bounds the
        concurrency is fixed. A rate of `math.inf` is no limit; the burst and `when_limited` are then as at first.
        Raises `OperatorError` as `LaneConfig` does, and changes nothing then.

        >>> from inorder.lanes import Lane, LaneConfig
        >>> with Lane(LaneConfig(name="calls", max_concurrency=2)) as lane:
        ...     lane.change(max_concurrency=8, rate_per_s=50.0, burst=5)
        ...     lane.statistics().concurrency
        8
        """
        self._locked.change(max_concurrency, min_concurrency, rate_per_s, burst)

    @property
    def closed(self) -> bool:
        """Whether the lane refuses all submissions."""
        return self._locked.state.closed

    def statistics(self) -> LaneStatistics:
        """Return counts and durations at this moment."""
        return self._locked.measure()[0]

    def tick(self) -> None:
        """Read the clock now: admit those whose token is due, refuse those past their deadline, adjust the workers.

        A lane does this by itself. Call it after a clock has jumped, as those of tests do.
        """
        self._locked.tick()

    def close(self, drain: bool = True, timeout_s: float | None = None) -> bool:
        """Refuse new submissions, and wait until every accepted task has ended.

        Queued tasks still run (`drain`) or are cancelled. Running tasks are waited for; after `timeout_s` they are
        abandoned and count as cancelled. `close` may be called repeatedly, with stricter arguments, and from any
        thread. It does not wait, and returns False, where the wait would never end: in a task of this lane, or on the
        event loop of its coroutine tasks. Otherwise it returns True when every accepted task has ended.
        """
        locked = self._locked
        locked.begin_close(drain)
        with register_wait(locked, current_lane.get()) as allowed:
            ended = locked.wait_finished(timeout_s) if allowed else None
        if ended is False:
            locked.abandon_all()
        return ended is not None

    async def close_async(self, drain: bool = True, timeout_s: float | None = None) -> bool:
        """Like `close`, without blocking the event loop."""
        from asyncio import to_thread

        return await to_thread(self.close, drain, timeout_s)

    def __enter__(self) -> "Lane":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(drain=error is None)

    def _find_target(self) -> LockedLane | None:
        target = self._find(self.config.redirect_to) if self._find and self.config.redirect_to else None
        return None if target is None else target._locked
