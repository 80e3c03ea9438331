"""The supervisor of a worker process on another machine.

It is a local engine with one process: it sees what any local engine sees, an item past its time limit or a process that
died and which item it was running, and reports it. Items never run in the supervisor's own process, so an item that
crashes, closes its descriptors or holds the interpreter lock does not break the connection to the driver.

The driver calls `poll`, one call at a time, and sends an order along with that call or, while the call waits, with
`submit`.
"""

import os
import pickle
import platform
import sys
from contextlib import suppress
from queue import Empty, SimpleQueue
from time import monotonic

from inorder.core.events import Beat, Event, Finished, Tick
from inorder.engines.base import Batch, Task
from inorder.engines.pool import Outbox, PoolEngine
from inorder.engines.process.engine import ProcessPoolWorker
from inorder.engines.process.transfer import SHARED_BYTES_MIN
from inorder.errors import InfrastructureError
from inorder.host.regular_file import read_regular

from .protocol import (
    BATCH_S,
    Hello,
    Order,
    SupervisorOptions,
    decode_order,
    encode_report,
    pass_packed_result,
    pass_packed_tasks,
)


class Supervisor:
    """Runs one worker process."""

    def __init__(self, function_pickle: bytes, options: SupervisorOptions, node: str) -> None:
        sys.path += [folder for folder in options.path if folder not in sys.path and os.path.isdir(folder)]
        if options.folder:
            with suppress(OSError):
                os.chdir(options.folder)
        self._orders: SimpleQueue[Order] = SimpleQueue()
        sees_files = _has_secret(options.marker_path, options.marker_secret)
        self._hello: Hello | None = Hello(platform.node(), os.getpid(), node, sees_files)

        def make_worker(number: int, outbox: Outbox) -> ProcessPoolWorker:
            return ProcessPoolWorker(
                number,
                outbox.put,
                function_pickle,
                options.limits,
                pack=pass_packed_tasks,
                unpack=pass_packed_result,
                batch_s=options.batch_s,
            )

        self._gather_s = options.batch_s - BATCH_S
        self._engine = PoolEngine(
            make_worker, 1, timeout_s=options.timeout_s, name="supervisor", lease_s=options.lease_s
        )
        self._engine.start()

    def submit(self, order: bytes) -> None:
        """Take an order while another thread is in `poll`."""
        self._orders.put(decode_order(order))
        self._engine.wake()

    def poll(self, order: bytes | None, timeout_s: float) -> tuple[bytes, list[pickle.PickleBuffer]]:
        """Take an order, if there is one; wait up to `timeout_s` for events, and report them."""
        if order is not None:
            self._orders.put(decode_order(order))
        hello, self._hello = self._hello, None
        try:
            events = self._collect_events(0.0 if hello is not None else timeout_s)
            return encode_report(events, hello, activity=self._engine.list_activity())
        except InfrastructureError as error:
            return encode_report([], hello, str(error.__cause__ or error))

    def close(self) -> None:
        """End the worker process. It also ends with the process of the supervisor."""
        self._engine.close()

    def _collect_events(self, timeout_s: float) -> list[Event]:
        """Wait for events. Results alone wait a little for more of them: every report costs the driver about a
        millisecond, and it may have a thousand supervisors."""
        until_s = monotonic() + timeout_s
        collected: list[Event] = []
        while True:
            self._execute_orders()
            for event in self._engine.poll(max(0.0, until_s - monotonic())):
                if not isinstance(event, Tick | Beat):
                    until_s = until_s if collected else min(until_s, monotonic() + self._gather_s)
                    collected.append(event)
            if monotonic() >= until_s or any(_is_urgent(event) for event in collected):
                return collected

    def _execute_orders(self) -> None:
        while True:
            try:
                order = self._orders.get_nowait()
            except Empty:
                return
            if order.tasks:
                tasks = [Task(seq, attempt, item) for seq, attempt, item in order.tasks]
                self._engine.dispatch(Batch(order.worker, tasks, order.isolated, order.bytes_max))
            else:
                self._engine.return_unstarted(order.worker)


def _is_urgent(event: Event) -> bool:
    if isinstance(event, Finished):
        return sum(envelope.payload_bytes for envelope in event.envelopes) >= SHARED_BYTES_MIN
    return True


def _has_secret(path: str, secret: str) -> bool:
    """Whether this machine sees the driver's marker file."""
    try:
        return bool(secret) and read_regular(path) == secret.encode("ascii")
    except OSError:
        return False
