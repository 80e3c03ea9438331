"""Who holds what, and who has gone silent.

A worker holds at most one lease: the items of its batch that it has not answered for. The heartbeat belongs to the
lease, not to the item, so a beat costs one store however long the batch is. All leases last equally long, so keeping
them in the order of their latest beat makes the longest silent one the first: finding the expired ones looks at those
and one more, never at the ledger.

Heartbeats are kept in *watched* time, a clock that the kernel advances by at most a quarter of a lease per step. When
the whole process was stopped, or the machine slept, the gap says nothing about the workers, and by itself it expires
nobody who had been heard of in time.
"""

from collections import OrderedDict
from collections.abc import Iterable, Sequence

from .invariants import raise_violation


class Lease:
    """The unanswered items of one worker, in the order it runs them."""

    __slots__ = ("heartbeat_ms", "isolated", "seqs", "share_bytes", "worker")

    def __init__(self, worker: int, seqs: Sequence[int], *, share_bytes: int, isolated: bool, now_ms: int) -> None:
        self.worker = worker
        self.seqs: dict[int, None] = dict.fromkeys(seqs)
        self.share_bytes = share_bytes
        self.isolated = isolated
        self.heartbeat_ms = now_ms

    @property
    def running_seq(self) -> int:
        """The item the worker is on, as far as its answers tell: the first it has not answered for."""
        return next(iter(self.seqs))


class LeaseTable:
    """All leases, the longest silent first."""

    def __init__(self, lease_ms: int) -> None:
        self._lease_ms = lease_ms
        self._leases: OrderedDict[int, Lease] = OrderedDict()

    def __len__(self) -> int:
        return len(self._leases)

    def grant(self, lease: Lease) -> None:
        """The worker begins to hold these items."""
        if lease.worker in self._leases:
            raise_violation(f"worker {lease.worker} already holds a lease")
        self._leases[lease.worker] = lease

    def get(self, worker: int) -> Lease | None:
        """The lease of a worker, if it holds one."""
        return self._leases.get(worker)

    def beat(self, workers: Iterable[int], now_ms: int) -> None:
        """These workers are alive; one that holds nothing has nothing to refresh."""
        for worker in workers:
            lease = self._leases.get(worker)
            if lease is not None:
                lease.heartbeat_ms = now_ms
                self._leases.move_to_end(worker)

    def drop(self, worker: int) -> Lease | None:
        """The worker holds nothing any more; what it held."""
        return self._leases.pop(worker, None)

    def drain(self) -> list[Lease]:
        """Take every lease back, the longest silent first."""
        leases = list(self._leases.values())
        self._leases.clear()
        return leases

    def first_expired(self, now_ms: int) -> Lease | None:
        """The longest silent lease, if its time is up."""
        for lease in self._leases.values():
            return lease if now_ms - lease.heartbeat_ms >= self._lease_ms else None
        return None
