"""Binds a process to its parent: it has its own session, and it ends when the parent ends.

Ctrl-C at the terminal then reaches only the parent, and one kill of the process group ends everything that the process
has started.
"""

import contextlib
import ctypes
import os
import signal
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def bind_to_parent() -> None:
    """Called first in the process: leave the session of the parent, and ask to be killed when the parent dies."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):  # blocked by the spawner; the processes that items start must not inherit it
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def watch_parent(lifeline: "Connection[Any, Any]", interval_s: float, on_interval: Callable[[], None]) -> None:
    """Kill this process and all that it has started when the other end of the pipe is closed. Until then, call
    `on_interval` again and again."""
    with contextlib.suppress(EOFError, OSError):
        while not lifeline.poll(interval_s):
            on_interval()
        lifeline.recv_bytes()
    os.killpg(os.getpgid(0), signal.SIGKILL)
