"""The worker threads of a lane.

A worker takes the lane's lock once a task: in one go it books the end of the last task and takes the next. With nothing
to do it is parked on a gate of its own, so exactly one worker is woken for one task, and the one that was parked last,
which is the warmest. Threads are started when there is work and nobody to do it, never more than may run at once.

A thread cannot be killed. One whose task is given up is *fenced*: it is no member of the crew any more, another takes
its place, and what it brings home later is looked at by nobody. All threads are daemons: none keeps the process alive.

Nothing of the caller's is freed while the lock is held, because a destructor may call the lane.
"""

import itertools
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from types import CoroutineType
from typing import Any
from warnings import warn

from .state import Desk
from .ticket import AnyTicket, Holder

here: ContextVar[Holder | None] = ContextVar("inorder_lane", default=None)
"""The lane whose task is running; None outside of tasks."""


class Worker:
    """One thread, as others see it."""

    __slots__ = ("dismissed", "fenced", "gate", "ticket")

    def __init__(self) -> None:
        self.gate = threading.Lock()
        self.gate.acquire()
        self.dismissed = False
        self.fenced = False
        self.ticket: AnyTicket | None = None


class Crew:
    """Every method, and every field, needs the lane's lock; only `_work` takes it itself."""

    def __init__(
        self, lane: Holder, desk: Desk, lock: threading.Lock, over: threading.Condition, clock: Callable[[], float]
    ) -> None:
        self._lane = lane
        self._desk = desk
        self._lock = lock
        self._over = over
        self._clock = clock
        self._numbers = itertools.count()
        self.on_scaling: Callable[[], object] = lambda: None
        """Called in a dynamic lane when a worker has changed how busy it is."""
        self.members: set[Worker] = set()
        self._parked: list[Worker] = []
        self._coming = 0
        """Workers that were woken or started and have not taken the lock yet."""

    def call(self) -> bool:
        """Wake or start one worker, if a queued task could run and nobody is coming for it; whether one is coming."""
        desk = self._desk
        coming = self._coming
        if desk.running + coming >= desk.scale.limit or coming >= len(desk.queue):
            return False
        if self._parked:
            self._coming += 1
            desk.afterwards.append(self._parked.pop().gate.release)
            return True
        return len(self.members) < desk.scale.limit and self._hire()

    def running(self) -> list[AnyTicket]:
        """The tasks that threads are on."""
        return [worker.ticket for worker in self.members if worker.ticket is not None]

    def fence(self, ticket: AnyTicket) -> None:
        """Give up the thread that is on this task, if one is, and put another in its place."""
        for worker in [worker for worker in self.members if worker.ticket is ticket]:
            worker.fenced = True
            self.members.discard(worker)
            if not self._parked and (self._desk.queue or not self._desk.closed):
                self._hire()

    def dismiss(self) -> None:
        """Let go whom the lane does not need: beyond the limit, or after the end."""
        desk = self._desk
        keep = 0 if desk.closed and not desk.queue else desk.scale.limit
        while self._parked and len(self.members) > keep:
            worker = self._parked.pop(0)  # the one that has been idle for longest
            worker.dismissed = True
            self.members.discard(worker)
            desk.afterwards.append(worker.gate.release)
        if self.is_over:
            self._over.notify_all()

    @property
    def is_over(self) -> bool:
        """Whether nothing will happen in this lane any more."""
        return self._desk.closed and self._desk.is_empty and not self.members

    def _hire(self) -> bool:
        worker = Worker()
        name = f"inorder-lane-{self._lane.name}-{next(self._numbers)}"
        thread = threading.Thread(target=self._work, args=(worker,), name=name, daemon=True)
        self.members.add(worker)
        self._coming += 1
        try:
            thread.start()
        except RuntimeError as error:
            self.members.discard(worker)
            self._coming -= 1
            if not self.members:
                self._desk.fail_queued(error, self._clock())
            return False
        return True

    def _work(self, worker: Worker) -> None:
        here.set(self._lane)
        ticket: AnyTicket | None = None
        value: Any = None
        error: BaseException | None = None
        desk, lock, clock = self._desk, self._lock, self._clock
        while True:
            ended_s = clock()
            with lock:
                now_s = clock()
                if ticket is None:
                    if worker.dismissed:
                        return
                    self._coming -= 1
                elif worker.fenced:
                    return
                else:
                    desk.end(ticket, value, error, ended_s=ended_s, now_s=now_s)
                following = desk.start(now_s)
                worker.ticket = following
                stays = following is not None or self._park(worker)
                if desk.dynamic:
                    self.on_scaling()
                calls = desk.take_calls() if desk.afterwards else None
            ticket = value = error = None
            if calls:
                call_all(calls)
            del calls
            if following is not None:
                ticket, following = following, None
                value, error = run(ticket)
            elif stays:
                worker.gate.acquire()
            else:
                return

    def _park(self, worker: Worker) -> bool:
        """There is nothing for this worker. False: nor will there be, and it has left the crew."""
        desk = self._desk
        if (desk.closed and not desk.queue) or len(self.members) > desk.scale.limit:
            self.members.discard(worker)
            self.dismiss()
            return False
        self._parked.append(worker)
        return True


def run(ticket: AnyTicket) -> tuple[Any, BaseException | None]:
    """Call the task's function; what it returned or raised. The ticket keeps neither function nor arguments."""
    function, args = ticket._function, ticket._args
    ticket._function, ticket._args = None, ()
    try:
        value = function(*args)  # type: ignore[misc]
    except BaseException as error:
        del ticket, function, args  # the traceback holds this frame, and the ticket will hold the error
        return None, without_our_frame(error)
    if type(value) is CoroutineType:
        value.close()
        return None, TypeError(f"{function!r} gave a coroutine: submit coroutine functions with submit_async")
    return value, None


def without_our_frame(error: BaseException) -> BaseException:
    """The error with a traceback that begins in the task."""
    return error.with_traceback(error.__traceback__.tb_next if error.__traceback__ else None)


def call_all(calls: list[Callable[[], object]]) -> None:
    """Make the calls that had to wait for the lock to be released. One that raises spoils nothing."""
    interrupt: BaseException | None = None
    for call in calls:
        try:
            call()
        except BaseException as error:
            if threading.current_thread() is threading.main_thread() and not isinstance(error, Exception):
                interrupt = error  # the user's, most likely: it may not end the round, nor be lost
                continue
            with suppress(RuntimeWarning):  # where warnings are errors
                warn(f"a callback of a lane raised {error!r}", RuntimeWarning, stacklevel=2)
    if interrupt is not None:
        raise interrupt
