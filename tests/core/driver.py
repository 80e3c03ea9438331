"""Plays the plan, the workers and the commit lane, so that a test of the kernel reads as a story.

`Driver` is played by hand: `plan`, `pull`, `finish`, `ack`. It keeps what the kernel has told so far and who holds
what. `play` lets a driver run by itself to the end, with every choice of what happens next taken from a list of
numbers, so that a property test can try any order of completion and shrink it.
"""

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from inorder.core.commands import Announce, Command, CommitRun, Dispatch, NeedItems, Reclaimed, StopWorker
from inorder.core.events import (
    Beat,
    CancelRequested,
    Committed,
    Delivered,
    Envelope,
    Event,
    Finished,
    Loss,
    Planned,
    Pulled,
    Returned,
    Tick,
    WorkerLost,
)
from inorder.core.kernel import Kernel
from inorder.core.options import KernelOptions, PressureOptions, RetryOptions, WindowOptions
from inorder.core.resume_point import ResumePoint
from inorder.core.transitions import State
from inorder.core.windows.plan import PlanItem
from inorder.errors import Category, Failure

SUCCESS = int(State.TERMINAL_SUCCESS)
SKIP = int(State.TERMINAL_SKIP)
FAIL = int(State.TERMINAL_FAIL)

Told = TypeVar("Told")
PARTS = {"windows": WindowOptions, "pressure": PressureOptions, "retry": RetryOptions}


def options(**limits: Any) -> KernelOptions:
    """Options by their short names. Unless told otherwise windows hold four items and retries wait for nothing."""
    limits = {"entries": 4, "entries_min": 1, "backoff_ms": 0} | limits
    parts = {
        part: kind(**{name: limits.pop(name) for name in kind.__struct_fields__ if name in limits})
        for part, kind in PARTS.items()
    }
    return KernelOptions(**parts, **limits)


def flaw(category: Category = Category.RUNTIME, *, retryable: bool = False) -> Failure:
    """A reason to fail."""
    return Failure(category=category, message="it broke", retryable=retryable)


class Driver:
    """One kernel with a plan, workers and a commit lane that do only what the test says."""

    def __init__(
        self,
        settings: KernelOptions | None = None,
        *,
        total: int | None = None,
        epoch_ms: int = 0,
        resume_point: ResumePoint | None = None,
    ) -> None:
        self.kernel = Kernel(settings or options(), total=total, epoch_ms=epoch_ms, resume_point=resume_point)
        self.announces = settings is not None and settings.announces
        """Whether results are committed because they were consumed, and not because the commit lane is done."""
        self.now_ms = 0
        self.commands: list[Command] = []
        self.asked_count = 0
        self.holdings: dict[int, dict[int, int]] = {}
        """What each worker holds, as far as it was told: attempt by seq."""
        self.run: CommitRun | None = None
        """The run that is with the commit lane."""
        self.waiting: set[int] = set()
        """Workers that have pulled and were not served yet."""
        self.committed: list[Envelope] = []
        self.announced: list[int] = []
        """Seqs that were announced and are not with the consumer yet."""
        self.step(Tick())

    @classmethod
    def of(cls, count: int, **limits: Any) -> "Driver":
        """A driver whose plan of `count` plain items has been planned to its end."""
        driver = cls(options(**limits), total=count)
        driver.plan(count, ended=True)
        return driver

    def step(self, event: Event) -> list[Command]:
        """Hand over an event; what the kernel wants done about it."""
        commands = self.kernel.step(self.now_ms, event)
        for command in commands:
            self._note(command)
        self.commands += commands
        return commands

    def told(self, kind: type[Told]) -> list[Told]:
        """Every command of this kind so far."""
        return [command for command in self.commands if isinstance(command, kind)]

    def tick(self, passed_ms: int = 0) -> list[Command]:
        """Only time passes."""
        self.now_ms += passed_ms
        return self.step(Tick())

    def plan(self, items: int | Sequence[PlanItem], *, ended: bool = False) -> list[Command]:
        """The plan answers with these items, or with so many plain ones."""
        self.asked_count = 0
        items = [PlanItem()] * items if isinstance(items, int) else list(items)
        return self.step(Planned(items, ended))

    def pull(self, worker: int = 1, limit: int = 1) -> list[int]:
        """A worker asks for items; those it is given at once."""
        self.waiting.add(worker)
        commands = self.step(Pulled(worker, limit))
        return [
            seq
            for command in commands
            if isinstance(command, Dispatch) and command.worker == worker
            for seq in command.seqs
        ]

    def finish(self, *seqs: int, size: int = 0) -> list[Command]:
        """The holders of these seqs deliver successes, one after the other."""
        return [command for seq in seqs for command in self.answer(seq, SUCCESS, size=size)]

    def skip(self, seq: int) -> list[Command]:
        """The holder declines the item."""
        return self.answer(seq, SKIP)

    def fail(self, seq: int, category: Category = Category.RUNTIME, *, retryable: bool = False) -> list[Command]:
        """The holder reports a failure."""
        return self.answer(seq, FAIL, failure=flaw(category, retryable=retryable))

    def answer(self, seq: int, outcome: int, *, size: int = 0, failure: Failure | None = None) -> list[Command]:
        """The holder answers for the item."""
        worker = self.holder(seq)
        attempt = self.holdings[worker].pop(seq)
        return self.deliver(worker, Envelope(seq, attempt, outcome, None, size, failure))

    def deliver(self, worker: int, *envelopes: Envelope) -> list[Command]:
        """A worker sends these envelopes, whether it should or not."""
        return self.step(Finished(worker, list(envelopes)))

    def holder(self, seq: int) -> int:
        """The worker that holds the item."""
        return next(worker for worker, held in self.holdings.items() if seq in held)

    def ack(self, end: int | None = None) -> list[Command]:
        """The commit lane is done with its run, or with everything below `end`."""
        run = self.run
        end = run.end if end is None else end
        if run is not None and end >= run.end:
            self.run = None
        return self.step(Committed(end))

    def consume(self, *seqs: int) -> list[Command]:
        """The consumer is done with these results, which were announced."""
        self.announced = [seq for seq in self.announced if seq not in seqs]
        return self.step(Delivered(list(seqs)))

    def lose(self, worker: int, cause: Loss = Loss.DIED, running_seq: int | None = None) -> list[Command]:
        """A worker is gone."""
        self._forget(worker)
        return self.step(WorkerLost(worker, cause, running_seq))

    def give_back(self, worker: int, *seqs: int) -> list[Command]:
        """A worker returns items that it has not started."""
        return self.step(Returned(worker, list(seqs)))

    def beat(self, *workers: int) -> list[Command]:
        """These workers are alive."""
        return self.step(Beat(list(workers)))

    def cancel(self, reason: str = "enough", grace_ms: int | None = None) -> list[Command]:
        """Somebody wants the run to stop."""
        return self.step(CancelRequested(reason, grace_ms))

    def drain(self, worker: int = 1) -> None:
        """Whoever holds an item finishes it, and this worker and the commit lane do everything that is left."""
        while self.kernel.summary is None:
            held = [seq for seqs in self.holdings.values() for seq in seqs]
            if self.run is not None:
                self.ack()
            elif held:
                self.finish(held[0])
            elif not self.pull(worker):
                raise AssertionError(f"stuck: {self.kernel.snapshot()}")

    def _note(self, command: Command) -> None:
        match command:
            case NeedItems(count=count):
                self.asked_count = count
            case Dispatch(worker=worker, seqs=seqs, attempts=attempts):
                self.waiting.discard(worker)
                self.holdings.setdefault(worker, {}).update(zip(seqs, attempts, strict=True))
            case Reclaimed(worker=worker, seq=seq):
                self.holdings.get(worker, {}).pop(seq, None)
            case StopWorker(worker=worker):
                self._forget(worker)
            case Announce(envelopes=envelopes):
                self.announced += [envelope.seq for envelope in envelopes]
            case CommitRun(envelopes=envelopes):
                self.run = command
                self.committed += envelopes

    def _forget(self, worker: int) -> None:
        self.holdings.pop(worker, None)
        self.waiting.discard(worker)


class Story:
    """A driver that runs by itself: what happens next is drawn from `choices`, over and over.

    The script has one word for each item, one letter for each of its own attempts, the last one repeated: s(uccess),
    k (skip), f(ailure) or r (a failure worth a retry).
    """

    def __init__(self, driver: Driver, script: Sequence[str], choices: Sequence[int], *, workers: int) -> None:
        self.driver = driver
        self.script = script
        self.crew = list(range(workers))
        self._items: Iterator[PlanItem] = iter([PlanItem()] * len(script))
        self._choices = itertools.cycle(choices)
        self._tries: Counter[int] = Counter()

    def plays(self, items: Sequence[PlanItem]) -> "Story":
        """With these plan items instead of plain ones."""
        self._items = iter(items)
        return self

    def goes_on(self, tries: Mapping[int, int]) -> "Story":
        """With so many attempts of some items made before."""
        self._tries.update(tries)
        return self

    def to_its_end(self, *, losses: int = 0) -> Driver:
        """Play, with so many losses of workers on the way; the driver, when the run has ended."""
        driver = self.driver
        for _ in range(1000 + 100 * len(self.script)):
            if driver.kernel.summary is not None:
                return driver
            is_loss = losses > 0 and self._chosen(8) == 7
            losses -= is_loss
            actions = self._calamities() if is_loss else self._deeds()
            if actions:
                actions[self._chosen(len(actions))]()
            else:
                driver.now_ms = driver.kernel.wake_at_ms or driver.now_ms
                driver.tick()
        raise AssertionError(f"stuck: {driver.kernel.snapshot()}")

    def _chosen(self, count: int) -> int:
        return next(self._choices) % count

    def _deeds(self) -> list[Callable[[], object]]:
        driver = self.driver
        deeds: list[Callable[[], object]] = []
        for worker in self.crew:
            if driver.holdings.get(worker):
                deeds.append(partial(self._work, worker))
            elif worker not in driver.waiting:
                deeds.append(partial(driver.pull, worker, 1 + worker % 3))
        deeds += [partial(driver.consume, seq) for seq in driver.announced]
        if driver.run is not None and not driver.announces:
            deeds += [driver.ack, partial(driver.ack, driver.kernel.snapshot().next_commit_seq + 1)]
        if driver.asked_count:
            deeds.append(self._plan)
        return deeds

    def _calamities(self) -> list[Callable[[], object]]:
        deeds: list[Callable[[], object]] = []
        for position, worker in enumerate(self.crew):
            deeds += [partial(self._lose, position, worker, cause) for cause in (Loss.INFRASTRUCTURE, Loss.RETIRED)]
            deeds.append(partial(self.driver.give_back, worker, *self.driver.holdings.get(worker, ())))
        return deeds

    def _plan(self) -> None:
        asked = self.driver.asked_count
        count = 1 + self._chosen(asked)
        items = list(itertools.islice(self._items, count))
        self.driver.plan(items, ended=len(items) < count)

    def _work(self, worker: int) -> None:
        seq = next(iter(self.driver.holdings[worker]))
        word = self.script[seq]
        letter = word[min(self._tries[seq], len(word) - 1)]
        self._tries[seq] += 1
        match letter:
            case "s":
                self.driver.finish(seq, size=self._chosen(3))
            case "k":
                self.driver.skip(seq)
            case _:
                self.driver.fail(seq, retryable=letter == "r")

    def _lose(self, position: int, worker: int, cause: Loss) -> None:
        self.crew[position] = max(self.crew) + 1
        self.driver.lose(worker, cause)
