"""A lane's state and workers behind one lock: the methods that any thread may call.

Every method takes the lock once, for a short time, and calls no foreign code under it but the clock. Wakers and the
callbacks of tickets are called after the lock has been released.
"""

import math
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from .autoscaler import Autoscaler
from .config import LaneConfig, change_config
from .outcomes import Outcome, Reason
from .state import LaneState
from .statistics import Durations, LaneStatistics
from .ticket import AnyTicket
from .waiters import Admission, Waiter
from .workers import WorkerThreads, call_all

if TYPE_CHECKING:
    from .aio import CoroutineTask

_LOST_POLL_S = 0.1
"""How often a closing lane checks whether the event loop of a coroutine task was closed."""


class LockedLane:
    """One lane, safe for threads. How a caller waits for admission is in `submission`."""

    def __init__(self, config: LaneConfig, clock: Callable[[], float], find: "Callable[[], LockedLane | None]") -> None:
        self.name = config.name
        self.clock = clock
        self.find_target = find
        self.state = LaneState(config)
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._workers = WorkerThreads(self, self.state, self._lock, self._changed, clock)
        self._autoscaler = Autoscaler(self.name, self.state, self._changed, clock, self._finish_change)
        self._workers.on_load_change = self._on_load_change

    @property
    def config(self) -> LaneConfig:
        """The present configuration."""
        return self.state.config

    # ---- Admission

    def try_admit(self, ticket: AnyTicket, now_s: float) -> bool:
        """Admit a task that needs no waiting. False: it may have to wait or be refused, and nothing is counted."""
        state = self.state
        with self._lock:
            if state.bucket is not None:
                now_s = self.clock()  # read again: a bucket that is given times out of order would admit too much
            if not state.try_admit(ticket, now_s):
                return False
            self._workers.call_worker()
            if state.is_dynamic:
                self._on_load_change()
            calls = state.take_deferred_calls() if state.deferred_calls else None
        if calls:
            call_all(calls)
        return True

    def admit_or_wait(self, waiter: Waiter) -> float | None:
        """Admit a submission, refuse it, or let it wait. None: decided; else the seconds to wait before `recheck`."""
        with self._lock:
            now_s = self.clock()
            self.state.admit_or_wait(waiter, now_s)
            wait_s_max = self._record_or_wait(waiter, now_s)
            calls = self._finish_change()
        call_all(calls)
        return wait_s_max

    def recheck(self, waiter: Waiter) -> float | None:
        """Decide about a waiter that has woken up. None: decided; else the seconds to wait before the next call."""
        if waiter.decision is Admission.ADMITTED:
            return None
        with self._lock:
            now_s = self.clock()
            if waiter.decision is None:
                self.state.recheck(waiter, now_s)
            if waiter.decision is Admission.RESERVED:
                self.state.claim(waiter, now_s)
            wait_s_max = self._record_or_wait(waiter, now_s)
            calls = self._finish_change()
        call_all(calls)
        return wait_s_max

    def withdraw(self, waiter: Waiter) -> None:
        """Remove a waiter whose wait was interrupted."""
        if waiter.is_recorded:
            return  # without the lock: the garbage collector may call this in a thread that holds it
        with self._lock:
            if self.state.withdraw(waiter, self.clock()):
                self.state.refuse(waiter, Reason.CANCELLED)
            calls = self._finish_change()
        call_all(calls)

    def record_outcome(self, waiter: Waiter, outcome: Outcome, reason: Reason | None) -> None:
        """Count how a redirect has ended."""
        if waiter.is_recorded:
            return
        with self._lock:
            if outcome is Outcome.REDIRECTED:
                self.state.waits.record(self.clock() - waiter.ticket.submitted_s)
            self.state.record_outcome(waiter, outcome, reason)

    # ---- Accepted tasks

    def cancel(self, ticket: AnyTicket) -> bool:
        """Cancel a queued task. Returns whether it was queued."""
        with self._lock:
            is_cancelled = self.state.cancel(ticket, self.clock())
            calls = self._finish_change()
        _drop_arguments([ticket] if is_cancelled else [])
        call_all(calls)
        return is_cancelled

    def abandon(self, ticket: AnyTicket) -> bool:
        """Abandon a running task or cancel a queued one. False if it has ended already."""
        with self._lock:
            is_abandoned = self._abandon(ticket, self.clock())
            calls = self._finish_change()
        call_all(calls)
        return is_abandoned or self.cancel(ticket)

    def end_async_task(self, ticket: AnyTicket, value: object, error: BaseException | None, *, cancelled: bool) -> None:
        """Record the end of a coroutine task, unless it was abandoned before."""
        with self._lock:
            now_s = self.clock()
            if cancelled:
                self.state.end_cancelled(ticket, now_s)
            elif not ticket.done:
                self.state.end(ticket, value, error, ended_s=now_s, now_s=now_s)
            calls = self._finish_change()
        call_all(calls)

    def subscribe(self, ticket: AnyTicket, callback: Callable[[], object]) -> bool:
        """Call `callback` once the task has ended. False if it has ended already."""
        with self._lock:
            if ticket.done:
                return False
            if ticket._callbacks is None:
                ticket._callbacks = [callback]
            else:
                ticket._callbacks.append(callback)
            return True

    def unsubscribe(self, ticket: AnyTicket, callback: Callable[[], object]) -> None:
        """Remove a callback."""
        with self._lock:
            ticket._callbacks = [kept for kept in ticket._callbacks or () if kept != callback] or None

    # ---- The lane itself

    def change(
        self, max_concurrency: int | None, min_concurrency: int | None, rate_per_s: float | None, burst: int | None
    ) -> None:
        """Change the bounds and the rate. None: as before."""
        with self._lock:
            config = change_config(self.config, max_concurrency, min_concurrency, rate_per_s, burst)
            self.state.change(config, self.clock())
            calls = self._finish_change()
        call_all(calls)

    def tick(self) -> None:
        """Apply what is due by the clock."""
        with self._lock:
            now_s = self.clock()
            self.state.update(now_s)
            self._cancel_lost_tasks(now_s)
            calls = self._finish_change()
        call_all(calls)

    def measure(self) -> tuple[LaneStatistics, Durations, Durations]:
        """Return the statistics, and the wait and run durations behind them, so that lanes can be added up."""
        state = self.state
        with self._lock:
            waits, runs = state.waits.copy(), state.runs.copy()
            counts = {
                "depth": len(state.queue),
                "running": state.running,
                "waiting": len(state.waiters),
                "concurrency": state.scale.limit,
                "workers": len(self._workers.threads),
                "submitted": state.submitted,
                "received": state.received,
                "accepted": state.accepted,
                "completed": state.completed,
                "failed": state.failed,
                "cancelled": state.cancelled,
                "abandoned": state.abandoned,
                **{outcome.value: count for outcome, count in state.refusals.items()},
            }
        return LaneStatistics(**counts, wait_s=waits.statistics(), run_s=runs.statistics()), waits, runs

    def is_finished(self) -> bool:
        """Whether the lane is closed, every task has ended and every submission has its outcome."""
        state = self.state
        with self._lock:
            decided = state.accepted + sum(state.refusals.values())
            return self._workers.is_finished and state.submitted == decided

    def begin_close(self, drain: bool) -> None:
        """Stop admission and refuse those that wait. Queued tasks still run (`drain`) or are cancelled."""
        cancelled: list[AnyTicket] = []
        with self._lock:
            self.state.close()
            if not drain:
                cancelled = self._cancel_queued(self.clock())
            calls = self._finish_change()
            self._changed.notify_all()
        _drop_arguments(cancelled)
        call_all(calls)

    def wait_finished(self, timeout_s: float | None) -> bool | None:
        """Wait until every accepted task has ended. False if they have not ended after `timeout_s`.

        None, at once, if this thread runs the event loop of coroutine tasks of the lane: they could never end.
        """
        until_s = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            with self._lock:
                self._cancel_lost_tasks(self.clock())
                calls = self._finish_change()
                if not calls:
                    if self._workers.is_finished:
                        return True
                    tasks = list(self._iter_async_tasks())
                    if any(task.thread == threading.get_ident() for task in tasks):
                        return None
                    left_s = math.inf if until_s is None else until_s - time.monotonic()
                    if left_s <= 0:
                        return False
                    wait_s = min(left_s, _LOST_POLL_S) if tasks else left_s
                    self._changed.wait(None if wait_s == math.inf else wait_s)
            call_all(calls)

    def abandon_all(self) -> None:
        """End every task that has not ended: queued ones are cancelled, running ones abandoned."""
        with self._lock:
            now_s = self.clock()
            cancelled = self._cancel_queued(now_s)
            for ticket in [*self.state.async_running, *self._workers.list_running()]:
                self._abandon(ticket, now_s)
            calls = self._finish_change()
        _drop_arguments(cancelled)
        call_all(calls)

    # ---- With the lock held

    def _record_or_wait(self, waiter: Waiter, now_s: float) -> float | None:
        """Count a refusal, or return the seconds to wait. A redirect is counted later, when its outcome is known."""
        decision = waiter.decision
        if decision is None:
            return self.state.wait_s_max(waiter, now_s)
        if isinstance(decision, Reason) and not (decision is Reason.FULL and self.config.strategy == "redirect"):
            self.state.refuse(waiter, decision)
        return None

    def _finish_change(self) -> list[Callable[[], object]]:
        """Adjust the workers after a change. Returns what is to be called once the lock is released."""
        while self._workers.call_worker():
            pass
        self._workers.release_idle()
        if self.state.is_dynamic:
            self._autoscaler.schedule()
        return self.state.take_deferred_calls()

    def _on_load_change(self) -> None:
        self._workers.call_worker()
        self._autoscaler.schedule()

    def _abandon(self, ticket: AnyTicket, now_s: float) -> bool:
        if not self.state.abandon(ticket, now_s):
            return False
        self._workers.fence(ticket)
        return True

    def _cancel_queued(self, now_s: float) -> list[AnyTicket]:
        return [ticket for ticket in list(self.state.queue) if self.state.cancel(ticket, now_s)]

    def _iter_async_tasks(self) -> "Iterator[CoroutineTask]":
        if self.state.async_running or self.state.async_queued:
            for ticket in (*self.state.async_running, *self.state.queue):
                if ticket._async_task is not None:
                    yield ticket._async_task

    def _cancel_lost_tasks(self, now_s: float) -> None:
        for ticket in list(self.state.async_running):
            if ticket._async_task is not None and ticket._async_task.is_lost():
                self.state.end_cancelled(ticket, now_s)


def _drop_arguments(tickets: list[AnyTicket]) -> None:
    """Free the caller's objects, outside of the lock."""
    for ticket in tickets:
        ticket._function, ticket._args = None, ()
