"""A job that has a bit of everything, run for real on a disk in memory: what its journal looks like is a fact.

The script has one word for each item, one letter for each attempt, the last one repeated: s(uccess), k (skip),
f(ailure) or r (a failure worth a retry). Every third success makes a file. A `Crew` works through it out of order, and
dies when told to, as a killed process does: with nothing tidied up, and everything written still there.
"""

import zlib
from collections.abc import Iterator, Sequence
from random import Random
from types import UnionType
from typing import Any, NamedTuple

import msgspec

from inorder.core.commands import Summary
from inorder.core.events import Envelope, Event, Finished, Pulled
from inorder.core.options import KernelOptions, RetryOptions, WindowOptions
from inorder.core.transitions import State
from inorder.core.windows.plan import PlanItem
from inorder.engines.base import Batch, Task
from inorder.errors import Category, Failure
from inorder.host.filesystem import Filesystem
from inorder.journal.records import Header
from inorder.journal.writer import JournalOptions
from inorder.runtime.durable_run import DurableJob, DurableRun
from inorder.runtime.recovery import OpenedJournal
from inorder.sim.clock import VirtualClock
from inorder.sim.disk.disk import Disk
from inorder.sinks.base import Entry, Output, Sink
from inorder.sinks.manifest import ManifestSink
from inorder.sinks.outputs import OutputsSink, clear_staging

PATH = "run.journal"
HEADER = Header("a run", "of this plan", "so configured", ["manifest", "outputs"], 946_684_800_000)
SCRIPT = ("s", "k", "rs", "s", "f", "rrs", "s", "s", "k", "rrr", "s", "rs", "s", "f", "s", "s", "rs", "k", "s", "s") * 2
KERNEL = KernelOptions(
    windows=WindowOptions(entries=7, entries_min=1, plan_ahead=5),
    retry=RetryOptions(retries_max=2, window_retries_max=9, backoff_ms=0),
    commit_run_max=4,
)
JOURNAL = JournalOptions(checkpoint_ms=150)
OUTCOMES = {"s": State.TERMINAL_SUCCESS, "k": State.TERMINAL_SKIP, "f": State.TERMINAL_FAIL, "r": State.TERMINAL_FAIL}


class Died(BaseException):
    """The process is gone."""


class OutputMark(NamedTuple):
    """What a success brings back."""

    text: str
    outputs: tuple[Output, ...]
    staging: str


class Crew:
    """An engine: three workers, one finished item a poll, in an order that depends on the seed alone."""

    def __init__(
        self, script: Sequence[str], disk: Filesystem, clock: VirtualClock, *, seed: int = 0, dies_at: int | None = None
    ) -> None:
        self._script = script
        self._disk = disk
        self._clock = clock
        self._random = Random(seed)
        self._dies_at = dies_at
        self._holdings: dict[int, list[Task]] = {}
        self._events: list[Event] = []
        self.polls = 0
        self.worked: list[tuple[int, int]] = []
        """Every attempt that was made: seq and attempt."""

    def start(self) -> None:
        self._events = [Pulled(worker, 2) for worker in range(3)]

    def dispatch(self, batch: Batch) -> None:
        self._holdings.setdefault(batch.worker, []).extend(batch.tasks)

    def stop_worker(self, worker: int, reason: str) -> None:
        self._holdings[worker].clear()

    def poll(self, timeout_s: float | None) -> list[Event]:
        self._clock.advance_to(self._clock.true_ms + 10)
        self.polls += 1
        if self._dies_at is not None and self.polls > self._dies_at:
            raise Died
        events, self._events = self._events, []
        busy = [worker for worker, tasks in self._holdings.items() if tasks]
        if busy and not events:
            worker = self._random.choice(busy)
            events.append(Finished(worker, [self._work(self._holdings[worker].pop(0))]))
            if not self._holdings[worker]:
                events.append(Pulled(worker, 2))
        return events

    def wake(self) -> None:
        """Nobody ever waits here."""

    def drain(self) -> None:
        """Nothing waits to be started."""

    def close(self, grace_s: float = 0.0) -> list[Task]:
        self._holdings.clear()
        return []

    def _work(self, task: Task) -> Envelope:
        seq, attempt = task.seq, task.attempt
        self.worked.append((seq, attempt))
        word = self._script[seq]
        letter = word[min(attempt, len(word)) - 1]
        if letter == "s":
            return Envelope(seq, attempt, OUTCOMES[letter], self._made(seq, attempt))
        if letter == "k":
            return Envelope(seq, attempt, OUTCOMES[letter])
        failure = Failure(category=Category.IO, message=f"seq {seq} broke", retryable=letter == "r")
        return Envelope(seq, attempt, OUTCOMES[letter], failure=failure)

    def _made(self, seq: int, attempt: int) -> OutputMark:
        if seq % 3:
            return OutputMark(f"text {seq}", (), "")
        staging, data = f"out.staging/{seq}-{attempt}", b"file %d" % seq
        self._disk.make_directory(staging)
        file = self._disk.open(f"{staging}/{seq}.txt")
        file.truncate(0)
        file.append(data)
        file.close()
        return OutputMark(f"text {seq}", (Output(f"{seq}.txt", len(data), zlib.crc32(data)),), staging)


def described(envelope: Envelope, item: Any, attempts: int) -> Entry:
    """An entry with the files of the item."""
    made = envelope.payload or OutputMark("", (), "")
    return Entry(
        envelope.seq,
        envelope.outcome,
        attempts,
        item,
        made.text or None,
        envelope.failure,
        made.outputs,
        made.staging,
    )


def row(entry: Entry) -> dict[str, Any]:
    """A row of the manifest."""
    return {"seq": entry.seq, "outcome": entry.outcome, "attempts": entry.attempts, "text": entry.payload}


def sinks_on(disk: Filesystem) -> list[Sink]:
    """A manifest and a folder of files."""
    clear_staging(disk, "out.staging")
    return [ManifestSink(disk, "manifest.jsonl", row), OutputsSink(disk, "out")]


def job_on(disk: Filesystem, **changes: Any) -> DurableJob:
    """The job, with its files on this disk."""
    job = DurableJob(
        filesystem=disk, path=PATH, header=HEADER, sinks=sinks_on(disk), describe=described, options=JOURNAL
    )
    return msgspec.structs.replace(job, **changes)


def plan_of(script: Sequence[str]) -> Iterator[tuple[PlanItem, Any]]:
    """An item for each word."""
    return ((PlanItem(), f"item {seq}") for seq in range(len(script)))


class Session:
    """One process that runs the job, from the beginning or from where the last one left it."""

    def __init__(
        self,
        disk: Filesystem,
        script: Sequence[str] = SCRIPT,
        *,
        kernel: KernelOptions = KERNEL,
        seed: int = 0,
        dies_at: int | None = None,
        **changes: Any,
    ) -> None:
        self.clock = VirtualClock()
        self.crew = Crew(script, disk, self.clock, seed=seed, dies_at=dies_at)
        self.steps: list[tuple[Any, Any]] = []
        """Events, and the commands that followed."""
        job = job_on(disk, **changes)
        self.opened: OpenedJournal = job.open()
        self._run = DurableRun(
            job,
            self.opened,
            plan_of(script),
            self.crew,
            self.clock,
            kernel,
            total=len(script),
            observer=lambda now_ms, event, commands: self.steps.append((event, commands)),
        )

    def run(self) -> Summary | None:
        """How it ended; None: the process died."""
        try:
            return self._run.run()
        except Died:
            return None

    def told(self, kind: type[Any] | UnionType) -> list[Any]:
        """Every command of this kind."""
        return [command for _, commands in self.steps for command in commands or () if isinstance(command, kind)]


def results_on(disk: Disk) -> dict[str, bytes]:
    """Everything that a reader finds, the journal aside."""
    return {path: data for path, data in disk.tree().items() if path == "manifest.jsonl" or path.startswith("out/")}


def journal_of(*, dies_at: int | None = None, **changes: Any) -> bytes:
    """The journal of a run that went to its end, or died."""
    disk = Disk()
    Session(disk, dies_at=dies_at, **changes).run()
    return disk.read(PATH)
