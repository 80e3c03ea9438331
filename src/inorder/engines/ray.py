"""Workers on a Ray cluster.

Every worker is an actor with the resources it declares; in it, a foreman minds one worker process. Batches go out and
reports come back; order, journal and sinks stay here, with the driver. So a worker that is lost, whatever became of its
machine, is the same event as a local process that died, and nothing else changes.

A thread of the lane makes a batch ready or opens a report, so that files and large results are not waited for by
everybody. A station has one question under way at a time, and its events are put into the outbox in their order.
"""

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any, NamedTuple, Protocol

import msgspec

from inorder.core.events import Beat, Envelope, Event, Finished, Loss, Pulled, Returned, Tick, WorkerLost
from inorder.core.options import OperatorError
from inorder.errors import InfrastructureError
from inorder.lanes import Lane, LaneConfig
from inorder.version import __version__

from .attempt import FAIL
from .base import Batch
from .pooled import BEAT_S
from .process import PackedTask, packed
from .processes import BATCH_S, ProcessOptions
from .ray_cluster import connect, described, fitting, load_ray, nodes
from .ray_options import RayOptions
from .sizing import payload_bytes
from .station import Station
from .telegraph import ForemanOptions, Order, encoded, understood

WORKERS_MAX = 4096
_THREADS = 4
_FOLLOW_S = 2.0
"""Between two looks at how large the cluster is."""
_STEAL_S = 0.2
"""Between two demands for what a worker has not begun."""
_REPORT_S = 0.0015
"""What a report costs the driver, about: with more workers each is given more work at a time."""
_BATCH_BYTES = 32 * 2**20
"""What is sent along with one batch; the rest of it goes back."""
_STARTS_MAX = 3
"""Workers that may fail to start, one after the other, before the run does."""


class Courier(Protocol):
    """Makes items ready to travel, and takes in what comes back."""

    mark: str
    secret: str

    def depart(self, item: Any, *, sees_files: bool) -> tuple[Any, int]:
        """The item as it travels, and the bytes that are sent along. May raise, and then the item fails."""
        ...

    def arrive(self, value: Any) -> Any:
        """A result, with what came along put in its place."""
        ...


class _Lost(NamedTuple):
    """An actor does not answer any more."""

    station: Station
    reason: str
    is_node_alive: bool


class _News(NamedTuple):
    station: Station
    events: list[Event]


_Arrival = _News | _Lost | Event | BaseException


class RayEngine:
    """Implements `engines.base.Engine`. `workers` None: as many as the cluster has room for, all the time."""

    def __init__(
        self,
        function: Callable[[Any], Any],
        workers: int | None,
        *,
        timeout_s: float | None,
        options: RayOptions | None = None,
        limits: ProcessOptions | None = None,
        courier: Courier | None = None,
    ) -> None:
        self._function = function
        self._options = options or RayOptions()
        self._limits = limits or ProcessOptions()
        self._timeout_s = timeout_s
        self._courier = courier
        self._follows = workers is None
        self._count = workers or 1
        self._stations: set[Station] = set()
        self._of_worker: dict[int, Station] = {}
        self._leaving: set[Station] = set()
        self._lost_nodes: set[str] = set()
        self._outbox: SimpleQueue[_Arrival] = SimpleQueue()
        self._lock = threading.Lock()
        self._next_number = 0
        self._failed_starts = 0
        self._is_closed = False
        self._lane = Lane(LaneConfig(name="ray", max_concurrency=_THREADS, capacity=4 * WORKERS_MAX))
        self._beaten_s = self._followed_s = self._manned_s = monotonic()

    # ---- what the runtime asks

    def start(self) -> None:
        """Connect, and have the actors started; each announces its worker when it is up."""
        ray = load_ray()
        function_pickle = _sendable(self._function)
        connect(self._options)
        if self._follows:
            self._count = self._fitting()
        from . import ray_post

        ray.cloudpickle.register_pickle_by_value(ray_post)
        self._function_ref = ray.put(function_pickle)
        self._post = ray.remote(ray_post.Post)
        self._beaten_s = self._followed_s = self._manned_s = monotonic()
        for _ in range(self._count):
            self._add_station()

    def dispatch(self, batch: Batch) -> None:
        """Have the batch made ready and sent."""
        station = self._of_worker.get(batch.worker)
        if station is None:  # gone since it pulled, and the kernel is about to hear of it
            self._outbox.put(WorkerLost(batch.worker, Loss.RETIRED, reason="it went before it got anything"))
            return
        station.hold(batch)
        self._lane.submit(self._send, station, batch)

    def stop_worker(self, worker: int, reason: str) -> None:
        """Kill the actor, and its process with it; start another."""
        station = self._of_worker.get(worker)
        self._outbox.put(WorkerLost(worker, Loss.RETIRED, reason=reason))
        if station is not None:
            self._remove(station)
            self._fill()

    def poll(self, timeout_s: float | None) -> list[Event]:
        """Wait for reports, and look around now and then."""
        until_s = None if timeout_s is None else monotonic() + timeout_s
        while True:
            left_s = None if until_s is None else max(0.0, until_s - monotonic())
            events = self._wait(left_s)
            if events or (until_s is None and self._is_at_rest()):
                return events
            if until_s is not None and monotonic() >= until_s:
                return events

    def resize(self, count: int) -> None:
        """Have this many workers: more as they come up; fewer as they come to ask for more work, first of all those
        that are not up yet."""
        self._count = count
        self._fill()
        surplus = sorted(self._stations - self._leaving, key=lambda each: (each.is_up, each.number), reverse=True)
        for station in surplus[: max(0, len(surplus) - count)][::-1] if surplus else ():
            self._leaving.add(station)
        for station in [each for each in self._leaving if not each.is_up]:
            self._remove(station)

    def wake(self) -> None:
        """Have a `poll` that waits return soon."""
        self._outbox.put(Tick())

    def close(self) -> None:
        """Kill every actor. Work under way is abandoned."""
        self._is_closed = True
        for station in list(self._stations):
            self._remove(station)
        self._lane.close(drain=False)

    # ---- stations

    def _add_station(self) -> None:
        limits, courier, options = self._limits, self._courier, self._options
        settings = ForemanOptions(
            timeout_s=self._timeout_s,
            batch_s=max(BATCH_S, self._count * _REPORT_S),
            memory_bytes_max=limits.memory_bytes_max,
            recycle_tasks=limits.recycle_tasks,
            path=_search_path(),
            mark=courier.mark if courier is not None else "",
            secret=courier.secret if courier is not None else "",
        )
        actor = self._post.options(
            num_cpus=options.cpus,
            num_gpus=options.gpus,
            resources=dict(options.resources) or None,
            max_concurrency=2,
            max_restarts=0,
            max_task_retries=0,
            scheduling_strategy="SPREAD",
        ).remote(self._function_ref, msgspec.msgpack.encode(settings), __version__)
        station = Station(self._new_number(), actor)
        self._stations.add(station)
        self._ask(station, None)

    def _remove(self, station: Station) -> None:
        self._stations.discard(station)
        self._leaving.discard(station)
        for number in station.workers():
            self._of_worker.pop(number, None)
        with suppress(Exception):
            load_ray().kill(station.actor, no_restart=True)

    def _fill(self) -> None:
        """As many as are wanted."""
        while len(self._stations) - len(self._leaving) < self._count:
            if self._leaving:
                self._leaving.pop()
            else:
                self._add_station()

    def _new_number(self) -> int:
        with self._lock:
            self._next_number += 1
            return self._next_number - 1

    def _fitting(self) -> int:
        return max(1, min(WORKERS_MAX, fitting(nodes(), self._options)))

    # ---- on threads of the lane, and of Ray

    def _send(self, station: Station, batch: Batch) -> None:
        """Make a batch ready, and send it with the next question or, if one is under way, after it."""
        try:
            tasks, refused, returned = self._ready_to_travel(station, batch)
        except BaseException as error:
            self._outbox.put(error)
            return
        events: list[Event] = [Finished(batch.worker, refused)] if refused else []
        if returned:
            events.append(Returned(batch.worker, returned))
        if not tasks:
            events.append(Pulled(batch.worker))
        if events:
            self._outbox.put(_News(station, events))
        if tasks:
            order = Order(station.local(batch.worker), tasks, batch.isolated, batch.bytes_max)
            self._order(station, encoded(order))

    def _order(self, station: Station, order: bytes) -> None:
        with suppress(Exception):  # an actor that is gone says so to whoever listens
            if station.starts_listening():
                self._ask(station, order)
            else:
                station.actor.obey.remote(order)

    def _ready_to_travel(self, station: Station, batch: Batch) -> tuple[list[PackedTask], list[Envelope], list[int]]:
        """Tasks as they are sent, answers for those that cannot be, and the seqs that are too much for one batch."""
        courier = self._courier
        if courier is None:
            return (*packed(batch.tasks), [])
        ready, refused = [], []
        size = 0
        for number, task in enumerate(batch.tasks):
            if size > _BATCH_BYTES:
                return (*packed(ready), [left.seq for left in batch.tasks[number:]])
            try:
                item, more = courier.depart(task.item, sees_files=station.sees_files)
            except Exception as error:
                from .attempt import failure_of

                refused.append(Envelope(task.seq, task.attempt, FAIL, error, 0, failure_of(error)))
                continue
            size += more
            ready.append(task._replace(item=item))
        tasks, unsendable = packed(ready)
        return tasks, refused + unsendable, []

    def _ask(self, station: Station, order: bytes | None) -> None:
        """One question; the answer comes by way of the lane."""
        station.is_listening = True
        answer: Future[Any] = station.actor.listen.remote(order, BEAT_S).future()
        answer.add_done_callback(partial(self._answered, station))

    def _answered(self, station: Station, answer: "Future[Any]") -> None:
        """On a thread of Ray's."""
        if not self._is_closed:
            with suppress(Exception):  # it was closed in this moment
                self._lane.submit(self._open, station, answer)

    def _open(self, station: Station, answer: "Future[Any]") -> None:
        """Take in a report; ask again, unless there is something for the worker to be given."""
        try:
            said = answer.result()
        except BaseException as error:
            self._outbox.put(_Lost(station, _in_words(error), _is_alive(station.node)))
            return
        if isinstance(said, str):
            self._outbox.put(InfrastructureError(said))
            return
        try:
            report, events = understood(*said)
            if report.hello is not None:
                station.greet(report.hello, self._options.files)
            if report.trouble:
                raise InfrastructureError(f"node {station.host} cannot run the function: {report.trouble}; {_HINT}")
            events = [self._brought(station.translated(event, self._new_number)) for event in events]
        except BaseException as error:
            self._outbox.put(error)
            return
        station.is_listening = False
        self._outbox.put(_News(station, events))
        if not any(isinstance(event, Pulled) for event in events) and station.starts_listening():
            self._ask(station, None)

    def _brought(self, event: Event) -> Event:
        """What results have brought along is put in its place."""
        if self._courier is None or not isinstance(event, Finished):
            return event
        envelopes = []
        for envelope in event.envelopes:
            if envelope.outcome != FAIL:
                value = self._courier.arrive(envelope.payload)
                if value is not envelope.payload:
                    envelope = msgspec.structs.replace(envelope, payload=value, payload_bytes=payload_bytes(value))
            envelopes.append(envelope)
        return Finished(event.worker, envelopes)

    # ---- on the thread of the runtime

    def _wait(self, timeout_s: float | None) -> list[Event]:
        arrived: list[_Arrival] = []
        if self._outbox.empty():
            self._listen_to_idle()
        patience_s = min(_STEAL_S if self._is_stealing() else 1.0, 1.0 if timeout_s is None else timeout_s)
        with suppress(Empty):
            arrived.append(self._outbox.get(timeout=patience_s) if patience_s > 0 else self._outbox.get_nowait())
        while not self._outbox.empty():
            arrived.append(self._outbox.get())
        events = [event for one in arrived for event in self._taken_in(one)]
        now_s = monotonic()
        self._look_around(now_s)
        if now_s - self._beaten_s >= BEAT_S:
            self._beaten_s = now_s
            heard = [station for station in self._stations if now_s - station.heard_s < 2 * BEAT_S]
            events.append(Beat([number for station in heard for number in station.workers()]))
        return events

    def _taken_in(self, arrived: _Arrival) -> list[Event]:
        """Keep the engine's own books of what is on its way to the kernel."""
        if isinstance(arrived, BaseException):
            raise arrived
        if isinstance(arrived, _Lost):
            return self._lost(arrived)
        if not isinstance(arrived, _News):
            return [arrived]
        station = arrived.station
        if station not in self._stations:
            return []
        station.heard_s = self._manned_s = monotonic()
        self._failed_starts = 0
        events = []
        for event in arrived.events:
            station.note(event)
            if isinstance(event, Pulled):
                self._of_worker[event.worker] = station
                if station in self._leaving:
                    self._remove(station)
                    event = WorkerLost(event.worker, Loss.RETIRED, reason="fewer workers are wanted")
            elif isinstance(event, WorkerLost):
                self._of_worker.pop(event.worker, None)
            events.append(event)
        return events

    def _lost(self, lost: _Lost) -> list[Event]:
        """An actor is gone. With its machine, it is weather, charged once for all that were on it; alone, it may have
        been its item that drove the machine out of memory."""
        station = lost.station
        if station not in self._stations:
            return []
        self._remove(station)
        if not station.is_up:
            self._failed_starts += 1
            if self._failed_starts > _STARTS_MAX:
                raise InfrastructureError(f"no worker can be started on the cluster: {lost.reason}")
        cause = Loss.DIED if lost.is_node_alive else Loss.WEATHER
        if cause is Loss.WEATHER and station.node in self._lost_nodes:
            cause = Loss.RETIRED
        elif cause is Loss.WEATHER:
            self._lost_nodes.add(station.node)
        self._fill()
        return [WorkerLost(number, cause, reason=lost.reason) for number in station.workers()]

    def _is_at_rest(self) -> bool:
        return all(station.is_up and not station.held for station in self._stations)

    def _is_stealing(self) -> bool:
        return any(len(station.held) > 1 for station in self._stations) and self._has_idle()

    def _has_idle(self) -> bool:
        return any(station.is_up and not station.held for station in self._stations)

    def _listen_to_idle(self) -> None:
        """Somebody with nothing to do is asked all the same, or nobody would hear of his end."""
        for station in self._stations:
            if station.is_up and not station.held and station.starts_listening():
                self._ask(station, None)

    def _look_around(self, now_s: float) -> None:
        if self._is_stealing():
            for station in self._stations:
                if len(station.held) > 1 and now_s - station.asked_s >= _STEAL_S:
                    station.asked_s = now_s
                    self._lane.submit(self._order, station, encoded(Order(station.local(station.worker), [])))
        if self._follows and now_s - self._followed_s >= _FOLLOW_S:
            self._followed_s = now_s
            wanted = self._fitting()
            if wanted != self._count:
                self.resize(wanted)
        if any(station.is_up for station in self._stations):
            self._manned_s = now_s
        elif now_s - self._manned_s >= self._options.start_timeout_s:
            said = described(nodes(), self._options)
            raise InfrastructureError(f"no worker for {self._options.start_timeout_s:g} s: {said}")


_HINT = "every node needs the packages that the work needs, in the same versions"


def _sendable(function: Callable[[Any], Any]) -> bytes:
    """The function as it travels: by name where it is in a module, as it is where it is in the main script."""
    try:
        import cloudpickle
    except ImportError as error:
        raise OperatorError("cloudpickle is not installed; install it with: pip install 'inorder[ray]'") from error
    try:
        return bytes(cloudpickle.dumps(function, protocol=5))
    except Exception as error:
        name = getattr(function, "__qualname__", repr(function))
        raise OperatorError(
            f"{name} cannot be sent to the cluster ({type(error).__name__}: {error}); define it at the top level of a "
            "module, without open files, locks or connections in it"
        ) from error


def _search_path() -> list[str]:
    import sys

    return [os.path.abspath(place) for place in sys.path]


def _is_alive(node: str) -> bool:
    """Whether a machine is still there, as far as the cluster knows."""
    try:
        return any(each.node == node for each in nodes())
    except Exception:
        return False


def _in_words(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    said = next((line for line in reversed(lines) if "dead because" in line or "died" in line), "")
    return f"the actor is gone: {said or type(error).__name__}"
