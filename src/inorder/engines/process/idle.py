"""Worker processes that wait between two engines: those of the runs of a watch.

The start of a process, and the modules that it loads, take longer than a run with little to do. So an engine that ends
leaves its idle processes here, and the next one gives them its function. A process that was busy is killed, as it is
without this.
"""

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .worker_process import ProcessOptions, WorkerProcess


class IdleProcesses:
    """Idle worker processes. Thread-safe. To be closed at the end. `count_max`: how many are kept; None: all."""

    def __init__(self, count_max: int | None = None) -> None:
        self._count_max = count_max
        self._lock = threading.Lock()
        self._processes: list[WorkerProcess] = []
        self._is_closed = False

    def add(self, process: "WorkerProcess") -> None:
        """Keep a process that has nothing to run."""
        with self._lock:
            if not self._is_closed and (self._count_max is None or len(self._processes) < self._count_max):
                self._processes.append(process)
                return
        process.close()

    def take(self, limits: "ProcessOptions", *, is_unused: bool = False) -> "WorkerProcess | None":
        """A process with these limits, or one that has run nothing; None: there is none. Those that have ended are
        dropped."""
        with self._lock:
            for process in self._processes:
                if not process.is_alive():
                    process.close()
            self._processes = [process for process in self._processes if process.is_alive()]
            fitting = (process for process in self._processes if process.limits == limits)
            found = next((process for process in fitting if not (is_unused and process.tasks_done)), None)
            if found is not None:
                self._processes.remove(found)
            return found

    def close(self) -> None:
        """Kill all processes, and wait for their ends; no further one is kept. Idempotent."""
        with self._lock:
            self._is_closed = True
            processes, self._processes = self._processes, []
        for process in processes:
            process.kill()
        for process in processes:
            process.close()
