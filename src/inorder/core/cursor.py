"""The commit cursor: which results are settled, handed over for commit, and acknowledged.

The cursor stays within the first active window and never passes a gap. When no commit is outstanding, the longest run
of computed results at the cursor is settled, that is, given its final outcomes, and handed over in one `CommitRun`.
More results arrive during the commit, so a slower commit lane gets longer runs: group commit without a timer.

Outcomes become final only here, in seq order. That makes the error budget exact: the seq at which it is exceeded is the
same for any number of workers, because no higher seq is settled before it.
"""

from collections import deque

from .commands import CommitRun, WindowClosed
from .events import Envelope
from .invariants import check, raise_violation
from .ledger import FAIL
from .options import DRAIN_MS
from .results import Results
from .state import KernelState, StopKind
from .transitions import TERMINAL_STATES, State
from .windows.window import Window


class ErrorBudget:
    """Counts final failures in seq order, up to a limit."""

    def __init__(self, limit: int | None) -> None:
        self.limit = limit
        self.failed = 0

    @property
    def is_exceeded(self) -> bool:
        """Whether there were more failures than allowed."""
        return self.limit is not None and self.failed > self.limit

    def cut(self, outcomes: bytes) -> int | None:
        """Count these outcomes. Return None if all are within the budget, else the length up to the failure that
        exceeds it."""
        failures = outcomes.count(FAIL)
        if self.limit is None or self.failed + failures <= self.limit:
            self.failed += failures
            return None
        position = -1
        while self.failed <= self.limit:
            position = outcomes.index(FAIL, position + 1)
            self.failed += 1
        return position + 1


class CommitCursor:
    """Settles runs, tracks the one being committed, and closes windows behind the cursor."""

    def __init__(self, state: KernelState, results: Results) -> None:
        self._state = state
        self._results = results
        self._budget = ErrorBudget(state.options.error_budget)
        self._committing: deque[int] = deque()
        """Payload sizes of the results that are handed over and not yet acknowledged."""
        self._delivered: set[int] = set()
        """Seqs that were delivered before they were committed."""
        self.outcome_counts = [0] * 8
        self.retries = state.resume_point.retries
        self._restore()

    @property
    def is_committing(self) -> bool:
        """Whether a commit run is handed over and not yet acknowledged."""
        return bool(self._committing)

    def _restore(self) -> None:
        resume_point = self._state.resume_point
        for outcome, count in zip(
            TERMINAL_STATES, (resume_point.succeeded, resume_point.skipped, resume_point.failed), strict=False
        ):
            self.outcome_counts[outcome] = count
        self._budget.failed = resume_point.failed
        if self._budget.is_exceeded:
            self._stop_for_budget(resume_point.end)

    def advance_frontiers(self) -> None:
        """Move each window's frontier over computed results, and decide the retries that waited for it."""
        reorder_buffer = self._state.reorder_buffer
        for window in self._state.windows:
            frontier, end = window.frontier, window.end
            while True:
                while frontier < end and frontier in reorder_buffer:
                    frontier += 1
                window.frontier = frontier
                parked = window.parked.pop(frontier, None)
                if parked is None:
                    break
                self._results.decide_retry(window, parked)

    def settle(self) -> None:
        """Hand over the longest run at the cursor, if there is one and no commit is outstanding."""
        while self._settle_run() and self._delivered:
            self._acknowledge_delivered()

    def on_delivered(self, seqs: list[int]) -> None:
        """Free the payloads of results that were announced, and commit those whose turn has come."""
        state = self._state
        reorder_buffer, delivered = state.reorder_buffer, self._delivered
        committing_end = state.ledger.next_commit_seq + len(self._committing)
        for seq in seqs:
            envelope = reorder_buffer.get(seq)
            is_waiting = envelope is not None or state.ledger.next_commit_seq <= seq < committing_end
            if not is_waiting or seq in delivered:
                raise_violation(f"seq {seq} was delivered twice, or before it was announced")
            delivered.add(seq)
            if envelope is not None and envelope.payload_bytes:
                state.find_window(seq).used_bytes -= envelope.payload_bytes
                reorder_buffer[seq] = Envelope(seq, envelope.attempt, envelope.outcome, None, 0, envelope.failure)
        self._acknowledge_delivered()

    def _acknowledge_delivered(self) -> None:
        start = end = self._state.ledger.next_commit_seq
        committing_end, delivered = start + len(self._committing), self._delivered
        while end < committing_end and end in delivered:
            end += 1
        delivered.difference_update(range(start, end))
        self.acknowledge(end)

    def _settle_run(self) -> bool:
        state = self._state
        if self._committing or not state.windows:
            return False
        window = state.windows[0]
        start = state.ledger.next_commit_seq
        end = min(window.frontier, start + state.options.commit_run_max)
        if state.stop is not None and state.stop.limit_seq is not None:
            end = min(end, state.stop.limit_seq)
        if end <= start:
            return False
        reorder_buffer = state.reorder_buffer
        envelopes = [reorder_buffer.pop(seq) for seq in range(start, end)]
        outcomes = bytes([envelope.outcome for envelope in envelopes])
        counted = self._budget.cut(_leave_out_parts(outcomes, start, window))
        if counted is not None:
            reorder_buffer.update((envelope.seq, envelope) for envelope in envelopes[counted:])
            envelopes, outcomes = envelopes[:counted], outcomes[:counted]
            self._stop_for_budget(start + counted)
        state.ledger.settle(start, outcomes)
        self._committing.extend([envelope.payload_bytes for envelope in envelopes])
        granted = window.retries.by_seq
        retries = (
            {seq: granted[seq] for seq in range(start, start + len(envelopes)) if seq in granted} if granted else {}
        )
        self.retries += sum(retries.values())
        for outcome in TERMINAL_STATES:
            self.outcome_counts[outcome] += outcomes.count(outcome)
        state.counters.commit_runs += 1
        state.commands.append(CommitRun(start, envelopes, retries))
        return True

    def acknowledge(self, end: int) -> None:
        """Note that every seq below `end` is committed."""
        state = self._state
        start = state.ledger.next_commit_seq
        count = end - start
        if count <= 0:
            return
        check(count <= len(self._committing), f"seq {end - 1} is acknowledged but was never handed over for commit")
        state.windows[0].used_bytes -= sum([self._committing.popleft() for _ in range(count)])
        state.ledger.commit(end)

    def close_window(self) -> Window | None:
        """Close and return the first window if the cursor has passed its end."""
        state = self._state
        if not state.windows:
            return None
        window = state.windows[0]
        if not window.is_sealed or state.ledger.next_commit_seq < window.end:
            return None
        check(window.used_bytes == 0, f"window {window.id} closes with {window.used_bytes} bytes unaccounted for")
        check(not window.ready, f"window {window.id} closes with {len(window.ready)} items not dispatched")
        check(window.computed_count == window.entries, f"window {window.id} closes with items never computed")
        del state.windows[0]
        state.ledger.forget(window.end)
        state.infrastructure_spent = 0
        state.counters.windows_closed += 1
        state.commands.append(WindowClosed(window.id, window.end - 1))
        return window

    def _stop_for_budget(self, limit_seq: int) -> None:
        state = self._state
        state.request_stop(
            StopKind.ERROR_BUDGET,
            f"error budget of {self._budget.limit} exceeded at seq {limit_seq - 1}",
            grace_ms=DRAIN_MS if state.options.on_budget == "drain" else state.options.cancel_grace_ms,
            limit_seq=limit_seq,
        )


def _leave_out_parts(outcomes: bytes, start: int, window: Window) -> bytes:
    """Return the outcomes from seq `start` on as the error budget counts them: a part fails with the item that it is
    a part of."""
    if not window.parts:
        return outcomes
    return bytes(
        [State.TERMINAL_SKIP if seq in window.parts else outcome for seq, outcome in enumerate(outcomes, start)]
    )
