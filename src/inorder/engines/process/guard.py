"""What an item can do to the process that others share: noticed, mended, and said.

A standard stream closed, a process left behind. It costs the item that did it, and nobody else.
"""

import contextlib
import os
import signal
import sys
import time
from time import monotonic_ns
from typing import Any

_CHILDREN_MAX = 1000


class Surroundings:
    """The process around the items."""

    def __init__(self) -> None:
        self._saved = [os.dup(number) for number in (1, 2)]

    def is_whole(self, began_ns: int) -> bool:
        """Whether nothing was broken when an item began that still runs. Children started since are its own; one that
        started within the same hundredth of a second could be anybody's, and answers wait until that is known."""
        if self._are_streams_suspect():
            return False
        return not _has_children() or all(_started_ns(pid) > began_ns for pid in self._left_behind())

    def damage(self) -> str:
        """What was broken, mended by now; empty: nothing."""
        found = self._mend_streams() if self._are_streams_suspect() else ""
        count = 0
        while _has_children() and count < _CHILDREN_MAX and (pids := self._left_behind()):
            for pid in pids:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
                with contextlib.suppress(OSError):
                    os.waitpid(pid, 0)
            count += len(pids)  # whatever these had started is ours now: look again
        return f"left {count} child process{'es' if count > 1 else ''} behind" if count else found

    def _are_streams_suspect(self) -> bool:
        return _is_closed(sys.stdout) or _is_closed(sys.stderr) or not (_is_open(1) and _is_open(2))

    def _mend_streams(self) -> str:
        found = ""
        for number, name in ((1, "stdout"), (2, "stderr")):
            if _is_closed(getattr(sys, name)) or not _is_open(number):
                os.dup2(self._saved[number - 1], number)
                setattr(sys, name, open(number, "w", buffering=1, closefd=False))  # noqa: SIM115
                found = f"closed {name}"
        return found

    @staticmethod
    def _left_behind() -> list[int]:
        pids: list[int] = []
        with contextlib.suppress(OSError):
            for thread in os.listdir("/proc/self/task"):
                with open(f"/proc/self/task/{thread}/children", encoding="ascii") as file:
                    pids.extend(int(pid) for pid in file.read().split() if _is_running(int(pid)))
        return pids


def _has_children() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _is_running(pid: int) -> bool:
    """Whether a child still runs; one that has ended and only waits to be asked for its status does no harm."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _started_ns(pid: int) -> int:
    """When a process was started, on the clock of `monotonic_ns`, at the earliest: it is known to some milliseconds."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            ticks = int(file.read().rpartition(")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return 0
    asleep_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME) - monotonic_ns()
    return ticks * 1_000_000_000 // os.sysconf("SC_CLK_TCK") - asleep_ns


def _is_closed(stream: Any) -> bool:
    return stream is None or getattr(stream, "closed", False) is True


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True
