"""The engine whose workers are on a Ray cluster.

Every worker is an actor with the resources that it declares; in the actor, a supervisor runs one worker process.
Batches go out and reports come back; order, journal and sinks stay with the driver. So a lost worker, whatever happened
to its machine, is the same event as a local process that died, and nothing else changes.
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
from inorder.engines.base import LEASE_S, WORKERS_MAX, Batch, Task
from inorder.engines.pool import BEAT_S
from inorder.engines.process.engine import pickle_function
from inorder.engines.process.worker_process import ProcessOptions
from inorder.engines.progress import WorkerActivity
from inorder.errors import InfrastructureError, require
from inorder.version import __version__

from .actor_handle import ActorHandle
from .channel import ActorChannel, ActorEvents, ActorLost, Arrival, summarize_error
from .cluster import (
    connect,
    count_fitting_workers,
    describe_capacity,
    is_private_cluster,
    list_nodes,
    load_ray,
)
from .options import RayOptions
from .packing import FileTransfer, TaskPacker
from .protocol import BATCH_S, SupervisorOptions

T = TypeVar("T")

_WAIT_S = 1.0
_CHECK_S = 0.05
"""Between two checks of the actors."""
SILENT_S = 4 * BEAT_S
"""An actor that reports nothing for this long is out of reach. This is well before its leases expire."""
_NODE_LOSS_S = 60.0
"""Workers of one node that are lost within this time of each other were lost with the node."""
_FOLLOW_S = 2.0
"""Between two checks of the size of the cluster."""
_RETURN_S = 0.2
"""Between two requests to a worker to return what it has not started."""
_REPORT_S = 0.0015
"""About what a report costs the driver: with more workers, each is given more work at a time."""
_FEWER_WORKERS = "the number of workers was reduced"
_STARTS_MAX = 3
"""How often every worker may fail to start, with no report from any, before the run fails. A lost node takes along all
the workers that were about to start there."""


class RayEngine:
    """Implements `engines.base.ResizableEngine`. With `workers` None it has as many as fit on the cluster, also when
    that changes."""

    def __init__(
        self,
        function: Callable[[Any], Any],
        workers: int | None,
        *,
        timeout_s: float | None,
        options: RayOptions | None = None,
        limits: ProcessOptions | None = None,
        files: FileTransfer | None = None,
        lease_s: float = LEASE_S,
    ) -> None:
        self._options = options or RayOptions()
        self._limits = limits or ProcessOptions()
        self._timeout_s = timeout_s
        self._lease_s = lease_s
        self._packer = TaskPacker(files)
        self._follows_cluster = workers is None
        self._count = workers or 1
        self._function_pickle = pickle_function(function)
        self._channel = ActorChannel(self._packer, self._function_pickle, self._limits, self._options.files)
        self._outbox = self._channel.outbox
        self._actors: set[ActorHandle] = set()
        self._actor_of_worker: dict[int, ActorHandle] = {}
        self._retiring: set[ActorHandle] = set()
        """Actors that end when their worker next pulls."""
        self._idle: set[ActorHandle] = set()
        """Actors whose worker has pulled and was given no batch."""
        self._lost_nodes: dict[str, float] = {}
        """When each node was lost, on the watch clock."""
        self._failed_starts = 0
        self._is_draining = False
        self._watch_s = 0.0
        """The watch clock: time during which this engine was polled. It stands still while the driver is suspended, so
        that no worker seems silent afterwards."""
        self._polled_s = self._checked_s = self._last_beat_s = self._followed_s = self._had_worker_s = monotonic()

    def start(self) -> None:
        """Connect to the cluster and create the actors; each announces its worker once it has started."""
        connect(self._options)
        if is_private_cluster():  # it will not grow
            nodes = list_nodes()
            require(count_fitting_workers(nodes, self._options) > 0, describe_capacity(nodes, self._options))
        if self._follows_cluster:
            self._count = self._count_fitting()
        from . import bootstrap

        ray = load_ray()
        ray.cloudpickle.register_pickle_by_value(bootstrap)
        self._function_ref = ray.put(self._function_pickle)
        self._actor_class = ray.remote(bootstrap.BootstrapActor)
        self._polled_s = self._last_beat_s = self._followed_s = self._had_worker_s = monotonic()
        self._add_missing_actors()

    def dispatch(self, batch: Batch) -> None:
        """Have the batch packed and sent."""
        actor = self._actor_of_worker.get(batch.worker)
        if actor is None:  # lost since it pulled; the kernel does not know yet
            self._outbox.put(WorkerLost(batch.worker, Loss.RETIRED, reason="the worker ended before it got a batch"))
            return
        self._idle.discard(actor)
        actor.hold(batch)
        self._channel.send_batch(actor, batch)

    def stop_worker(self, worker: int, reason: str) -> None:
        """Kill the actor, and its process with it; create another."""
        actor = self._actor_of_worker.get(worker)
        self._outbox.put(WorkerLost(worker, Loss.RETIRED, reason=reason))
        if actor is not None:
            self._remove_actor(actor)
            self._add_missing_actors()

    def poll(self, timeout_s: float | None) -> list[Event]:
        """Wait for reports, and check the actors periodically."""
        until_s = None if timeout_s is None else monotonic() + timeout_s
        while True:
            events = self._wait(_WAIT_S if until_s is None else max(0.0, until_s - monotonic()))
            is_over = self._is_idle() if until_s is None else monotonic() >= until_s
            if events or is_over:
                return events

    def resize(self, count: int) -> None:
        """Change the number of workers. More come as they start. Of fewer, those that are idle or have not started end
        at once, and the others when they next pull."""
        self._count = count
        self._add_missing_actors()
        staying = sorted(
            self._actors - self._retiring,
            key=lambda actor: (actor.has_started, actor not in self._idle, -actor.number),
        )
        for actor in staying[: max(0, len(staying) - count)]:
            if actor.has_started and actor not in self._idle:
                self._retiring.add(actor)
                continue
            for number in actor.list_workers():
                self._outbox.put(WorkerLost(number, Loss.RETIRED, reason=_FEWER_WORKERS))
            self._remove_actor(actor)

    def list_activity(self) -> list[WorkerActivity]:
        """Return what every worker is running, as it was at its last report."""
        return [activity for actor in self._actors for activity in actor.list_activity(self._measure_silence(actor))]

    def wake(self) -> None:
        """Make a waiting `poll` return soon."""
        self._outbox.put(Tick())

    def drain(self) -> None:
        """From now on, have workers return all items that they have not started."""
        self._is_draining = True

    def close(self, grace_s: float = 0.0) -> list[Task]:
        """Kill every actor, and its process with it."""
        for actor in list(self._actors):
            self._remove_actor(actor)
        self._channel.close()
        return []

    # ---- actors

    def _add_missing_actors(self) -> None:
        while len(self._actors) - len(self._retiring) < self._count:
            if self._retiring:
                self._retiring.pop()
            else:
                self._add_actor()

    def _add_actor(self) -> None:
        folder = _get_current_folder()
        settings = SupervisorOptions(
            timeout_s=self._timeout_s,
            lease_s=self._lease_s,
            batch_s=max(BATCH_S, self._count * _REPORT_S),
            limits=self._limits,
            path=[os.path.normpath(os.path.join(folder, entry)) for entry in sys.path],
            folder=folder,
            marker_path=self._packer.marker_path,
            marker_secret=self._packer.marker_secret,
        )
        try:
            remote = self._actor_class.options(
                num_cpus=self._options.cpus,
                num_gpus=self._options.gpus,
                resources=dict(self._options.resources) or None,
                max_concurrency=2,
                max_restarts=0,
                max_task_retries=0,
                scheduling_strategy="SPREAD",
            ).remote(self._function_ref, pickle.dumps(settings), __version__)
            actor = ActorHandle(self._channel.allocate_number(), remote)
            self._actors.add(actor)
            if actor.try_begin_poll():
                self._channel.poll(actor)
        except Exception as error:
            raise InfrastructureError(f"the cluster cannot create an actor: {summarize_error(error)}") from error

    def _remove_actor(self, actor: ActorHandle) -> None:
        self._actors.discard(actor)
        self._retiring.discard(actor)
        self._idle.discard(actor)
        actor.close()
        for number in actor.list_workers():
            self._actor_of_worker.pop(number, None)
        ray = load_ray()
        with suppress(Exception):
            if ray.is_initialized():  # otherwise `kill` would start a cluster
                ray.kill(actor.actor, no_restart=True)

    def _count_fitting(self) -> int:
        count = self._query_cluster(lambda: count_fitting_workers(list_nodes(), self._options))
        return max(1, min(WORKERS_MAX, count))

    @staticmethod
    def _query_cluster(query: Callable[[], T]) -> T:
        try:
            return query()
        except Exception as error:
            raise InfrastructureError(f"the cluster does not respond: {summarize_error(error)}") from error

    # ---- events

    def _wait(self, timeout_s: float) -> list[Event]:
        arrived: list[Arrival] = []
        if self._outbox.empty():
            self._poll_idle()
        wait_s = min(timeout_s, _RETURN_S if self._can_steal() else _WAIT_S)
        with suppress(Empty):
            arrived.append(self._outbox.get(timeout=wait_s) if wait_s > 0 else self._outbox.get_nowait())
        while not self._outbox.empty():
            arrived.append(self._outbox.get())
        events = [event for arrival in arrived for event in self._track(arrival)]
        now_s = monotonic()
        self._watch_s += min(now_s - self._polled_s, 2 * _WAIT_S)
        self._polled_s = now_s
        if now_s - self._checked_s >= _CHECK_S:
            self._checked_s = now_s
            self._check_actors(now_s)
            events.extend(self._find_local_overruns(now_s))
        if now_s - self._last_beat_s >= BEAT_S:
            self._last_beat_s = now_s
            events.extend(self._beat())
        return events

    def _beat(self) -> list[Event]:
        """Report who is alive. An actor that has been silent for too long counts as lost with its node, before the
        kernel expires the lease of each of its workers."""
        self._poll_idle()
        silent = [
            actor
            for actor in self._actors
            if actor.has_started and not actor.is_local and self._measure_silence(actor) > SILENT_S
        ]
        events: list[Event] = []
        for actor in silent:
            reason = f"node {actor.host} has been silent for {SILENT_S:g} s"
            events += self._on_actor_lost(ActorLost(actor, reason, has_died=False, is_node_alive=False))
        alive = [actor for actor in self._actors if actor.is_local or self._measure_silence(actor) < 2 * BEAT_S]
        return [*events, Beat([number for actor in alive for number in actor.list_workers()])]

    def _measure_silence(self, actor: ActorHandle) -> float:
        return self._watch_s - actor.last_report_s

    def _track(self, arrival: Arrival) -> list[Event]:
        """Update the engine's own state from what is on its way to the kernel."""
        if isinstance(arrival, BaseException):
            raise arrival
        if isinstance(arrival, ActorLost):
            return self._on_actor_lost(arrival)
        if not isinstance(arrival, ActorEvents):
            return [arrival]
        actor = arrival.actor
        if actor not in self._actors:
            return []
        actor.last_report_s = self._watch_s
        self._failed_starts = 0
        events = []
        for event in arrival.events:
            actor.track(event)
            if isinstance(event, Pulled):
                self._actor_of_worker[event.worker] = actor
                self._idle.add(actor)
                if actor in self._retiring:
                    self._remove_actor(actor)
                    event = WorkerLost(event.worker, Loss.RETIRED, reason=_FEWER_WORKERS)
            elif isinstance(event, WorkerLost):
                self._actor_of_worker.pop(event.worker, None)
                self._idle.discard(actor)
            events.append(event)
        if arrival.is_final:
            self._remove_actor(actor)
            self._add_missing_actors()
        return events

    def _on_actor_lost(self, lost: ActorLost) -> list[Event]:
        """If the actor was lost with its node, or because the cluster could not transport its report, the
        infrastructure is at fault, charged once per node. If only the actor died, its item may have used up the
        memory."""
        actor = lost.actor
        if actor not in self._actors:
            return []
        self._remove_actor(actor)
        if not actor.has_started:
            self._failed_starts += 1
            if self._failed_starts > _STARTS_MAX * self._count:
                raise InfrastructureError(f"no worker can be started on the cluster: {lost.reason}")
        cause = Loss.DIED if lost.is_node_alive and lost.has_died else Loss.INFRASTRUCTURE
        lost_s = self._lost_nodes.get(actor.node)
        if not lost.is_node_alive and lost_s is not None and self._watch_s - lost_s < _NODE_LOSS_S:
            cause = Loss.RETIRED
        elif not lost.is_node_alive:
            self._lost_nodes[actor.node] = self._watch_s
        self._add_missing_actors()
        reason = "its actor died" if cause is Loss.DIED else lost.reason
        return [WorkerLost(number, cause, reason=reason, detail=lost.reason) for number in actor.list_workers()]

    def _find_local_overruns(self, now_s: float) -> list[Event]:
        """Items past their limit that run on this machine; supervisors report theirs."""
        overruns = [actor.find_overrun(now_s, self._timeout_s) for actor in self._actors]
        return [overran for overran in overruns if overran is not None]

    # ---- periodic checks

    def _is_idle(self) -> bool:
        return len(self._idle) == len(self._actors)

    def _can_steal(self) -> bool:
        """Whether a worker holds more than one item while another is idle, or the run is stopping."""
        return (bool(self._idle) or self._is_draining) and any(len(actor.held_seqs) > 1 for actor in self._actors)

    def _poll_idle(self) -> None:
        """Poll idle actors too: without a pending poll, nothing would show that they ended."""
        for actor in self._idle:
            if actor.try_begin_poll():
                self._channel.poll(actor)

    def _check_actors(self, now_s: float) -> None:
        if self._can_steal():
            for actor in self._actors:
                if len(actor.held_seqs) > 1 and now_s - actor.last_return_s >= _RETURN_S:
                    actor.last_return_s = now_s
                    self._channel.request_return(actor)
        if self._follows_cluster and now_s - self._followed_s >= _FOLLOW_S:
            self._followed_s = now_s
            count = self._count_fitting()
            if count != self._count:
                self.resize(count)
        if any(actor.has_started for actor in self._actors):
            self._had_worker_s = now_s
        elif now_s - self._had_worker_s >= self._options.start_timeout_s:
            capacity = self._query_cluster(lambda: describe_capacity(list_nodes(), self._options))
            raise InfrastructureError(f"no worker started within {self._options.start_timeout_s:g} s: {capacity}")


def _get_current_folder() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return ""
