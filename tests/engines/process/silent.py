"""Items that silence their worker process."""

import ctypes
import os
from pathlib import Path

from inorder.engines.progress import find_reporter


def tell_pid_and_wait(folder: str) -> int:
    """The first attempt reports its progress, tells its process id and waits for ever; any other returns its own."""
    told = Path(folder, "pid")
    if told.exists():
        return os.getpid()
    reporter = find_reporter()
    assert reporter is not None
    reporter.report(31, 900, "page")
    Path(folder, "pid.new").write_text(str(os.getpid()), encoding="ascii")
    Path(folder, "pid.new").rename(told)
    with open(Path(folder, "never"), encoding="ascii") as never:
        never.read()
    return 0


def hold_interpreter(number: int) -> int:
    """Item 1 keeps the interpreter lock for ever, in a C function."""
    if number == 1:
        ctypes.PyDLL(None).pause()
    return number


def compute_until(path: str) -> int:
    """Compute in Python, without a pause, until this file exists."""
    number = 0
    while not os.path.exists(path):
        for _ in range(1000):
            number = (number * 31 + 7) % 1_000_003
    return number
