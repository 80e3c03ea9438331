"""Results from workers.

A result is accepted only if its worker holds the lease and its attempt number is the current one. Any other result is
either stale or an error of the engine. A stale result, from a fenced attempt or a closed window, is refused and
counted. A second result from the owner of an attempt, or a result for an attempt that was never leased, is a bug: the
run ends.

Before its result, an attempt may hand over *partial results*, each in place of the one before. They are fenced like
results. The latest one survives retries and lost workers; it is offered to the next attempt, and becomes part of the
result if that is a failure. A success or a skip drops it.
"""

from heapq import heappush
from operator import attrgetter

import msgspec

from inorder.errors import Category, Failure

from .commands import Announce, Reclaimed, ResultRefused, RetryScheduled
from .events import Envelope, Finished, HandedOver, Overran
from .invariants import check, raise_violation
from .leases import Lease
from .ledger import FAIL
from .outage import Outages
from .retry import RetryDecision, backoff_ms
from .state import KernelState, StopKind
from .transitions import State
from .windows.window import Window

SUCCESS = int(State.TERMINAL_SUCCESS)
_OUTCOMES = (SUCCESS, int(State.TERMINAL_SKIP), FAIL)
_GET_SEQ = attrgetter("seq")
_DECAY_SHIFT = 4
"""The expected size of a result falls by 1/16 of the difference per smaller result."""


class Results:
    """Accepts results and puts the final ones into the reorder buffer."""

    def __init__(self, state: KernelState) -> None:
        self._state = state
        self._outages = Outages(state)

    def on_finished(self, event: Finished) -> None:
        """Accept the results of one worker."""
        state = self._state
        worker, envelopes = event.worker, event.envelopes
        state.counters.envelopes += len(envelopes)
        lease = state.leases.get(worker)
        if lease is None:
            for envelope in envelopes:
                self._refuse(worker, envelope.seq, envelope.attempt)
            return
        self._accept(lease, envelopes)
        if lease.seqs:
            state.leases.beat((worker,), state.watched_ms)
        else:
            state.leases.drop(worker)

    def _accept(self, lease: Lease, envelopes: list[Envelope]) -> None:
        """Accept the current results of a lease, in their order: successes together, up to the next failure."""
        window = self._state.find_window(lease.running_seq)
        held = lease.seqs
        held_count = len(held)
        succeeded: list[Envelope] = []
        for envelope in envelopes:
            seq = envelope.seq
            if held.get(seq) != envelope.attempt:
                self._refuse(lease.worker, seq, envelope.attempt)
                continue
            del held[seq]
            if lease.isolated:
                window.suspects.discard(seq)  # its worker survived it
            failure = envelope.failure if envelope.outcome == FAIL else None
            if failure is not None and failure.budget:
                self._stop(seq, envelope.attempt, lease.worker, failure)
                continue
            if failure is not None and failure.is_outage:
                self._outages.requeue(seq, envelope.attempt, lease.worker, failure)
                continue
            if self._state.outage is not None:
                self._outages.note_result(seq)
            if envelope.outcome == FAIL:
                self._hold(window, succeeded)
                succeeded = []
                self._fail(window, envelope)
            else:
                succeeded.append(envelope)
        self._hold(window, succeeded)
        window.used_bytes -= lease.share_bytes * (held_count - len(held))

    def _stop(self, seq: int, attempt: int, worker: int, failure: Failure) -> None:
        """Stop the run for an item that would exceed a limit on tokens or money. The item has not failed."""
        state = self._state
        self._outages.forget_probe(seq)
        state.ledger.requeue(seq)
        state.find_window(seq).ready.requeue(seq)
        state.commands.append(Reclaimed(seq, attempt, worker, False, failure.budget))
        state.request_stop(StopKind.BUDGET, failure.budget, state.options.cancel_grace_ms)

    def on_handed_over(self, event: HandedOver) -> None:
        """Keep a partial result in place of the one before. A thread of an item can outlive its result, so one that
        comes after it is not an error of the engine."""
        state = self._state
        worker, seq, partial = event.worker, event.seq, event.partial
        lease = state.leases.get(worker)
        if lease is None or lease.seqs.get(seq) != event.attempt:
            state.counters.refused += 1
            state.commands.append(ResultRefused(worker, seq, event.attempt))
            return
        state.counters.hand_overs += 1
        state.find_window(seq).used_bytes += len(partial) - len(state.partials.get(seq, b""))
        state.partials[seq] = partial
        state.leases.beat((worker,), state.watched_ms)

    def on_overran(self, event: Overran) -> None:
        """Fail an item that exceeded its time limit, stop its worker, and requeue the rest of the batch."""
        state = self._state
        lease = state.leases.get(event.worker)
        if lease is None or lease.seqs.get(event.seq) != event.attempt:
            return
        step, limit_ms = event.step, event.limit_ms
        message = f"exceeded its time limit of {limit_ms} ms"
        if step:
            message = f"step {step!r} took longer than {limit_ms / 1000:g} s"
        state.counters.overruns += 1
        state.leases.drop(event.worker)
        reason = f"seq {event.seq}{':' if step else ''} {message}"
        state.stop_worker(event.worker, reason)
        failure = Failure(category=Category.TIMEOUT, message=message, step=step)
        self.fail_item(lease, event.seq, failure, event.exec_ms, event.began_ms)
        self.reclaim(lease, reason)

    def fail_item(self, lease: Lease, seq: int, failure: Failure, exec_ms: float, began_ms: float) -> None:
        """Fail an item for good although its worker reported no result. Fences the attempt."""
        ledger = self._state.ledger
        window = self._state.find_window(seq)
        del lease.seqs[seq]
        window.used_bytes -= lease.share_bytes
        ledger.fence(seq)
        self._outages.forget_probe(seq)
        attempt = ledger.attempt(seq)
        self._hold(window, [Envelope(seq, attempt, FAIL, failure=failure, exec_ms=exec_ms, began_ms=began_ms)])

    def reclaim(self, lease: Lease, reason: str, *, suspect: int | None = None) -> None:
        """Requeue every item of a dropped lease. A suspect will be dispatched in isolation."""
        state = self._state
        for seq in lease.seqs:
            window = state.find_window(seq)
            window.used_bytes -= lease.share_bytes
            attempt = state.ledger.attempt(seq)
            state.ledger.requeue(seq)
            self._outages.forget_probe(seq)
            state.counters.reclaims += 1
            if seq == suspect:
                window.suspects.add(seq)
            if seq in window.suspects:
                window.ready.add_suspect(seq)
            else:
                window.ready.requeue(seq)
            state.commands.append(Reclaimed(seq, attempt, lease.worker, seq == suspect, reason))
        lease.seqs.clear()

    def decide_retry(self, window: Window, envelope: Envelope) -> None:
        """Retry the item, let it wait for lower seqs, or make its latest failure final."""
        state = self._state
        seq = envelope.seq
        decision = window.retries.decide(seq, is_frontier=seq == window.frontier)
        if decision is RetryDecision.WAIT:
            state.counters.retries_parked += 1
            window.parked[seq] = envelope
        elif decision is RetryDecision.FINAL:
            state.counters.retries_denied += not window.retries.is_exhausted(seq)
            self._hold(window, [envelope])
        else:
            number = window.retries.grant(seq)
            failure = _require_failure(envelope)
            due_ms = state.now_ms + max(failure.wait_ms, backoff_ms(state.options.retry, seq, number))
            state.counters.retries += 1
            state.ledger.requeue(seq)
            heappush(state.retries_due, (due_ms, seq))
            state.commands.append(RetryScheduled(seq, envelope.attempt, due_ms, failure, number))

    def _fail(self, window: Window, envelope: Envelope) -> None:
        if _require_failure(envelope).may_succeed_later:
            self.decide_retry(window, envelope)
        else:
            self._hold(window, [envelope])

    def _hold(self, window: Window, envelopes: list[Envelope]) -> None:
        """Put final results of one window into the reorder buffer."""
        state = self._state
        if state.partials:
            envelopes = [self._join_partial(window, envelope) for envelope in envelopes]
        reorder_buffer, expected, max_seen_seq = state.reorder_buffer, state.expected_bytes, state.max_seen_seq
        used_bytes = 0
        for envelope in envelopes:
            seq, size, outcome = envelope.seq, envelope.payload_bytes, envelope.outcome
            if outcome not in _OUTCOMES or size < 0:
                raise_violation(f"the result of seq {seq} has outcome {outcome} and {size} bytes")
            reorder_buffer[seq] = envelope
            used_bytes += size
            if seq > max_seen_seq:
                max_seen_seq = seq
            if outcome != FAIL:
                expected = size if size > expected else expected - ((expected - size) >> _DECAY_SHIFT)
        state.expected_bytes, state.max_seen_seq = expected, max_seen_seq
        window.computed_count += len(envelopes)
        window.retries.mark_final(map(_GET_SEQ, envelopes), len(envelopes))
        window.used_bytes += used_bytes
        if state.options.announces and envelopes:
            state.commands.append(Announce(envelopes))

    def _join_partial(self, window: Window, envelope: Envelope) -> Envelope:
        """Take the partial result of an item whose result is final, and add it to a failure."""
        partial = self._state.partials.pop(envelope.seq, None)
        if partial is None:
            return envelope
        window.used_bytes -= len(partial)
        if envelope.outcome != FAIL:
            return envelope
        size = envelope.payload_bytes + len(partial)
        return msgspec.structs.replace(envelope, partial=partial, payload_bytes=size)

    def _refuse(self, worker: int, seq: int, attempt: int) -> None:
        state = self._state
        ledger = state.ledger
        check(0 <= seq < len(ledger), f"worker {worker} sent a result for seq {seq}, which was never planned")
        if seq >= ledger.base:
            current = ledger.attempt(seq)
            check(
                1 <= attempt <= current,
                f"worker {worker} sent a result for attempt {attempt} of seq {seq}, never leased",
            )
            is_second = attempt == current and worker == ledger.owner(seq)
            check(not is_second, f"second terminal event for seq {seq} from worker {worker}, attempt {attempt}")
        state.counters.refused += 1
        state.commands.append(ResultRefused(worker, seq, attempt))


def _require_failure(envelope: Envelope) -> Failure:
    if envelope.failure is None:
        raise_violation(f"the result of seq {envelope.seq} is a failure without a reason")
    return envelope.failure
