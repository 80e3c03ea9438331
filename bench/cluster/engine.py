"""A simulated cluster as an engine: nodes with workers behind a slow network, on a virtual clock.

It implements `engines.base.Engine`, so the real runtime drives it. A worker pulls, is sent a batch, works through it
and sends its results back. Each message takes the network's time, and all results share the driver's link. What the
driver knows differs from the real state: the driver learns of a lost node later, and a node that the network has cut
off continues to work and sends its results too late.

Like the pooled engines, a worker sends finished results that wait behind a slow item, and idle workers get tasks that
busy ones have not started.
"""

from collections import Counter, deque
from collections.abc import Callable
from functools import partial
from itertools import islice
from random import Random

from inorder.core.events import Beat, Envelope, Event, Finished, Loss, Pulled, Returned, WorkerLost
from inorder.core.transitions import State
from inorder.engines.base import Batch, BatchSizer, Task
from inorder.engines.pool import SLOW_S
from inorder.sim.clock import VirtualClock
from inorder.sim.event_queue import EventQueue

from .options import ClusterItem, ClusterOptions

_SUCCESS = int(State.TERMINAL_SUCCESS)
_SLOW_MS = round(SLOW_S * 1000)


class SimulatedNode:
    """The real state of a machine."""

    def __init__(self, number: int, slowness: float) -> None:
        self.number = number
        self.slowness = slowness
        self.workers: list[SimulatedWorker] = []
        self.is_lost = False
        self.is_silent = False
        """The network has cut it off."""
        self.is_abandoned = False
        """The driver has replaced it."""
        self.held: list[Callable[[], None]] = []
        """Actions to run when it can be reached again."""


class SimulatedWorker:
    """One process on a node."""

    def __init__(self, number: int, node: SimulatedNode, batch_s: float) -> None:
        self.number = number
        self.node = node
        self.sizer = BatchSizer(batch_s)
        self.queue: deque[Task] = deque()
        self.current: Task | None = None
        self.done: list[Envelope] = []
        self.batch_count = 0
        self.batch_began_ms = 0
        self.began_ms = 0
        self.arrival_ms = 0.0
        """When its latest message arrives. The next one does not overtake it."""
        self.was_asked_to_return = False
        """Whether it was asked to return the tasks that it has not started."""


class ClusterEngine:
    """The workers of one cluster."""

    def __init__(self, options: ClusterOptions, clock: VirtualClock) -> None:
        self._options = options
        self._clock = clock
        self.event_queue = EventQueue(clock)
        self._rng = Random(options.seed ^ 0xC105)
        self._nodes: list[SimulatedNode] = []
        self._workers: dict[int, SimulatedWorker] = {}
        """The workers that the driver knows."""
        self._idle: set[int] = set()
        """Workers that wait for work."""
        self._with_queue: dict[int, None] = {}
        """Workers that were sent more than one item."""
        self._next_number = 0
        self._link_free_ms = 0.0
        self._is_beating = self._is_requesting = False
        self._computing = 0
        self._computing_since_ms = 0
        self._busy_ms = 0
        self.fault_counts: Counter[str] = Counter()
        """How often each fault happened."""
        self.moments: list[tuple[int, str]] = []
        """When nodes were lost, cut off and joined."""

    # ---- The engine protocol

    def start(self) -> None:
        """Start all nodes, and schedule the faults."""
        options, rng = self._options, self._rng
        slow = set(rng.sample(range(options.nodes), options.slow_nodes))
        for number in range(options.nodes):
            share = options.workers // options.nodes + (number < options.workers % options.nodes)
            self._add_node(options.slow_factor if number in slow else 1.0, share)
        unlucky = iter(rng.sample(self._nodes, options.faulty_nodes))
        for act, count in ((self._lose, options.node_losses), (self._silence, options.silent_nodes)):
            for node in islice(unlucky, count):
                self._run_later(options.expected_ms * rng.uniform(0.1, 0.8), partial(act, node))
        for node in unlucky:
            self._run_later(options.expected_ms / 2, partial(self._lose, node))

    def dispatch(self, batch: Batch) -> None:
        """Send the batch. It is dropped if the worker is lost and the run does not know it yet."""
        worker = self._workers.get(batch.worker)
        if worker is None:
            return
        self._idle.discard(batch.worker)
        if len(batch.tasks) > 1:
            self._with_queue[batch.worker] = None
        self._reach(worker.node, partial(self._receive, worker, batch.tasks))
        if not self._is_beating:
            self._is_beating = True
            self.event_queue.schedule(self._options.lease_ms // 4, self._beat)

    def stop_worker(self, worker: int, reason: str) -> None:
        """Abandon the node of a worker that was silent for too long. Its other workers are as silent, and their loss
        costs no more."""
        self.fault_counts["stopped worker"] += 1
        stopped = self._workers.get(worker)
        self._answer(0.0, WorkerLost(worker, Loss.RETIRED, reason=reason))
        if stopped is not None:
            node = stopped.node
            others = [other for other in node.workers if other is not stopped]
            self._abandon_node(node)
            self._answer(0.0, *(WorkerLost(other.number, Loss.RETIRED, reason=reason) for other in others))

    def poll(self, timeout_s: float | None) -> list[Event]:
        """Let time pass until something happens, or until the timeout."""
        return self.event_queue.poll(timeout_s)

    def wake(self) -> None:
        """Do nothing: `poll` never blocks."""

    def drain(self) -> None:
        """Do nothing: the items of a batch count as started."""

    def close(self, grace_s: float = 0.0) -> list[Task]:
        """Drop everything that is scheduled."""
        self.event_queue.clear()
        return []

    # ---- Measurements

    @property
    def alive(self) -> int:
        """Workers on nodes that exist and can be reached."""
        return sum(len(node.workers) for node in self._nodes if not node.is_lost and not node.is_silent)

    @property
    def busy_ms(self) -> int:
        """Total time that workers have computed so far."""
        self._count_busy(0)
        return self._busy_ms

    def _count_busy(self, change: int) -> None:
        """Change the number of workers that compute."""
        now_ms = self._clock.true_ms
        self._busy_ms += self._computing * (now_ms - self._computing_since_ms)
        self._computing_since_ms = now_ms
        self._computing += change

    # ---- Network

    def _run_later(self, delay_ms: float, action: Callable[[], None]) -> None:
        def run_action() -> list[Event]:
            action()
            return []

        self.event_queue.schedule(round(delay_ms), run_action)

    def _answer(self, delay_ms: float, *events: Event) -> None:
        if events:
            self.event_queue.schedule(round(delay_ms), lambda: [*events])

    def _delay_ms(self) -> float:
        return self._options.latency_ms + self._rng.random() * self._options.jitter_ms

    def _reach(self, node: SimulatedNode, action: Callable[[], None]) -> None:
        """Run an action on a node when the message arrives; on a node that is cut off, when it is back."""

        def arrive() -> None:
            if node.is_silent:
                node.held.append(action)
            elif not node.is_lost:
                action()

        self._run_later(self._delay_ms(), arrive)

    def _send(self, worker: SimulatedWorker, size: int, events: list[Event]) -> None:
        """Send a message from a worker to the driver."""
        node = worker.node
        if node.is_silent:
            node.held.append(partial(self._send, worker, size, events))
            return
        now_ms = self._clock.true_ms
        begins_ms = max(now_ms + self._delay_ms(), self._link_free_ms, worker.arrival_ms)
        worker.arrival_ms = self._link_free_ms = begins_ms + size / (self._options.bandwidth_mb_s * 1e3)
        self.event_queue.schedule(round(worker.arrival_ms) - now_ms, lambda: self._receive_message(worker, events))

    def _receive_message(self, worker: SimulatedWorker, events: list[Event]) -> list[Event]:
        """Return the events of a message. Those of an abandoned worker are only results, which the kernel refuses."""
        if worker.number not in self._workers:
            return [event for event in events if isinstance(event, Finished)]
        for event in events:
            if isinstance(event, Pulled):
                self._idle.add(worker.number)
                self._with_queue.pop(worker.number, None)
                if self._with_queue and not self._is_requesting:
                    self._is_requesting = True
                    self.event_queue.schedule(_SLOW_MS, self._request_returns)
            elif isinstance(event, Returned):
                worker.was_asked_to_return = False
        return events

    # ---- On a worker

    def _receive(self, worker: SimulatedWorker, tasks: list[Task]) -> None:
        worker.queue.extend(tasks)
        worker.batch_count = len(tasks)
        worker.batch_began_ms = self._clock.true_ms
        self._begin_next(worker)

    def _begin_next(self, worker: SimulatedWorker) -> None:
        if not worker.queue:
            self._end_batch(worker)
            return
        worker.current = task = worker.queue.popleft()
        worker.began_ms = self._clock.true_ms
        self._count_busy(not worker.node.is_silent)
        item: ClusterItem = task.item
        duration_ms = max(1, round(item.duration_ms * worker.node.slowness))
        if worker.done and duration_ms >= _SLOW_MS:
            self._run_later(_SLOW_MS, lambda: self._hand_over(worker))
        self._run_later(duration_ms, lambda: self._complete(worker, task))

    def _complete(self, worker: SimulatedWorker, task: Task) -> None:
        if worker.node.is_lost:
            return
        self._count_busy(-(not worker.node.is_silent))
        item: ClusterItem = task.item
        payload = ("result", task.seq, task.attempt)
        worker.done.append(Envelope(task.seq, task.attempt, _SUCCESS, payload, item.result_bytes))
        worker.current = None
        self._begin_next(worker)

    def _end_batch(self, worker: SimulatedWorker) -> None:
        """Send the results and pull, in one message."""
        elapsed_ms = self._clock.true_ms - worker.batch_began_ms
        if worker.batch_count:
            worker.sizer.observe(worker.batch_count, elapsed_ms / 1000)
        envelopes, worker.done = worker.done, []
        events: list[Event] = [Finished(worker.number, envelopes)] if envelopes else []
        events.append(Pulled(worker.number, worker.sizer.limit))
        self._send(worker, sum(envelope.payload_bytes for envelope in envelopes), events)

    def _hand_over(self, worker: SimulatedWorker) -> None:
        """Send finished results that wait behind a slow item."""
        if worker.done and not worker.node.is_lost:
            envelopes, worker.done = worker.done, []
            size = sum(envelope.payload_bytes for envelope in envelopes)
            self._send(worker, size, [Finished(worker.number, envelopes)])

    def _give_back(self, worker: SimulatedWorker, *, half: bool) -> None:
        """Return the tasks that are not started, or the later half of them."""
        kept = len(worker.queue) // 2 if half else 0
        returned = [worker.queue.pop().seq for _ in range(len(worker.queue) - kept)]
        worker.batch_count -= len(returned)
        if returned:
            self.fault_counts["taken back"] += len(returned)
        self._send(worker, 0, [Returned(worker.number, returned)])

    # ---- On the driver

    def _beat(self) -> list[Event]:
        beating = [
            number
            for number, worker in self._workers.items()
            if number not in self._idle and not worker.node.is_silent and not worker.node.is_lost
        ]
        self._is_beating = len(self._idle) < len(self._workers)
        if self._is_beating:
            self.event_queue.schedule(self._options.lease_ms // 4, self._beat)
        return [Beat(beating)] if beating else []

    def _request_returns(self) -> list[Event]:
        """Ask busy workers to return tasks while other workers are idle."""
        self._is_requesting = bool(self._idle and self._with_queue)
        if self._is_requesting:
            self.event_queue.schedule(_SLOW_MS, self._request_returns)
            now_ms = self._clock.true_ms
            for number in self._with_queue:
                worker = self._workers[number]
                if worker.queue and not worker.was_asked_to_return:
                    worker.was_asked_to_return = True
                    is_slow = now_ms - worker.began_ms >= _SLOW_MS
                    self._reach(worker.node, partial(self._give_back, worker, half=not is_slow))
        return []

    # ---- Nodes

    def _add_node(self, slowness: float, share: int) -> None:
        node = SimulatedNode(len(self._nodes), slowness)
        self._nodes.append(node)
        for _ in range(share):
            worker = SimulatedWorker(self._next_number, node, self._options.batch_ms / 1000)
            self._next_number += 1
            node.workers.append(worker)
            self._workers[worker.number] = worker
            self._send(worker, 0, [Pulled(worker.number)])

    def _abandon_node(self, node: SimulatedNode) -> None:
        """Remove a node from the driver, and start a replacement."""
        node.is_abandoned = True
        for worker in node.workers:
            del self._workers[worker.number]
            self._idle.discard(worker.number)
            self._with_queue.pop(worker.number, None)
        self._run_later(self._options.startup_ms, partial(self._join, len(node.workers)))

    def _join(self, share: int) -> None:
        self.moments.append((self._clock.true_ms, "joined"))
        self._add_node(1.0, share)

    def _count_computing(self, node: SimulatedNode) -> int:
        return sum(worker.current is not None for worker in node.workers)

    def _lose(self, node: SimulatedNode) -> None:
        """Lose a node. The driver detects it later: its first worker counts as the loss, the others as retired."""
        self.fault_counts["lost node"] += 1
        self.moments.append((self._clock.true_ms, "lost"))
        self._count_busy(-self._count_computing(node))
        node.is_lost = True
        self.event_queue.schedule(self._options.detect_ms, lambda: self._detect_loss(node))

    def _detect_loss(self, node: SimulatedNode) -> list[Event]:
        self._abandon_node(node)
        reason = f"node {node.number} is lost"
        causes = [Loss.INFRASTRUCTURE] + [Loss.RETIRED] * (len(node.workers) - 1)
        return [
            WorkerLost(worker.number, cause, reason=reason) for worker, cause in zip(node.workers, causes, strict=True)
        ]

    def _silence(self, node: SimulatedNode) -> None:
        """Cut a node off from the network, for twice the length of a lease."""
        self.fault_counts["silent node"] += 1
        self.moments.append((self._clock.true_ms, "silent"))
        self._count_busy(-self._count_computing(node))
        node.is_silent = True
        self._run_later(2 * self._options.lease_ms, partial(self._reconnect, node))

    def _reconnect(self, node: SimulatedNode) -> None:
        """Reconnect a node, and deliver its held messages. A node that was abandoned then ends."""
        node.is_silent = False
        self._count_busy(self._count_computing(node))
        held, node.held = node.held, []
        for action in held:
            action()
        if node.is_abandoned:
            self._count_busy(-self._count_computing(node))
            node.is_lost = True
