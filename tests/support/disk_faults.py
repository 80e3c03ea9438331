"""Lets the disk fail below the code that is tested, at one of its calls: those of our files and those of SQLite.

`SystemCalls` counts the calls about files below a folder. A fault is put in the place of one of them.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EIO, ENOSPC
from typing import Literal, get_args

import pytest

from tests.support.sqlite_calls import SqliteCalls
from tests.support.system_calls import Operation, SystemCalls, WriteFault

FaultKind = Literal["failing", "no space", "full", "torn", "short", "delayed"]
FAULT_KINDS: tuple[FaultKind, ...] = get_args(FaultKind)
HARMLESS: tuple[FaultKind, ...] = ("short", "delayed")
"""What a program must get over without an error."""
WRITES = ("append", "write")
_TURNS = 20
_NEEDS_SPACE = (*WRITES, "create", "make_directory")


class FaultyDisk:
    """The disk of a folder, with a fault at the call of this number; it counts all calls."""

    def __init__(self, calls: SystemCalls, kind: FaultKind | None, number: int) -> None:
        self.calls = calls
        self.struck: Operation | None = None
        """The call that the fault replaced."""
        self._kind = kind
        self._number = number
        calls.before = self._strike

    def _strike(self, operation: Operation) -> None:
        passed = len(self.calls.log) - 1 - self._number
        is_hit = passed == 0 if self._kind != "full" else passed >= 0 and operation[0] in _NEEDS_SPACE
        if self._kind is None or not is_hit:
            return
        self.struck = self.struck or operation
        is_write = operation[0] in WRITES
        if self._kind == "delayed":
            for _ in range(_TURNS):  # every other thread gets its turn
                os.sched_yield()
        elif self._kind == "short":
            if is_write:
                raise WriteFault
        else:
            code = ENOSPC if self._kind in ("no space", "full") else EIO
            raise (WriteFault if self._kind == "torn" and is_write else OSError)(code, os.strerror(code))


@contextmanager
def disk_of(folder: str | os.PathLike[str], kind: FaultKind | None = None, number: int = 0) -> Iterator[FaultyDisk]:
    """The disk of a folder, with a fault, in the block; without one, it counts."""
    with pytest.MonkeyPatch.context() as patch:
        calls = SystemCalls(patch, folder)
        SqliteCalls(calls, patch)
        yield FaultyDisk(calls, kind, number)
