"""The state of a lane: admission, order and counts. Pure: no clock, no lock, no thread.

A task takes a *slot* from its admission to its end: queued, running, or reserved for a caller that has yet to claim it.
There are as many slots as tasks may run, plus `capacity`. A submission needs a slot and, in a rate-limited lane, a
token. The slot is checked first and the token is taken last, so no token is spent on a refused submission.

Submissions that may wait are queued in `waiters`: higher priority first, and those of the same priority in the order in
which they came. For fairness every change is followed by `admit_waiters`. Afterwards either there is no waiter, or the
first one cannot be admitted. So a later submission never finds a slot or token that an earlier one waits for: a freed
slot is handed over, not competed for.

Nothing in this module calls foreign code. What is to be called after the lock is released is put in `deferred_calls`.
"""

from collections.abc import Callable

from .config import LaneConfig
from .outcomes import Outcome, Reason, TaskState
from .priority_queue import PriorityQueue
from .scaling import Scale
from .statistics import Durations
from .ticket import AnyTicket
from .token_bucket import TokenBucket
from .waiters import Admission, Waiter

_ACCEPTED = Outcome.ACCEPTED
_QUEUED = TaskState.QUEUED
_RUNNING = TaskState.RUNNING
_COMPLETED = TaskState.COMPLETED
_FAILED = TaskState.FAILED


class LaneState:
    """Everything of a lane that is guarded by its lock."""

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
        self.waiters: PriorityQueue[Waiter] = PriorityQueue(config.waiting_max)
        self.is_dynamic = self.scale.is_dynamic
        self.closed = False
        self.slots = least + config.capacity
        self.slots_used = 0
        """Tasks queued, running and reserved."""
        self.running = 0
        self.reserved = 0
        self.async_queued = 0
        self.async_running: dict[AnyTicket, None] = {}
        self.submitted = self.received = 0
        self.accepted = 0
        self.refusals = dict.fromkeys((Outcome.REJECTED, Outcome.REDIRECTED, Outcome.DROPPED), 0)
        self.completed = self.failed = self.cancelled = self.abandoned = 0
        self.waits = Durations()
        self.runs = Durations()
        self.deferred_calls: list[Callable[[], object]] = []

    # ---- Admission

    def try_admit(self, ticket: AnyTicket, now_s: float) -> bool:
        """Admit a task that needs no waiting. False: it may have to wait or be refused, and nothing is counted."""
        if self.closed or self.slots_used >= self.slots or self.waiters:
            return False
        if self.bucket is not None and not self.bucket.try_take(now_s):
            return False
        self.submitted += 1
        self.slots_used += 1
        self._enqueue(ticket, now_s)
        return True

    def admit_or_wait(self, waiter: Waiter, now_s: float) -> None:
        """Decide about a new submission, or let it wait."""
        self.submitted += 1
        if len(waiter.request.waiters) > 1:
            self.received += 1
        self.admit_waiters(now_s)
        reason = self._admit(waiter, now_s)
        if reason is None:
            waiter.decision = Admission.ADMITTED
        elif not self._may_wait(reason) or waiter.request.waker is None:
            waiter.decision = reason
        elif (stop_reason := waiter.request.stop_reason(now_s)) is not None:
            waiter.decision = stop_reason
        elif not self.waiters.push(waiter, waiter.ticket.priority):
            waiter.decision = Reason.CROWDED

    def recheck(self, waiter: Waiter, now_s: float) -> None:
        """Decide about a waiter that has woken up, by a decision or because its wait is over."""
        self.admit_waiters(now_s)
        if waiter.decision is None:
            waiter.decision = waiter.request.stop_reason(now_s)
            if waiter.decision is not None:
                self._remove_waiter(waiter)

    def wait_s_max(self, waiter: Waiter, now_s: float) -> float:
        """Return how long a waiter may wait before its recheck. Only the first one waits for the bucket."""
        wait_s_max = waiter.request.wait_s_max(now_s)
        if self.bucket is None or self.waiters.peek() is not waiter:
            return wait_s_max
        token_s = self.bucket.seconds_until_token(now_s)
        # When a token is available, a slot is missing, and the thread that frees one wakes this waiter.
        return min(wait_s_max, token_s) if token_s > 0.0 else wait_s_max

    def withdraw(self, waiter: Waiter, now_s: float) -> bool:
        """Remove a waiter whose wait was interrupted, and give back what it held. False if it is admitted already."""
        if waiter.decision is Admission.ADMITTED:
            return False
        if waiter.decision is None:
            self._remove_waiter(waiter)
        elif waiter.decision is Admission.RESERVED:
            self.slots_used -= 1
            self.reserved -= 1
            if self.bucket is not None:
                self.bucket.refund()
        waiter.decision = Reason.CANCELLED
        self.update(now_s)
        return True

    def claim(self, waiter: Waiter, now_s: float) -> None:
        """Admit a waiter into its reserved slot, unless its caller has given up or the lane is closed."""
        reason = Reason.CLOSED if self.closed else waiter.request.stop_reason(now_s)
        if reason is not None:
            self.withdraw(waiter, now_s)
            waiter.decision = reason
            return
        self.reserved -= 1
        waiter.decision = Admission.ADMITTED
        self._enqueue(waiter.ticket, now_s)

    def admit_waiters(self, now_s: float) -> None:
        """Admit as many waiters as possible, in their order. Those that got a decision are woken later."""
        if not self.waiters:
            return
        first = self.waiters.peek()
        while self.waiters:
            waiter = self.waiters.peek()
            decision = self._find_decision(waiter, now_s)
            if decision is None:
                break
            self._decide(waiter, decision)
        if self.bucket is not None and self.waiters and self.waiters.peek() is not first:
            self._wake(self.waiters.peek())  # the new first one waits for the bucket from now on

    def refuse(self, waiter: Waiter, reason: Reason) -> None:
        """Count a submission that was neither admitted nor redirected."""
        is_dropped = reason is Reason.FULL and self.config.strategy == "drop"
        self.record_outcome(waiter, Outcome.DROPPED if is_dropped else Outcome.REJECTED, reason)

    def record_outcome(self, waiter: Waiter, outcome: Outcome, reason: Reason | None) -> None:
        """Count the outcome of a submission that this lane did not accept. Idempotent."""
        if not waiter.is_recorded:
            waiter.is_recorded = True
            self.refusals[outcome] += 1
            waiter.ticket.outcome = outcome
            waiter.ticket.reason = reason

    # ---- Running

    def start(self, now_s: float) -> AnyTicket | None:
        """Start the next task of a worker thread and return it. Coroutine tasks queued before it are started too."""
        while self.running < self.scale.limit and self.queue:
            ticket = self._start_first(now_s)
            if ticket._async_task is None:
                if self.async_queued:
                    self.start_async_tasks(now_s)
                return ticket
        return None

    def start_async_tasks(self, now_s: float) -> None:
        """Start the coroutine tasks at the head of the queue. One behind a thread's task waits until that starts."""
        while self.running < self.scale.limit and self.queue and self.queue.peek()._async_task is not None:
            self._start_first(now_s)

    def end(
        self, ticket: AnyTicket, value: object, error: BaseException | None, *, ended_s: float, now_s: float
    ) -> None:
        """Record the end of a running task, which returned or raised at `ended_s`."""
        if error is None:
            self.completed += 1
            ticket._value = value
        else:
            self.failed += 1
            ticket._error = error
        self.runs.record(ended_s - ticket.started_s)
        self._release_slot(ticket, _COMPLETED if error is None else _FAILED)
        if self.is_dynamic or self.async_queued or self.waiters:
            self.update(now_s)

    def cancel(self, ticket: AnyTicket, now_s: float) -> bool:
        """Cancel a queued task. False if this lane has not queued it."""
        if ticket.state is not _QUEUED or not self.queue.remove(ticket, ticket.priority):
            return False
        if ticket._async_task is not None:
            self.async_queued -= 1
        self.slots_used -= 1
        self.cancelled += 1
        self._set_end_state(ticket, TaskState.CANCELLED)
        self.update(now_s)
        return True

    def abandon(self, ticket: AnyTicket, now_s: float) -> bool:
        """Count a running task as cancelled and ignore its outcome. False if it does not run."""
        if ticket.state is not _RUNNING:
            return False
        self.abandoned += 1
        if ticket._async_task is not None:
            self.deferred_calls.append(ticket._async_task.abandon)
        self.end_cancelled(ticket, now_s)
        return True

    def end_cancelled(self, ticket: AnyTicket, now_s: float) -> bool:
        """Count a running task as cancelled, because it ended without a result. False if it does not run."""
        if ticket.state is not _RUNNING:
            return False
        self.cancelled += 1
        self._release_slot(ticket, TaskState.CANCELLED)
        self.update(now_s)
        return True

    def fail_queued(self, error: BaseException, now_s: float) -> None:
        """Fail the queued tasks because no thread can be started. Coroutine tasks need none and stay."""
        while tickets := [ticket for ticket in self.queue if ticket._async_task is None]:
            for ticket in tickets:
                self.queue.remove(ticket, ticket.priority)
                self.slots_used -= 1
                self.failed += 1
                ticket._error = error
                self._set_end_state(ticket, _FAILED)
            self.update(now_s)  # may admit waiters, which then fail too

    def close(self) -> None:
        """Stop admission and refuse those that wait. Accepted tasks stay."""
        self.closed = True
        for waiter in self.waiters.drain():
            waiter.decision = Reason.CLOSED
            self._wake(waiter)

    def change(self, config: LaneConfig, now_s: float) -> None:
        """Apply other bounds and another rate. Tasks that run beyond a lower bound go on, and none is dropped."""
        self.config = config
        self.scale.change_bounds(config.min_concurrency or config.max_concurrency, config.max_concurrency)
        self.is_dynamic = self.scale.is_dynamic
        self.slots = self.scale.limit + config.capacity
        self.queue.capacity = max(self.queue.capacity, config.max_concurrency + config.capacity)
        if config.rate_per_s is None:
            self.bucket = None
        elif self.bucket is None:
            self.bucket = TokenBucket(config.rate_per_s, config.burst)
        else:
            self.bucket.change(config.rate_per_s, config.burst, now_s)
        self.update(now_s)
        if self.waiters:
            self._wake(self.waiters.peek())  # it may wait for a token, for as long as the former rate asked for

    def update(self, now_s: float) -> None:
        """Scale, start and admit what a change or the passing of time makes possible."""
        if self.is_dynamic:
            self._observe(now_s)
        self.start_async_tasks(now_s)
        self.admit_waiters(now_s)

    def take_deferred_calls(self) -> list[Callable[[], object]]:
        """Return and forget what is to be called once the lock is released."""
        calls, self.deferred_calls = self.deferred_calls, []
        return calls

    @property
    def is_idle(self) -> bool:
        """Whether every accepted task has ended."""
        return self.running == 0 and not self.queue

    # ---- Internals

    def _admit(self, waiter: Waiter, now_s: float) -> Reason | None:
        if self.closed:
            return Reason.CLOSED
        if waiter.request.is_cancelled():
            return Reason.CANCELLED
        if self.slots_used >= self.slots and not self._grow():
            return Reason.FULL
        if self.bucket is not None and not self.bucket.try_take(now_s):
            return Reason.LIMITED
        self.slots_used += 1
        self._enqueue(waiter.ticket, now_s)
        return None

    def _may_wait(self, reason: Reason) -> bool:
        if reason is Reason.FULL:
            return self.config.strategy == "block"
        return reason is Reason.LIMITED and self.config.when_limited == "wait"

    def _find_decision(self, waiter: Waiter, now_s: float) -> Admission | Reason | None:
        """Decide about the first waiter; None: it must wait longer."""
        stop_reason = waiter.request.stop_reason(now_s)
        if stop_reason is not None:
            return stop_reason
        if self.slots_used >= self.slots and not self._grow():
            # Where submissions do not wait for slots, it waited for a token. Now that it has one, it is refused.
            has_token = self.bucket is not None and self.bucket.seconds_until_token(now_s) == 0.0
            return Reason.FULL if has_token and self.config.strategy != "block" else None
        if self.bucket is not None and not self.bucket.try_take(now_s):
            return None
        self.slots_used += 1
        waker = waiter.request.waker
        if waker is not None and waker.must_claim:
            self.reserved += 1
            return Admission.RESERVED
        self._enqueue(waiter.ticket, now_s)
        return Admission.ADMITTED

    def _decide(self, waiter: Waiter, decision: Admission | Reason) -> None:
        waiter.decision = decision
        self.waiters.remove(waiter, waiter.ticket.priority)
        self._wake(waiter)

    def _remove_waiter(self, waiter: Waiter) -> None:
        was_first = self.waiters.peek() is waiter
        self.waiters.remove(waiter, waiter.ticket.priority)
        if was_first and self.waiters and self.bucket is not None:
            self._wake(self.waiters.peek())

    def _wake(self, waiter: Waiter) -> None:
        self.deferred_calls.append(waiter.wake)

    def _grow(self) -> bool:
        if not self.scale.grow():
            return False
        self.slots += 1
        return True

    def _observe(self, now_s: float) -> None:
        if self.scale.observe(now_s, self.running + len(self.queue)):
            self.slots = self.scale.limit + self.config.capacity

    def _enqueue(self, ticket: AnyTicket, now_s: float) -> None:
        self.accepted += 1
        ticket.outcome = _ACCEPTED
        ticket.state = _QUEUED
        self.queue.push(ticket, ticket.priority)
        if ticket._async_task is not None:
            self.async_queued += 1
            self.start_async_tasks(now_s)
        if self.is_dynamic:
            self._observe(now_s)

    def _start_first(self, now_s: float) -> AnyTicket:
        ticket = self.queue.pop()
        self.running += 1
        ticket.state = _RUNNING
        ticket.started_s = now_s
        self.waits.record(now_s - ticket.submitted_s)
        if ticket._async_task is not None:
            self.async_queued -= 1
            self.async_running[ticket] = None
            self.deferred_calls.append(ticket._async_task.begin)
        if self.is_dynamic:
            self._observe(now_s)
        return ticket

    def _release_slot(self, ticket: AnyTicket, state: TaskState) -> None:
        self.running -= 1
        self.slots_used -= 1
        if ticket._async_task is not None:
            del self.async_running[ticket]
        self._set_end_state(ticket, state)

    def _set_end_state(self, ticket: AnyTicket, state: TaskState) -> None:
        ticket.state = state
        if ticket._callbacks is not None:
            self.deferred_calls.extend(ticket._callbacks)
            ticket._callbacks = None
