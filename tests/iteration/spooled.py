"""A program that iterates with results spooled to disk and dies behind a slow first item. Run by `test_spool.py`."""

import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import inorder
from inorder.runtime.result_log import ResultLog


def double(number: int) -> int:
    """Leave a trace of every call, then answer. In the first life the first item never ends."""
    descriptor = os.open(os.environ["CALLS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(descriptor, b"%d\n" % number)
    os.close(descriptor)
    if number == 0 and "HOLD" in os.environ:
        threading.Event().wait()
    return 2 * number


def main(folder: Path, count: int, where: str) -> None:
    """Print the results; with `HOLD`, die as soon as all but the first are on disk."""
    log = ResultLog.append
    left = count - 1

    def append(self: ResultLog, frames: Any, last_seq: int) -> None:
        nonlocal left
        log(self, frames, last_seq)
        left -= len(frames)
        if left <= 0 and "HOLD" in os.environ:
            os.kill(os.getpid(), signal.SIGKILL)

    ResultLog.append = append  # type: ignore[method-assign]
    options: Any = {"where": where, "workers": 2, "journal": folder / "journal", "spool": "disk"}
    print(list(inorder.imap(double, range(count), **options)))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
