"""Whether the process that holds the lock of a stage is alive. No lock is taken: a run that is about to start must not
find its lock held by a reader."""

import datetime
import os
import platform
from typing import NamedTuple

from .regular_file import open_regular

_TICKS_PER_S = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
_SLACK_S = 2.0


class LockHolder(NamedTuple):
    """What a lock file says about its last holder."""

    pid: int
    host: str
    since_s: float
    """Seconds since 1970."""

    def may_be_alive(self) -> bool:
        """Whether the process lives and still has the lock file open. A process of another machine may."""
        if self.host != platform.node():
            return True
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except OSError:
            pass
        started_s = _read_start(self.pid)
        return started_s is None or started_s <= self.since_s + _SLACK_S  # otherwise another process has its number


def identify_machine() -> str:
    """A text that two processes share only if they see each other's process numbers: machine, boot, and container."""
    parts = [platform.node()]
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            parts.append(file.read().strip())
        parts.append(str(os.stat("/proc/self/ns/pid").st_ino))
    except OSError:
        pass
    return " ".join(parts)


def read_holder(lock_path: str) -> LockHolder | None:
    """Read a lock file; None: there is none, or it names no process."""
    try:
        with open_regular(lock_path) as file:
            words = file.read(512).decode("utf-8", "replace").split()  # process PID on HOST since TIME
        since_s = datetime.datetime.fromisoformat(words[5]).timestamp()
        return LockHolder(int(words[1]), words[3], since_s)
    except (OSError, ValueError, IndexError):
        return None


def is_held(lock_path: str) -> bool:
    """Whether a process seems to hold this lock. Its last holder lives, and has the file open as far as that can be
    seen."""
    holder = read_holder(lock_path)
    if holder is None or not holder.may_be_alive():
        return False
    if holder.host != platform.node():
        return True
    try:
        wanted = os.stat(lock_path)
        folder = f"/proc/{holder.pid}/fd"
        return any(_is_same(f"{folder}/{name}", wanted) for name in os.listdir(folder))
    except OSError:
        return True  # the process is of another user, or the system has no /proc


def _is_same(path: str, wanted: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.stat(path), wanted)
    except OSError:
        return False


def _read_start(pid: int) -> float | None:
    """Return when a process was started, in seconds since 1970; None: not known; infinity: it is dead, and its parent
    has not noticed."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        with open("/proc/stat", "rb") as file:
            booted = next(line for line in file if line.startswith(b"btime"))
    except (OSError, StopIteration):
        return None
    if fields[0] in (b"Z", b"X"):
        return float("inf")
    return int(booted.split()[1]) + int(fields[19]) / _TICKS_PER_S
