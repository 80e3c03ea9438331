"""The frames of packed lines: whole lines each, which are read at any offset.

Before each frame there is a skippable one, which every tool for Zstandard leaves out. It has two numbers, the
compressed and the original size of the next frame, so that a line is found without decompressing those before it.
"""

import struct
from collections.abc import Callable, Iterator
from typing import NamedTuple

import msgspec

from inorder.errors import IntegrityError
from inorder.host.zstd import load_zstd

_LEVEL = 1
_PREFIX = struct.Struct("<IIII")
"""The magic number of a skippable frame, the size of its content, and the two sizes of the frame that follows."""
_HEADER_BYTES = 8
"""Of the prefix, without the content."""
_SKIPPABLE = 0x184D2A5D
_FRAMES_KEPT = 2
ReadAt = Callable[[int, int], bytes]


class PackedHead(msgspec.Struct, frozen=True, kw_only=True):
    """The first line of a file with packed lines. It has the fields that every row of a manifest has."""

    stage: str
    doc_id: str
    status: str = "packed"
    schema_version: int = 1
    file: str
    """The name of the file with the packed lines."""
    bytes: int
    """The length of the packed lines."""
    crc32: int
    """Of the packed lines."""
    packed_bytes: int
    """The length of the file that has them."""


class _Frame(NamedTuple):
    start: int
    """Offset of its first line."""
    size: int
    place: int
    """Offset in the file."""
    packed_size: int


def encode_frame(lines: bytes) -> bytes:
    """Return a frame of these lines, after its sizes."""
    frame: bytes = load_zstd().compress(lines, level=_LEVEL)
    return _PREFIX.pack(_SKIPPABLE, _PREFIX.size - _HEADER_BYTES, len(frame), len(lines)) + frame


class PackedFrames:
    """The packed lines, read at any offset. `read_at` reads the file that has them."""

    def __init__(self, path: str, head: PackedHead, read_at: ReadAt) -> None:
        self._path = path
        self._head = head
        self._read_at = read_at
        self._frames: list[_Frame] | None = None
        self._latest: dict[int, bytes] = {}
        """The lines of the frames that were read last, by number: two of them, because a block may lie in two frames,
        and the next one in either."""

    def read(self, offset: int, size: int) -> bytes:
        """Read `size` bytes of lines; fewer only at their end. Raises IntegrityError for a damaged file."""
        frames = self._load_frames()
        end, blocks = min(offset + size, self._head.bytes), []
        number = self._find_frame(frames, offset) if offset < end else 0
        while offset < end:
            frame, lines = frames[number], self._decompress(number)
            block = lines[offset - frame.start : end - frame.start]
            blocks.append(block)
            offset += len(block)
            number += 1
        return b"".join(blocks)

    @property
    def held_bytes(self) -> int:
        """Memory for lines that were read."""
        return sum(map(len, self._latest.values()))

    def release(self) -> None:
        """Release the memory of the frames that were read last. A file that is closed may live on for a while."""
        self._latest = {}

    def _load_frames(self) -> list[_Frame]:
        if self._frames is None:
            self._frames = list(self._list_frames())
        return self._frames

    def _list_frames(self) -> Iterator[_Frame]:
        start = place = 0
        while place < self._head.packed_bytes and start < self._head.bytes:
            prefix = self._read_at(place, _PREFIX.size)
            if len(prefix) < _PREFIX.size:
                break
            magic, length, packed_size, size = _PREFIX.unpack(prefix)
            if (magic, length) != (_SKIPPABLE, _PREFIX.size - _HEADER_BYTES) or not size:
                break
            frame = _Frame(start, size, place + _PREFIX.size, packed_size)
            yield frame
            start, place = start + size, frame.place + packed_size
        if (start, place) != (self._head.bytes, self._head.packed_bytes):
            raise self._make_error(f"it has {start} bytes of lines instead of {self._head.bytes}")

    @staticmethod
    def _find_frame(frames: list[_Frame], offset: int) -> int:
        low, high = 0, len(frames)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if frames[middle].start <= offset else (low, middle)
        return low

    def _decompress(self, number: int) -> bytes:
        lines = self._latest.pop(number, None)
        if lines is None:
            while len(self._latest) >= _FRAMES_KEPT:
                del self._latest[next(iter(self._latest))]
            lines = self._read_frame(self._load_frames()[number])
        self._latest[number] = lines
        return lines

    def _read_frame(self, frame: _Frame) -> bytes:
        zstd = load_zstd()
        packed = self._read_at(frame.place, frame.packed_size)
        try:
            lines: bytes = zstd.ZstdDecompressor().decompress(packed, max_length=frame.size + 1)
        except (zstd.ZstdError, EOFError) as error:
            raise self._make_error(str(error)) from error
        if len(lines) != frame.size:
            raise self._make_error(f"a frame has {len(lines)} bytes instead of {frame.size}")
        return lines

    def _make_error(self, problem: str) -> IntegrityError:
        return IntegrityError(f"{self._path} is damaged ({problem}); restore it from a backup")
