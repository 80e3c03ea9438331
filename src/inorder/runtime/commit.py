"""The commit lane: from a run of outcomes to something nobody can lose.

    terminal records ─▶ sync ─▶ every sink, one batch each ─▶ commit record ─▶ (now and then) sinks synced, checkpoint

A killed process finds its way back from any point of this: what the journal does not call committed is rolled back and
done again. With a loss of power the same holds for whatever was not synced yet; the policy of the journal says when
that is (`journal/writer.py`). Between two checkpoints sinks are not synced, and yet nothing can go wrong: recovery
believes a commit record only if every sink can show what it says.

There is one writer. It may have a thread of its own (`ThreadedCommit`), behind a lane that takes one run at a time, so
that waiting for the disk does not keep workers from getting their next items; the cursor stays in the kernel.
"""

from collections.abc import Callable, Sequence
from typing import Any

from inorder.core.commands import CommitRun, RetryScheduled, WindowOpened
from inorder.core.events import Committed, Envelope
from inorder.core.resume_point import ResumePoint
from inorder.core.transitions import State
from inorder.errors import InfrastructureError, SyncError
from inorder.host.clock import Clock
from inorder.host.filesystem import Filesystem, write_atomic
from inorder.journal.records import Attempt, Commit, Detail, Record, Terminal, Window, sizing_fields
from inorder.journal.writer import JournalOptions, Writer
from inorder.lanes import Lane, LaneConfig
from inorder.runtime.identity import PlanDigest
from inorder.runtime.loop import Memory, Runtime
from inorder.runtime.recovery import distrust
from inorder.sinks.base import Entry, Position, Sink

Describe = Callable[[Envelope, Any, int], Entry]
"""From an envelope, its item and its number of attempts to what the sinks see."""
_SUCCESS = int(State.TERMINAL_SUCCESS)


def plain_entry(envelope: Envelope, item: Any, attempts: int) -> Entry:
    """An entry without files."""
    payload = envelope.payload if envelope.outcome == _SUCCESS else None
    return Entry(envelope.seq, envelope.outcome, attempts, item, payload, envelope.failure, exec_ms=envelope.exec_ms)


class Journal:
    """A journal in use: what has to be written before what, and when to wait for the disk."""

    def __init__(
        self, writer: Writer, filesystem: Filesystem, path: str, options: JournalOptions, clock: Clock
    ) -> None:
        self._writer = writer
        self._filesystem = filesystem
        self._path = path
        self._options = options
        self._clock = clock
        self._notes: list[Record] = []
        self._checkpointed_ms = clock.now_ms()

    @property
    def is_due(self) -> bool:
        """Whether it is time for a checkpoint."""
        if self._options.fsync == "off":
            return self._writer.offset >= self._options.compact_bytes
        return self._clock.now_ms() - self._checkpointed_ms >= self._options.checkpoint_ms

    @property
    def syncs_commits(self) -> bool:
        """Whether a commit is to be safe before anything else happens."""
        return self._options.fsync == "always"

    def note(self, record: Record) -> None:
        """Write this with the next outcomes: it must be there before them, and is worth nothing without them."""
        self._notes.append(record)

    def outcomes(self, terminal: Terminal) -> None:
        """Write outcomes, and make them safe if the policy says so, before any sink changes."""
        notes, self._notes = self._notes, []
        self._writer.append(*notes, terminal)
        if self._options.fsync in ("always", "batch"):
            self._writer.sync()

    def committed(self, end: int, positions: Sequence[Position], digest: bytes) -> None:
        """Write that every sink has come so far."""
        marks = [(position.end, position.offset, position.checksum) for position in positions] if positions else []
        self._writer.append(Commit(end, self._writer.durable, marks, digest, self.syncs_commits))
        if self.syncs_commits:
            self._writer.sync()

    def checkpoint(self, *, is_end: bool = False) -> None:
        """Write everything known by now, in a new file if this one has grown long. Every sink is synced."""
        self._checkpointed_ms = self._clock.now_ms()
        notes, self._notes = self._notes, []
        if notes:
            self._writer.append(*notes)
        if self._writer.offset >= self._options.compact_bytes and not is_end:
            self._compact()
            return
        self._writer.append(*self._writer.checkpoint(is_end=is_end))
        if self._options.fsync != "off":
            self._writer.sync()

    def distrust(self) -> None:
        """Something could not be synced. What a later run reads may then be nowhere but in memory; have it believe
        nothing that was not synced before."""
        distrust(self._filesystem, self._path, self._writer.durable)

    def close(self) -> None:
        """Let the file go."""
        self._writer.close()

    def _compact(self) -> None:
        data = self._writer.compacted()
        try:
            write_atomic(self._filesystem, self._path, data)
            file = self._filesystem.open(self._path)
        except OSError as error:
            self._writer.poison(error, is_sync=True)
        self._writer.go_on_in(file, data)


class CommitLane:
    """Applies runs to sinks, in the order that makes them safe. The runtime's `commit`."""

    def __init__(
        self,
        journal: Journal,
        sinks: Sequence[Sink],
        digest: PlanDigest,
        describe: Describe = plain_entry,
        committed: Callable[[Sequence[Entry]], None] | None = None,
    ) -> None:
        self._committed = committed
        self._journal = journal
        self._sinks = sinks
        self._digest = digest
        self._describe = describe

    def __call__(self, runtime: Runtime, run: CommitRun, items: Sequence[Any]) -> None:
        """Commit a run and tell the kernel."""
        self.perform(run, items)
        runtime.acknowledge(run.end)

    def note(self, command: WindowOpened | RetryScheduled) -> None:
        """Something that the journal must know of."""
        self._journal.note(noted(command))

    def passed_by(self, item: Any) -> None:
        """An item that an earlier run has committed."""
        self._digest.add(item)

    def perform(self, run: CommitRun, items: Sequence[Any]) -> None:
        """Commit a run, as `CommitRun` demands."""
        entries = []
        for envelope, item in zip(run.envelopes, items, strict=True):
            entries.append(self._describe(envelope, item, run.retries.get(envelope.seq, 0) + 1))
            self._digest.add(item)
        self._journal.outcomes(terminal_of(run.start, entries))
        positions = [sink.apply(entries) for sink in self._sinks]
        if self._journal.syncs_commits:
            self._sync_sinks()
        self._journal.committed(run.end, positions, self._digest.value())
        if self._journal.is_due:
            self.checkpoint()
        if self._committed is not None:
            self._committed(entries)

    def checkpoint(self, *, is_end: bool = False) -> None:
        """Make everything so far safe, and say so."""
        self._sync_sinks()
        self._journal.checkpoint(is_end=is_end)

    def finish(self, *, is_end: bool) -> None:
        """The run is over; `is_end`: with nothing left to resume."""
        self.checkpoint(is_end=is_end)

    def distrust(self) -> None:
        """Something could not be synced."""
        self._journal.distrust()

    def memory(self, resume_point: ResumePoint, *, commits_elsewhere: bool = False) -> Memory:
        """What the runtime has to know of this."""
        return Memory(resume_point, self.passed_by, self.note, commits_elsewhere)

    def close(self) -> None:
        """Let every file go."""
        self._journal.close()
        for sink in self._sinks:
            sink.close()

    def _sync_sinks(self) -> None:
        for sink in self._sinks:
            try:
                sink.sync()
            except InfrastructureError as error:
                raise SyncError(str(error)) from error


class ThreadedCommit:
    """A commit lane on a thread of its own. It is only ever given one run at a time: the kernel sees to that."""

    def __init__(self, lane: CommitLane) -> None:
        self._inner = lane
        self._lane = Lane(LaneConfig(name="commit", max_concurrency=1, capacity=1))

    def __call__(self, runtime: Runtime, run: CommitRun, items: Sequence[Any]) -> None:
        """Hand a run to the thread; it tells the kernel when it is done."""
        self._lane.submit(self._perform, runtime, run, items)

    def memory(self, resume_point: ResumePoint) -> Memory:
        """What the runtime has to know of this. Items pass by on the thread of the run; none of its own is committed
        until all of those have passed."""
        return self._inner.memory(resume_point, commits_elsewhere=True)

    def finish(self, *, is_end: bool) -> None:
        """The run is over."""
        self._lane.close(drain=True)
        self._inner.finish(is_end=is_end)

    def distrust(self) -> None:
        """Something could not be synced."""
        self._lane.close(drain=True)
        self._inner.distrust()

    def close(self) -> None:
        """Let what is under way come to its end, and every file go."""
        self._lane.close(drain=True)
        self._inner.close()

    def _perform(self, runtime: Runtime, run: CommitRun, items: Sequence[Any]) -> None:
        try:
            self._inner.perform(run, items)
        except BaseException as error:
            runtime.post(error)
        else:
            runtime.post(Committed(run.end))


def noted(command: WindowOpened | RetryScheduled) -> Record:
    """A command as the journal keeps it."""
    if isinstance(command, WindowOpened):
        return Window(command.id, command.start, command.target_entries, sizing_fields(command.sizing))
    return Attempt(command.seq, command.retries)


def terminal_of(start: int, entries: Sequence[Entry]) -> Terminal:
    """Outcomes as the journal keeps them."""
    details = {}
    for place, entry in enumerate(entries):
        if entry.failure is not None or entry.attempts > 1 or entry.outputs:
            failure = entry.failure
            details[place] = Detail(
                entry.attempts - 1,
                None if failure is None else failure.category,
                "" if failure is None else failure.message,
                tuple((output.path, output.size, output.checksum) for output in entry.outputs),
            )
    return Terminal(start, bytes([entry.outcome for entry in entries]), details)
