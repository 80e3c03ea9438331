"""Command lines in processes that are forked from one that has imported everything, so that many can be killed."""

import json
import os
import random
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.support.command_line import clean_environment

PROGRAM = """
import importlib, json, os, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
from inorder.cli.app import run_command
from inorder.cli.exit_codes import exit_on_signals, ignore_signals
exit_on_signals()
for line in sys.stdin:
    pid = os.fork()
    if pid == 0:
        os.dup2(2, 1)
        code = run_command(json.loads(line))
        ignore_signals()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    print(pid, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


class Drivers:
    """Starts command lines one after the other. The processes are real ones: they may be killed at any moment."""

    def __init__(self, folder: Path, environment: Mapping[str, str], modules: tuple[str, ...]) -> None:
        self.log = folder / "drivers.log"
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-c", PROGRAM, *modules],
                cwd=folder,
                env={**clean_environment(), **environment},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                bufsize=0,  # or an exit code might wait in a buffer, where `select` does not see it
            )

    @property
    def pid(self) -> int:
        """The process that forks."""
        return self._process.pid

    def start(self, *arguments: str) -> int:
        """Start a command line. Returns its process id."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(arguments).encode() + b"\n")
        return int(self._read())

    def wait(self) -> int:
        """The exit code of the command line; a negative one is a signal."""
        return int(self._read())

    def run_or_kill(self, arguments: Sequence[str], chance: random.Random, longest_s: float) -> tuple[int, float]:
        """Start a command line, and kill it at a random moment, unless it ends before. Returns its exit code, and the
        longest time to wait next: what one that ended has taken, or kills would come too late on a fast disk."""
        began_s = time.monotonic()
        pid = self.start(*arguments)
        if not self.has_ended(chance.uniform(0.0, longest_s)):
            os.kill(pid, signal.SIGKILL)
        code = self.wait()
        assert code in (0, -signal.SIGKILL), self.log.read_text()
        return code, longest_s if code else min(longest_s, time.monotonic() - began_s)

    def has_ended(self, seconds: float) -> bool:
        """Whether the command line ends within this time."""
        assert self._process.stdout is not None
        return bool(select.select([self._process.stdout], [], [], seconds)[0])

    def run(self, *arguments: str) -> int:
        """Start a command line and wait for its end."""
        self.start(*arguments)
        return self.wait()

    def close(self) -> None:
        """End the process that forks."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def _read(self) -> bytes:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, self.log.read_text()
        return line


@contextmanager
def open_drivers(folder: Path, environment: Mapping[str, str], *modules: str) -> Iterator[Drivers]:
    """A process that forks others, with these modules imported."""
    drivers = Drivers(folder, environment, modules)
    try:
        yield drivers
    finally:
        drivers.close()
