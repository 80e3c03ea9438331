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
_HEAD_BYTES = _HEAD.size
_unpack_head = _HEAD.unpack_from
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


def framed(type_: int, body: bytes, version: int = VERSION) -> bytes:
    """The bytes of one record."""
    length = _LENGTH.pack(len(body))
    check = crc32(length, crc32(_START.pack(MAGIC, version, type_))) & 0xFFFF
    data = _HEAD.pack(MAGIC, version, type_, check, len(body)) + body
    return data + _SUM.pack(crc32(data))


def whole_at(data: bytes, offset: int) -> tuple[int, int, int, int] | None:
    """Type and version of the record at this offset, where its body begins and where that ends; None: it is not whole.
    A record that matches its checksum is, head and all. This is what reading a journal costs: about a microsecond."""
    body_at = offset + _HEAD_BYTES
    if body_at > len(data):
        return None
    magic, version, type_, _, length = _unpack_head(data, offset)
    sum_at = body_at + length
    if magic == MAGIC and data[sum_at : sum_at + 4] == crc32(data[offset:sum_at]).to_bytes(4, "little"):
        return type_, version, body_at, sum_at
    return None


def frame_at(data: bytes, offset: int) -> Frame | Fault:
    """The record at this offset, or why there is none."""
    whole = whole_at(data, offset)
    if whole is not None:
        type_, version, body_at, sum_at = whole
        return Frame(type_, version, data[body_at:sum_at], offset, sum_at + _SUM.size)
    body_at = offset + _HEAD_BYTES
    if body_at > len(data):
        return Fault("the file ends within the head of a record")
    magic, version, type_, check, length = _unpack_head(data, offset)
    if magic != MAGIC:
        return Fault("no record begins here")
    expected = crc32(_LENGTH.pack(length), crc32(_START.pack(magic, version, type_))) & 0xFFFF
    if check != expected or length > BODY_BYTES_MAX:
        return Fault("the head of the record is damaged")
    if body_at + length + _SUM.size > len(data):
        return Fault("the file ends within a record")
    return Fault("the record does not match its checksum")
