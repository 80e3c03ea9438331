"""Tar archives, compressed or not. They have no directory: members are read from the first to the last.

A member is identified by the hash of its content, which is computed when the archive is listed. A reader of members
keeps its place, so reading all of them in order decompresses the archive once.
"""

import bz2
import gzip
import hashlib
import lzma
import tarfile
from collections.abc import Iterator
from tarfile import HeaderError
from typing import Any, BinaryIO, cast

from inorder.documents.inputs import BYTES_MAX
from inorder.documents.readers.sniff import HEAD_BYTES
from inorder.errors import ReadError
from inorder.host.zstd import load_zstd

from .entry import LINK, SPECIAL, ArchiveEntry, MemberChanged, list_damage
from .limits import HEADER_BYTES_MAX, NESTED_BYTES_MAX, RATIO_MAX, ArchiveError, exceeds_ratio
from .names import find_nested_format

_PIECE_BYTES = 2**20
_HEADER_TYPES = (
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
)


class _Header(tarfile.TarInfo):
    """A header. One that says more of the next member is read at once, so its size is limited."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> "_Header":
        found = super().frombuf(buf, encoding, errors)
        if found.type in _HEADER_TYPES and found.size > HEADER_BYTES_MAX:
            raise tarfile.ReadError(f"a header has more than {HEADER_BYTES_MAX:,} bytes")
        return found

    @classmethod
    def fromtarfile(cls, tarfile: tarfile.TarFile) -> "_Header":
        """The next header. `tarfile` takes a damaged one for the end of the archive."""
        try:
            return super().fromtarfile(tarfile)
        except HeaderError as error:
            is_end = type(error).__name__ in ("EOFHeaderError", "EmptyHeaderError")
            if is_end or tarfile.offset == 0:
                raise
            raise ArchiveError(f"the archive is damaged: {error}") from None


class _CountedStream:
    """A stream that stops when it has unpacked too much."""

    def __init__(self, stream: BinaryIO, packed_bytes: int) -> None:
        self._stream = stream
        self._packed_bytes = packed_bytes
        self._unpacked_bytes = 0

    def read(self, count: int) -> bytes:
        found = self._stream.read(count)
        self._unpacked_bytes += len(found)
        if exceeds_ratio(self._unpacked_bytes, self._packed_bytes):
            raise ArchiveError(f"the archive unpacks to more than {RATIO_MAX} times its size (a bomb?)")
        return found


class TarArchive:
    """An open tar archive, at some place in it."""

    def __init__(self, file: BinaryIO, compression: str) -> None:
        self._file = file
        self._compression = compression
        self._packed_bytes = file.seek(0, 2)
        self._number = -1
        self._tar: Any = self._open()

    def list_entries(self) -> Iterator[ArchiveEntry]:
        """The members in order. Each is read: that is how it is identified."""
        self._tar = self._open()
        while (info := self._advance()) is not None:
            if not info.isdir():
                yield self._make_entry(info)

    def read(self, number: int, fingerprint: str, passwords: tuple[str, ...]) -> bytes:
        """The content of a member."""
        if number <= self._number:
            self._tar = self._open()
        info = None
        while self._number < number:
            info = self._advance()
            if info is None:
                raise MemberChanged
        if info is None or not info.isreg() or info.size > BYTES_MAX:
            raise MemberChanged
        content = b"".join(self._read_pieces(info))
        if hashlib.sha256(content).hexdigest() != fingerprint:
            raise MemberChanged
        return content

    def close(self) -> None:
        """Close it."""
        self._tar.close()

    def _open(self) -> tarfile.TarFile:
        """Go to the beginning."""
        self._file.seek(0)
        self._number = -1
        try:
            options: dict[str, Any] = {"tarinfo": _Header, "encoding": "utf-8", "errors": "surrogateescape"}
            if not self._compression:
                return tarfile.open(fileobj=self._file, mode="r:", **options)
            stream = _CountedStream(_unpack(self._file, self._compression), self._packed_bytes)
            return tarfile.open(fileobj=cast(BinaryIO, stream), mode="r|", **options)
        except ArchiveError:
            raise
        except list_damage() as error:
            raise ArchiveError(f"the archive is damaged: {error}") from None

    def _advance(self) -> tarfile.TarInfo | None:
        """Go to the next member."""
        try:
            info: tarfile.TarInfo | None = self._tar.next()
        except ArchiveError:
            raise
        except list_damage() as error:
            raise ArchiveError(f"the archive is damaged after {self._number + 1:,} members: {error}") from None
        self._tar.members.clear()  # they are not needed, and there may be many
        self._number += 1
        return info

    def _make_entry(self, info: tarfile.TarInfo) -> ArchiveEntry:
        entry = ArchiveEntry(self._number, info.name, info.size)
        if info.issym() or info.islnk():
            return entry._replace(kind=LINK)
        if not info.isreg():
            return entry._replace(kind=SPECIAL)
        if info.size > BYTES_MAX or exceeds_ratio(info.size, self._packed_bytes):
            return entry._replace(problem=f"the member has {info.size:,} bytes, which is too much for this archive")
        digest, head, kept = hashlib.sha256(), b"", []
        is_kept = find_nested_format(info.name) is not None and info.size <= NESTED_BYTES_MAX
        try:
            for piece in self._read_pieces(info):
                digest.update(piece)
                head = head or piece[:HEAD_BYTES]
                kept += [piece] if is_kept else []
        except ReadError as error:
            raise ArchiveError(f"the archive is damaged after {self._number:,} members: {error}") from None
        content = b"".join(kept) if is_kept else None
        found = digest.hexdigest()
        return entry._replace(fingerprint=found, sha256=found, head=head, content=content)

    def _read_pieces(self, info: tarfile.TarInfo) -> Iterator[bytes]:
        left = info.size
        try:
            stream = self._tar.extractfile(info)
            while left and stream is not None and (piece := stream.read(min(left, _PIECE_BYTES))):
                left -= len(piece)
                yield piece
        except ArchiveError:
            raise
        except list_damage() as error:
            raise ReadError(str(error)) from None
        if left:
            raise ReadError("unexpected end of data")


def _unpack(file: BinaryIO, compression: str) -> BinaryIO:
    if compression == "gz":
        return cast(BinaryIO, gzip.GzipFile(fileobj=file))
    if compression == "bz2":
        return cast(BinaryIO, bz2.BZ2File(file))
    if compression == "xz":
        return cast(BinaryIO, lzma.LZMAFile(file))
    if compression == "zst":
        return cast(BinaryIO, load_zstd().ZstdFile(file))
    return file
