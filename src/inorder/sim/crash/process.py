"""One process of a run that is crashed: it starts the run or resumes it, until the run ends or the process is ended.

It records what must survive it: which items its workers got, which seqs its sinks applied, and how much of the run is
promised to be kept.
"""

from collections.abc import Callable, Sequence

from inorder.core.commands import Command, RetryScheduled, Summary
from inorder.core.events import CancelRequested, Committed, Event
from inorder.core.resume_point import ResumePoint
from inorder.core.windows.plan import PlanItem
from inorder.engines.base import Batch, Task
from inorder.host.os_errors import translate_os_errors
from inorder.journal.records import Header
from inorder.runtime.adoption import restore_retries
from inorder.runtime.durable_run import DurableJob, DurableRun
from inorder.runtime.result_log import FORMAT_VERSION, LogHeader, ResultLog, decode_seq
from inorder.sim.clock import VirtualClock
from inorder.sim.disk.disk import Disk
from inorder.sim.engine import SimEngine
from inorder.sim.referee import expect
from inorder.sim.scenario import Fate, SimItem
from inorder.sinks.base import AppliedRun, Entry, Position, Sink
from inorder.sinks.manifest import ManifestSink
from inorder.sinks.outputs import OutputsSink, clear_staging

from .case import (
    HEAD,
    JOURNAL,
    MANIFEST,
    ROOT,
    STAGING,
    CrashCase,
    SimResultCodec,
    describe_entry,
    make_files,
    make_partial,
    make_row,
    staging_folder,
)

STEPS_MAX = 3_000
"""A run that takes more steps than this does not end."""


class RecordingSink:
    """Wraps a sink, and records what it was given and when it was synced."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self.name = sink.name
        self.applied: list[int] = []
        """Every seq it was given, in order."""
        self.synced_end = -1
        """The end of its position at the latest sync."""

    def apply(self, entries: Sequence[Entry]) -> Position:
        """Apply a run."""
        self.applied.extend(entry.seq for entry in entries)
        return self._sink.apply(entries)

    def position(self) -> Position:
        """Return the position of the sink."""
        return self._sink.position()

    def sync(self) -> None:
        """Make everything durable."""
        self._sink.sync()
        self.synced_end = self._sink.position().end

    def holds(self, position: Position, since: Sequence[AppliedRun]) -> bool:
        """Whether the sink holds this position."""
        return self._sink.holds(position, since)

    def roll_back(self, position: Position, undone: Sequence[AppliedRun]) -> None:
        """Roll the sink back."""
        self._sink.roll_back(position, undone)

    def close(self) -> None:
        """Close the sink."""
        self._sink.close()


class RecordingLog(ResultLog):
    """A result log that records which seqs it has."""

    logged: frozenset[int] = frozenset()

    def append(self, frames: Sequence[bytes | bytearray], last_seq: int) -> None:
        """Append results."""
        super().append(frames, last_seq)
        self.logged |= {decode_seq(frame) for frame in frames}


class _Engine(SimEngine):
    """Simulated workers that write files into staging. Records which seqs they were given."""

    def __init__(self, case: CrashCase, disk: Disk, clock: VirtualClock, given: list[int]) -> None:
        super().__init__(case.scenario, clock, self._stage, lambda task, number: make_partial(task.item, number))
        self._disk = disk
        self._given = given

    def dispatch(self, batch: Batch) -> None:
        """Start a batch on its worker."""
        self._given.extend(task.seq for task in batch.tasks)
        super().dispatch(batch)

    def _stage(self, task: Task) -> None:
        """Write the files of an attempt. A failure of the disk is an infrastructure error, not the item's."""
        item: SimItem = task.item
        if item.fate is not Fate.OK:
            return
        with translate_os_errors(f"the files of item {task.seq} cannot be staged"):
            for path, data in make_files(task.seq, item).items():
                place = f"{staging_folder(task.seq, task.attempt)}/{path}"
                self._disk.make_directory(place.rpartition("/")[0])
                file = self._disk.open(place)
                file.truncate(0)
                file.append(data)
                file.close()


class CrashedProcess:
    """One process. Its disk can end it at any durable operation."""

    def __init__(self, case: CrashCase, disk: Disk) -> None:
        self.summary: Summary | None = None
        """How the run ended, if this process ended it."""
        self.resume_point: ResumePoint | None = None
        """Where it resumed, once recovery has found out."""
        self.acknowledged = 0
        """Every seq below it survives the death of the process."""
        self.promised = 0
        """Every seq below it survives a power loss too: it was acknowledged when all sinks were synced, or the policy
        promises it for every commit."""
        self.checkpoints = 0
        """How often all sinks were synced when a commit was acknowledged."""
        self.given: list[int] = []
        """The seqs that workers were given, in order."""
        self._case = case
        self._disk = disk
        self._steps = 0
        self._clock = VirtualClock()
        self._engine = _Engine(case, disk, self._clock, self.given)
        self._sinks: list[RecordingSink] = []
        self._codec = SimResultCodec(disk)
        self._results = RecordingLog(disk, STAGING, LogHeader(FORMAT_VERSION, "story", "", ""), self._codec)

    @property
    def staged(self) -> frozenset[int]:
        """The seqs whose results are in the result log and not committed. The next process must not compute them again,
        unless the power is lost."""
        return frozenset(seq for seq in self._results.logged if seq >= self.acknowledged)

    @property
    def resumed_at(self) -> int:
        """The seq at which it resumed; 0 if it was ended before that."""
        return self.resume_point.end if self.resume_point is not None else 0

    def run(self, *, may_cancel: bool = False, on_opened: Callable[[int], None] | None = None) -> None:
        """Start or resume the run and continue to its end. With `may_cancel`, the scenario may cancel it.

        `on_opened` is called with the seq at which it resumes, after everything was rolled back.
        """
        scenario, job = self._case.scenario, self._new_job()
        opened = job.open()
        self._results.start(opened.resume_point.end if opened.is_resumed else None)
        clear_staging(self._disk, STAGING, keep=self._results.list_files())
        self.resume_point = opened.resume_point
        self.promised = self.acknowledged = self.resumed_at
        if on_opened is not None:
            on_opened(opened.resume_point.end)
        self._engine.failures.update(restore_retries(opened.resume_point, self._results).retries_granted)
        if may_cancel and scenario.cancel_at_ms is not None:
            self._engine.post(scenario.cancel_at_ms, CancelRequested("a signal", scenario.cancel_grace_ms))
        plan = [(PlanItem(item.item_id, batch_key=item.batch_key), item) for item in scenario.items]
        total = len(plan) if scenario.announces_total else None
        run = DurableRun(
            job, opened, plan, self._engine, self._clock, scenario.options, total=total, observer=self._observe
        )
        self.summary = run.run()
        if self._case.journal.fsync != "off":
            self.promised = self.acknowledged

    def _new_job(self) -> DurableJob:
        with translate_os_errors(f"{STAGING} cannot be created"):
            self._disk.make_directory(STAGING)
        self._results = RecordingLog(self._disk, STAGING, LogHeader(FORMAT_VERSION, "story", "", ""), self._codec)
        with translate_os_errors(f"{STAGING} cannot be read"):
            self._results.read()
        manifest = ManifestSink(self._disk, MANIFEST, make_row, head=HEAD)
        outputs = OutputsSink(
            self._disk,
            ROOT,
            staging=STAGING,
            staged=self._results.published,
            sync_each_max=self._case.sync_each_max,
        )
        self._sinks = [RecordingSink(manifest), RecordingSink(outputs)]
        return DurableJob(
            filesystem=self._disk,
            path=JOURNAL,
            header=Header("story", "", "as drawn", [sink.name for sink in self._sinks]),
            sinks=self._sinks,
            describe=describe_entry,
            options=self._case.journal,
            results=self._results,
        )

    def check_books(self) -> None:
        """Check that sinks got the seqs in order from the resume point on, and workers got none before it."""
        start = self.resumed_at
        for sink in self._sinks:
            inorder = list(range(start, start + len(sink.applied)))
            expect(sink.applied == inorder, f"sink {sink.name} continues from seq {start} in order, got {sink.applied}")
        repeated = [seq for seq in self.given if seq < start]
        expect(not repeated, f"seqs committed below {start} are not processed again, got {repeated}")

    def _observe(self, now_ms: int, event: Event, commands: Sequence[Command] | None) -> None:
        self._steps += 1
        expect(self._steps <= STEPS_MAX, "the run ends")
        if isinstance(event, Committed):
            self.acknowledged = event.end
            if all(sink.synced_end == event.end for sink in self._sinks):
                self.promised = event.end
                self.checkpoints += 1
            elif self._case.journal.fsync == "always":
                self.promised = event.end
        for command in commands or ():
            if isinstance(command, RetryScheduled):
                self._engine.failures[command.seq] += 1
