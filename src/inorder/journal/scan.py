"""Reading a journal that may be torn or damaged. Pure: bytes in, records and a verdict out.

A crash can leave anything in the part of the file that was never synced: nothing, a part of a record, zeros, even valid
records after a broken one. That is a *torn tail*. It was never reported as durable, so it is cut after the last valid
record and the work is repeated. Damage in the part that *was* synced is different: the disk or another program changed
durable data. Such a journal is *corrupt*; it is refused, with the offset.

Commit and checkpoint records tell the two cases apart: they say how much of the journal was synced when they were
written. If a valid record after the broken one says that the broken one was synced, the journal is corrupt. The first
two records, header and checkpoint, are written atomically, so damage there is always corruption. After a failed sync,
later syncs may succeed without having written the lost data. Then no claim counts beyond what was synced before.

Nothing is written here: `runtime/recovery.py` truncates the torn tail.
"""

import contextlib
from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

import msgspec

from .frame import MAGIC, VERSION, Fault, locate_frame, read_frame
from .records import DECODERS, Checkpoint, Commit, Header, Record

Claim = Commit | Checkpoint
"""Records that say how much of the journal was synced when they were written."""


class ScanVerdict(StrEnum):
    """The condition of a journal."""

    CLEAN = "clean"
    TORN = "torn tail"
    CORRUPT = "corrupt"
    FOREIGN = "not a journal"
    VERSION = "another version"


class ScannedRecord(msgspec.Struct, frozen=True, gc=False):
    """A valid record. Not tracked by the garbage collector, because a journal has many."""

    record: Record
    offset: int
    end: int


class ScanResult(NamedTuple):
    """The valid records of a journal, and its condition."""

    records: list[ScannedRecord]
    verdict: ScanVerdict
    offset: int
    """First byte that is not part of a valid record; the length of the file if all are valid."""
    message: str

    @property
    def is_usable(self) -> bool:
        """Whether a run can resume from it."""
        return self.verdict in (ScanVerdict.CLEAN, ScanVerdict.TORN)


def scan(data: bytes, synced_max: int | None = None) -> ScanResult:
    """Read records until the end or the first invalid one. `synced_max`: for a journal with a failed sync, how many
    bytes were synced before; claims beyond that are ignored."""
    records: list[ScannedRecord] = []
    append = records.append
    offset, size = 0, len(data)
    while offset < size:
        located = locate_frame(data, offset)
        if located is None:
            fault = read_frame(data, offset)
            message = fault.message if isinstance(fault, Fault) else ""
            return _classify_damage(data, records, offset, message, size if synced_max is None else synced_max)
        type_, version, body_at, sum_at = located
        if version != VERSION:
            message = f"record of format version {version}, but this program reads version {VERSION}"
            return _make_result(records, ScanVerdict.VERSION, offset, message)
        decode = DECODERS.get(type_)
        if decode is None:
            message = f"record of unknown type {type_}"
            return _make_result(records, ScanVerdict.VERSION, offset, message)
        try:
            record = decode(data[body_at:sum_at])
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            return _make_result(
                records, ScanVerdict.CORRUPT, offset, f"the record matches its checksum but cannot be decoded: {error}"
            )
        end = sum_at + 4
        append(ScannedRecord(record, offset, end))
        offset = end
    if not records:
        return ScanResult(records, ScanVerdict.FOREIGN, 0, "the file is empty")
    if len(records) == 1:
        return _make_result(records, ScanVerdict.CORRUPT, offset, "the file ends after its header")
    return _make_result(records, ScanVerdict.CLEAN, offset, "")


def _make_result(records: list[ScannedRecord], verdict: ScanVerdict, offset: int, message: str) -> ScanResult:
    """Return this verdict, unless the file is not a journal."""
    if records and not isinstance(records[0].record, Header):
        return ScanResult([], ScanVerdict.FOREIGN, 0, "the file does not start with a header")
    return ScanResult(records, verdict, offset, message)


def _classify_damage(
    data: bytes, records: list[ScannedRecord], offset: int, message: str, synced_max: int
) -> ScanResult:
    if not records or not isinstance(records[0].record, Header):
        return ScanResult([], ScanVerdict.FOREIGN, 0, message)
    if len(records) == 1:
        message = f"{message}, and the start of a journal is written atomically"
        return ScanResult(records, ScanVerdict.CORRUPT, offset, message)
    for claim, at in _find_claims(data, offset + 1):
        if min(claim.durable, synced_max) > offset:
            message = f"{message}, and the record at byte {at} says that this part was synced"
            return ScanResult(records, ScanVerdict.CORRUPT, offset, message)
    return ScanResult(records, ScanVerdict.TORN, offset, message)


def _find_claims(data: bytes, offset: int) -> Iterator[tuple[Claim, int]]:
    """Find valid commit and checkpoint records from `offset` on, wherever they start."""
    magic = bytes([MAGIC])
    offset = data.find(magic, offset)
    while offset >= 0:
        frame = read_frame(data, offset)
        if isinstance(frame, Fault):
            offset = data.find(magic, offset + 1)
            continue
        decode = DECODERS.get(frame.type) if frame.version == VERSION else None
        with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError):
            record = None if decode is None else decode(frame.body)
            if isinstance(record, Claim):
                yield record, offset
        offset = data.find(magic, frame.end)
