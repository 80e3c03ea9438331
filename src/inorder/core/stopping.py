"""How a run ends, complete or stopped.

A stop has three phases. Dispatch ends at once. Items in flight have a bounded grace period; results that arrive in that
time count if they leave no gap. Then every lease is revoked, the cursor commits what is computed without a gap, and
every higher seq becomes TERMINAL_CANCEL, whether it was never dispatched, still running, or computed too far ahead.

So a stopped run is cut at one seq: everything below it is committed and nothing else is. A resumed run starts exactly
there. Cancelled seqs become COMMITTED in memory only; nothing about them is written.
"""

from .commands import Ended, Summary
from .cursor import CommitCursor
from .invariants import check
from .ledger import FAIL
from .state import KernelState, StopKind
from .transitions import State
from .windows.placement import Planner


class Shutdown:
    """Ends a run and summarises it."""

    def __init__(self, state: KernelState, cursor: CommitCursor, planner: Planner) -> None:
        self._state = state
        self._cursor = cursor
        self._planner = planner

    def revoke_if_due(self) -> None:
        """Revoke every lease of a stopping run if its grace period is over."""
        state = self._state
        stop = state.stop
        if stop is None or stop.is_revoked:
            return
        if len(state.leases) and state.now_ms < stop.deadline_ms:
            return
        stop.is_revoked = True
        for lease in state.leases.drain():
            state.stop_worker(lease.worker, stop.reason)
            for seq in lease.seqs:
                state.find_window(seq).used_bytes -= lease.share_bytes
                state.ledger.fence(seq)

    def conclude(self) -> Summary | None:
        """End the run and return its summary if nothing is left to do."""
        state = self._state
        is_complete = not state.windows and self._planner.is_exhausted
        if not is_complete and (state.stop is None or not state.stop.is_revoked or self._cursor.is_committing):
            return None
        stopped_at = self._cancel_the_rest()
        ledger = state.ledger
        check(len(state.leases) == 0, f"{len(state.leases)} leases are still held at the end of the run")
        check(ledger.terminal_count == len(ledger), f"{len(ledger) - ledger.terminal_count} seqs never became terminal")
        check(ledger.committed_count == len(ledger), f"the cursor stopped at {ledger.next_commit_seq} of {len(ledger)}")
        check(ledger.in_flight_count == ledger.dispatched_count == 0, "seqs are still in flight at the end of the run")
        summary = self._summarise(stopped_at, is_complete=is_complete)
        state.commands.append(Ended(summary))
        return summary

    def _cancel_the_rest(self) -> int:
        state = self._state
        start, end = state.ledger.next_commit_seq, len(state.ledger)
        if start < end:
            state.ledger.cancel(start, end)
            state.ledger.commit(end)
        state.reorder_buffer.clear()
        state.partials.clear()
        state.retries_due.clear()
        state.cutter.carry.clear()
        state.windows.clear()
        return start

    def _summarise(self, stopped_at: int, *, is_complete: bool) -> Summary:
        state = self._state
        counts = self._cursor.outcome_counts
        succeeded, skipped, failed = counts[State.TERMINAL_SUCCESS], counts[State.TERMINAL_SKIP], counts[FAIL]
        intake = state.intake
        stop = state.stop
        if is_complete and stop is not None and stop.kind is not StopKind.ERROR_BUDGET:
            stop = None  # the stop came too late to have an effect
        # How far a plan of unknown length was read before a stop depends on timing, so it is not reported.
        total = intake.admitted if intake.total is None and stop is None else intake.total
        return Summary(
            total=total,
            succeeded=succeeded,
            skipped=skipped,
            failed=failed,
            cancelled=None if total is None else total - succeeded - skipped - failed,
            retries=self._cursor.retries,
            was_cancelled=stop is not None,
            stop_kind=stop.kind.value if stop is not None else None,
            cancel_reason=stop.reason if stop is not None else None,
            stopped_at=max(stopped_at, state.resume_point.end) if stop is not None else None,
        )
