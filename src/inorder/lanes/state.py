"""Who gets in, who is next, and the books of both. Pure: no clock, no lock, no thread.

A task in the lane takes a *place* from its admission to its end: queued, running, or reserved for a caller that has yet
to claim it. There are as many places as may run plus `capacity`. A submission needs a place and, in a limited lane, a
token. The place is looked at first and the token is taken last, so no token is ever spent on what did not get in.

Whoever may wait stands in the *waiting room*, a queue like the other: higher priority first, equals in the order in
which they came. The rule that keeps it fair is that every change is followed by a look at the room (`serve_room`).
Afterwards, either nobody waits, or there is nothing for the first one to have. So nobody who comes later
can find something that those before him were waiting for, and a freed place is handed over, not fought for.

Nothing here calls anybody. What is to be called once the lock is released is collected in `afterwards`.
"""

from collections.abc import Callable

from .config import LaneConfig
from .outcomes import Outcome, Reason, TaskState
from .priority_queue import PriorityQueue
from .scaling import Scale
from .statistics import Durations
from .ticket import AnyTicket
from .token_bucket import TokenBucket
from .waiters import Admission, Applicant

_ACCEPTED = Outcome.ACCEPTED
_QUEUED = TaskState.QUEUED
_RUNNING = TaskState.RUNNING
_COMPLETED = TaskState.COMPLETED
_FAILED = TaskState.FAILED


class Desk:
    """Everything about a lane that must be decided by one at a time."""

    def __init__(self, config: LaneConfig) -> None:
        least = config.min_concurrency or config.max_concurrency
        self.config = config
        self.scale = Scale(
            least,
            config.max_concurrency,
            up_after_s=config.scale_up_after_s,
            down_after_s=config.scale_down_after_s,
        )
        self.bucket = None if config.rate_per_s is None else TokenBucket(config.rate_per_s, config.burst)
        self.queue: PriorityQueue[AnyTicket] = PriorityQueue(config.max_concurrency + config.capacity)
        self.room: PriorityQueue[Applicant] = PriorityQueue(config.waiting_max)
        self.dynamic = self.scale.dynamic
        self.closed = False
        self.places = least + config.capacity
        self.taken = 0
        """Places: those queued, running and reserved."""
        self.running = 0
        self.reserved = 0
        self.jobs_queued = 0
        self.jobs_running: dict[AnyTicket, None] = {}
        self.submitted = self.received = 0
        self.accepted = 0
        self.refusals = dict.fromkeys((Outcome.REJECTED, Outcome.REDIRECTED, Outcome.DROPPED), 0)
        self.completed = self.failed = self.cancelled = self.abandoned = 0
        self.waits = Durations()
        self.runs = Durations()
        self.afterwards: list[Callable[[], object]] = []

    # ---- Getting in

    def admit_at_once(self, ticket: AnyTicket, now_s: float) -> bool:
        """The quick way in, when nothing is in it. False, and nothing is counted, if there is anything to consider."""
        if self.closed or self.taken >= self.places or self.room:
            return False
        if self.bucket is not None and not self.bucket.try_take(now_s):
            return False
        self.submitted += 1
        self.taken += 1
        self._enqueue(ticket, now_s)
        return True

    def arrive(self, applicant: Applicant, now_s: float) -> None:
        """A submission comes to the door. Its verdict is given, or it waits in the room."""
        self.submitted += 1
        if len(applicant.request.trail) > 1:
            self.received += 1
        self.serve_room(now_s)
        reason = self._admit(applicant, now_s)
        if reason is None:
            applicant.verdict = Admission.ADMITTED
        elif not self._waits(reason) or applicant.request.gate is None:
            applicant.verdict = reason
        elif (given_up := applicant.request.given_up(now_s)) is not None:
            applicant.verdict = given_up
        elif not self.room.push(applicant, applicant.ticket.priority):
            applicant.verdict = Reason.CROWDED

    def look_again(self, applicant: Applicant, now_s: float) -> None:
        """A waiting submission has woken up: by a verdict, or because it is time to look."""
        self.serve_room(now_s)
        if applicant.verdict is None:
            applicant.verdict = applicant.request.given_up(now_s)
            if applicant.verdict is not None:
                self._leave_room(applicant)

    def patience_s(self, applicant: Applicant, now_s: float) -> float:
        """How long a waiting submission may wait before it looks again. Only the first one watches the bucket."""
        patience_s = applicant.request.patience_s(now_s)
        if self.bucket is None or self.room.peek() is not applicant:
            return patience_s
        token_s = self.bucket.when_available(now_s)
        # With a token there, it is a place that is missing, and whoever frees one will see to it.
        return min(patience_s, token_s) if token_s > 0.0 else patience_s

    def withdraw(self, applicant: Applicant, now_s: float) -> bool:
        """The caller's wait was torn away from it. What it held goes back; False if its task is in already."""
        if applicant.verdict is Admission.ADMITTED:
            return False
        if applicant.verdict is None:
            self._leave_room(applicant)
        elif applicant.verdict is Admission.RESERVED:
            self.taken -= 1
            self.reserved -= 1
            if self.bucket is not None:
                self.bucket.refund()
        applicant.verdict = Reason.CANCELLED
        self.changed(now_s)
        return True

    def claim(self, applicant: Applicant, now_s: float) -> None:
        """The caller takes the place that was reserved for it, unless it or the lane has changed its mind."""
        reason = Reason.CLOSED if self.closed else applicant.request.given_up(now_s)
        if reason is not None:
            self.withdraw(applicant, now_s)
            applicant.verdict = reason
            return
        self.reserved -= 1
        applicant.verdict = Admission.ADMITTED
        self._enqueue(applicant.ticket, now_s)

    def serve_room(self, now_s: float) -> None:
        """Give those who wait what there is, in their order. Whoever got a verdict is woken afterwards."""
        if not self.room:
            return
        first = self.room.peek()
        while self.room:
            applicant = self.room.peek()
            verdict = self._verdict(applicant, now_s)
            if verdict is None:
                break
            self._decide(applicant, verdict)
        if self.bucket is not None and self.room and self.room.peek() is not first:
            self._wake(self.room.peek())  # somebody must watch the bucket

    def refuse(self, applicant: Applicant, reason: Reason) -> None:
        """Settle a submission that was not let in and not redirected."""
        dropped = reason is Reason.FULL and self.config.strategy == "drop"
        self.settle(applicant, Outcome.DROPPED if dropped else Outcome.REJECTED, reason)

    def settle(self, applicant: Applicant, outcome: Outcome, reason: Reason | None) -> None:
        """Count the one outcome of a submission that was not accepted here."""
        if not applicant.settled:
            applicant.settled = True
            self.refusals[outcome] += 1
            applicant.ticket.outcome = outcome
            applicant.ticket.reason = reason

    # ---- Running

    def start(self, now_s: float) -> AnyTicket | None:
        """The next task for a worker thread. Coroutine tasks that stand before it are started on the way."""
        while self.running < self.scale.limit and self.queue:
            ticket = self._start_first(now_s)
            if ticket._job is None:
                if self.jobs_queued:
                    self.start_jobs(now_s)
                return ticket
        return None

    def start_jobs(self, now_s: float) -> None:
        """Start the coroutine tasks that are next; one behind a task for a thread waits until that has begun."""
        while self.running < self.scale.limit and self.queue and self.queue.peek()._job is not None:
            self._start_first(now_s)

    def end(
        self, ticket: AnyTicket, value: object, error: BaseException | None, *, ended_s: float, now_s: float
    ) -> None:
        """A running task has returned or raised, a moment ago."""
        if error is None:
            self.completed += 1
            ticket._value = value
        else:
            self.failed += 1
            ticket._error = error
        self.runs.record(ended_s - ticket.started_s)
        self._stop(ticket, _COMPLETED if error is None else _FAILED)
        if self.dynamic or self.jobs_queued or self.room:
            self.changed(now_s)

    def cancel(self, ticket: AnyTicket, now_s: float) -> bool:
        """Take back a queued task; False if it is not queued here."""
        if ticket.state is not _QUEUED or not self.queue.remove(ticket, ticket.priority):
            return False
        if ticket._job is not None:
            self.jobs_queued -= 1
        self.taken -= 1
        self.cancelled += 1
        self._tell(ticket, TaskState.CANCELLED)
        self.changed(now_s)
        return True

    def give_up(self, ticket: AnyTicket, now_s: float) -> bool:
        """Count a running task as cancelled, whatever becomes of it; False if it does not run."""
        if ticket.state is not _RUNNING:
            return False
        self.abandoned += 1
        if ticket._job is not None:
            self.afterwards.append(ticket._job.give_up)
        self.lose(ticket, now_s)
        return True

    def lose(self, ticket: AnyTicket, now_s: float) -> bool:
        """A running task has ended without an outcome, as a cancelled coroutine does; False if it does not run."""
        if ticket.state is not _RUNNING:
            return False
        self.cancelled += 1
        self._stop(ticket, TaskState.CANCELLED)
        self.changed(now_s)
        return True

    def fail_queued(self, error: BaseException, now_s: float) -> None:
        """There is no thread for what is queued and none can be had. Coroutine tasks need none and stay."""
        while doomed := [ticket for ticket in self.queue if ticket._job is None]:
            for ticket in doomed:
                self.queue.remove(ticket, ticket.priority)
                self.taken -= 1
                self.failed += 1
                ticket._error = error
                self._tell(ticket, _FAILED)
            self.changed(now_s)  # which may let in others, with the same fate

    def close(self) -> None:
        """Nobody gets in any more. Those who wait are turned away; what was accepted stays."""
        self.closed = True
        for applicant in self.room.drain():
            applicant.verdict = Reason.CLOSED
            self._wake(applicant)

    def changed(self, now_s: float) -> None:
        """A place was freed, a task queued or started, or time went by: see what follows from it."""
        if self.dynamic:
            self._observe(now_s)
        self.start_jobs(now_s)
        self.serve_room(now_s)

    def take_calls(self) -> list[Callable[[], object]]:
        """What is to be called once the lock is released. From then on it is the caller's alone."""
        calls, self.afterwards = self.afterwards, []
        return calls

    @property
    def is_empty(self) -> bool:
        """Whether every accepted task has ended."""
        return self.running == 0 and not self.queue

    # ---- Details

    def _admit(self, applicant: Applicant, now_s: float) -> Reason | None:
        if self.closed:
            return Reason.CLOSED
        if applicant.request.is_cancelled():
            return Reason.CANCELLED
        if self.taken >= self.places and not self._grow():
            return Reason.FULL
        if self.bucket is not None and not self.bucket.try_take(now_s):
            return Reason.LIMITED
        self.taken += 1
        self._enqueue(applicant.ticket, now_s)
        return None

    def _waits(self, reason: Reason) -> bool:
        if reason is Reason.FULL:
            return self.config.strategy == "block"
        return reason is Reason.LIMITED and self.config.when_limited == "wait"

    def _verdict(self, applicant: Applicant, now_s: float) -> Admission | Reason | None:
        """What the first of the room gets now; None: nothing yet."""
        given_up = applicant.request.given_up(now_s)
        if given_up is not None:
            return given_up
        if self.taken >= self.places and not self._grow():
            # In a lane that does not wait for places, this one waited for a token: with it, it is as if it came now.
            has_token = self.bucket is not None and self.bucket.when_available(now_s) == 0.0
            return Reason.FULL if has_token and self.config.strategy != "block" else None
        if self.bucket is not None and not self.bucket.try_take(now_s):
            return None
        self.taken += 1
        gate = applicant.request.gate
        if gate is not None and gate.reserves:
            self.reserved += 1
            return Admission.RESERVED
        self._enqueue(applicant.ticket, now_s)
        return Admission.ADMITTED

    def _decide(self, applicant: Applicant, verdict: Admission | Reason) -> None:
        applicant.verdict = verdict
        self.room.remove(applicant, applicant.ticket.priority)
        self._wake(applicant)

    def _leave_room(self, applicant: Applicant) -> None:
        was_first = self.room.peek() is applicant
        self.room.remove(applicant, applicant.ticket.priority)
        if was_first and self.room and self.bucket is not None:
            self._wake(self.room.peek())

    def _wake(self, applicant: Applicant) -> None:
        self.afterwards.append(applicant.wake)

    def _grow(self) -> bool:
        if not self.scale.grow():
            return False
        self.places += 1
        return True

    def _observe(self, now_s: float) -> None:
        if self.scale.observe(now_s, self.running, len(self.queue)):
            self.places = self.scale.limit + self.config.capacity

    def _enqueue(self, ticket: AnyTicket, now_s: float) -> None:
        self.accepted += 1
        ticket.outcome = _ACCEPTED
        ticket.state = _QUEUED
        self.queue.push(ticket, ticket.priority)
        if ticket._job is not None:
            self.jobs_queued += 1
            self.start_jobs(now_s)
        if self.dynamic:
            self._observe(now_s)

    def _start_first(self, now_s: float) -> AnyTicket:
        ticket = self.queue.pop()
        self.running += 1
        ticket.state = _RUNNING
        ticket.started_s = now_s
        self.waits.record(now_s - ticket.submitted_s)
        if ticket._job is not None:
            self.jobs_queued -= 1
            self.jobs_running[ticket] = None
            self.afterwards.append(ticket._job.begin)
        if self.dynamic:
            self._observe(now_s)
        return ticket

    def _stop(self, ticket: AnyTicket, state: TaskState) -> None:
        self.running -= 1
        self.taken -= 1
        if ticket._job is not None:
            del self.jobs_running[ticket]
        self._tell(ticket, state)

    def _tell(self, ticket: AnyTicket, state: TaskState) -> None:
        ticket.state = state
        if ticket._callbacks is not None:
            self.afterwards.extend(ticket._callbacks)
            ticket._callbacks = None
