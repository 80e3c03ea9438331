"""The durable operations of a disk: they are counted, announced to a listener, and fail as planned."""

import os
from collections.abc import Callable, Mapping

import msgspec

OnOperation = Callable[[int, str, str], None]
"""Called before an operation with its number, name and path; for a rename, the new path. An exception that it raises
replaces the operation."""


class PowerLoss(BaseException):
    """Simulates a power loss when `Disk.on_operation` raises it. Until `Disk.kill`, the disk then raises it too.

    It is not an `Exception`, so that the program under test does not catch it by mistake.

    >>> from inorder.testing import PowerLoss
    >>> issubclass(PowerLoss, Exception)
    False
    """


class DiskFaults(msgspec.Struct, frozen=True, kw_only=True):
    """Planned failures of a disk.

    >>> import errno
    >>> from inorder.testing import Disk, DiskFaults
    >>> Disk(faults=DiskFaults(fail_at={0: errno.EIO})).make_directory("folder")
    Traceback (most recent call last):
    OSError: [Errno 5] Input/output error: '/folder'
    """

    fail_at: Mapping[int, int] = {}
    """By the number of a durable operation: the errno with which it fails."""
    short_writes: Mapping[int, int] = {}
    """By the number of an append that fails: how many bytes it leaves behind."""
    fail_reads_at: Mapping[int, int] = {}
    """By the number of a read, counted on their own from 0: the errno with which it fails."""
    capacity_bytes: int | None = None
    """Limit on the bytes of all files. An append beyond it writes what fits and fails with ENOSPC."""


def os_error(code: int, path: str) -> OSError:
    """Return the exception that the operating system raises for this errno."""
    return OSError(code, os.strerror(code), path)


class Operations:
    """Counts the operations of a disk and lets them fail."""

    def __init__(self, faults: DiskFaults, on_operation: OnOperation | None) -> None:
        self.faults = faults
        self.on_operation = on_operation
        self.count = 0
        self.reads = 0
        self.has_power = True

    def begin(self, name: str, path: str) -> None:
        """Count a durable operation that is about to happen, and fail if planned."""
        number = self.count
        self.count += 1
        if self.on_operation is not None:
            try:
                self.on_operation(number, name, path)
            except PowerLoss:
                self.has_power = False
                raise
        self._fail_if_planned(self.faults.fail_at, number, path)

    def begin_read(self, path: str) -> None:
        """Count a read of a file or a folder, and fail if planned."""
        self.reads += 1
        self._fail_if_planned(self.faults.fail_reads_at, self.reads - 1, path)

    def require_power(self) -> None:
        """Raise `PowerLoss` after a power loss, so that cleanup code cannot change the disk either."""
        if not self.has_power:
            raise PowerLoss

    def _fail_if_planned(self, plan: Mapping[int, int], number: int, path: str) -> None:
        if number in plan:
            raise os_error(plan[number], path)
