"""The one who minds a worker process on another machine.

A foreman is a local engine with one process: it sees what any local engine sees, an item past its limit, a process that
died and what it died of, and passes it on. Items never run in the foreman's own process, so that one which crashes,
closes its descriptors or holds the interpreter cannot take the connection to the driver along.

The driver asks it with `listen`, one call at a time, and hands an order along with the question or, while it waits for
the answer, with `obey`.
"""

import os
import platform
import sys
from contextlib import suppress
from queue import Empty, SimpleQueue
from time import monotonic

from inorder.core.events import Beat, Event, Finished, Tick
from inorder.engines.base import Batch, Task
from inorder.engines.pool import Outbox, PooledEngine
from inorder.engines.process.engine import BATCH_S, Packing, ProcessOptions, ProcessWorker
from inorder.engines.process.transfer import SHARED_BYTES_MIN
from inorder.errors import InfrastructureError

from .protocol import ForemanOptions, Hello, Order, Told, as_sent, decoded, told, unopened

_PACKING = Packing(as_sent, unopened)


class Foreman:
    """Keeps one worker process."""

    def __init__(self, function_pickle: bytes, options: ForemanOptions, node: str) -> None:
        _forget_main()
        sys.path += [place for place in options.path if place not in sys.path and os.path.isdir(place)]
        if options.folder:
            with suppress(OSError):
                os.chdir(options.folder)
        self._orders: SimpleQueue[Order] = SimpleQueue()
        self._hello: Hello | None = Hello(platform.node(), os.getpid(), node, _sees(options.mark, options.secret))
        limits = ProcessOptions(memory_bytes_max=options.memory_bytes_max, recycle_tasks=options.recycle_tasks)

        def make_worker(number: int, outbox: Outbox) -> ProcessWorker:
            return ProcessWorker(number, outbox.put, function_pickle, limits, packing=_PACKING, batch_s=options.batch_s)

        self._gather_s = options.batch_s - BATCH_S
        self._engine = PooledEngine(make_worker, 1, timeout_s=options.timeout_s, name="foreman")
        self._engine.start()

    def obey(self, order: bytes) -> None:
        """Do this; called while another thread listens."""
        self._orders.put(decoded(order))
        self._engine.wake()

    def listen(self, order: bytes | None, patience_s: float) -> Told:
        """What has happened; waits for it as long as this."""
        if order is not None:
            self._orders.put(decoded(order))
        hello, self._hello = self._hello, None
        try:
            return told(self._news(0.0 if hello is not None else patience_s), hello, "")
        except InfrastructureError as error:
            return told([], hello, str(error.__cause__ or error))

    def close(self) -> None:
        """End the worker process. The end of this process does that, too."""
        self._engine.close()

    def _news(self, patience_s: float) -> list[Event]:
        """Events, once there are some. Mere results wait a little for more: every report costs the driver about a
        millisecond, and it may have a thousand of us."""
        until_s = monotonic() + patience_s
        found: list[Event] = []
        while True:
            self._perform()
            for event in self._engine.poll(max(0.0, until_s - monotonic())):
                if not isinstance(event, Tick | Beat):
                    until_s = until_s if found else min(until_s, monotonic() + self._gather_s)
                    found.append(event)
            if monotonic() >= until_s or any(_is_urgent(event) for event in found):
                return found

    def _perform(self) -> None:
        while True:
            try:
                order = self._orders.get_nowait()
            except Empty:
                return
            if order.tasks:
                tasks = [Task(seq, attempt, item) for seq, attempt, item in order.tasks]
                self._engine.dispatch(Batch(order.worker, tasks, order.isolated, order.bytes_max))
            else:
                self._engine.take_back(order.worker)


def _is_urgent(event: Event) -> bool:
    if isinstance(event, Finished):
        return sum(envelope.payload_bytes for envelope in event.envelopes) >= SHARED_BYTES_MIN
    return True


def _sees(mark: str, secret: str) -> bool:
    """Whether this machine finds the driver's file where the driver has it."""
    try:
        with open(mark, encoding="ascii") as file:
            return bool(secret) and file.read() == secret
    except (OSError, ValueError):
        return False


def _forget_main() -> None:
    """A new process would load the main module of this one again, which is Ray's and takes a second."""
    main = sys.modules["__main__"]
    main.__spec__ = None
    if hasattr(main, "__file__"):
        del main.__file__
