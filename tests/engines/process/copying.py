"""A program with one thread that copies itself before it needs a worker process, and prints what it finds."""

import json
import os
import signal
import sys
import threading
from contextlib import closing
from typing import Any

from inorder.engines.process.engine import pickle_function
from inorder.engines.process.idle import IdleProcesses
from inorder.engines.process.worker_process import ProcessLimits
from tests.engines.process.test_idle import run_engine


def describe(_: Any) -> dict[str, Any]:
    """What the process of an item is."""
    return {"pid": os.getpid(), "handles_signals": callable(signal.getsignal(signal.SIGTERM)), "ends": list_pipes()}


def list_pipes() -> list[str]:
    """The pipes and sockets of this process."""
    links = [os.readlink(each.path) for each in os.scandir("/proc/self/fd") if os.path.lexists(each.path)]
    return [link for link in links if link.startswith(("pipe:", "socket:"))]


def main() -> None:
    """Copy this process twice; then run items, or wait for the end of the input."""
    signal.signal(signal.SIGTERM, lambda *_: None)
    kind, before = sys.argv[1], list_pipes()
    with closing(IdleProcesses()) as idle:
        if kind == "with another thread":
            threading.Thread(target=threading.Event().wait, daemon=True).start()
        for _ in range(2):
            idle.copy(ProcessLimits())
        found: dict[str, Any] = {"copies": [process.pid for process in idle._processes], "before": before}
        if kind == "run":
            idle.start(pickle_function(describe), ProcessLimits())
            found["items"] = run_engine(idle, describe, 1, 2)
        print(json.dumps(found), flush=True)
        if kind == "wait":
            sys.stdin.read()


if __name__ == "__main__":
    main()
