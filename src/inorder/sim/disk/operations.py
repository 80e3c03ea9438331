"""The durable operations of a disk: they are counted, told before they happen, and fail by plan."""

import os
from collections.abc import Callable, Mapping

import msgspec

OnOperation = Callable[[int, str, str], None]
"""Called with the number, the name and the path of an operation that is about to happen; of a rename, the new path.
What it raises is raised in the place of the operation."""


class PowerLoss(BaseException):
    """The machine is gone, and whoever ran on it. Not an Exception, so that nobody on it can catch it by mistake."""


class DiskFaults(msgspec.Struct, frozen=True, kw_only=True):
    """What goes wrong with a disk while the power is on."""

    fail_at: Mapping[int, int] = {}
    """By the number of a durable operation: the errno with which it fails."""
    short_writes: Mapping[int, int] = {}
    """By the number of an append that fails: how many bytes it leaves behind."""
    fail_reads_at: Mapping[int, int] = {}
    """By the number of a read, counted on their own from 0: the errno with which it fails."""
    capacity_bytes: int | None = None
    """Room for the bytes of all files that have a name. An append past it writes what fits, and fails with ENOSPC."""


def trouble(code: int, path: str) -> OSError:
    """The error as the operating system gives it."""
    return OSError(code, os.strerror(code), path)


class Operations:
    """Counts them, and stands in their way."""

    def __init__(self, faults: DiskFaults, on_operation: OnOperation | None) -> None:
        self.faults = faults
        self.on_operation = on_operation
        self.count = 0
        self.reads = 0
        self.has_power = True

    def begin(self, name: str, path: str) -> None:
        """Before every durable operation, once it is clear that it can be done."""
        number = self.count
        self.count += 1
        if self.on_operation is not None:
            try:
                self.on_operation(number, name, path)
            except PowerLoss:
                self.has_power = False
                raise
        self._fail_by_plan(self.faults.fail_at, number, path)

    def begin_read(self, path: str) -> None:
        """Before every read of a file or a folder."""
        self.reads += 1
        self._fail_by_plan(self.faults.fail_reads_at, self.reads - 1, path)

    def demand_power(self) -> None:
        """Without power nothing is done any more: not even by what cleans up while the exception passes."""
        if not self.has_power:
            raise PowerLoss

    def _fail_by_plan(self, plan: Mapping[int, int], number: int, path: str) -> None:
        if number in plan:
            raise trouble(plan[number], path)
