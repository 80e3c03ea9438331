"""The worker threads of a lane.

A worker takes the lane's lock once per task: in one step it records the end of the last task and takes the next. An
idle worker is parked on a lock of its own, so exactly one worker is woken per task: the one that was parked last, whose
caches are warmest. Threads are started when there is work and no parked worker, never more than may run at once.

A thread cannot be killed. A worker whose task is abandoned is *fenced*: it no longer belongs to the lane, another
thread replaces it, and its late result is ignored. All threads are daemons: none keeps the process alive.

No object of the caller is freed while the lock is held, because a destructor may call the lane.
"""

import itertools
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from types import CoroutineType
from typing import TYPE_CHECKING, Any
from warnings import warn

from .state import LaneState
from .ticket import AnyTicket

if TYPE_CHECKING:
    from .locked import LockedLane

current_lane: "ContextVar[LockedLane | None]" = ContextVar("inorder_lane", default=None)
"""The lane whose task is running; None outside of tasks."""


class LaneThread:
    """One worker thread, as other threads see it."""

    __slots__ = ("is_fenced", "is_released", "ticket", "wakeup")

    def __init__(self) -> None:
        self.wakeup = threading.Lock()
        self.wakeup.acquire()
        self.is_released = False
        self.is_fenced = False
        self.ticket: AnyTicket | None = None


class WorkerThreads:
    """The worker threads. The lane's lock must be held for every method and field; only `_run_thread` takes it."""

    def __init__(
        self,
        lane: "LockedLane",
        state: LaneState,
        lock: threading.Lock,
        changed: threading.Condition,
        clock: Callable[[], float],
    ) -> None:
        self._lane = lane
        self._state = state
        self._lock = lock
        self._changed = changed
        self._clock = clock
        self._numbers = itertools.count()
        self.on_load_change: Callable[[], object] = lambda: None
        """Called in a dynamic lane when a worker starts or ends a task."""
        self.threads: set[LaneThread] = set()
        self._parked: list[LaneThread] = []
        self._pending = 0
        """Workers that were woken or started and have not taken the lock yet."""

    def call_worker(self) -> bool:
        """Wake or start one worker if a queued task could run and no pending worker will take it.

        Returns whether one was woken or started.
        """
        state = self._state
        pending = self._pending
        if state.running + pending >= state.scale.limit or pending >= len(state.queue):
            return False
        if self._parked:
            self._pending += 1
            state.deferred_calls.append(self._parked.pop().wakeup.release)
            return True
        return len(self.threads) < state.scale.limit and self._start_thread()

    def list_running(self) -> list[AnyTicket]:
        """Return the tasks that run on threads."""
        return [worker.ticket for worker in self.threads if worker.ticket is not None]

    def fence(self, ticket: AnyTicket) -> None:
        """Fence the thread that runs this task, if there is one, and start a replacement."""
        for worker in [worker for worker in self.threads if worker.ticket is ticket]:
            worker.is_fenced = True
            self.threads.discard(worker)
            if not self._parked and (self._state.queue or not self._state.closed):
                self._start_thread()

    def release_idle(self) -> None:
        """End the idle workers that are not needed: those beyond the limit, and all after the end."""
        state = self._state
        keep = 0 if state.closed and not state.queue else state.scale.limit
        while self._parked and len(self.threads) > keep:
            worker = self._parked.pop(0)  # idle for longest
            worker.is_released = True
            self.threads.discard(worker)
            state.deferred_calls.append(worker.wakeup.release)
        if self.is_finished:
            self._changed.notify_all()

    @property
    def is_finished(self) -> bool:
        """Whether the lane is closed, every task has ended and every worker has left."""
        return self._state.closed and self._state.is_idle and not self.threads

    def _start_thread(self) -> bool:
        worker = LaneThread()
        name = f"inorder-lane-{self._lane.name}-{next(self._numbers)}"
        thread = threading.Thread(target=self._run_thread, args=(worker,), name=name, daemon=True)
        self.threads.add(worker)
        self._pending += 1
        try:
            thread.start()
        except RuntimeError as error:
            self.threads.discard(worker)
            self._pending -= 1
            if not self.threads:
                self._state.fail_queued(error, self._clock())
            return False
        return True

    def _run_thread(self, worker: LaneThread) -> None:
        current_lane.set(self._lane)
        ticket: AnyTicket | None = None
        value: Any = None
        error: BaseException | None = None
        state, lock, clock = self._state, self._lock, self._clock
        while True:
            ended_s = clock()
            with lock:
                now_s = clock()
                if ticket is None:
                    if worker.is_released:
                        return
                    self._pending -= 1
                elif worker.is_fenced:
                    return
                else:
                    state.end(ticket, value, error, ended_s=ended_s, now_s=now_s)
                following = state.start(now_s)
                worker.ticket = following
                stays = following is not None or self._park(worker)
                if state.is_dynamic:
                    self.on_load_change()
                calls = state.take_deferred_calls() if state.deferred_calls else None
            ticket = value = error = None
            if calls:
                call_all(calls)
            del calls
            if following is not None:
                ticket, following = following, None
                value, error = run_task(ticket)
            elif stays:
                worker.wakeup.acquire()
            else:
                return

    def _park(self, worker: LaneThread) -> bool:
        """Park an idle worker. False: it is not needed any more and has been removed."""
        state = self._state
        if (state.closed and not state.queue) or len(self.threads) > state.scale.limit:
            self.threads.discard(worker)
            self.release_idle()
            return False
        self._parked.append(worker)
        return True


def run_task(ticket: AnyTicket) -> tuple[Any, BaseException | None]:
    """Call the task's function, and return its value or its exception. The ticket drops the function and arguments."""
    function, args = ticket._function, ticket._args
    ticket._function, ticket._args = None, ()
    try:
        value = function(*args)  # type: ignore[misc]
    except BaseException as error:
        del ticket, function, args  # the traceback holds this frame, and the ticket will hold the error
        return None, drop_first_frame(error)
    if type(value) is CoroutineType:
        value.close()
        return None, TypeError(f"{function!r} returned a coroutine; submit coroutine functions with submit_async")
    return value, None


def drop_first_frame(error: BaseException) -> BaseException:
    """Remove this module's frame from the traceback, so that it begins in the task."""
    return error.with_traceback(error.__traceback__.tb_next if error.__traceback__ else None)


def call_all(calls: list[Callable[[], object]]) -> None:
    """Make the calls that were deferred until the lock was released. If one raises, the others are still made."""
    interrupt: BaseException | None = None
    for call in calls:
        try:
            call()
        except BaseException as error:
            if threading.current_thread() is threading.main_thread() and not isinstance(error, Exception):
                interrupt = error  # most likely KeyboardInterrupt: raised after all calls have been made
                continue
            with suppress(RuntimeWarning):  # where warnings are turned into errors
                warn(f"a callback of a lane raised {error!r}", RuntimeWarning, stacklevel=2)
    if interrupt is not None:
        raise interrupt
