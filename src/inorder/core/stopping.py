"""How a run ends, by itself or before its time.

A stop goes through three moments. Dispatch ends at once. Work in flight has a bounded grace; what it delivers in that
time counts if it leaves no hole. Then every lease is taken back, the cursor drains what is computed without a hole,
and everything from there on is TERMINAL_CANCEL: never dispatched, still running, or computed too far ahead.

So the run is always cut at one seq. Below it everything is committed, from it on nothing is, and a resumed run goes on
exactly there. The cancelled seqs pass through COMMITTED in memory only: nothing durable is said of them.
"""

from .commands import Ended, Summary
from .cursor import CommitCursor
from .invariants import check
from .ledger import FAIL
from .state import Board, StopKind
from .transitions import State
from .windows.planner import Planning


class Ending:
    """Brings a run to its end and sums it up."""

    def __init__(self, board: Board, cursor: CommitCursor, planning: Planning) -> None:
        self._board = board
        self._cursor = cursor
        self._planning = planning

    def revoke_if_due(self) -> None:
        """The grace of a stop is over, or nobody needs it: take every lease back."""
        board = self._board
        stop = board.stop
        if stop is None or stop.revoked:
            return
        if len(board.leases) and board.now_ms < stop.deadline_ms:
            return
        stop.revoked = True
        for lease in board.leases.drain():
            board.stop_worker(lease.worker, stop.reason)
            for seq in lease.seqs:
                board.window_of(seq).used_bytes -= lease.share_bytes
                board.ledger.fence(seq)

    def conclude(self) -> Summary | None:
        """End the run if nothing is left to do; its summary, if so."""
        board = self._board
        is_complete = not board.windows and self._planning.is_exhausted
        if not is_complete and (board.stop is None or not board.stop.revoked or self._cursor.is_committing):
            return None
        stopped_at = self._cancel_the_rest()
        ledger = board.ledger
        check(len(board.leases) == 0, f"{len(board.leases)} leases survive the end of the run")
        check(ledger.terminal_count == len(ledger), f"{len(ledger) - ledger.terminal_count} seqs never became terminal")
        check(ledger.committed_count == len(ledger), f"the cursor stopped at {ledger.next_commit_seq} of {len(ledger)}")
        check(ledger.in_flight_count == ledger.dispatched_count == 0, "seqs are still under way at the end of the run")
        summary = self._sum_up(stopped_at, is_complete=is_complete)
        board.out.append(Ended(summary))
        return summary

    def _cancel_the_rest(self) -> int:
        board = self._board
        start, end = board.ledger.next_commit_seq, len(board.ledger)
        board.ledger.cancel(start, end)
        board.ledger.commit(end)
        board.held.clear()
        board.retries_due.clear()
        board.planner.carry.clear()
        board.windows.clear()
        return start

    def _sum_up(self, stopped_at: int, *, is_complete: bool) -> Summary:
        board = self._board
        counts = self._cursor.outcome_counts
        succeeded, skipped, failed = counts[State.TERMINAL_SUCCESS], counts[State.TERMINAL_SKIP], counts[FAIL]
        intake = board.intake
        stop = board.stop
        if is_complete and stop is not None and stop.kind is not StopKind.ERROR_BUDGET:
            stop = None  # it came too late to stop anything
        # How far an unannounced plan was read when the run stopped depends on timing, so it is not told.
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
            stopped_at=max(stopped_at, board.restored.end) if stop is not None else None,
        )
