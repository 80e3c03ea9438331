"""Lost workers, expired leases, and items that are given back.

Infrastructure failures must not change results, so an item fails only on good evidence. The item that a worker was
running when it died is a *suspect*: it is rerun in isolation, in a fresh worker. If that worker dies too, the item is a
*poison item* and fails. Every other item of the batch is requeued. An expired lease makes no suspect, because a stopped
or overloaded machine is silent too. None of this counts as a retry of an item.

Unexplained losses are charged to the infrastructure budget. A poison item explains the first loss after the fact and
refunds its charge, so a thousand poison items do not stop a run, but a thousand crashes of the machine do. The budget
is refilled whenever a window closes: it limits failures without progress.
"""

from inorder.errors import Category, Failure

from .events import Loss, Returned, WorkerLost
from .invariants import check
from .leases import Lease
from .results import Results
from .state import KernelState, StopKind


class LostWorkers:
    """Reclaims the leases of workers that are gone or silent."""

    def __init__(self, state: KernelState, results: Results) -> None:
        self._state = state
        self._results = results

    def on_worker_lost(self, event: WorkerLost) -> None:
        """Reclaim the lease of a lost worker. No effect for a worker that is unknown or was already stopped."""
        state = self._state
        state.stopping_workers.discard(event.worker)
        if event.worker not in state.workers:
            return
        state.counters.lost_workers += 1
        state.forget_worker(event.worker)
        lease = state.leases.drop(event.worker)
        reason = event.reason or f"worker {event.worker} {event.cause.value}"
        if event.cause is Loss.RETIRED:
            if lease is not None:
                self._results.reclaim(lease, reason)
            return
        suspect = None
        if lease is not None and event.cause is Loss.DIED:
            suspect = lease.running_seq if event.running_seq is None else event.running_seq
        self._charge_loss(lease, suspect, reason, event)

    def on_returned(self, event: Returned) -> None:
        """Requeue items that a worker gave back unstarted. It keeps the rest of its lease."""
        state = self._state
        lease = state.leases.get(event.worker)
        if lease is None:
            return
        seqs = {seq: lease.seqs.pop(seq) for seq in event.seqs if seq in lease.seqs}
        part = Lease(
            event.worker, seqs, share_bytes=lease.share_bytes, isolated=lease.isolated, now_ms=lease.heartbeat_ms
        )
        if not lease.seqs:
            state.leases.drop(event.worker)
        state.counters.returns += len(seqs)
        self._results.reclaim(part, "returned before it was started")

    def expire(self) -> None:
        """Reclaim every lease whose worker has been silent for too long."""
        state = self._state
        while (lease := state.leases.find_expired(state.watched_ms)) is not None:
            state.counters.expired_leases += 1
            state.leases.drop(lease.worker)
            reason = f"worker {lease.worker} silent for {state.options.lease_ms} ms"
            state.stop_worker(lease.worker, reason)
            self._charge_loss(lease, None, reason)

    def _charge_loss(
        self, lease: Lease | None, suspect: int | None, reason: str, event: WorkerLost | None = None
    ) -> None:
        """Charge an unexplained loss to the infrastructure budget, unless a suspect caused its second one. `event` is
        None if a lease expired."""
        state = self._state
        if lease is not None and event is not None and suspect in lease.seqs:
            if lease.isolated:
                self._fail_poison(lease, suspect, reason, event)
                return
            state.counters.suspects += 1
        if lease is not None:
            self._results.reclaim(lease, reason, suspect=suspect)
        state.infrastructure_spent += 1
        if state.infrastructure_spent > state.options.infrastructure_budget:
            state.request_stop(
                StopKind.INFRASTRUCTURE,
                f"infrastructure budget of {state.options.infrastructure_budget} used up, last: {reason}",
                state.options.cancel_grace_ms,
            )

    def _fail_poison(self, lease: Lease, seq: int, reason: str, event: WorkerLost) -> None:
        """Fail an item that ended two workers, and refund the charge of the first."""
        state = self._state
        state.counters.poison_items += 1
        state.infrastructure_spent = max(0, state.infrastructure_spent - 1)
        message = f"its worker died twice while running it, the second time in isolation: {reason}"
        failure = Failure(category=Category.RUNTIME, message=message, step=event.step)
        self._results.fail_item(lease, seq, failure, event.exec_ms, event.began_ms)
        check(not lease.seqs, f"worker {lease.worker} ran suspect {seq} together with other items")
