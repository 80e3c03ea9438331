"""A sink in a process of its own, for libraries that cannot be used in a forked process.

A conformance rule forks a process, applies entries in it, and kills it. The sink that such a process gets is a proxy:
the real one is in a fresh interpreter, which the kernel kills together with the process.
"""

import os
import pickle
import select
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from inorder.sinks.base import Entry, Position

PROGRAM = """
import ctypes, pickle, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGKILL)
sys.path[:0] = pickle.load(sys.stdin.buffer)
harness = pickle.load(sys.stdin.buffer)
sink = harness.open()
while True:
    entries = pickle.load(sys.stdin.buffer)
    pickle.dump(sink.apply(entries), sys.stdout.buffer)
    sys.stdout.buffer.flush()
"""


class SinkProcess:
    """The part of a sink that a process needs that is to be killed."""

    name = "proxy"

    def __init__(self, harness: Any, pid_file: Path) -> None:
        self._process = subprocess.Popen([sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        pid_file.write_text(str(self._process.pid))
        self._send(sys.path)
        self._send(harness)

    def apply(self, entries: Sequence[Entry]) -> Position:
        self._send(list(entries))
        assert self._process.stdout is not None
        position: Position = pickle.load(self._process.stdout)
        return position

    def _send(self, value: Any) -> None:
        assert self._process.stdin is not None
        pickle.dump(value, self._process.stdin)
        self._process.stdin.flush()


def wait_for_end(pid_file: Path) -> None:
    """Wait until the process of a sink, if there was one, has ended."""
    if pid_file.exists():
        with suppress(ProcessLookupError):
            descriptor = os.pidfd_open(int(pid_file.read_text()))
            select.select([descriptor], [], [])
            os.close(descriptor)
        pid_file.unlink()
