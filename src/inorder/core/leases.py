"""Leases: which worker holds which items, and which workers are silent.

A worker holds at most one lease: the items of its batch that have no result yet. A heartbeat belongs to the lease, not
to an item, so its cost does not depend on the length of the batch. All leases have the same duration, so in the order
of their latest heartbeats the expired ones come first: finding them looks at one other lease at most.

Heartbeats are kept in *watched* time, which the kernel advances by at most a quarter of a lease per step. If the whole
process was stopped or the machine slept, the gap says nothing about the workers, so a gap alone expires no lease of a
worker that was alive before it.

The table only keeps leases. `core/lost_workers.py` decides which leases are reclaimed from lost and silent workers.
`core/results.py` requeues the items of a reclaimed lease, also after a time limit (`Results.reclaim`).
"""

from collections import OrderedDict
from collections.abc import Iterable

from .invariants import raise_violation


class Lease:
    """The items of one worker that have no result yet, in the order in which it runs them."""

    __slots__ = ("heartbeat_ms", "isolated", "seqs", "share_bytes", "worker")

    def __init__(self, worker: int, seqs: dict[int, int], *, share_bytes: int, isolated: bool, now_ms: int) -> None:
        self.worker = worker
        self.seqs = seqs
        """Each with the number of its attempt. All are of one window."""
        self.share_bytes = share_bytes
        self.isolated = isolated
        self.heartbeat_ms = now_ms

    @property
    def running_seq(self) -> int:
        """The item that the worker is presumably running: the first without a result."""
        return next(iter(self.seqs))


class LeaseTable:
    """All leases, longest silent first."""

    def __init__(self, lease_ms: int) -> None:
        self._lease_ms = lease_ms
        self._leases: OrderedDict[int, Lease] = OrderedDict()

    def __len__(self) -> int:
        return len(self._leases)

    def grant(self, lease: Lease) -> None:
        """Add the lease of a worker that holds none."""
        if lease.worker in self._leases:
            raise_violation(f"worker {lease.worker} already holds a lease")
        self._leases[lease.worker] = lease

    def get(self, worker: int) -> Lease | None:
        """Return the lease of a worker, if it holds one."""
        return self._leases.get(worker)

    def beat(self, workers: Iterable[int], now_ms: int) -> None:
        """Refresh the leases of these workers."""
        for worker in workers:
            lease = self._leases.get(worker)
            if lease is not None:
                lease.heartbeat_ms = now_ms
                self._leases.move_to_end(worker)

    def drop(self, worker: int) -> Lease | None:
        """Remove and return the lease of a worker, if it holds one."""
        return self._leases.pop(worker, None)

    def drain(self) -> list[Lease]:
        """Remove and return every lease, longest silent first."""
        leases = list(self._leases.values())
        self._leases.clear()
        return leases

    def find_expired(self, now_ms: int) -> Lease | None:
        """Return the longest silent lease, if it has expired."""
        for lease in self._leases.values():
            return lease if now_ms - lease.heartbeat_ms >= self._lease_ms else None
        return None
