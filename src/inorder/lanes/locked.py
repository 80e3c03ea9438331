"""The desk under a lock: what threads may call.

Every method takes the lock once, for a short while, and calls nobody under it but the clock. What must be called (those
to be woken, callbacks of tickets) is called when the lock has been released.
"""

import math
import threading
import time
from collections.abc import Callable, Iterator

from .autoscaler import Keeper
from .config import LaneConfig
from .outcomes import Outcome, Reason
from .state import Desk
from .statistics import Durations, LaneStatistics
from .ticket import AnyTicket, Job
from .waiters import Admission, Applicant
from .workers import Crew, call_all

_LOST_LOOK_S = 0.1
"""How often a closing lane looks whether the event loop of a coroutine task is gone."""


class Shell:
    """One lane, without the ways of waiting for admission. It holds the lane's tasks."""

    def __init__(self, config: LaneConfig, clock: Callable[[], float], find: "Callable[[], Shell | None]") -> None:
        self.config = config
        self.name = config.name
        self.clock = clock
        self.find_target = find
        self.desk = Desk(config)
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._crew = Crew(self, self.desk, self._lock, self._changed, clock)
        if config.dynamic:
            self._keeper = Keeper(self.name, self.desk, self._changed, clock, self._follow)
            self._crew.on_scaling = self._on_scaling

    # ---- Admission

    def admit_at_once(self, ticket: AnyTicket, now_s: float) -> bool:
        """The quick way in, when nothing is in it. False, and nothing is counted, if there is anything to consider."""
        desk = self.desk
        with self._lock:
            if desk.bucket is not None:
                now_s = self.clock()  # again: a bucket that is shown times out of order would give too much
            if not desk.admit_at_once(ticket, now_s):
                return False
            self._crew.call()
            if desk.dynamic:
                self._on_scaling()
            calls = desk.take_calls() if desk.afterwards else None
        if calls:
            call_all(calls)
        return True

    def arrive(self, applicant: Applicant) -> float | None:
        """A submission comes to the door. None: it is decided; otherwise how long to wait before looking again."""
        with self._lock:
            now_s = self.clock()
            self.desk.arrive(applicant, now_s)
            patience_s = self._consider(applicant, now_s)
            calls = self._follow()
        call_all(calls)
        return patience_s

    def look_again(self, applicant: Applicant) -> float | None:
        """A waiting submission is awake. None: it is decided; otherwise how long to wait before looking again."""
        if applicant.verdict is Admission.ADMITTED:
            return None
        with self._lock:
            now_s = self.clock()
            if applicant.verdict is None:
                self.desk.look_again(applicant, now_s)
            if applicant.verdict is Admission.RESERVED:
                self.desk.claim(applicant, now_s)
            patience_s = self._consider(applicant, now_s)
            calls = self._follow()
        call_all(calls)
        return patience_s

    def withdraw(self, applicant: Applicant) -> None:
        """The wait of this submission was torn away from it."""
        if applicant.settled:
            return  # without the lock: this may be the garbage collector at work in a thread that holds it
        with self._lock:
            if self.desk.withdraw(applicant, self.clock()):
                self.desk.refuse(applicant, Reason.CANCELLED)
            calls = self._follow()
        call_all(calls)

    def settle(self, applicant: Applicant, outcome: Outcome, reason: Reason | None) -> None:
        """Book how a redirect has ended."""
        if applicant.settled:
            return
        with self._lock:
            if outcome is Outcome.REDIRECTED:
                self.desk.waits.record(self.clock() - applicant.ticket.submitted_s)
            self.desk.settle(applicant, outcome, reason)

    # ---- Tasks that are in

    def cancel(self, ticket: AnyTicket) -> bool:
        """Take a queued task back; whether that was done."""
        with self._lock:
            taken_back = self.desk.cancel(ticket, self.clock())
            calls = self._follow()
        _forget([ticket] if taken_back else [])
        call_all(calls)
        return taken_back

    def abandon(self, ticket: AnyTicket) -> bool:
        """Give up a task, also one that runs; whether there was anything to give up."""
        with self._lock:
            given_up = self._give_up(ticket, self.clock())
            calls = self._follow()
        call_all(calls)
        return given_up or self.cancel(ticket)

    def end_job(self, ticket: AnyTicket, value: object, error: BaseException | None, *, cancelled: bool) -> None:
        """A coroutine task has ended; one that was given up before has no say any more."""
        with self._lock:
            now_s = self.clock()
            if cancelled:
                self.desk.lose(ticket, now_s)
            elif not ticket.done:
                self.desk.end(ticket, value, error, ended_s=now_s, now_s=now_s)
            calls = self._follow()
        call_all(calls)

    def subscribe(self, ticket: AnyTicket, callback: Callable[[], object]) -> bool:
        """Have a callback called once the task has ended; False if it has."""
        with self._lock:
            if ticket.done:
                return False
            if ticket._callbacks is None:
                ticket._callbacks = [callback]
            else:
                ticket._callbacks.append(callback)
            return True

    def unsubscribe(self, ticket: AnyTicket, callback: Callable[[], object]) -> None:
        """Call it no more."""
        with self._lock:
            ticket._callbacks = [kept for kept in ticket._callbacks or () if kept != callback] or None

    # ---- The lane itself

    def tick(self) -> None:
        """Look at the clock now."""
        with self._lock:
            now_s = self.clock()
            self.desk.changed(now_s)
            self._lose_jobs(now_s)
            calls = self._follow()
        call_all(calls)

    def measure(self) -> tuple[LaneStatistics, Durations, Durations]:
        """The statistics, and the durations of waiting and running behind them, for those who add lanes up."""
        desk = self.desk
        with self._lock:
            waits, runs = desk.waits.copy(), desk.runs.copy()
            counts = {
                "depth": len(desk.queue),
                "running": desk.running,
                "waiting": len(desk.room),
                "concurrency": desk.scale.limit,
                "workers": len(self._crew.members),
                "submitted": desk.submitted,
                "received": desk.received,
                "accepted": desk.accepted,
                "completed": desk.completed,
                "failed": desk.failed,
                "cancelled": desk.cancelled,
                "abandoned": desk.abandoned,
                **{outcome.value: count for outcome, count in desk.refusals.items()},
            }
        return LaneStatistics(**counts, wait_s=waits.statistics(), run_s=runs.statistics()), waits, runs

    def is_at_rest(self) -> bool:
        """Whether every task has ended and every submission that came has its outcome, for good."""
        desk = self.desk
        with self._lock:
            decided = desk.accepted + sum(desk.refusals.values())
            return self._crew.is_over and desk.submitted == decided

    def begin_close(self, drain: bool) -> None:
        """Let nobody in any more and turn away those who wait. Queued tasks still run (`drain`) or are cancelled."""
        cancelled: list[AnyTicket] = []
        with self._lock:
            self.desk.close()
            if not drain:
                cancelled = self._cancel_queued(self.clock())
            calls = self._follow()
            self._changed.notify_all()
        _forget(cancelled)
        call_all(calls)

    def wait_over(self, timeout_s: float | None) -> bool | None:
        """Wait until every accepted task has ended; False if they have not in time.

        None, at once: this is the thread that coroutine tasks of the lane need to go on.
        """
        until_s = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            with self._lock:
                self._lose_jobs(self.clock())
                calls = self._follow()
                if not calls:
                    if self._crew.is_over:
                        return True
                    jobs = list(self._jobs())
                    if any(job.thread == threading.get_ident() for job in jobs):
                        return None
                    left_s = math.inf if until_s is None else until_s - time.monotonic()
                    if left_s <= 0:
                        return False
                    wait_s = min(left_s, _LOST_LOOK_S) if jobs else left_s
                    self._changed.wait(None if wait_s == math.inf else wait_s)
            call_all(calls)

    def give_up_all(self) -> None:
        """End every task that has not ended: the queued are taken back, the running given up."""
        with self._lock:
            now_s = self.clock()
            cancelled = self._cancel_queued(now_s)
            for ticket in [*self.desk.jobs_running, *self._crew.running()]:
                self._give_up(ticket, now_s)
            calls = self._follow()
        _forget(cancelled)
        call_all(calls)

    # ---- With the lock held

    def _consider(self, applicant: Applicant, now_s: float) -> float | None:
        """Settle a refusal, or say how long to wait. A full lane that redirects settles when it knows how that went."""
        verdict = applicant.verdict
        if verdict is None:
            return self.desk.patience_s(applicant, now_s)
        if isinstance(verdict, Reason) and not (verdict is Reason.FULL and self.config.strategy == "redirect"):
            self.desk.refuse(applicant, verdict)
        return None

    def _follow(self) -> list[Callable[[], object]]:
        """See to the workers after a change; what is to be called once the lock is released."""
        while self._crew.call():
            pass
        self._crew.dismiss()
        if self.desk.dynamic:
            self._keeper.mind()
        return self.desk.take_calls()

    def _on_scaling(self) -> None:
        self._crew.call()
        self._keeper.mind()

    def _give_up(self, ticket: AnyTicket, now_s: float) -> bool:
        if not self.desk.give_up(ticket, now_s):
            return False
        self._crew.fence(ticket)
        return True

    def _cancel_queued(self, now_s: float) -> list[AnyTicket]:
        return [ticket for ticket in list(self.desk.queue) if self.desk.cancel(ticket, now_s)]

    def _jobs(self) -> Iterator[Job]:
        if self.desk.jobs_running or self.desk.jobs_queued:
            for ticket in (*self.desk.jobs_running, *self.desk.queue):
                if ticket._job is not None:
                    yield ticket._job

    def _lose_jobs(self, now_s: float) -> None:
        for ticket in list(self.desk.jobs_running):
            if ticket._job is not None and ticket._job.is_lost():
                self.desk.lose(ticket, now_s)


def _forget(tickets: list[AnyTicket]) -> None:
    """Free what the caller gave, outside of the lock."""
    for ticket in tickets:
        ticket._function, ticket._args = None, ()
