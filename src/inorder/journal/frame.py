"""The binary format of a record.

    magic  version  type  check  length  body ...  checksum
      1       1       1     2       4                  4

The checksum is the CRC-32 of everything before it. The check is the low half of the CRC-32 of the magic, version, type
and length. It tells a damaged length from a short file before the length is used.

A file that ends within a frame was torn by a crash. A frame that fails its check or checksum was damaged, or torn in a
way that left other bytes behind. `scan.py` decides which of the two it is.
"""

import struct
from enum import IntEnum
from typing import NamedTuple
from zlib import crc32

MAGIC = 0x1E
VERSION = 1
BODY_BYTES_MAX = 64 * 2**20
"""Maximum size of a body. A larger length is damage."""
_START = struct.Struct("<BBB")
_HEAD = struct.Struct("<BBBHI")
_LENGTH = struct.Struct("<I")
_SUM = struct.Struct("<I")
HEAD_BYTES = _HEAD.size
_unpack_head = _HEAD.unpack_from
OVERHEAD_BYTES = _HEAD.size + _SUM.size


class RecordType(IntEnum):
    """The type of a record. The codes are part of the format."""

    HEADER = 1
    WINDOW = 2
    ATTEMPT = 3
    TERMINAL = 4
    COMMIT = 5
    CHECKPOINT = 6


class RecordFrame(NamedTuple):
    """A record as it is stored."""

    type: int
    version: int
    body: bytes
    offset: int
    end: int
    """Offset after its last byte."""


class Fault(NamedTuple):
    """Why there is no valid frame at an offset."""

    message: str


def encode_frame(type_: int, body: bytes, version: int = VERSION) -> bytes:
    """Encode a record."""
    head = _encode_head(type_, len(body), version)
    return b"".join((head, body, _SUM.pack(crc32(body, crc32(head)))))


def complete_frame(type_: int, frame: bytearray) -> None:
    """Turn `HEAD_BYTES` bytes of any value and a body into an encoded record, without a copy of the body."""
    frame[:HEAD_BYTES] = _encode_head(type_, len(frame) - HEAD_BYTES, VERSION)
    frame += _SUM.pack(crc32(frame))


def _encode_head(type_: int, body_bytes: int, version: int) -> bytes:
    check = crc32(_LENGTH.pack(body_bytes), crc32(_START.pack(MAGIC, version, type_))) & 0xFFFF
    return _HEAD.pack(MAGIC, version, type_, check, body_bytes)


def locate_frame(data: bytes, offset: int) -> tuple[int, int, int, int] | None:
    """Return type, version, start and end of the body of the record at this offset; None if it is not valid.

    A record that matches its checksum is valid, including its head. This is the hot path of reading a journal, about a
    microsecond per record."""
    body_at = offset + HEAD_BYTES
    if body_at > len(data):
        return None
    magic, version, type_, _, length = _unpack_head(data, offset)
    sum_at = body_at + length
    if magic == MAGIC and data[sum_at : sum_at + 4] == crc32(data[offset:sum_at]).to_bytes(4, "little"):
        return type_, version, body_at, sum_at
    return None


def read_frame(data: bytes, offset: int) -> RecordFrame | Fault:
    """Read the record at this offset, or say why there is none."""
    located = locate_frame(data, offset)
    if located is not None:
        type_, version, body_at, sum_at = located
        return RecordFrame(type_, version, data[body_at:sum_at], offset, sum_at + _SUM.size)
    body_at = offset + HEAD_BYTES
    if body_at > len(data):
        return Fault("the file ends within the head of a record")
    magic, version, type_, check, length = _unpack_head(data, offset)
    if magic != MAGIC:
        return Fault("no record starts here")
    expected = crc32(_LENGTH.pack(length), crc32(_START.pack(magic, version, type_))) & 0xFFFF
    if check != expected or length > BODY_BYTES_MAX:
        return Fault("the head of the record is damaged")
    if body_at + length + _SUM.size > len(data):
        return Fault("the file ends within a record")
    return Fault("the record does not match its checksum")
