"""A cluster as an engine: nodes full of workers behind a slow network, on a virtual clock.

It implements `engines.base.Engine`, so the real runtime drives it. A worker pulls, is sent a batch, works through it
and sends its results back; each of these ways takes the network's time, and all results share the driver's link. What
the driver knows and what is really so are two things here: a node that was lost is lost at once, and the driver is told
later; a node that the network has cut off works on, and its answers come when nobody wants them any more.

What the pooled engines do is done here too: results that wait behind a slow item are handed over, and idle workers get
what busy ones have not started.
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
from inorder.sim.agenda import Agenda
from inorder.sim.clock import VirtualClock

from .options import ClusterOptions, Job

_SUCCESS = int(State.TERMINAL_SUCCESS)
_SLOW_MS = round(SLOW_S * 1000)


class Node:
    """A machine, as it really is."""

    def __init__(self, number: int, slowness: float) -> None:
        self.number = number
        self.slowness = slowness
        self.workers: list[Worker] = []
        self.is_lost = False
        self.is_silent = False
        """The network has cut it off."""
        self.is_given_up = False
        """The driver has: another takes its place."""
        self.held: list[Callable[[], None]] = []
        """What happens when it can be reached again."""


class Worker:
    """One process on a node."""

    def __init__(self, number: int, node: Node, batch_s: float) -> None:
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
        """When the latest message it has sent arrives; the next does not overtake it."""
        self.is_asked = False
        """To give back what it has not started."""


class ClusterEngine:
    """The workers of one cluster."""

    def __init__(self, options: ClusterOptions, clock: VirtualClock) -> None:
        self._options = options
        self._clock = clock
        self.agenda = Agenda(clock)
        self._rng = Random(options.seed ^ 0xC105)
        self._nodes: list[Node] = []
        self._workers: dict[int, Worker] = {}
        """Those the driver counts on."""
        self._idle: set[int] = set()
        """Those of them that wait for work."""
        self._hoarding: dict[int, None] = {}
        """Those that have been sent more than one item."""
        self._next_number = 0
        self._link_free_ms = 0.0
        self._beats = self._looks = False
        self._computing = 0
        self._computing_since_ms = 0
        self._busy_ms = 0
        self.occurred: Counter[str] = Counter()
        """What has gone wrong so far."""
        self.moments: list[tuple[int, str]] = []
        """When nodes were lost, fell silent and joined."""

    # ---- what the runtime asks

    def start(self) -> None:
        """Every node joins; what is in store for some of them is drawn."""
        options, rng = self._options, self._rng
        slow = set(rng.sample(range(options.nodes), options.slow_nodes))
        for number in range(options.nodes):
            share = options.workers // options.nodes + (number < options.workers % options.nodes)
            self._add_node(options.slow_factor if number in slow else 1.0, share)
        unlucky = iter(rng.sample(self._nodes, options.unlucky_nodes))
        for act, count in ((self._lose, options.node_losses), (self._silence, options.silent_nodes)):
            for node in islice(unlucky, count):
                self._later(options.expected_ms * rng.uniform(0.1, 0.8), partial(act, node))
        for node in unlucky:
            self._later(options.expected_ms / 2, partial(self._lose, node))

    def dispatch(self, batch: Batch) -> None:
        """Send the batch; to a worker of whose loss the run is about to hear, in vain."""
        worker = self._workers.get(batch.worker)
        if worker is None:
            return
        self._idle.discard(batch.worker)
        if len(batch.tasks) > 1:
            self._hoarding[batch.worker] = None
        self._reach(worker.node, partial(self._receive, worker, batch.tasks))
        if not self._beats:
            self._beats = True
            self.agenda.at(self._options.lease_ms // 4, self._beat)

    def stop_worker(self, worker: int, reason: str) -> None:
        """The driver has not heard of it for too long. It gives up the whole node, which is as silent as this worker:
        the others cost no more than it did."""
        self.occurred["stopped worker"] += 1
        stopped = self._workers.get(worker)
        self._answer(0.0, WorkerLost(worker, Loss.RETIRED, reason=reason))
        if stopped is not None:
            node = stopped.node
            others = [other for other in node.workers if other is not stopped]
            self._give_up(node)
            self._answer(0.0, *(WorkerLost(other.number, Loss.RETIRED, reason=reason) for other in others))

    def poll(self, timeout_s: float | None) -> list[Event]:
        """Let time pass until something happens."""
        return self.agenda.poll(timeout_s)

    def wake(self) -> None:
        """Nobody ever waits here."""

    def close(self) -> None:
        """Nothing more happens."""
        self.agenda.clear()

    # ---- what can be seen from outside

    @property
    def alive(self) -> int:
        """Workers on nodes that are there and can be reached."""
        return sum(len(node.workers) for node in self._nodes if not node.is_lost and not node.is_silent)

    @property
    def busy_ms(self) -> int:
        """Time that workers have computed so far, all together."""
        self._count(0)
        return self._busy_ms

    def _count(self, change: int) -> None:
        """So many more workers compute from now on."""
        now_ms = self._clock.true_ms
        self._busy_ms += self._computing * (now_ms - self._computing_since_ms)
        self._computing_since_ms = now_ms
        self._computing += change

    # ---- the network

    def _later(self, delay_ms: float, action: Callable[[], None]) -> None:
        def appointment() -> list[Event]:
            action()
            return []

        self.agenda.at(round(delay_ms), appointment)

    def _answer(self, delay_ms: float, *events: Event) -> None:
        if events:
            self.agenda.at(round(delay_ms), lambda: [*events])

    def _way_ms(self) -> float:
        return self._options.latency_ms + self._rng.random() * self._options.jitter_ms

    def _reach(self, node: Node, action: Callable[[], None]) -> None:
        """Have something happen on a node, when the message is there; on one that is cut off, once it is back."""

        def arrive() -> None:
            if node.is_silent:
                node.held.append(action)
            elif not node.is_lost:
                action()

        self._later(self._way_ms(), arrive)

    def _send(self, worker: Worker, size: int, events: list[Event]) -> None:
        """From a worker to the driver."""
        node = worker.node
        if node.is_silent:
            node.held.append(partial(self._send, worker, size, events))
            return
        now_ms = self._clock.true_ms
        begins_ms = max(now_ms + self._way_ms(), self._link_free_ms, worker.arrival_ms)
        worker.arrival_ms = self._link_free_ms = begins_ms + size / (self._options.bandwidth_mb_s * 1e3)
        self.agenda.at(round(worker.arrival_ms) - now_ms, lambda: self._taken_in(worker, events))

    def _taken_in(self, worker: Worker, events: list[Event]) -> list[Event]:
        """What the driver sees of a message. Of one that it has given up it takes results alone, and the kernel does
        not want those."""
        if worker.number not in self._workers:
            return [event for event in events if isinstance(event, Finished)]
        for event in events:
            if isinstance(event, Pulled):
                self._idle.add(worker.number)
                self._hoarding.pop(worker.number, None)
                if self._hoarding and not self._looks:
                    self._looks = True
                    self.agenda.at(_SLOW_MS, self._look_around)
            elif isinstance(event, Returned):
                worker.is_asked = False
        return events

    # ---- on a worker

    def _receive(self, worker: Worker, tasks: list[Task]) -> None:
        worker.queue.extend(tasks)
        worker.batch_count = len(tasks)
        worker.batch_began_ms = self._clock.true_ms
        self._begin_next(worker)

    def _begin_next(self, worker: Worker) -> None:
        if not worker.queue:
            self._end_batch(worker)
            return
        worker.current = task = worker.queue.popleft()
        worker.began_ms = self._clock.true_ms
        self._count(not worker.node.is_silent)
        job: Job = task.item
        duration_ms = max(1, round(job.duration_ms * worker.node.slowness))
        if worker.done and duration_ms >= _SLOW_MS:
            self._later(_SLOW_MS, lambda: self._hand_over(worker))
        self._later(duration_ms, lambda: self._complete(worker, task))

    def _complete(self, worker: Worker, task: Task) -> None:
        if worker.node.is_lost:
            return
        self._count(-(not worker.node.is_silent))
        job: Job = task.item
        payload = ("result", task.seq, task.attempt)
        worker.done.append(Envelope(task.seq, task.attempt, _SUCCESS, payload, job.result_bytes))
        worker.current = None
        self._begin_next(worker)

    def _end_batch(self, worker: Worker) -> None:
        """Send the results and ask for more, in one message."""
        elapsed_ms = self._clock.true_ms - worker.batch_began_ms
        if worker.batch_count:
            worker.sizer.observe(worker.batch_count, elapsed_ms / 1000)
        envelopes, worker.done = worker.done, []
        events: list[Event] = [Finished(worker.number, envelopes)] if envelopes else []
        events.append(Pulled(worker.number, worker.sizer.limit))
        self._send(worker, sum(envelope.payload_bytes for envelope in envelopes), events)

    def _hand_over(self, worker: Worker) -> None:
        """Send what is done and waits behind something slow."""
        if worker.done and not worker.node.is_lost:
            envelopes, worker.done = worker.done, []
            size = sum(envelope.payload_bytes for envelope in envelopes)
            self._send(worker, size, [Finished(worker.number, envelopes)])

    def _give_back(self, worker: Worker, *, half: bool) -> None:
        """Send back what is not started, or the later half of it."""
        kept = len(worker.queue) // 2 if half else 0
        returned = [worker.queue.pop().seq for _ in range(len(worker.queue) - kept)]
        worker.batch_count -= len(returned)
        if returned:
            self.occurred["taken back"] += len(returned)
        self._send(worker, 0, [Returned(worker.number, returned)])

    # ---- the driver's watch

    def _beat(self) -> list[Event]:
        beating = [
            number
            for number, worker in self._workers.items()
            if number not in self._idle and not worker.node.is_silent and not worker.node.is_lost
        ]
        self._beats = len(self._idle) < len(self._workers)
        if self._beats:
            self.agenda.at(self._options.lease_ms // 4, self._beat)
        return [Beat(beating)] if beating else []

    def _look_around(self) -> list[Event]:
        """Ask those that sit on work for it while somebody has nothing to do."""
        self._looks = bool(self._idle and self._hoarding)
        if self._looks:
            self.agenda.at(_SLOW_MS, self._look_around)
            now_ms = self._clock.true_ms
            for number in self._hoarding:
                worker = self._workers[number]
                if worker.queue and not worker.is_asked:
                    worker.is_asked = True
                    is_slow = now_ms - worker.began_ms >= _SLOW_MS
                    self._reach(worker.node, partial(self._give_back, worker, half=not is_slow))
        return []

    # ---- nodes come and go

    def _add_node(self, slowness: float, share: int) -> None:
        node = Node(len(self._nodes), slowness)
        self._nodes.append(node)
        for _ in range(share):
            worker = Worker(self._next_number, node, self._options.batch_ms / 1000)
            self._next_number += 1
            node.workers.append(worker)
            self._workers[worker.number] = worker
            self._send(worker, 0, [Pulled(worker.number)])

    def _give_up(self, node: Node) -> None:
        """The driver forgets a node, and orders another."""
        node.is_given_up = True
        for worker in node.workers:
            del self._workers[worker.number]
            self._idle.discard(worker.number)
            self._hoarding.pop(worker.number, None)
        self._later(self._options.startup_ms, partial(self._join, len(node.workers)))

    def _join(self, share: int) -> None:
        self.moments.append((self._clock.true_ms, "joined"))
        self._add_node(1.0, share)

    def _computing_on(self, node: Node) -> int:
        return sum(worker.current is not None for worker in node.workers)

    def _lose(self, node: Node) -> None:
        """A node vanishes; a little later the driver is told so. The first of its workers is the loss, the others go
        with it."""
        self.occurred["lost node"] += 1
        self.moments.append((self._clock.true_ms, "lost"))
        self._count(-self._computing_on(node))
        node.is_lost = True
        self.agenda.at(self._options.detect_ms, lambda: self._told_of_loss(node))

    def _told_of_loss(self, node: Node) -> list[Event]:
        self._give_up(node)
        reason = f"node {node.number} is gone"
        causes = [Loss.INFRASTRUCTURE] + [Loss.RETIRED] * (len(node.workers) - 1)
        return [
            WorkerLost(worker.number, cause, reason=reason) for worker, cause in zip(node.workers, causes, strict=True)
        ]

    def _silence(self, node: Node) -> None:
        """The network cuts a node off, for twice as long as a lease lasts."""
        self.occurred["silent node"] += 1
        self.moments.append((self._clock.true_ms, "silent"))
        self._count(-self._computing_on(node))
        node.is_silent = True
        self._later(2 * self._options.lease_ms, partial(self._heal, node))

    def _heal(self, node: Node) -> None:
        """The node is back. What it had to say is heard now; if it was given up, it ends after that."""
        node.is_silent = False
        self._count(self._computing_on(node))
        held, node.held = node.held, []
        for action in held:
            action()
        if node.is_given_up:
            self._count(-self._computing_on(node))
            node.is_lost = True
