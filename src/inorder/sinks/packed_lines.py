"""A file of lines of which the older ones are kept compressed, in a second file beside it.

`NAME` has the latest lines as text. Once lines are packed, the first line of it, the *head*, says how many bytes of
lines are in `NAME.zst`, and how long that file is; what follows there is left over from a crash, and is ignored. All
lines together are one text; offsets are offsets in that text, so they stay the same when lines are packed.

`NAME.zst` is a sequence of Zstandard frames of about a mebibyte of whole lines each. It is read forward: whoever goes
back reads it from its beginning.

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
from inorder.host.regular_file import open_regular
from inorder.host.zstd import load_zstd

PACKED_ID = "__packed__"
SUFFIX = ".zst"
_LEVEL = 1
_LEAST_BYTES = 4 * 2**20
"""Fewer bytes of lines stay as they are."""
_FRAME_BYTES = 2**20
_HEAD_BYTES_MAX = 4096


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
    """All lines of a file, packed or not, as one file that is written. Implements `AppendFile`. Only recovery reads
    packed lines, and rarely: they are unpacked in memory."""

    def __init__(self, filesystem: Filesystem, path: str) -> None:
        self._filesystem = filesystem
        self._path = path
        self._open()

    def _open(self) -> None:
        self._file: AppendFile = self._filesystem.open(self._path)
        self._head, self._head_bytes = decode_head(self._file.read(0, _HEAD_BYTES_MAX))
        path = f"{self._path}{SUFFIX}"
        if self._head is not None and self._filesystem.stat(path) is None:
            raise _make_error(path, "missing")
        self.packed_prefix = (0, 0) if self._head is None else (self._head.bytes, self._head.crc32)
        """Length and CRC-32 of the packed lines."""
        self._unpacked: bytes | None = None

    @property
    def size(self) -> int:
        """Bytes of all lines."""
        return self.packed_prefix[0] + self._file.size - self._head_bytes

    def read(self, offset: int, size: int) -> bytes:
        """Read `size` bytes from `offset`; fewer only at the end."""
        start = self.packed_prefix[0]
        data = self._unpack()[offset : offset + size] if offset < start else b""
        return data + self._file.read(max(offset - start, 0) + self._head_bytes, size - len(data))

    def append(self, data: bytes) -> None:
        """Append all of `data`."""
        self._file.append(data)

    def truncate(self, size: int) -> None:
        """Truncate the text. Lines before a cut among the packed ones are unpacked."""
        if size >= self.packed_prefix[0]:
            self._file.truncate(size - self.packed_prefix[0] + self._head_bytes)
            return
        data = self._unpack()[:size]
        self.close()
        write_atomic(self._filesystem, self._path, data)
        self._open()

    def sync(self) -> None:
        """Make everything written to the file durable."""
        self._file.sync()

    def close(self) -> None:
        """Close the file. Idempotent."""
        self._file.close()

    def _unpack(self) -> bytes:
        """Return the packed lines. Raises IntegrityError if their file is damaged."""
        if self._unpacked is None and self._head is not None:
            path = f"{self._path}{SUFFIX}"
            try:
                self._unpacked = load_zstd().decompress(self._filesystem.read(path)[: self._head.packed_bytes])
            except load_zstd().ZstdError as error:
                raise _make_error(path, f"damaged ({error})") from error
            if len(self._unpacked) != self._head.bytes:
                raise _make_error(path, f"damaged (it has {len(self._unpacked)} bytes of lines)")
        return self._unpacked or b""

    def pack(self, stage: str) -> None:
        """Pack all lines, unless there are few that are not. A last line without a newline stays as it is."""
        if self._file.size - self._head_bytes < _LEAST_BYTES:
            return
        place = 0 if self._head is None else self._head.packed_bytes
        start, checksum = self.packed_prefix
        path = f"{self._path}{SUFFIX}"
        packed = self._filesystem.open(path)
        try:
            packed.truncate(place)
            for lines in self._read_frames():
                data = load_zstd().compress(lines, level=_LEVEL)
                packed.append(data)
                start, place, checksum = start + len(lines), place + len(data), zlib.crc32(lines, checksum)
            packed.sync()
        finally:
            packed.close()
        if self._head is None:
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
        offset, block = self.packed_prefix[0], b""
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

    def __init__(self, file: BinaryIO, path: str, head: PackedHead, head_bytes: int) -> None:
        self._file, self._path = file, path
        self._packed_bytes = open_regular(path)
        self._packed = load_zstd().open(self._packed_bytes, "rb")
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
        is_packed = self._offset < self._start
        file = self._packed if is_packed else self._file
        try:
            file.seek(self._offset if is_packed else self._offset - self._start + self._head_bytes)
            data = file.read(min(len(buffer), self._start - self._offset) if is_packed else len(buffer))
        except (load_zstd().ZstdError, EOFError) as error:
            raise _make_error(self._path, f"damaged ({error})") from error
        if is_packed and not data:
            raise _make_error(self._path, f"damaged (it ends after {self._offset} bytes of lines)")
        buffer[: len(data)] = data
        self._offset += len(data)
        return len(data)

    def close(self) -> None:
        self._file.close()
        self._packed.close()
        self._packed_bytes.close()
        super().close()


def _make_error(path: str, problem: str) -> IntegrityError:
    return IntegrityError(f"{path} is {problem}, and with it the older rows; restore it from a backup")


def open_lines(path: str) -> BinaryIO:
    """Open all lines of a file for reading, packed or not. Raises FileNotFoundError if it does not exist."""
    file = open_regular(path)
    try:
        head, head_bytes = decode_head(file.read(_HEAD_BYTES_MAX))
        file.seek(0)
        if head is None:
            return file
        return io.BufferedReader(_LineReader(file, f"{path}{SUFFIX}", head, head_bytes))
    except FileNotFoundError as error:
        file.close()
        raise _make_error(f"{path}{SUFFIX}", "missing") from error
    except BaseException:
        file.close()
        raise


def checksum_lines(path: str, size: int) -> int | None:
    """Return the CRC-32 of the first `size` bytes of all lines of a file; None: it has fewer."""
    checksum = 0
    with open_lines(path) as file:
        while size > 0:
            block = file.read(min(size, _FRAME_BYTES))
            if not block:
                return None
            size, checksum = size - len(block), zlib.crc32(block, checksum)
    return checksum


def measure_lines(path: str) -> int:
    """The length of all lines of a file, packed or not; 0 if it does not exist."""
    try:
        with open_lines(path) as file:
            return file.seek(0, os.SEEK_END)
    except FileNotFoundError:
        return 0
