"""The process of the providers: it is started when the first worker process connects, and again if it dies. A program
that runs again and again keeps it between runs, so that a model is loaded once."""

import atexit
import contextlib
import os
import select
import signal
import threading
from collections.abc import Mapping
from multiprocessing import get_context
from typing import Any

from inorder.documents.embed.providers.registry import identity
from inorder.engines.process.spawner import start_process
from inorder.host.credentials import list_credentials
from inorder.models.limits import ServerLimits
from inorder.stage.monitor.gpu import add_gpu_process, remove_gpu_process

from .service import NO_GPU, serve_providers
from .sockets import UnixListener

STARTS_MAX = 4
"""A process that dies more often than this is not started again: its worker processes then fail their items."""
_JOIN_S = 5.0


class ProviderProcess:
    """The process of the providers, as the driver of the stage sees it.

    The driver listens on the socket and the process accepts, so that connections wait while the model is loaded, and
    while a process that died is replaced. Without a connection there is no process: a run in which nothing has changed
    loads no model.
    """

    def __init__(self, specs: Mapping[str, str], limits: ServerLimits) -> None:
        self._specs = specs
        self._limits = limits
        self._context = get_context("spawn")
        self._process: Any = None
        self._is_closing = threading.Event()
        self._gpu_bytes = self._context.Value("q", NO_GPU, lock=False)
        self._wake_end, self._wake = self._context.Pipe(duplex=False)
        self._listener = UnixListener("providers")
        self.address = self._listener.address
        add_gpu_process(self.read_gpu_bytes)
        atexit.register(self.close)  # a run that failed does not close what it has opened
        self._thread = threading.Thread(target=self._supervise, name="inorder-providers", daemon=True)
        self._thread.start()

    @property
    def process_id(self) -> int | None:
        """The id of the process that was started last; None: there was none."""
        process = self._process
        return None if process is None else process.pid

    @property
    def is_usable(self) -> bool:
        """Whether connections are answered: it is not closed, and has not died too often."""
        return self._thread.is_alive() and not self._is_closing.is_set()

    def read_gpu_bytes(self) -> int | None:
        """The memory of the process on GPUs, as it was a second ago; None: it uses none."""
        size = int(self._gpu_bytes.value)
        return None if size == NO_GPU else size

    def join(self, timeout_s: float) -> None:
        """Wait until the process has ended and will not be started again."""
        self._thread.join(timeout_s)

    def close(self) -> None:
        """End the process. Idempotent."""
        if not self._is_closing.is_set():
            self._is_closing.set()
            remove_gpu_process(self.read_gpu_bytes)
            self._wake.close()
            self._kill()
        atexit.unregister(self.close)
        self._thread.join(_JOIN_S)
        self._listener.close()

    def _supervise(self) -> None:
        """Wait for a connection, start the process, wait for its end; again if it was not expected."""
        for _ in range(STARTS_MAX):
            select.select([self._listener.socket.fileno(), self._wake_end.fileno()], [], [])
            if self._is_closing.is_set():
                return
            lifeline_theirs, lifeline = self._context.Pipe(duplex=False)
            arguments = (
                self._listener.socket,
                lifeline_theirs,
                self._gpu_bytes,
                dict(self._specs),
                self._limits,
                list_credentials(),
            )
            process = self._context.Process(
                target=serve_providers, args=arguments, name="inorder-providers", daemon=True
            )
            self._process = process
            start_process(process)
            lifeline_theirs.close()
            if self._is_closing.is_set():
                self._kill()
            process.join()
            lifeline.close()
        self._listener.socket.close()  # from now on, connections are refused

    def _kill(self) -> None:
        process = self._process
        if process is not None and process.pid:
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            with contextlib.suppress(OSError):
                process.kill()


class ProviderKeeper:
    """Keeps the process of the providers for the next run, which uses it if its providers, their files and their limits
    are the same, and the last run was complete. To be closed at the end."""

    def __init__(self) -> None:
        self._key: object = None
        self._process: ProviderProcess | None = None
        self._is_in_use = False

    def open(self, specs: Mapping[str, str], limits: ServerLimits) -> ProviderProcess:
        """Return the process for these providers, by family: a new one, or the one that was kept."""
        key = [(family, spec, identity(spec)) for family, spec in sorted(specs.items())], limits
        found = self._process
        # One that is in use is of a run that failed, and closed nothing.
        if found is None or self._is_in_use or self._key != key or not found.is_usable:
            self.close()
            found = ProviderProcess(specs, limits)
        self._key, self._process, self._is_in_use = key, found, True
        return found

    def release(self, *, keeps: bool) -> None:
        """Keep the process in use, or end it."""
        if self._is_in_use and not keeps:
            self.close()
        self._is_in_use = False

    def close(self) -> None:
        """End the process. Idempotent."""
        if self._process is not None:
            self._process.close()
        self._process = None
