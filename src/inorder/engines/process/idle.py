"""Worker processes that wait between two engines of one run.

The start of a process, and the modules that it loads, take longer than many a stage with little to do. So an engine
that ends leaves its idle processes here, and the next one gives them its function. A process that was busy is killed,
as it is without this.
"""

import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from inorder.errors import InorderError

if TYPE_CHECKING:
    from .worker_process import ProcessLimits, WorkerProcess


class IdleProcesses:
    """The idle worker processes of a run. Thread-safe. To be closed at the end of the run."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._processes: list[WorkerProcess] = []
        self._is_closed = False

    def start(self, function_pickle: bytes, limits: "ProcessLimits") -> None:
        """Start a process before an engine needs it, which loads this function first. An engine that gets no process
        here starts one, so an error is ignored."""
        from .worker_process import WorkerProcess

        if self._load_copy(function_pickle, limits):
            return
        with suppress(OSError, InorderError):
            self.add(WorkerProcess(function_pickle, limits))

    def copy(self, limits: "ProcessLimits") -> bool:
        """Copy this process, if it can be copied. The copy waits for a function. It has loaded what this process has,
        which a new one would have to load first. Returns whether there is a copy."""
        from .spawner import can_copy
        from .worker_process import WorkerProcess

        with suppress(OSError):  # an engine that gets no process here starts one
            if can_copy():
                self.add(WorkerProcess(None, limits, self._processes))
                return True
        return False

    def _load_copy(self, function_pickle: bytes, limits: "ProcessLimits") -> bool:
        """Give a function to a copy with these limits that waits for one. Returns whether there was such a copy."""
        with self._lock:
            for process in self._processes:
                if not process.has_function and process.limits == limits and process.is_alive():
                    process.load(function_pickle)
                    return True
        return False

    def add(self, process: "WorkerProcess") -> None:
        """Keep a process that has nothing to run."""
        with self._lock:
            if not self._is_closed:
                self._processes.append(process)
                return
        process.close()

    def take(self, limits: "ProcessLimits", *, is_unused: bool = False) -> "WorkerProcess | None":
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

    def kill(self) -> None:
        """Kill all processes, and do not wait for their ends: `close` does. Nothing may ask for a process any more."""
        with self._lock:
            self._is_closed = True
            for process in self._processes:
                process.kill()

    def close(self) -> None:
        """Kill all processes, and wait for their ends. Idempotent."""
        self.kill()
        with self._lock:
            processes, self._processes = self._processes, []
        for process in processes:
            process.close()
