"""Appending to a journal, and when to wait for the disk.

A record counts once it is written; it survives the loss of power once it is synced. The policies:

    always    outcomes are synced before any sink changes, commits before the next run of seqs begins
    batch     outcomes are synced before any sink changes; the commit rides along with the next sync
    interval  nothing waits; everything is synced about once a second
    off       never; the operating system writes when it likes

Whatever the policy, a killed process loses nothing that was written, and a machine that lost power comes back with some
prefix of the run: the policies differ in how long ago that prefix may end.

After a failed write or sync the journal is *poisoned*. What is on the disk is not known any more, and a sync that
succeeds later would prove nothing: the run stops, and recovery reads what is really there.
"""

from typing import Literal, NoReturn, Protocol

import msgspec

from inorder.core.invariants import check
from inorder.errors import InfrastructureError, SyncError, require

from .records import Checkpoint, Record, encode
from .replay import Replay, replay
from .scan import scan

Policy = Literal["always", "batch", "interval", "off"]
POLICIES: tuple[Policy, ...] = ("always", "batch", "interval", "off")


class JournalOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a journal is kept."""

    fsync: Policy = "batch"
    checkpoint_ms: int = 1000
    """Sinks are synced and a checkpoint is written this often: what a loss of power repeats at most."""
    compact_bytes: int = 8 * 2**20
    """A checkpoint that finds the journal larger than this begins a new file: bounds what a start has to read."""

    def __post_init__(self) -> None:
        require(self.fsync in POLICIES, f"fsync must be one of {', '.join(POLICIES)}, got {self.fsync!r}")
        require(self.checkpoint_ms >= 1, f"checkpoint_ms must be at least 1, got {self.checkpoint_ms}")
        require(self.compact_bytes >= 1, f"compact_bytes must be at least 1, got {self.compact_bytes}")


class Storage(Protocol):
    """The file under a journal."""

    def append(self, data: bytes) -> None:
        """Put all of it at the end."""
        ...

    def sync(self) -> None:
        """Make everything safe from a loss of power."""
        ...

    def close(self) -> None:
        """Let it go."""
        ...


class Poisoned(InfrastructureError):
    """The journal could not be written. What is committed stays committed; the next run finds out how far it came."""


class Unsynced(Poisoned, SyncError):
    """It could not be synced."""


class Writer:
    """The end of a journal. Knows at every moment what a replay of it would say."""

    def __init__(self, file: Storage, path: str, state: Replay, offset: int) -> None:
        self._file = file
        self._path = path
        self._trouble: OSError | None = None
        self.state = state
        self.offset = offset
        self.durable = offset
        """Bytes that were synced."""

    def append(self, *records: Record) -> None:
        """Write records, together."""
        if self._trouble is not None:
            self.poison(self._trouble)
        data = b""
        for record in records:
            frame = encode(record)
            end = self.offset + len(frame)
            self.state.take(record, self.offset, end)
            self.offset = end
            data = data + frame if data else frame
        try:
            self._file.append(data)
        except OSError as error:
            self.poison(error)

    def sync(self) -> None:
        """Wait until everything written is safe."""
        if self._trouble is not None:
            self.poison(self._trouble)
        if self.durable == self.offset:
            return
        try:
            self._file.sync()
        except OSError as error:
            self.poison(error, is_sync=True)
        self.durable = self.offset

    def checkpoint(self, *, is_end: bool = False, forgets: bool = False) -> list[Record]:
        """The records that tell everything known by now: a checkpoint, and the outcomes that still stand after it.
        `forgets`: none of those do."""
        records = self._everything(self.durable, is_end=is_end)
        return records[:1] if forgets else records

    def compacted(self, *, forgets: bool = False) -> bytes:
        """A journal that says the same as this one, in as few bytes as can be; `forgets` as for a checkpoint."""
        header = self.state.header
        check(header is not None, "a journal without a header")
        records = (header, *self._everything(0, is_end=False)[: 1 if forgets else None])
        return b"".join(encode(record) for record in records if record is not None)

    def go_on_in(self, file: Storage, data: bytes) -> None:
        """Go on in another file, which holds these bytes and is synced."""
        self._file.close()
        self._file = file
        self.state = replay(scan(data).found)
        self.offset = self.durable = len(data)

    def close(self) -> None:
        """Let the file go."""
        self._file.close()

    def _everything(self, durable: int, *, is_end: bool) -> list[Record]:
        state, newest = self.state, self.state.newest
        resume_point = state.resume_point(newest)
        standing = [terminal.from_(newest.end) for terminal in state.terminals if terminal.end > newest.end]
        checkpoint = Checkpoint(
            end=newest.end,
            durable=durable,
            marks=list(newest.marks.values()),
            digest=newest.digest,
            succeeded=resume_point.succeeded,
            skipped=resume_point.skipped,
            failed=resume_point.failed,
            retries=resume_point.retries,
            granted=resume_point.retries_granted,
            windows=tuple(window for window in state.windows if window.start >= resume_point.resume_start),
            is_end=is_end,
        )
        return [checkpoint, *standing]

    def poison(self, error: OSError, *, is_sync: bool = False) -> NoReturn:
        """What is on the disk is not known any more: nothing is written from now on."""
        self._trouble = error
        kind = Unsynced if is_sync else Poisoned
        raise kind(
            f"the journal {self._path} cannot be written ({error.strerror or error}); "
            "what is committed is kept: mend that, and run the same again"
        ) from error
