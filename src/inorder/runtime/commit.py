"""The commit step: makes a run of outcomes durable.

    terminal records ─▶ sync ─▶ every sink, one batch each ─▶ commit record ─▶ (periodically) sync of sinks, checkpoint

A run can resume after a crash at any point of this sequence: what the journal does not record as committed is rolled
back and repeated. After a power loss the same holds for what was not synced; the fsync policy says when that is
(`journal/writer.py`). Sinks are not synced between two checkpoints. That is safe, because recovery accepts a commit
record only if every sink holds the position in it.

There is one writer. It may run on a thread of its own (`ThreadedCommit`), so that waiting for the disk does not delay
workers. The kernel never has more than one commit run outstanding.
"""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from inorder.core.commands import CommitRun, RetryScheduled, WindowOpened
from inorder.core.events import Envelope
from inorder.core.resume_point import ResumePoint
from inorder.core.transitions import State
from inorder.errors import InfrastructureError, SyncError
from inorder.host.clock import Clock
from inorder.host.filesystem import Filesystem, write_atomic
from inorder.journal.records import Attempt, Commit, Detail, Record, Terminal, WindowRecord, encode_sizing
from inorder.journal.writer import JournalOptions, JournalWriter
from inorder.lanes import Lane, LaneConfig
from inorder.runtime.identity import PlanDigest
from inorder.runtime.loop import ResumeState
from inorder.runtime.recovery import mark_distrusted
from inorder.sinks.base import Entry, Position, Sink, complete_sink, is_final

Describe = Callable[[Envelope, Any, int], Entry]
"""Builds the entry for the sinks from an envelope, its item and its number of attempts."""
_SUCCESS = int(State.TERMINAL_SUCCESS)
_SKIP = int(State.TERMINAL_SKIP)


def describe_plain(envelope: Envelope, item: Any, attempts: int) -> Entry:
    """Build an entry without files. A failure has the bytes that its item handed over."""
    payload = envelope.payload if envelope.outcome == _SUCCESS else envelope.partial
    return Entry(
        envelope.seq,
        envelope.outcome,
        attempts,
        item,
        payload,
        envelope.failure,
        exec_ms=envelope.exec_ms,
        began_ms=envelope.began_ms,
    )


class CommitJournal:
    """The journal of a running job: in which order records are written, and when they are synced."""

    def __init__(
        self, writer: JournalWriter, filesystem: Filesystem, path: str, options: JournalOptions, clock: Clock
    ) -> None:
        self._writer = writer
        self._filesystem = filesystem
        self._path = path
        self._options = options
        self._clock = clock
        self._notes: deque[Record] = deque()
        """Filled by the thread of the run, drained by the commit thread."""
        self._checkpoint_ms = clock.now_ms()

    @property
    def is_checkpoint_due(self) -> bool:
        """Whether it is time for a checkpoint."""
        if self._options.fsync == "off":
            return self._writer.offset >= self._options.compact_bytes
        return self._clock.now_ms() - self._checkpoint_ms >= self._options.checkpoint_ms

    @property
    def syncs_commits(self) -> bool:
        """Whether every commit must be durable before the next one."""
        return self._options.fsync == "always"

    @property
    def syncs_outcomes(self) -> bool:
        """Whether outcomes must be durable before a sink changes."""
        return self._options.fsync in ("always", "batch")

    def note(self, command: WindowOpened | RetryScheduled) -> None:
        """Write a record of this command together with the next outcomes, before them."""
        self._notes.append(to_record(command))

    def write_outcomes(self, terminal: Terminal) -> None:
        """Write outcomes and sync them if the policy says so. Must precede any change of a sink."""
        self._writer.append(*self._drain_notes(), terminal)
        if self.syncs_outcomes:
            self._writer.sync()

    def write_plain_outcomes(self, run: CommitRun) -> None:
        """Write the outcomes of a run whose items are not needed and have no files."""
        retries = run.retries
        entries = [describe_plain(envelope, None, retries.get(envelope.seq, 0) + 1) for envelope in run.envelopes]
        self.write_outcomes(to_terminal(run.start, entries))

    def write_commit(self, end: int, positions: Sequence[Position], digest: bytes) -> None:
        """Record that every sink has applied all seqs below `end`."""
        marks = [(position.end, position.offset, position.checksum) for position in positions] if positions else []
        self._writer.append(Commit(end, self._writer.durable, marks, digest, self.syncs_commits))
        if self.syncs_commits:
            self._writer.sync()

    def checkpoint(self, *, is_end: bool = False) -> None:
        """Write a checkpoint, to a new file if this one is too long. Every sink must be synced."""
        self._checkpoint_ms = self._clock.now_ms()
        notes = self._drain_notes()
        if notes:
            self._writer.append(*notes)
        if self._writer.offset >= self._options.compact_bytes and not is_end:
            self._compact()
            return
        self._writer.append(*self._writer.build_checkpoint(is_end=is_end))
        if self._options.fsync != "off":
            self._writer.sync()

    def mark_distrusted(self) -> None:
        """Note on disk that a sync failed, so that the next run trusts only what was synced before."""
        mark_distrusted(self._filesystem, self._path, self._writer.durable)

    def close(self) -> None:
        """Close the file."""
        self._writer.close()

    def _drain_notes(self) -> list[Record]:
        return [self._notes.popleft() for _ in range(len(self._notes))]

    def _compact(self) -> None:
        data = self._writer.build_compacted()
        try:
            write_atomic(self._filesystem, self._path, data)
            file = self._filesystem.open(self._path)
        except OSError as error:
            self._writer.fail(error, is_sync=True)
        self._writer.switch_file(file, data)


class CommitLane:
    """Applies commit runs to the journal and the sinks, in the order that `CommitRun` demands."""

    def __init__(
        self,
        journal: CommitJournal,
        sinks: Sequence[Sink],
        digest: PlanDigest,
        describe: Describe = describe_plain,
        on_commit: Callable[[Sequence[Entry]], None] | None = None,
    ) -> None:
        self._on_commit = on_commit
        self._journal = journal
        self._sinks = sinks
        self._digest = digest
        self._describe = describe

    def commit(self, run: CommitRun, items: Sequence[Any]) -> int:
        """Commit a run and return its end."""
        entries = []
        for envelope, item in zip(run.envelopes, items, strict=True):
            entries.append(self._describe(envelope, item, run.retries.get(envelope.seq, 0) + 1))
            self._digest.add(item)
        self._journal.write_outcomes(to_terminal(run.start, entries))
        positions = [self._apply(sink, entries) for sink in self._sinks]
        self.write_commit(run.end, positions, self._digest.value())
        if self._journal.is_checkpoint_due:
            self.checkpoint()
        if self._on_commit is not None:
            self._on_commit(entries)
        return run.end

    def _apply(self, sink: Sink, entries: Sequence[Entry]) -> Position:
        """Apply a run to a sink. What cannot be undone comes after what must not be lost with it."""
        if self._journal.syncs_outcomes and is_final(sink):
            self._sync(self._sinks[: self._sinks.index(sink)])
        return sink.apply(entries)

    def write_commit(self, end: int, positions: Sequence[Position], digest: bytes) -> None:
        """Record that every sink has applied all seqs below `end`."""
        if self._journal.syncs_commits:
            self._sync_sinks()
        self._journal.write_commit(end, positions, digest)

    def checkpoint(self, *, is_end: bool = False) -> None:
        """Sync every sink and write a checkpoint."""
        self._sync_sinks()
        self._journal.checkpoint(is_end=is_end)

    def finish(self, *, is_end: bool, is_complete: bool = False) -> None:
        """Write the last checkpoint. `is_end`: there is nothing to resume. `is_complete`: every item of the plan is
        committed."""
        if is_complete:
            for sink in self._sinks:
                complete_sink(sink)
        self.checkpoint(is_end=is_end)

    def mark_distrusted(self) -> None:
        """Note on disk that a sync failed."""
        self._journal.mark_distrusted()

    def resume_state(self, resume_point: ResumePoint) -> ResumeState:
        """Return what the runtime needs for a run that resumes at this point."""
        return ResumeState(resume_point, self._digest.add, self._journal.note)

    def close(self) -> None:
        """Close the journal and every sink."""
        self._journal.close()
        for sink in self._sinks:
            sink.close()

    def _sync_sinks(self) -> None:
        self._sync(self._sinks)

    @staticmethod
    def _sync(sinks: Sequence[Sink]) -> None:
        for sink in sinks:
            try:
                sink.sync()
            except InfrastructureError as error:
                raise SyncError(str(error)) from error


class ThreadedCommit:
    """A commit lane on a thread of its own. It calls `wake` after each commit, and `poll_committed` reports it.

    Committed items of an earlier run are skipped on the thread of the run. The digest needs no lock for that: no commit
    run is handed over before all of them are skipped."""

    def __init__(self, lane: CommitLane, wake: Callable[[], None]) -> None:
        self._inner = lane
        self._wake = wake
        self._reports: deque[int | BaseException] = deque()
        self.lane = Lane(LaneConfig(name="commit", max_concurrency=1, capacity=1))

    def commit(self, run: CommitRun, items: Sequence[Any]) -> None:
        """Hand a run to the thread."""
        self.lane.submit(self._commit_and_report, run, items)

    def poll_committed(self) -> int | None:
        """Return the end of a run that was committed since the last call. Raises what a failed commit raised."""
        if not self._reports:
            return None
        report = self._reports.popleft()
        if isinstance(report, BaseException):
            raise report
        return report

    def finish(self, *, is_end: bool, is_complete: bool = False) -> None:
        """Wait for the thread and write the last checkpoint."""
        self.lane.close(drain=True)
        self._inner.finish(is_end=is_end, is_complete=is_complete)

    def mark_distrusted(self) -> None:
        """Wait for the thread and note on disk that a sync failed."""
        self.lane.close(drain=True)
        self._inner.mark_distrusted()

    def close(self) -> None:
        """Wait for the thread, then close the journal and every sink."""
        self.lane.close(drain=True)
        self._inner.close()

    def _commit_and_report(self, run: CommitRun, items: Sequence[Any]) -> None:
        try:
            self._reports.append(self._inner.commit(run, items))
        except BaseException as error:
            self._reports.append(error)
        self._wake()


def to_record(command: WindowOpened | RetryScheduled) -> Record:
    """Convert a command to the record that the journal keeps of it."""
    if isinstance(command, WindowOpened):
        return WindowRecord(command.id, command.start, command.target_entries, encode_sizing(command.sizing))
    return Attempt(command.seq, command.retries)


def to_terminal(start: int, entries: Sequence[Entry]) -> Terminal:
    """Convert the outcomes of a run to the record that the journal keeps of them."""
    details = {}
    for position, entry in enumerate(entries):
        if entry.failure is not None or entry.attempts > 1 or entry.outputs:
            failure = entry.failure
            details[position] = Detail(
                entry.attempts - 1,
                None if failure is None else failure.category,
                "" if failure is None else failure.message,
                tuple((output.path, output.size, output.checksum) for output in entry.outputs),
            )
    return Terminal(start, bytes([entry.outcome for entry in entries]), details)
