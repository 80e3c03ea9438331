"""The records of a journal. Each is a MessagePack array of its fields, in the order of declaration.

    header      once, first: which run, plan and configuration the journal belongs to
    window      a window was opened, with this size and the snapshot behind it
    attempt     an item failed and will be retried
    terminal    outcomes of a run of seqs; written before any sink changes
    commit      every sink has applied all seqs below `end`
    checkpoint  like commit, with every sink synced and the whole state of the replay: earlier records can be dropped

New fields are added at the end, with a default. Any other change needs a new version of the record.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from inorder.core.windows.window import SizingSnapshot
from inorder.errors import Category

from .frame import RecordType, encode_frame

Mark = tuple[int, int, int]
"""The position of a sink: end, offset, checksum."""
OutputMark = tuple[str, int, int]
"""An output file of an item: path, size, checksum."""


class Header(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Which run, plan and configuration the journal belongs to."""

    run_id: str
    plan_hash: str
    """Hash of the whole plan. Empty if the plan is not known in advance."""
    config_hash: str
    sinks: list[str] = []
    created_ms: int = 0
    """Volatile."""


class WindowRecord(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A window was opened."""

    id: int
    start: int
    target_entries: int
    sizing: tuple[int, ...] | None = None
    """The fields of the snapshot behind the target. None: the target is that of the options."""


class Attempt(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An item failed and will be retried."""

    seq: int
    retries: int
    """Retries of the item so far."""


class Detail(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Details of an outcome: retries, failure, output files."""

    retries: int = 0
    category: Category | None = None
    message: str = ""
    outputs: tuple[OutputMark, ...] = ()


class Terminal(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The outcomes of a contiguous run of seqs, one byte per seq."""

    start: int
    outcomes: bytes
    details: dict[int, Detail] = {}
    """By position in the run, for outcomes that have any."""

    @property
    def end(self) -> int:
        """One past the last seq."""
        return self.start + len(self.outcomes)

    def slice_from(self, start: int) -> "Terminal":
        """Return the part that begins at seq `start`."""
        return self.slice(max(start, self.start), self.end)

    def slice(self, start: int, end: int) -> "Terminal":
        """Return the part for the seqs from `start` to `end`, which must be within the run."""
        places = range(start - self.start, end - self.start)
        details = {place - places.start: detail for place, detail in self.details.items() if place in places}
        return Terminal(start, self.outcomes[places.start : places.stop], details)


class Commit(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Every sink has applied all seqs below `end`."""

    end: int
    durable: int
    """Bytes of this journal that were synced when this record was written. They cannot be torn."""
    marks: list[Mark] = []
    """The position of each sink, in the order of the header."""
    digest: bytes = b""
    """Digest of the identities of all items below `end`."""
    is_synced: bool = False
    """Every sink was synced before this record was written."""


class Checkpoint(msgspec.Struct, frozen=True, array_like=True, kw_only=True, gc=False):
    """The whole state of the replay, written after every sink was synced. Outcomes that are not committed at this point
    are void unless they are repeated after it."""

    end: int
    durable: int
    marks: list[Mark] = []
    digest: bytes = b""
    succeeded: int = 0
    skipped: int = 0
    failed: int = 0
    retries: int = 0
    granted: dict[int, int] = {}
    windows: tuple[WindowRecord, ...] = ()
    is_end: bool = False
    """The run is complete: there is nothing to resume."""


Record = Header | WindowRecord | Attempt | Terminal | Commit | Checkpoint

_TYPES: dict[type[Any], RecordType] = {
    Header: RecordType.HEADER,
    WindowRecord: RecordType.WINDOW,
    Attempt: RecordType.ATTEMPT,
    Terminal: RecordType.TERMINAL,
    Commit: RecordType.COMMIT,
    Checkpoint: RecordType.CHECKPOINT,
}
_ENCODER = msgspec.msgpack.Encoder()
DECODERS: dict[int, Callable[[bytes], Record]] = {
    type_: msgspec.msgpack.Decoder(kind).decode for kind, type_ in _TYPES.items()
}
"""Decoders of the body of a frame, by record type. They raise msgspec.DecodeError or UnicodeDecodeError for an
invalid body."""
_SIZING = msgspec.structs.fields(SizingSnapshot)


def get_record_type(record: Record) -> RecordType:
    """Return the type of a record."""
    return _TYPES[type(record)]


def encode_record(record: Record) -> bytes:
    """Encode a record as a frame."""
    return encode_frame(_TYPES[type(record)], _ENCODER.encode(record))


def encode_sizing(sizing: SizingSnapshot | None) -> tuple[int, ...] | None:
    """Encode a snapshot as the list of its fields."""
    return None if sizing is None else tuple(getattr(sizing, field.name) for field in _SIZING)


def decode_sizing(fields: tuple[int, ...] | None) -> SizingSnapshot | None:
    """Decode a snapshot. Fields that an earlier version did not write have their defaults; those that a later one adds
    are ignored."""
    if fields is None:
        return None
    return SizingSnapshot(**{field.name: value for field, value in zip(_SIZING, fields, strict=False)})
