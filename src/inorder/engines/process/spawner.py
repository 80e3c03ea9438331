"""The one thread that starts worker processes.

On Linux a worker asks the kernel for a signal when its parent dies, and there "parent" means the thread that started
it. So all workers are started by one thread, which lives as long as this process.
"""

import os
import threading
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
    lane.submit(process.start).result()
