"""The driver's calls to the actors, and what comes back. Everything here runs on threads of lanes.

Only one `poll` of an actor is pending at a time, so the events of an actor enter the outbox in the order in which it
reported them. A batch goes out with the next `poll`, or with a `submit` beside a pending one.
"""

import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from typing import Any, NamedTuple

from inorder.core.events import Event, Finished, Pulled, Returned, WorkerLost
from inorder.engines.base import Batch, count_cpus
from inorder.engines.pool import BEAT_S
from inorder.engines.process.engine import ProcessPoolWorker
from inorder.engines.process.worker_process import ProcessOptions
from inorder.errors import InfrastructureError
from inorder.lanes import Lane, LaneConfig

from .actor_handle import ActorHandle
from .cluster import is_actor_death, is_node_alive
from .packing import TaskPacker
from .protocol import Order, decode_report, encode_order

_THREADS = 4
_CAPACITY = 2**16
_HINT = "every node needs the packages that the work needs, in the same versions"


class ActorLost(NamedTuple):
    """An actor does not answer any more."""

    actor: ActorHandle
    reason: str
    has_died: bool
    """The process of the actor ended; otherwise it is out of reach, or was preempted."""
    is_node_alive: bool


class ActorEvents(NamedTuple):
    """Events of an actor; `is_final`: it cannot continue after them."""

    actor: ActorHandle
    events: list[Event]
    is_final: bool = False


Arrival = ActorEvents | ActorLost | Event | BaseException


class ActorChannel:
    """Sends what the engine wants sent, and fills its outbox. `function_pickle` is for batches that run locally."""

    def __init__(self, packer: TaskPacker, function_pickle: bytes, limits: ProcessOptions, files: str) -> None:
        self.outbox: SimpleQueue[Arrival] = SimpleQueue()
        self._packer = packer
        self._function_pickle = function_pickle
        self._limits = limits
        self._files = files
        self._lock = threading.Lock()
        self._next_number = 0
        self._is_closed = False
        self._lane = Lane(LaneConfig(name="ray", max_concurrency=_THREADS, capacity=_CAPACITY))
        self._local_lane = Lane(LaneConfig(name="local", max_concurrency=count_cpus(), capacity=_CAPACITY))

    def send_batch(self, actor: ActorHandle, batch: Batch) -> None:
        """Have a batch packed and sent."""
        self._lane.submit(self._send_batch, actor, batch)

    def request_return(self, actor: ActorHandle) -> None:
        """Have the worker of the actor return what it has not started."""
        self._lane.submit(self._send_order, actor, encode_order(Order(actor.find_remote_number(actor.worker), [])))

    def poll(self, actor: ActorHandle, order: bytes | None = None) -> None:
        """Start a `poll` of the actor, which `try_begin_poll` has allowed. Its report is received on the lane."""
        try:
            pending = actor.actor.poll.remote(order, BEAT_S).future()
        except Exception as error:  # no poll is pending, so this is the only place that sees the end of the actor
            self.outbox.put(_describe_loss(actor, error))
        else:
            pending.add_done_callback(partial(self._on_report, actor))

    def allocate_number(self) -> int:
        """A new number, for an actor or a worker."""
        with self._lock:
            self._next_number += 1
            return self._next_number - 1

    def close(self) -> None:
        """Send and receive nothing more."""
        self._is_closed = True
        self._lane.close(drain=False)
        self._local_lane.close(drain=False)

    def _send_batch(self, actor: ActorHandle, batch: Batch) -> None:
        try:
            packed = self._packer.pack(batch, sees_files=actor.sees_files)
        except BaseException as error:
            self.outbox.put(error)
            return
        events: list[Event] = [Finished(batch.worker, packed.refused)] if packed.refused else []
        if packed.returned:
            events.append(Returned(batch.worker, packed.returned))
        if not packed.tasks and not packed.local:
            events.append(Pulled(batch.worker))
        if events:
            self.outbox.put(ActorEvents(actor, events))
        if packed.local:
            actor.run_locally()
            self._local_lane.submit(self._run_locally, actor, batch._replace(tasks=packed.local))
        elif packed.tasks:
            order = Order(actor.find_remote_number(batch.worker), packed.tasks, batch.isolated, batch.bytes_max)
            self._send_order(actor, encode_order(order))

    def _send_order(self, actor: ActorHandle, order: bytes) -> None:
        with suppress(Exception):  # the pending poll shows that an actor is gone
            if actor.try_begin_poll():
                self.poll(actor, order)
            else:
                actor.actor.submit.remote(order)

    def _run_locally(self, actor: ActorHandle, batch: Batch) -> None:
        """Run tasks that cannot be sent in a process of this machine, under the number of the actor's worker."""

        def put(event: Event | Exception) -> None:
            is_final = isinstance(event, WorkerLost)
            self.outbox.put(event if isinstance(event, Exception) else ActorEvents(actor, [event], is_final))

        process = ProcessPoolWorker(batch.worker, put, self._function_pickle, self._limits)
        if actor.keep(process):
            process.execute(batch)
        actor.release(process)

    def _on_report(self, actor: ActorHandle, report: Any) -> None:
        """Called on a thread of Ray."""
        if not self._is_closed:
            with suppress(Exception):  # the lane may be closed at this moment
                self._lane.submit(self._receive, actor, report.result)

    def _receive(self, actor: ActorHandle, get_report: Callable[[], Any]) -> None:
        """Receive a report, and poll again. An actor whose worker has pulled is polled with its next batch."""
        try:
            report = get_report()
        except BaseException as error:
            self.outbox.put(_describe_loss(actor, error))
            return
        try:
            events = self._decode(actor, report)
        except BaseException as error:
            self.outbox.put(error)
            return
        actor.is_polled = False
        self.outbox.put(ActorEvents(actor, events))
        if not any(isinstance(event, Pulled) for event in events) and actor.try_begin_poll():
            self.poll(actor)

    def _decode(self, actor: ActorHandle, encoded: Any) -> list[Event]:
        if isinstance(encoded, str):
            raise InfrastructureError(encoded)
        report, events = decode_report(*encoded)
        if report.hello is not None:
            actor.on_hello(report.hello, self._files)
        if report.error:
            raise InfrastructureError(f"node {actor.host} cannot run the work: {report.error}; {_HINT}")
        actor.activity = report.activity
        return [self._packer.unpack(actor.translate(event, self.allocate_number)) for event in events]


def _describe_loss(actor: ActorHandle, error: BaseException) -> ActorLost:
    reason = f"the actor is gone: {summarize_error(error)}"
    return ActorLost(actor, reason, is_actor_death(error), is_node_alive(actor.node))


def summarize_error(error: BaseException) -> str:
    """An error of Ray in one line: of its many lines, the one that says how an actor ended."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    ending = next((line for line in reversed(lines) if "dead because" in line or "died" in line), "")
    return ending or ": ".join([type(error).__name__, *lines[:1]])
