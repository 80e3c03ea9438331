"""A file of lines of which the older ones are kept compressed, in a second file beside it.

`NAME` has the latest lines as text. Once lines are packed, the first line of it, the *head*, says how many bytes of
lines are in `NAME.zst`, and how long that file is; what follows there is left over from a crash, and is ignored. All
lines together are one text; offsets are offsets in that text, so they stay the same when lines are packed.

`NAME.zst` is a sequence of Zstandard frames of about a mebibyte of whole lines each: see `packed_frames`.

Lines are packed in two steps: frames are appended to `NAME.zst` and synced, then `NAME` is replaced by the new head. A
crash between them leaves frames that no head counts.
"""

import contextlib
import io
import os
import zlib
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

import msgspec

from inorder.errors import IntegrityError
from inorder.host.filesystem import AppendFile, Filesystem, write_atomic

from .packed_frames import PackedFrames, PackedHead, encode_frame

PACKED_ID = "__packed__"
SUFFIX = ".zst"
_LEAST_BYTES = 4 * 2**20
"""Fewer bytes of lines stay as they are."""
_FRAME_BYTES = 2**20
_HEAD_BYTES_MAX = 4096


_HEAD = msgspec.json.Decoder(PackedHead)


def decode_head(data: bytes) -> tuple[PackedHead | None, int]:
    """Return the head at the beginning of a file, and its length; None: no line is packed."""
    if not data.startswith(b'{"stage":') or b'"doc_id":"%b"' % PACKED_ID.encode() not in data.partition(b"\n")[0]:
        return None, 0
    line, newline, _ = data.partition(b"\n")
    try:
        head = _HEAD.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None, 0
    return (head, len(line) + 1) if newline and head.doc_id == PACKED_ID else (None, 0)


class PackedFile:
    """All lines of a file, packed or not, as one file. Implements `AppendFile`."""

    def __init__(self, filesystem: Filesystem, path: str) -> None:
        self._filesystem = filesystem
        self._path = path
        self._packed: AppendFile | None = None
        self._open()

    def _open(self) -> None:
        self._file = self._filesystem.open(self._path)
        self._head, self._head_bytes = decode_head(self._file.read(0, _HEAD_BYTES_MAX))
        self._start = 0
        if self._head is not None:
            path = f"{self._path}{SUFFIX}"
            if self._filesystem.stat(path) is None:
                raise _make_missing_error(path)
            self._packed = self._filesystem.open(path)
            self._frames = PackedFrames(path, self._head, self._packed.read)
            self._start = self._head.bytes

    @property
    def size(self) -> int:
        """Bytes of all lines."""
        return self._start + self._file.size - self._head_bytes

    @property
    def packed_prefix(self) -> tuple[int, int]:
        """Length and CRC-32 of the packed lines."""
        return (0, 0) if self._head is None else (self._head.bytes, self._head.crc32)

    def read(self, offset: int, size: int) -> bytes:
        """Read `size` bytes from `offset`; fewer only at the end."""
        data = self._frames.read(offset, size) if offset < self._start else b""
        if len(data) < size:
            begin = max(offset, self._start) - self._start + self._head_bytes
            data += self._file.read(begin, size - len(data))
        return data

    def append(self, data: bytes) -> None:
        """Append all of `data`."""
        self._file.append(data)

    def truncate(self, size: int) -> None:
        """Truncate the text. Lines before a cut among the packed ones are unpacked."""
        if size >= self._start:
            self._file.truncate(size - self._start + self._head_bytes)
            return
        data = self.read(0, size)
        self.close()
        write_atomic(self._filesystem, self._path, data)
        self._packed = None
        self._open()

    def sync(self) -> None:
        """Make everything written to the file durable."""
        self._file.sync()

    def close(self) -> None:
        """Close the files. Idempotent."""
        self._file.close()
        if self._packed is not None:
            self._packed.close()

    def pack(self, stage: str) -> None:
        """Pack all lines, unless there are few that are not. A last line without a newline stays as it is."""
        if self._file.size - self._head_bytes < _LEAST_BYTES:
            return
        place = 0 if self._head is None else self._head.packed_bytes
        start, checksum = self.packed_prefix
        path = f"{self._path}{SUFFIX}"
        is_new = self._packed is None
        packed = self._packed or self._filesystem.open(path)
        try:
            packed.truncate(place)
            for lines in self._read_frames():
                data = encode_frame(lines)
                packed.append(data)
                start, place, checksum = start + len(lines), place + len(data), zlib.crc32(lines, checksum)
            packed.sync()
        finally:
            packed.close()
        if is_new:
            self._filesystem.sync_directory(os.path.dirname(path) or ".")
        head = PackedHead(
            stage=stage, doc_id=PACKED_ID, file=os.path.basename(path), bytes=start, crc32=checksum, packed_bytes=place
        )
        rest = self.read(start, self.size - start)
        self.close()
        write_atomic(self._filesystem, self._path, msgspec.json.encode(head) + b"\n" + rest)
        self._open()

    def _read_frames(self) -> Iterator[bytes]:
        """Yield the lines that are not packed, in blocks."""
        offset, block = self._start, b""
        while more := self.read(offset + len(block), _FRAME_BYTES):
            block += more
            end = block.rfind(b"\n") + 1
            if end:
                yield block[:end]
                offset, block = offset + end, block[end:]


def pack_lines(filesystem: Filesystem, path: str, stage: str, warn: Callable[[str], None]) -> None:
    """Pack the lines of a file that is no longer written, if there are many. If the disk fails, nothing is lost, and
    `warn` is called."""
    try:
        info = filesystem.stat(path)
        if info is not None and info.size >= _LEAST_BYTES:
            with contextlib.closing(PackedFile(filesystem, path)) as file:
                file.pack(stage)
    except OSError as error:
        warn(f"the rows of {path} are not compressed: {error.strerror or error}")


class _LineReader(io.RawIOBase):
    """All lines of a file, for reading."""

    def __init__(self, file: BinaryIO, packed: BinaryIO, head: PackedHead, head_bytes: int) -> None:
        self._file, self._packed = file, packed
        self._frames = PackedFrames(packed.name, head, self._read_packed)
        self._start, self._head_bytes = head.bytes, head_bytes
        self._offset = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        if whence == os.SEEK_END:
            offset += self._start + self._file.seek(0, os.SEEK_END) - self._head_bytes
        elif whence == os.SEEK_CUR:
            offset += self._offset
        self._offset = offset
        return offset

    def readinto(self, buffer: Any) -> int:
        size = len(buffer)
        if self._offset < self._start:
            data = self._frames.read(self._offset, size)
        else:
            self._file.seek(self._offset - self._start + self._head_bytes)
            data = self._file.read(size)
        buffer[: len(data)] = data
        self._offset += len(data)
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._frames.release()
            self._file.close()
            self._packed.close()
        super().close()

    def _read_packed(self, offset: int, size: int) -> bytes:
        self._packed.seek(offset)
        return self._packed.read(size)


def _make_missing_error(path: str) -> IntegrityError:
    return IntegrityError(f"{path} is missing, and with it the older rows; restore it from a backup")


def open_lines(path: str) -> BinaryIO:
    """Open all lines of a file for reading, packed or not. Raises FileNotFoundError if it does not exist."""
    file = open(path, "rb")  # noqa: SIM115
    try:
        head, head_bytes = decode_head(file.read(_HEAD_BYTES_MAX))
        file.seek(0)
        if head is None:
            return file
        packed = open(f"{path}{SUFFIX}", "rb")  # noqa: SIM115
    except FileNotFoundError as error:
        file.close()
        raise _make_missing_error(f"{path}{SUFFIX}") from error
    except BaseException:
        file.close()
        raise
    return io.BufferedReader(_LineReader(file, packed, head, head_bytes))


def measure_lines(path: str) -> int:
    """The length of all lines of a file, packed or not; 0 if it does not exist."""
    try:
        with open_lines(path) as file:
            return file.seek(0, os.SEEK_END)
    except FileNotFoundError:
        return 0


def compute_checksum(path: str, size: int) -> int:
    """The CRC-32 of the first `size` bytes of all lines of a file, packed or not."""
    checksum = 0
    with open_lines(path) as file:
        while size > 0 and (data := file.read(min(size, _FRAME_BYTES))):
            checksum, size = zlib.crc32(data, checksum), size - len(data)
    return checksum
