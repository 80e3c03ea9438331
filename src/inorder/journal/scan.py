"""Reading a journal back, whatever happened to it. Pure: bytes in, records and a verdict out.

A crash can leave anything in the part of the file that was never synced: nothing, a piece, zeros, even whole records
after a broken one. All of that is a *torn tail*: nobody was ever told that it was safe, it is cut at the last good
record, and work is repeated. Damage in the part that *was* synced is something else: the disk, or somebody, has changed
what was promised. That is *corrupt*, and refused with the offset.

How to tell them apart: commit and checkpoint records say how much of the journal was synced when they were written. If
a good record after the broken place says that the broken place was safe, it is corruption. So it is before the end of
the second record: a journal comes into being with its header and a checkpoint, in one act. After a sync has failed, the
disk may say of later ones that they went well and have passed over what was lost; no claim counts for more than what
was known to be synced before.
"""

import contextlib
from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

import msgspec

from .frame import MAGIC, VERSION, Fault, frame_at, whole_at
from .records import DECODERS, Checkpoint, Commit, Header, Record

Claim = Commit | Checkpoint
"""Records that say how much was synced when they were written."""


class Verdict(StrEnum):
    """What a journal is worth."""

    CLEAN = "clean"
    TORN = "torn tail"
    CORRUPT = "corrupt"
    FOREIGN = "not a journal"
    VERSION = "another version"


class Found(msgspec.Struct, frozen=True, gc=False):
    """One good record. A journal has many: the garbage collector need not look at them."""

    record: Record
    offset: int
    end: int


class Scan(NamedTuple):
    """What was found."""

    found: list[Found]
    verdict: Verdict
    offset: int
    """First byte that is not part of a good record; the length of the file where all is well."""
    message: str

    @property
    def is_usable(self) -> bool:
        """Whether a run can go on from it."""
        return self.verdict in (Verdict.CLEAN, Verdict.TORN)


def scan(data: bytes, synced_max: int | None = None) -> Scan:
    """Read records until the end, or until something is wrong. `synced_max`: of a journal that could not be synced, how
    much of it was before; what its records claim beyond that is not believed."""
    found: list[Found] = []
    append = found.append
    offset, size = 0, len(data)
    while offset < size:
        whole = whole_at(data, offset)
        if whole is None:
            fault = frame_at(data, offset)
            message = fault.message if isinstance(fault, Fault) else ""
            return _broken(data, found, offset, message, size if synced_max is None else synced_max)
        type_, version, body_at, sum_at = whole
        if version != VERSION:
            message = f"record of format version {version}, this program reads version {VERSION}"
            return _judged(found, Verdict.VERSION, offset, message)
        decode = DECODERS.get(type_)
        if decode is None:
            message = f"record of type {type_}, which this program does not know"
            return _judged(found, Verdict.VERSION, offset, message)
        try:
            record = decode(data[body_at:sum_at])
        except msgspec.DecodeError as error:
            return _judged(found, Verdict.CORRUPT, offset, f"the record is whole and makes no sense: {error}")
        end = sum_at + 4
        append(Found(record, offset, end))
        offset = end
    if not found:
        return Scan(found, Verdict.FOREIGN, 0, "the file is empty")
    if len(found) == 1:
        return _judged(found, Verdict.CORRUPT, offset, "it ends after its header")
    return _judged(found, Verdict.CLEAN, offset, "")


def _judged(found: list[Found], verdict: Verdict, offset: int, message: str) -> Scan:
    """This verdict, unless it never was a journal."""
    if found and not isinstance(found[0].record, Header):
        return Scan([], Verdict.FOREIGN, 0, "it does not begin with a header")
    return Scan(found, verdict, offset, message)


def _broken(data: bytes, found: list[Found], offset: int, message: str, synced_max: int) -> Scan:
    if not found or not isinstance(found[0].record, Header):
        return Scan([], Verdict.FOREIGN, 0, message)
    if len(found) == 1:
        message = f"{message}, and what is written together with the header cannot be torn"
        return Scan(found, Verdict.CORRUPT, offset, message)
    for claim, at in _later(data, offset + 1):
        if min(claim.durable, synced_max) > offset:
            message = f"{message}, and the record at byte {at} says that this part was safe"
            return Scan(found, Verdict.CORRUPT, offset, message)
    return Scan(found, Verdict.TORN, offset, message)


def _later(data: bytes, offset: int) -> Iterator[tuple[Claim, int]]:
    """Good records that make a claim, from there on, wherever they begin."""
    magic = bytes([MAGIC])
    offset = data.find(magic, offset)
    while offset >= 0:
        frame = frame_at(data, offset)
        if isinstance(frame, Fault):
            offset = data.find(magic, offset + 1)
            continue
        decode = DECODERS.get(frame.type) if frame.version == VERSION else None
        with contextlib.suppress(msgspec.DecodeError):
            record = None if decode is None else decode(frame.body)
            if isinstance(record, Claim):
                yield record, offset
        offset = data.find(magic, frame.end)
