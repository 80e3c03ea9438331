"""Workers that die, leases that run out, items that come back unstarted.

Machine weather must not leak into results, so an item is blamed only on good evidence. The item a worker died on is a
suspect: it is rerun by itself in a fresh worker, and only if it takes that one down too is it the item's failure.
Everything that was queued behind it goes back unharmed. Silence is no evidence at all: a stopped or starved machine is
silent too, so an expired lease makes nobody a suspect. None of this touches an item's retries.

Unexplained losses are paid from the infrastructure budget. A conviction explains the first loss after the fact and
gives its price back, so a thousand hostile items do not stop a run that a thousand crashes of the machine would. The
budget is full again whenever a window closes: what it bounds is trouble without progress.
"""

from inorder.errors import Category, Failure

from .events import Loss, Returned, WorkerLost
from .invariants import check
from .leases import Lease
from .results import Results
from .state import Board, StopKind


class Losses:
    """Takes leases back."""

    def __init__(self, board: Board, results: Results) -> None:
        self._board = board
        self._results = results

    def lost(self, event: WorkerLost) -> None:
        """A worker is gone. One that is unknown, or was already given up, changes nothing."""
        board = self._board
        board.stopped.discard(event.worker)
        if event.worker not in board.workers:
            return
        board.counters.lost_workers += 1
        board.forget_worker(event.worker)
        lease = board.leases.drop(event.worker)
        reason = event.reason or f"worker {event.worker} {event.cause.value}"
        if event.cause is Loss.RETIRED:
            if lease is not None:
                self._results.reclaim(lease, reason)
            return
        suspect = None
        if lease is not None and event.cause is Loss.DIED:
            suspect = lease.running_seq if event.running_seq is None else event.running_seq
        self._blame(lease, suspect, reason)

    def returned(self, event: Returned) -> None:
        """Items given back before they were started; the rest of the lease goes on."""
        board = self._board
        lease = board.leases.get(event.worker)
        if lease is None:
            return
        seqs = [seq for seq in dict.fromkeys(event.seqs) if seq in lease.seqs]
        part = Lease(
            event.worker, seqs, share_bytes=lease.share_bytes, isolated=lease.isolated, now_ms=lease.heartbeat_ms
        )
        for seq in seqs:
            del lease.seqs[seq]
        if not lease.seqs:
            board.leases.drop(event.worker)
        board.counters.returns += len(seqs)
        self._results.reclaim(part, "returned unstarted")

    def expire(self) -> None:
        """Take back every lease whose worker has been silent for too long."""
        board = self._board
        while (lease := board.leases.first_expired(board.watch_ms)) is not None:
            board.counters.expired_leases += 1
            board.leases.drop(lease.worker)
            reason = f"worker {lease.worker} silent for {board.options.lease_ms} ms"
            board.stop_worker(lease.worker, reason)
            self._blame(lease, None, reason)

    def _blame(self, lease: Lease | None, suspect: int | None, reason: str) -> None:
        """An unexplained loss, or the second one of a suspect."""
        board = self._board
        if lease is not None and suspect in lease.seqs:
            if lease.isolated:
                board.counters.poison_items += 1
                board.infrastructure_spent = max(0, board.infrastructure_spent - 1)
                message = f"ended its worker twice, the second time alone: {reason}"
                self._results.condemn(lease, suspect, Failure(category=Category.RUNTIME, message=message))
                check(not lease.seqs, f"worker {lease.worker} ran suspect {suspect} together with others")
                return
            board.counters.suspects += 1
        if lease is not None:
            self._results.reclaim(lease, reason, suspect=suspect)
        board.infrastructure_spent += 1
        if board.infrastructure_spent > board.options.infrastructure_budget:
            board.request_stop(
                StopKind.INFRASTRUCTURE,
                f"infrastructure budget of {board.options.infrastructure_budget} used up, last: {reason}",
                board.options.cancel_grace_ms,
            )
