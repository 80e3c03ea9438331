"""Workers on a Ray cluster.

Every worker is an actor with the resources it declares; in it, a foreman minds one worker process. Batches go out and
reports come back; order, journal and sinks stay here, with the driver. So a worker that is lost, whatever became of its
machine, is the same event as a local process that died, and nothing else changes.
"""

import os
import pickle
import sys
from collections.abc import Callable
from contextlib import suppress
from queue import Empty
from time import monotonic
from typing import Any, TypeVar

from inorder.core.events import Beat, Event, Loss, Pulled, Tick, WorkerLost
from inorder.engines.base import WORKERS_MAX, Batch
from inorder.engines.pool import BEAT_S
from inorder.engines.process.engine import BATCH_S, ProcessOptions, sendable
from inorder.errors import InfrastructureError, OperatorError, require
from inorder.version import __version__

from .actor_handle import Station
from .channel import Arrival, Exchange, Lost, News, in_words
from .cluster import MISSING, connect, described, fitting, is_own, load_ray, nodes
from .options import RayOptions
from .packing import Courier, Mail
from .protocol import ForemanOptions

T = TypeVar("T")

_LOOK_S = 1.0
_GLANCE_S = 0.05
"""Between two looks around."""
SILENT_S = 4 * BEAT_S
"""A foreman that says nothing for this long is out of reach; well before its lease runs out."""
_TOGETHER_S = 60.0
"""Workers of one machine that go within this time of each other went with it."""
_FOLLOW_S = 2.0
"""Between two looks at how large the cluster is."""
_STEAL_S = 0.2
"""Between two demands for what a worker has not begun."""
_REPORT_S = 0.0015
"""What a report costs the driver, about: with more workers each is given more work at a time."""
_FEWER = "fewer workers are wanted"
_STARTS_MAX = 3
"""Times that every worker may fail to start, with no word from anybody, before the run does. A node that is lost takes
all with it that were about to start there."""


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
        self._options = options or RayOptions()
        self._limits = limits or ProcessOptions()
        self._timeout_s = timeout_s
        self._mail = Mail(courier)
        self._follows = workers is None
        self._count = workers or 1
        self._function_pickle = _sendable(function)
        self._exchange = Exchange(self._mail, self._function_pickle, self._limits, self._options.files)
        self._outbox = self._exchange.outbox
        self._stations: set[Station] = set()
        self._of_worker: dict[int, Station] = {}
        self._leaving: set[Station] = set()
        """Stations that go when they next ask for work."""
        self._idle: set[Station] = set()
        """Stations whose worker has asked for work and got none."""
        self._lost_nodes: dict[str, float] = {}
        """When each was lost, on the watch."""
        self._failed_starts = 0
        self._watch_s = 0.0
        """Time that this engine has looked: one that was stopped for an hour has learned nothing about its workers."""
        self._looked_s = self._glanced_s = self._beaten_s = self._followed_s = self._manned_s = monotonic()

    def start(self) -> None:
        """Connect, and have the actors started; each announces its worker when it is up."""
        connect(self._options)
        if is_own():  # nobody will ever add a machine to it
            found = nodes()
            require(fitting(found, self._options) > 0, described(found, self._options))
        if self._follows:
            self._count = self._fitting()
        from . import bootstrap

        ray = load_ray()
        ray.cloudpickle.register_pickle_by_value(bootstrap)
        self._function_ref = ray.put(self._function_pickle)
        self._post = ray.remote(bootstrap.Post)
        self._looked_s = self._beaten_s = self._followed_s = self._manned_s = monotonic()
        self._fill()

    def dispatch(self, batch: Batch) -> None:
        """Have the batch made ready and sent."""
        station = self._of_worker.get(batch.worker)
        if station is None:  # gone since it pulled, and the kernel is about to hear of it
            self._outbox.put(WorkerLost(batch.worker, Loss.RETIRED, reason="it went before it got anything"))
            return
        self._idle.discard(station)
        station.hold(batch)
        self._exchange.send(station, batch)

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
            events = self._wait(_LOOK_S if until_s is None else max(0.0, until_s - monotonic()))
            is_over = self._is_at_rest() if until_s is None else monotonic() >= until_s
            if events or is_over:
                return events

    def resize(self, count: int) -> None:
        """Have this many workers: more as they come up; fewer at once where they have nothing to do, or are not up yet,
        and otherwise as they come to ask for more work."""
        self._count = count
        self._fill()
        staying = sorted(
            self._stations - self._leaving,
            key=lambda station: (station.is_up, station not in self._idle, -station.number),
        )
        for station in staying[: max(0, len(staying) - count)]:
            if station.is_up and station not in self._idle:
                self._leaving.add(station)
                continue
            for number in station.workers():
                self._outbox.put(WorkerLost(number, Loss.RETIRED, reason=_FEWER))
            self._remove(station)

    def wake(self) -> None:
        """Have a `poll` that waits return soon."""
        self._outbox.put(Tick())

    def close(self) -> None:
        """Kill every actor. Work under way is abandoned."""
        for station in list(self._stations):
            self._remove(station)
        self._exchange.close()

    # ---- stations

    def _fill(self) -> None:
        """Have as many as are wanted."""
        while len(self._stations) - len(self._leaving) < self._count:
            if self._leaving:
                self._leaving.pop()
            else:
                self._add_station()

    def _add_station(self) -> None:
        folder = _folder()
        settings = ForemanOptions(
            timeout_s=self._timeout_s,
            batch_s=max(BATCH_S, self._count * _REPORT_S),
            memory_bytes_max=self._limits.memory_bytes_max,
            recycle_tasks=self._limits.recycle_tasks,
            path=[os.path.normpath(os.path.join(folder, place)) for place in sys.path],
            folder=folder,
            mark=self._mail.mark,
            secret=self._mail.secret,
        )
        try:
            actor = self._post.options(
                num_cpus=self._options.cpus,
                num_gpus=self._options.gpus,
                resources=dict(self._options.resources) or None,
                max_concurrency=2,
                max_restarts=0,
                max_task_retries=0,
                scheduling_strategy="SPREAD",
            ).remote(self._function_ref, pickle.dumps(settings), __version__)
            station = Station(self._exchange.new_number(), actor)
            self._stations.add(station)
            if station.starts_listening():
                self._exchange.ask(station)
        except Exception as error:
            raise InfrastructureError(f"the cluster takes no more work: {in_words(error)}") from error

    def _remove(self, station: Station) -> None:
        self._stations.discard(station)
        self._leaving.discard(station)
        self._idle.discard(station)
        station.go()
        for number in station.workers():
            self._of_worker.pop(number, None)
        ray = load_ray()
        with suppress(Exception):
            if ray.is_initialized():  # or it would start a cluster, to look for the actor there
                ray.kill(station.actor, no_restart=True)

    def _fitting(self) -> int:
        return max(1, min(WORKERS_MAX, self._asked(lambda: fitting(nodes(), self._options))))

    @staticmethod
    def _asked(question: Callable[[], T]) -> T:
        """What the cluster says."""
        try:
            return question()
        except Exception as error:
            raise InfrastructureError(f"the cluster does not answer: {in_words(error)}") from error

    # ---- what has happened

    def _wait(self, timeout_s: float) -> list[Event]:
        arrived: list[Arrival] = []
        if self._outbox.empty():
            self._listen_to_idle()
        patience_s = min(timeout_s, _STEAL_S if self._is_stealing() else _LOOK_S)
        with suppress(Empty):
            arrived.append(self._outbox.get(timeout=patience_s) if patience_s > 0 else self._outbox.get_nowait())
        while not self._outbox.empty():
            arrived.append(self._outbox.get())
        events = [event for one in arrived for event in self._taken_in(one)]
        now_s = monotonic()
        self._watch_s += min(now_s - self._looked_s, 2 * _LOOK_S)
        self._looked_s = now_s
        if now_s - self._glanced_s >= _GLANCE_S:
            self._glanced_s = now_s
            self._look_around(now_s)
            events.extend(self._overran_at_home(now_s))
        if now_s - self._beaten_s >= BEAT_S:
            self._beaten_s = now_s
            events.extend(self._beat())
        return events

    def _beat(self) -> list[Event]:
        """Who lives; and who has been silent for so long that his machine is taken for lost, before the kernel would
        charge for each of its workers."""
        self._listen_to_idle()
        silent = [
            each for each in self._stations if each.is_up and not each.is_home and self._silence_s(each) > SILENT_S
        ]
        events: list[Event] = []
        for station in silent:
            reason = f"node {station.host} has been silent for {SILENT_S:g} s"
            events += self._lost(Lost(station, reason, has_died=False, is_node_alive=False))
        heard = [each for each in self._stations if each.is_home or self._silence_s(each) < 2 * BEAT_S]
        return [*events, Beat([number for station in heard for number in station.workers()])]

    def _silence_s(self, station: Station) -> float:
        return self._watch_s - station.heard_s

    def _taken_in(self, arrived: Arrival) -> list[Event]:
        """Keep the engine's own books of what is on its way to the kernel."""
        if isinstance(arrived, BaseException):
            raise arrived
        if isinstance(arrived, Lost):
            return self._lost(arrived)
        if not isinstance(arrived, News):
            return [arrived]
        station = arrived.station
        if station not in self._stations:
            return []
        station.heard_s = self._watch_s
        self._failed_starts = 0
        events = []
        for event in arrived.events:
            station.note(event)
            if isinstance(event, Pulled):
                self._of_worker[event.worker] = station
                self._idle.add(station)
                if station in self._leaving:
                    self._remove(station)
                    event = WorkerLost(event.worker, Loss.RETIRED, reason=_FEWER)
            elif isinstance(event, WorkerLost):
                self._of_worker.pop(event.worker, None)
                self._idle.discard(station)
            events.append(event)
        if arrived.ends:
            self._remove(station)
            self._fill()
        return events

    def _lost(self, lost: Lost) -> list[Event]:
        """An actor is gone. With its machine, or because the cluster could not carry what it had to say, it is weather,
        charged once for all that were on one machine; alone, it may have been its item that used up the memory."""
        station = lost.station
        if station not in self._stations:
            return []
        self._remove(station)
        if not station.is_up:
            self._failed_starts += 1
            if self._failed_starts > _STARTS_MAX * self._count:
                raise InfrastructureError(f"no worker can be started on the cluster: {lost.reason}")
        cause = Loss.DIED if lost.is_node_alive and lost.has_died else Loss.INFRASTRUCTURE
        lost_s = self._lost_nodes.get(station.node)
        if not lost.is_node_alive and lost_s is not None and self._watch_s - lost_s < _TOGETHER_S:
            cause = Loss.RETIRED
        elif not lost.is_node_alive:
            self._lost_nodes[station.node] = self._watch_s
        self._fill()
        return [WorkerLost(number, cause, reason=lost.reason) for number in station.workers()]

    def _overran_at_home(self, now_s: float) -> list[Event]:
        """Items past their limit that are done here; foremen tell of theirs."""
        limit_s = self._timeout_s
        found = [] if limit_s is None else [station.overrun(now_s, limit_s) for station in self._stations]
        return [overran for overran in found if overran is not None]

    # ---- looking around

    def _is_at_rest(self) -> bool:
        return len(self._idle) == len(self._stations)

    def _is_stealing(self) -> bool:
        """Whether somebody has nothing to do while somebody else has more than one thing."""
        return bool(self._idle) and any(len(station.held) > 1 for station in self._stations)

    def _listen_to_idle(self) -> None:
        """Somebody with nothing to do is asked all the same, or nobody would hear of his end."""
        for station in self._idle:
            if station.starts_listening():
                self._exchange.ask(station)

    def _look_around(self, now_s: float) -> None:
        if self._is_stealing():
            for station in self._stations:
                if len(station.held) > 1 and now_s - station.asked_s >= _STEAL_S:
                    station.asked_s = now_s
                    self._exchange.demand(station)
        if self._follows and now_s - self._followed_s >= _FOLLOW_S:
            self._followed_s = now_s
            wanted = self._fitting()
            if wanted != self._count:
                self.resize(wanted)
        if any(station.is_up for station in self._stations):
            self._manned_s = now_s
        elif now_s - self._manned_s >= self._options.start_timeout_s:
            said = self._asked(lambda: described(nodes(), self._options))
            raise InfrastructureError(f"no worker for {self._options.start_timeout_s:g} s: {said}")


def _folder() -> str:
    """Where this process is; it may have been removed."""
    try:
        return os.getcwd()
    except OSError:
        return ""


def _sendable(function: Callable[[Any], Any]) -> bytes:
    """The function as it travels: by name where it is in a module, as it is where it is in the main script."""
    try:
        import cloudpickle
    except ImportError as error:
        raise OperatorError(MISSING) from error
    return sendable(function, cloudpickle.dumps, "the cluster", "without open files, locks or connections in it")
