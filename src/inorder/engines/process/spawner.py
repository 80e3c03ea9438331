"""The one thread that starts worker processes, and how it starts them.

A worker does not import the main script: what it needs of it is sent by value (`main_pickle`). So a script needs no
main guard, and a function of a notebook or of an interactive session can be sent.

On Linux a worker asks the kernel for a signal when its parent dies, and there "parent" means the thread that started
it. So all workers are started by one thread, which lives as long as this process.

A new interpreter looks for modules in the current directory first, also for those of the standard library, while it
gets ready to take over the search path of its parent. That directory may be a repository of somebody else, so workers
are started without it.

Ctrl-C at the terminal goes to every process of the group, and a worker leaves the group only in `worker_main`. A new
process inherits the signal mask of the thread that starts it, so SIGINT is blocked here until `worker_main` ignores it.
"""

import io
import os
import signal
import threading
from multiprocessing import context, resource_tracker, spawn, util
from multiprocessing.popen_spawn_posix import Popen
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import dump
from typing import Any

from inorder.lanes import Lane, LaneConfig

_lanes: dict[int, Lane] = {}
_lock = threading.Lock()
_SAFE_PATH = "PYTHONSAFEPATH"


class SpawnedProcess(context.SpawnProcess):
    """A process that begins with a fresh interpreter and without the main script of this one."""

    @staticmethod
    def _Popen(process: Any) -> Any:  # noqa: N802 - the name that multiprocessing calls
        return _Launcher(process)


class _Launcher(Popen):
    """Starts the process. As in `multiprocessing.popen_spawn_posix`, but for the main script."""

    def __init__(self, process: Any) -> None:
        self._inherited: list[int] = []
        super().__init__(process)

    def duplicate_for_child(self, fd: int) -> int:
        """Let the process inherit a descriptor, which has the same number there."""
        self._inherited.append(fd)
        return fd

    def _launch(self, process: Any) -> None:
        tracker: Any = resource_tracker.getfd()
        preparation = spawn.get_preparation_data(process.name)
        for key in ("init_main_from_name", "init_main_from_path"):
            preparation.pop(key, None)
        message = io.BytesIO()
        context.set_spawning_popen(self)
        try:
            dump(preparation, message)
            dump(process, message)
        finally:
            context.set_spawning_popen(None)
        self.sentinel, their_sentinel = os.pipe()
        their_end, our_end = os.pipe()
        self.finalizer = util.Finalize(self, _close_all, (self.sentinel, our_end))
        try:
            command = [os.fsencode(word) for word in _make_command(tracker, their_end)]
            inherited = [*self._inherited, tracker, their_end, their_sentinel]
            self.pid = util.spawnv_passfds(os.fsencode(spawn.get_executable()), command, inherited)
            with open(our_end, "wb", closefd=False) as file:
                file.write(message.getbuffer())
        finally:
            _close_all(their_end, their_sentinel)


def _make_command(tracker: Any, pipe: int) -> list[str]:
    """Return the command of a process that does not look for modules in the current directory, and ends without a word
    if its parent is killed before it has sent anything."""
    command = spawn.get_command_line(tracker_fd=tracker, pipe_handle=pipe)
    if "-c" in command:
        program = command.index("-c") + 1
        command[program] = f"try:\n    {command[program]}\nexcept EOFError:\n    raise SystemExit(1) from None"
        command.insert(1, "-P")
    return command


def _close_all(*descriptors: int) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def _ensure_tracker() -> None:
    """Start the process that `multiprocessing` needs to track resources, unless it runs. The first start of a worker
    would start it, which unblocks SIGINT in this thread, and looks for modules in the current directory."""
    with _lock:
        previous = os.environ.get(_SAFE_PATH)
        os.environ[_SAFE_PATH] = "1"
        try:
            resource_tracker.ensure_running()
        finally:
            if previous is None:
                del os.environ[_SAFE_PATH]
            else:
                os.environ[_SAFE_PATH] = previous


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
    _ensure_tracker()
    previous = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous)
