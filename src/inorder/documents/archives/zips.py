"""ZIP archives. Their directory says what is in them, and each member can be read on its own.

A member is identified by its size and its CRC-32, which the directory has. The CRC-32 is compared whenever it is read.
"""

import contextlib
import hashlib
import struct
import zipfile
import zlib
from collections.abc import Iterator
from operator import attrgetter
from typing import BinaryIO

from inorder.documents.readers.sniff import HEAD_BYTES
from inorder.errors import ReadError
from inorder.runtime.identity import hash_strings

from .entry import ENCRYPTED, LINK, ArchiveEntry, MemberChanged, list_damage
from .limits import DIRECTORY_BYTES_MAX, NESTED_BYTES_MAX, ArchiveError, exceeds_ratio
from .names import find_nested_format

_DOCUMENT_PARTS = frozenset(
    (
        "[Content_Types].xml",
        "META-INF/container.xml",
        "word/document.xml",
        "ppt/presentation.xml",
        "xl/workbook.xml",
    )
)
"""An archive with one of these, or that begins with `mimetype`, is an office file or an e-book, whatever its name."""
_END = struct.Struct("<4s4H2LH")
_END_MARK, _END64_MARK = b"PK\x05\x06", b"PK\x06\x06"
_END64 = struct.Struct("<4sQ2H2L4Q")
_COMMENT_BYTES_MAX = 2**16
_LOCAL_HEADER_BYTES = 30
_UTF8_FLAG, _ENCRYPTED_FLAG = 0x800, 0x1
_AES_METHOD = 99
_DOS = 0
"""Some programs of Windows write backslashes."""
_LINK_MODE = 0o120000
_FORMAT_MASK = 0o170000


class ZipArchive:
    """An open ZIP archive."""

    def __init__(self, file: BinaryIO) -> None:
        _require_small_directory(file)
        try:
            self._zip = zipfile.ZipFile(file)
        except list_damage() as error:
            raise ArchiveError(f"the archive is damaged: {error}") from None

    def is_document(self) -> bool:
        """Whether it is an office file or an e-book."""
        names = self._zip.namelist()
        return names[:1] == ["mimetype"] or not _DOCUMENT_PARTS.isdisjoint(names)

    def list_entries(self) -> Iterator[ArchiveEntry]:
        """The members in the order of the directory."""
        infos = self._zip.infolist()
        _require_no_overlap(infos)
        for number, info in enumerate(infos):
            if not info.filename.endswith("/"):  # `is_dir` raises if the name is empty
                yield self._make_entry(number, info)

    def read(self, number: int, fingerprint: str, passwords: tuple[str, ...]) -> bytes:
        """The content of a member."""
        infos = self._zip.infolist()
        if number >= len(infos) or _identify(infos[number]) != fingerprint:
            raise MemberChanged
        info = infos[number]
        if not info.flag_bits & _ENCRYPTED_FLAG:
            return self._unpack(info)
        if info.compress_type == _AES_METHOD:
            raise ReadError("the member is encrypted with AES, which is not supported")
        for password in passwords:
            try:
                return self._unpack(info, password.encode("utf-8", "surrogateescape"))
            except ReadError:
                continue
        tried = "no password of --password-file fits" if passwords else "--password-file can name passwords"
        raise ReadError(f"the member is encrypted; {tried}")

    def close(self) -> None:
        """Close it."""
        self._zip.close()

    def _make_entry(self, number: int, info: zipfile.ZipInfo) -> ArchiveEntry:
        entry = ArchiveEntry(number, _decode_name(info), info.file_size, _identify(info))
        if (info.external_attr >> 16) & _FORMAT_MASK == _LINK_MODE:
            return entry._replace(kind=LINK)
        if info.flag_bits & _ENCRYPTED_FLAG:
            return entry._replace(kind=ENCRYPTED)
        if exceeds_ratio(info.file_size, info.compress_size):
            return entry._replace(problem="the member unpacks to more than 400 times its size (a zip bomb?)")
        try:
            if find_nested_format(entry.name) is not None and info.file_size <= NESTED_BYTES_MAX:
                return entry._replace(content=self._unpack(info))
            head = self._unpack(info, count=HEAD_BYTES)
            is_whole = len(head) == info.file_size and zlib.crc32(head) == info.CRC
            return entry._replace(head=head, sha256=hashlib.sha256(head).hexdigest() if is_whole else "")
        except ReadError as error:
            return entry._replace(problem=str(error))

    def _unpack(self, info: zipfile.ZipInfo, password: bytes | None = None, count: int = -1) -> bytes:
        """The first bytes of a member, or all of them, which are as many as the directory says."""
        try:
            with self._zip.open(info, pwd=password) as stream:
                content = stream.read(info.file_size if count < 0 else min(count, info.file_size))
                if count < 0 and (len(content) != info.file_size or stream.read(1)):
                    raise ReadError("the member is damaged: it has another size than the directory of the archive says")
        except list_damage() as error:
            raise ReadError(f"the member cannot be unpacked: {error}") from None
        return content


def _identify(info: zipfile.ZipInfo) -> str:
    return hash_strings("zip", str(info.CRC), str(info.file_size))


def _decode_name(info: zipfile.ZipInfo) -> str:
    """The name of a member. Without the mark for UTF-8 it should be in code page 437, and often is UTF-8 all the
    same."""
    name = info.filename
    if not info.flag_bits & _UTF8_FLAG:
        with contextlib.suppress(UnicodeError):
            name = name.encode("cp437").decode("utf-8")
    return name.replace("\\", "/") if info.create_system == _DOS else name


def _require_no_overlap(infos: list[zipfile.ZipInfo]) -> None:
    """Raise ArchiveError if two members share bytes of the file: an honest archive has no reason to."""
    end = 0
    for info in sorted(infos, key=attrgetter("header_offset")):
        if info.header_offset < end:
            raise ArchiveError("members of the archive overlap (a zip bomb?)")
        end = info.header_offset + _LOCAL_HEADER_BYTES + info.compress_size


def _require_small_directory(file: BinaryIO) -> None:
    """Raise ArchiveError if the directory is missing or too large. `zipfile` reads all of it at once."""
    size = file.seek(0, 2)
    file.seek(max(0, size - _COMMENT_BYTES_MAX - _END.size))
    tail = file.read()
    begin = tail.rfind(_END_MARK)
    if begin < 0 or len(tail) - begin < _END.size:
        raise ArchiveError("the archive is damaged: it has no directory, so its end may be missing")
    directory_bytes = _END.unpack_from(tail, begin)[5]
    large = tail.rfind(_END64_MARK, 0, begin)
    if directory_bytes == 0xFFFFFFFF and large >= 0 and begin - large >= _END64.size:
        directory_bytes = _END64.unpack_from(tail, large)[8]
    if directory_bytes > DIRECTORY_BYTES_MAX:
        raise ArchiveError(f"the directory of the archive has more than {DIRECTORY_BYTES_MAX:,} bytes")
    file.seek(0)
