"""How a record lies in the file.

    magic  version  type  check  length  body ...  checksum
      1       1       1     2       4                  4

The checksum is the CRC-32 of everything before it, so no flipped bit goes unseen. The check is the low half of the
CRC-32 of the magic, version, type and length: it tells a damaged length from a short file, before anybody trusts it.

A file that ends within a frame was torn by a crash. One whose frame fails its check or checksum was damaged, or torn in
a way that left something behind: which of the two is not decided here (`scan.py`).
"""

import struct
from enum import IntEnum
from typing import NamedTuple
from zlib import crc32

MAGIC = 0x1E
VERSION = 1
BODY_BYTES_MAX = 64 * 2**20
"""No record is larger: a length beyond it is damage."""
_START = struct.Struct("<BBB")
_HEAD = struct.Struct("<BBBHI")
_LENGTH = struct.Struct("<I")
_SUM = struct.Struct("<I")
OVERHEAD = _HEAD.size + _SUM.size


class Type(IntEnum):
    """What a record is about."""

    HEADER = 1
    WINDOW = 2
    ATTEMPT = 3
    TERMINAL = 4
    COMMIT = 5
    CHECKPOINT = 6


class Frame(NamedTuple):
    """One record as found."""

    type: int
    version: int
    body: bytes
    offset: int
    end: int
    """One past its last byte."""


class Fault(NamedTuple):
    """Why there is no frame at an offset."""

    message: str
    is_short: bool
    """The file ends before the frame does, and nothing contradicts that it was a frame."""


def framed(type_: int, body: bytes, version: int = VERSION) -> bytes:
    """The bytes of one record."""
    length = _LENGTH.pack(len(body))
    check = crc32(length, crc32(_START.pack(MAGIC, version, type_))) & 0xFFFF
    data = _HEAD.pack(MAGIC, version, type_, check, len(body)) + body
    return data + _SUM.pack(crc32(data))


def frame_at(data: bytes, offset: int) -> Frame | Fault:
    """The record at this offset, or why there is none."""
    body_at = offset + _HEAD.size
    if body_at > len(data):
        is_begun = data[offset : offset + 1] == bytes([MAGIC])
        return Fault("the file ends within the head of a record", is_begun)
    magic, version, type_, check, length = _HEAD.unpack_from(data, offset)
    if magic != MAGIC:
        return Fault("no record begins here", is_short=False)
    expected = crc32(_LENGTH.pack(length), crc32(_START.pack(magic, version, type_))) & 0xFFFF
    if check != expected or length > BODY_BYTES_MAX:
        return Fault("the head of the record is damaged", is_short=False)
    sum_at = body_at + length
    end = sum_at + _SUM.size
    if end > len(data):
        return Fault("the file ends within a record", is_short=True)
    if _SUM.unpack_from(data, sum_at)[0] != crc32(memoryview(data)[offset:sum_at]):
        return Fault("the record does not match its checksum", is_short=False)
    return Frame(type_, version, bytes(memoryview(data)[body_at:sum_at]), offset, end)
