"""The one thread that starts worker processes.

On Linux a worker asks to be killed when its parent dies, and "parent" means the thread that started it. So all of them
are started by one thread, which lives as long as this process does.
"""

import os
import threading
from multiprocessing.process import BaseProcess

from inorder.lanes import Lane, LaneConfig

_lanes: dict[int, Lane] = {}
_lock = threading.Lock()


def start(process: BaseProcess) -> None:
    """Start a process on the thread for that. Raises what the start raises."""
    pid = os.getpid()
    with _lock:
        lane = _lanes.get(pid)
        if lane is None:  # the first time, or the first time after a fork, which takes no threads along
            _lanes.clear()
            lane = _lanes[pid] = Lane(LaneConfig(name="spawning", max_concurrency=1))
    lane.submit(process.start).result()
