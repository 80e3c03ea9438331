"""A lease on an export in an object store, so that only one process writes there.

    .inorder/leases/00000007      the latest lease: its holder, a counter that the holder raises, and its release

Leases are numbered, and a lease is taken by a create-only put of the next number, which one process wins. The object
stays when the lease is released, marked, so that numbers never go down. A holder that was killed released nothing. Its
lease is taken over at once if it was a process of this machine, which is then known to be dead. The lease of another
machine is taken over when its counter has not moved for `LEASE_S`; clocks of machines are not compared.

A holder that is suspended for longer than that loses its lease. It finds out before it writes the manifest and before
it removes objects, and stops.
"""

import datetime
import os
import platform
import threading
import time
import uuid
from contextlib import suppress

import msgspec

from inorder.errors import BusyError, InorderError
from inorder.files.object_store import ObjectStore
from inorder.host.liveness import LockHolder, identify_machine

FOLDER = ".inorder/leases/"
LEASE_S = 60.0
"""How long a lease of another machine must be without a sign of life until it is taken over."""
_RENEWAL_S = 10.0
_POLL_S = 1.0


class LeaseRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a lease."""

    token: str
    pid: int
    host: str
    machine: str
    since_s: float
    """Seconds since 1970, for messages."""
    counter: int = 0
    """Raised by the holder while it lives."""
    is_released: bool = False

    def is_dead(self) -> bool:
        """Whether the holder is known to be dead, because it was a process of this machine."""
        return self.machine == identify_machine() and not self._holder().may_be_alive()

    def is_local(self) -> bool:
        """Whether the holder is a process of this machine."""
        return self.machine == identify_machine()

    def _holder(self) -> LockHolder:
        return LockHolder(self.pid, platform.node(), self.since_s)

    def __str__(self) -> str:
        since = datetime.datetime.fromtimestamp(self.since_s, datetime.UTC).isoformat(timespec="seconds")
        return f"process {self.pid} on {self.host} since {since}"


class ExportLease:
    """A lease on the objects of a store, held from creation until `release`. Raises BusyError if another process has
    it."""

    def __init__(self, store: ObjectStore, resource: str) -> None:
        self._store = store
        self._resource = resource
        self._record = LeaseRecord(
            token=uuid.uuid4().hex,
            pid=os.getpid(),
            host=platform.node(),
            machine=identify_machine(),
            since_s=time.time(),
        )
        self._number = self._acquire()
        self._is_over = threading.Event()
        self._renewal = threading.Thread(target=self._renew, name="lease", daemon=True)
        self._renewal.start()

    def check(self) -> None:
        """Raise BusyError if another process has taken the lease over."""
        numbers = _list_numbers(self._store)
        if not numbers or numbers[-1] != self._number:
            raise BusyError(f"{self._resource} was taken over by another process; run the export again")

    def release(self) -> None:
        """Release the lease. Idempotent."""
        if not self._is_over.is_set():
            self._is_over.set()
            self._renewal.join()
            with suppress(InorderError):  # it is taken over, as that of a process that was killed
                if _list_numbers(self._store)[-1:] == [self._number]:
                    self._write(is_released=True)

    def _acquire(self) -> int:
        numbers = _list_numbers(self._store)
        if numbers:
            self._wait_until_free(numbers[-1])
        number = numbers[-1] + 1 if numbers else 1
        is_created = self._store.create(_name(number), msgspec.json.encode(self._record))
        if not is_created or _list_numbers(self._store)[-1] != number:
            raise BusyError(f"{self._resource} is in use by another process, which has just begun")
        self._store.remove([_name(old) for old in numbers])
        return number

    def _wait_until_free(self, number: int) -> None:
        """Return when the lease may be taken over. Raises BusyError if its holder lives."""
        first = _read(self._store, number)
        watched_s = 0.0
        found = first
        while found is not None and not found.is_released and not found.is_dead():
            if found.is_local() or found != first:
                raise BusyError(f"{self._resource} is in use by {found}; wait until it ends, or stop it")
            if watched_s >= LEASE_S:
                return
            time.sleep(_POLL_S)
            watched_s += _POLL_S
            found = _read(self._store, number)

    def _renew(self) -> None:
        while not self._is_over.wait(_RENEWAL_S):
            try:
                self._write()
            except InorderError:
                continue  # the next renewal may succeed; without one, `check` finds who has the lease

    def _write(self, *, is_released: bool = False) -> None:
        self._record = msgspec.structs.replace(self._record, counter=self._record.counter + 1, is_released=is_released)
        self._store.write(_name(self._number), msgspec.json.encode(self._record))


def _name(number: int) -> str:
    return f"{FOLDER}{number:08}"


def _list_numbers(store: ObjectStore) -> list[int]:
    names = (path.removeprefix(FOLDER) for path in store.list(FOLDER))
    return sorted(int(name) for name in names if name.isdecimal())


def _read(store: ObjectStore, number: int) -> LeaseRecord | None:
    """A lease; None: it is gone or damaged, and may be taken over."""
    content = store.read(_name(number))
    try:
        return None if content is None else msgspec.json.decode(content, type=LeaseRecord)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
