"""Hides from a program, and from the processes that it starts, what Linux has and macOS has not.

Python imports this module at its start where its folder is on PYTHONPATH.
"""

import builtins
import ctypes
import errno
import io
import os
import resource
import select
import socket
import sys
import time
from multiprocessing import reduction
from typing import Any

OF_LINUX = {
    os: (
        "memfd_create pidfd_open sched_getaffinity sched_setaffinity posix_fallocate posix_fadvise waitid P_ALL P_PID "
        "P_PGID P_PIDFD WEXITED WNOWAIT O_TMPFILE O_PATH O_DIRECT O_NOATIME copy_file_range splice eventfd pipe2 "
        "fdatasync getxattr setxattr listxattr getrandom setns unshare sched_setscheduler getresuid prlimit"
    ),
    select: "epoll",
    time: "CLOCK_BOOTTIME CLOCK_MONOTONIC_RAW",
    resource: "prlimit RLIMIT_NPROC",
    socket: "SO_PEERCRED SOCK_CLOEXEC",
}
OF_LIBC = ("prctl", "syncfs", "mallopt", "malloc_trim", "inotify_init1", "renameat2", "fallocate")


class Libc(ctypes.CDLL):
    """The C library, without some functions."""

    def __getattr__(self, name: str) -> Any:
        if name in OF_LIBC:
            raise AttributeError(f"symbol not found: {name}")
        return super().__getattr__(name)


def refuse_address_space(kind: int, limits: tuple[int, int]) -> None:
    if kind == resource.RLIMIT_AS:
        raise ValueError("current limit exceeds maximum limit")
    set_limit(kind, limits)


def without_proc(function: Any) -> Any:
    """A function of paths that finds nothing below /proc and /dev/shm."""

    def call(path: Any = ".", *arguments: Any, **options: Any) -> Any:
        text = os.fsdecode(path) if isinstance(path, str | bytes | os.PathLike) else ""
        if text.startswith(("/proc", "/dev/shm", "/sys/")):
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", text)
        return function(path, *arguments, **options)

    return call


for module, names in OF_LINUX.items():
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)
for name in ("stat", "listdir", "open", "scandir"):
    setattr(os, name, without_proc(getattr(os, name)))
builtins.open = io.open = without_proc(io.open)
set_limit, resource.setrlimit = resource.setrlimit, refuse_address_space  # type: ignore[assignment]
ctypes.CDLL = Libc  # type: ignore[misc]
reduction.ACKNOWLEDGE = True  # type: ignore[attr-defined] # a descriptor that is sent has to be acknowledged
sys.platform = "darwin"
