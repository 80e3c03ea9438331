"""Between the driver and the actors: batches go out, reports come in. Everything here runs on threads of lanes.

A station has one question under way at a time, so what it says is put into the outbox in the order in which it said it.
A batch goes out with the next question, or after one that waits for an answer.
"""

import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from typing import Any, NamedTuple

from inorder.core.events import Event, Finished, Pulled, Returned, WorkerLost
from inorder.engines.base import Batch, processors
from inorder.engines.pool import BEAT_S
from inorder.engines.process.engine import ProcessOptions, ProcessWorker
from inorder.errors import InfrastructureError
from inorder.lanes import Lane, LaneConfig

from .actor_handle import Station
from .cluster import has_died, is_alive
from .packing import Mail
from .protocol import Order, encoded, understood

_THREADS = 4
_CAPACITY = 2**16
_HINT = "every node needs the packages that the work needs, in the same versions"


class Lost(NamedTuple):
    """An actor does not answer any more."""

    station: Station
    reason: str
    has_died: bool
    """Rather than that it could not be reached, or was taken away."""
    is_node_alive: bool


class News(NamedTuple):
    """Events of a station; `ends`: it cannot go on after them."""

    station: Station
    events: list[Event]
    ends: bool = False


Arrival = News | Lost | Event | BaseException


class Exchange:
    """Sends what the engine wants sent, and fills its outbox. `function_pickle` is for what is done at home."""

    def __init__(self, mail: Mail, function_pickle: bytes, limits: ProcessOptions, files: str) -> None:
        self.outbox: SimpleQueue[Arrival] = SimpleQueue()
        self._mail = mail
        self._function_pickle = function_pickle
        self._limits = limits
        self._files = files
        self._lock = threading.Lock()
        self._next_number = 0
        self._is_closed = False
        self._lane = Lane(LaneConfig(name="ray", max_concurrency=_THREADS, capacity=_CAPACITY))
        self._home = Lane(LaneConfig(name="home", max_concurrency=processors(), capacity=_CAPACITY))

    def send(self, station: Station, batch: Batch) -> None:
        """Have a batch made ready and sent."""
        self._lane.submit(self._send, station, batch)

    def demand(self, station: Station) -> None:
        """Have a worker give back what it has not begun."""
        self._lane.submit(self._order, station, encoded(Order(station.local(station.worker), [])))

    def ask(self, station: Station, order: bytes | None = None) -> None:
        """Ask what has happened; only for whom `starts_listening` says so. The answer comes by way of the lane."""
        try:
            answer = station.actor.listen.remote(order, BEAT_S).future()
        except Exception as error:  # nobody listens, so nobody else would hear of it
            self.outbox.put(_lost(station, error))
        else:
            answer.add_done_callback(partial(self._answered, station))

    def new_number(self) -> int:
        """For a worker."""
        with self._lock:
            self._next_number += 1
            return self._next_number - 1

    def close(self) -> None:
        """Nothing more is sent or taken in."""
        self._is_closed = True
        self._lane.close(drain=False)
        self._home.close(drain=False)

    def _send(self, station: Station, batch: Batch) -> None:
        try:
            ready = self._mail.ready(batch, sees_files=station.sees_files)
        except BaseException as error:
            self.outbox.put(error)
            return
        events: list[Event] = [Finished(batch.worker, ready.refused)] if ready.refused else []
        if ready.returned:
            events.append(Returned(batch.worker, ready.returned))
        if not ready.packed and not ready.staying:
            events.append(Pulled(batch.worker))
        if events:
            self.outbox.put(News(station, events))
        if ready.staying:
            station.come_home()
            self._home.submit(self._stay, station, batch._replace(tasks=ready.staying))
        elif ready.packed:
            order = Order(station.local(batch.worker), ready.packed, batch.isolated, batch.bytes_max)
            self._order(station, encoded(order))

    def _order(self, station: Station, order: bytes) -> None:
        with suppress(Exception):  # an actor that is gone says so to whoever listens
            if station.starts_listening():
                self.ask(station, order)
            else:
                station.actor.obey.remote(order)

    def _stay(self, station: Station, batch: Batch) -> None:
        """Have a process of this machine do what cannot travel, in the name of the worker that it was given to."""

        def put(event: Event | Exception) -> None:
            ends = isinstance(event, WorkerLost)
            self.outbox.put(event if isinstance(event, Exception) else News(station, [event], ends=ends))

        process = ProcessWorker(batch.worker, put, self._function_pickle, self._limits)
        if station.stay(process):
            process.execute(batch)
        station.leave_home(process)

    def _answered(self, station: Station, answer: Any) -> None:
        """On a thread of Ray's."""
        if not self._is_closed:
            with suppress(Exception):  # it was closed in this moment
                self._lane.submit(self._open, station, answer.result)

    def _open(self, station: Station, result: Callable[[], Any]) -> None:
        """Take in a report; ask again, unless there is something for the worker to be given."""
        try:
            said = result()
        except BaseException as error:
            self.outbox.put(_lost(station, error))
            return
        try:
            events = self._understood(station, said)
        except BaseException as error:
            self.outbox.put(error)
            return
        station.is_listening = False
        self.outbox.put(News(station, events))
        if not any(isinstance(event, Pulled) for event in events) and station.starts_listening():
            self.ask(station)

    def _understood(self, station: Station, said: Any) -> list[Event]:
        if isinstance(said, str):
            raise InfrastructureError(said)
        report, events = understood(*said)
        if report.hello is not None:
            station.greet(report.hello, self._files)
        if report.trouble:
            raise InfrastructureError(f"node {station.host} cannot run the work: {report.trouble}; {_HINT}")
        return [self._mail.brought(station.translated(event, self.new_number)) for event in events]


def _lost(station: Station, error: BaseException) -> Lost:
    return Lost(station, f"the actor is gone: {in_words(error)}", has_died(error), is_alive(station.node))


def in_words(error: BaseException) -> str:
    """What Ray says, in one line: of many, the one that says how an actor ended."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    said = next((line for line in reversed(lines) if "dead because" in line or "died" in line), "")
    return said or ": ".join([type(error).__name__, *lines[:1]])
