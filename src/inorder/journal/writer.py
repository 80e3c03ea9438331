"""Appending to a journal, and when to sync it.

A written record survives a crash of the process. It survives a power loss once it is synced. The fsync policies:

    always    outcomes are synced before any sink changes, commits before the next commit run
    batch     outcomes are synced before any sink changes, commits with the next sync
    interval  everything is synced about once per second
    off       never; the operating system decides when to write

`runtime/commit.py` applies the policy: it decides when to call `sync`.
Under every policy a killed process loses nothing that was written, and a power loss leaves a prefix of the run. The
policies differ in how much of the run may be missing.

After a failed write or sync nothing more is written. The content of the disk is unknown, and a later sync that succeeds
would prove nothing: the run stops, and recovery reads what is on the disk.
"""

from typing import Literal, NoReturn, Protocol

import msgspec

from inorder.core.invariants import check
from inorder.errors import InfrastructureError, SyncError, require

from .records import Checkpoint, Record, encode_record
from .replay import Replay, replay
from .scan import scan

FsyncPolicy = Literal["always", "batch", "interval", "off"]
FSYNC_POLICIES: tuple[FsyncPolicy, ...] = ("always", "batch", "interval", "off")


class JournalOptions(msgspec.Struct, frozen=True, kw_only=True):
    """When a journal is synced, checkpointed and compacted."""

    fsync: FsyncPolicy = "batch"
    checkpoint_ms: int = 1000
    """Interval at which sinks are synced and a checkpoint is written: bounds what a power loss repeats."""
    compact_bytes: int = 8 * 2**20
    """A checkpoint of a larger journal rewrites it as a new file: bounds what a resumed run has to read."""

    def __post_init__(self) -> None:
        require(self.fsync in FSYNC_POLICIES, f"fsync must be one of {', '.join(FSYNC_POLICIES)}, got {self.fsync!r}")
        require(self.checkpoint_ms >= 1, f"checkpoint_ms must be at least 1, got {self.checkpoint_ms}")
        require(self.compact_bytes >= 1, f"compact_bytes must be at least 1, got {self.compact_bytes}")


class JournalFile(Protocol):
    """The open file of a journal."""

    def append(self, data: bytes) -> None:
        """Append all of `data`."""

    def sync(self) -> None:
        """Make everything written durable."""

    def close(self) -> None:
        """Close the file."""


class JournalWriter:
    """Appends to a journal, and keeps the state that a replay of it would give."""

    def __init__(self, file: JournalFile, path: str, state: Replay, offset: int) -> None:
        self._file = file
        self._path = path
        self._error: OSError | None = None
        self.state = state
        self.offset = offset
        self.durable = offset
        """Bytes that are synced."""

    def append(self, *records: Record) -> None:
        """Append records in one write."""
        if self._error is not None:
            self.fail(self._error)
        data = b""
        for record in records:
            frame = encode_record(record)
            end = self.offset + len(frame)
            self.state.apply(record, self.offset, end)
            self.offset = end
            data = data + frame if data else frame
        try:
            self._file.append(data)
        except OSError as error:
            self.fail(error)

    def sync(self) -> None:
        """Make everything written durable."""
        if self._error is not None:
            self.fail(self._error)
        if self.durable == self.offset:
            return
        try:
            self._file.sync()
        except OSError as error:
            self.fail(error, is_sync=True)
        self.durable = self.offset

    def build_checkpoint(self, *, is_end: bool = False, drops_uncommitted: bool = False) -> list[Record]:
        """Build a checkpoint of the present state, followed by the outcomes that are not committed yet, unless
        `drops_uncommitted`."""
        records = self._build_state_records(self.durable, is_end=is_end)
        return records[:1] if drops_uncommitted else records

    def build_compacted(self, *, drops_uncommitted: bool = False) -> bytes:
        """Build a journal with the same state, made of a header and a checkpoint; see `build_checkpoint`."""
        header = self.state.header
        check(header is not None, "the journal has no header")
        records = (header, *self._build_state_records(0, is_end=False)[: 1 if drops_uncommitted else None])
        return b"".join(encode_record(record) for record in records if record is not None)

    def switch_file(self, file: JournalFile, data: bytes) -> None:
        """Continue in another file, which holds `data` and is synced."""
        self._file.close()
        self._file = file
        self.state = replay(scan(data).records)
        self.offset = self.durable = len(data)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _build_state_records(self, durable: int, *, is_end: bool) -> list[Record]:
        state, newest = self.state, self.state.newest_candidate
        resume_point = state.build_resume_point(newest)
        uncommitted = [terminal.slice_from(newest.end) for terminal in state.terminals if terminal.end > newest.end]
        checkpoint = Checkpoint(
            end=newest.end,
            durable=durable,
            marks=list(newest.marks.values()),
            digest=newest.digest,
            **state.count_outcomes(newest.end)._asdict(),
            granted=resume_point.retries_granted,
            windows=tuple(window for window in state.windows if window.start >= resume_point.resume_start),
            is_end=is_end,
        )
        return [checkpoint, *uncommitted]

    def fail(self, error: OSError, *, is_sync: bool = False) -> NoReturn:
        """Refuse all further writes: the content of the disk is unknown."""
        self._error = error
        kind = SyncError if is_sync else InfrastructureError
        raise kind(
            f"the journal {self._path} cannot be written ({error.strerror or error}); the run stopped and what is "
            "committed is kept: solve the problem, then run again to resume"
        ) from error
