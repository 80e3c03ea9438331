"""The one thread that starts worker processes.

On Linux a worker asks the kernel for a signal when its parent dies, and there "parent" means the thread that started
it. So all workers are started by one thread, which lives as long as this process.

Ctrl-C at the terminal goes to every process of the group, and a worker leaves the group only in `worker_main`. A new
process inherits the signal mask of the thread that starts it, so SIGINT is blocked here until `worker_main` ignores it.
"""

import os
import signal
import threading
from multiprocessing import resource_tracker
from multiprocessing.process import BaseProcess

from inorder.lanes import Lane, LaneConfig

_lanes: dict[int, Lane] = {}
_lock = threading.Lock()


def start_process(process: BaseProcess) -> None:
    """Start a process on the spawner thread. Raises whatever the start raises."""
    pid = os.getpid()
    with _lock:
        lane = _lanes.get(pid)
        if lane is None:  # the first call in this process; a fork does not inherit the thread
            _lanes.clear()
            lane = _lanes[pid] = Lane(LaneConfig(name="spawner", max_concurrency=1))
    lane.submit(_start_without_interrupt, process).result()


def _start_without_interrupt(process: BaseProcess) -> None:
    """Start a process in which SIGINT is blocked."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        process.start()
        return
    resource_tracker.ensure_running()  # the first start would start it, which unblocks SIGINT in this thread
    previous = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous)
