"""Detects and repairs what an item did to its worker process, so that only this item fails.

Two kinds of damage are handled: a closed standard stream, and a child process left running.
"""

import contextlib
import os
import signal
import sys
import time
from pathlib import Path
from time import monotonic_ns
from typing import Any

_CHILDREN_MAX = 1000


class ProcessGuard:
    """Watches over the process that the items share."""

    def __init__(self) -> None:
        self._saved = [os.dup(number) for number in (1, 2)]

    def was_intact_at(self, began_ns: int) -> bool:
        """Whether there was no damage when the item began that is still running. Children started since then are its
        own. The start time of a child is known to a hundredth of a second: a child that started within the same one as
        the item counts as damage, until a later check attributes it."""
        if self._has_closed_stream():
            return False
        return not _has_children() or all(_read_start_ns(pid) > began_ns for pid in self._list_running_children())

    def repair(self) -> str:
        """Repair the damage and describe it. Returns an empty string if there was none."""
        damage = self._reopen_streams() if self._has_closed_stream() else ""
        count = 0
        while _has_children() and count < _CHILDREN_MAX and (pids := self._list_running_children()):
            for pid in pids:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
                with contextlib.suppress(OSError):
                    os.waitpid(pid, 0)
            count += len(pids)  # their children are ours now, because this process is a subreaper: look again
        return f"left {count} child process{'es' if count > 1 else ''} behind" if count else damage

    def _has_closed_stream(self) -> bool:
        return _is_closed(sys.stdout) or _is_closed(sys.stderr) or not (_is_open(1) and _is_open(2))

    def _reopen_streams(self) -> str:
        damage = ""
        for number, name in ((1, "stdout"), (2, "stderr")):
            if _is_closed(getattr(sys, name)) or not _is_open(number):
                os.dup2(self._saved[number - 1], number)
                setattr(sys, name, open(number, "w", buffering=1, closefd=False))  # noqa: SIM115
                damage = f"closed {name}"
        return damage

    @staticmethod
    def _list_running_children() -> list[int]:
        pids: list[int] = []
        with contextlib.suppress(OSError):
            for thread in os.listdir("/proc/self/task"):
                found = Path(f"/proc/self/task/{thread}/children").read_text(encoding="ascii").split()
                pids.extend(int(pid) for pid in found if _is_running(int(pid)))
        return pids


def _has_children() -> bool:
    if not hasattr(os, "waitid"):
        return False  # macOS before Python 3.13, where children cannot be listed anyway
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _is_running(pid: int) -> bool:
    """Whether a child is running. A zombie is not: it does no harm."""
    try:
        return _read_stat(pid)[0] != "Z"
    except OSError:
        return False


def _read_start_ns(pid: int) -> int:
    """When a process started, on the clock of `monotonic_ns`, rounded down to the clock tick of the kernel."""
    try:
        ticks = int(_read_stat(pid)[19])
    except (OSError, ValueError, IndexError):
        return 0
    suspended_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME) - monotonic_ns()
    return ticks * 1_000_000_000 // os.sysconf("SC_CLK_TCK") - suspended_ns


def _read_stat(pid: int) -> list[str]:
    """The fields that the system shows of a process, after its name."""
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()


def _is_closed(stream: Any) -> bool:
    return stream is None or getattr(stream, "closed", False) is True


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True
