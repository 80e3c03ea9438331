"""Reads members of archives, in workers.

An archive stays open between the members that a thread reads: a ZIP archive for its directory, a compressed tar archive
because members must be read in order, and an archive within an archive because it was unpacked.
"""

import io
import threading
from typing import BinaryIO, NamedTuple

from inorder.documents.readers.passwords import NO_PASSWORDS, read_passwords
from inorder.errors import ReadError
from inorder.host.regular_file import open_regular
from inorder.stage.contracts import StageError
from inorder.stage.files.file_stat import FileStat
from inorder.stage.inputs import AddressedInput

from .entry import Archive, MemberChanged
from .limits import NESTED_BYTES_MAX
from .listing import Member, open_archive

_RANDOM_ACCESS = frozenset(("zip", "eml", "mbox", "pdf"))
_OPEN_MAX = 4
"""Open archives per thread: one at each depth, and one more."""


class MemberInput(AddressedInput, frozen=True, kw_only=True):
    """A member of an archive."""

    archive: str
    """The path of the archive file."""
    formats: tuple[str, ...]
    """The format of the archive, and of the archives in it that lead to the member."""
    indices: tuple[int, ...]
    """The positions of these archives in each other; the last is that of the member."""
    fingerprints: tuple[str, ...]
    """What identifies each of them."""
    password_file: str = NO_PASSWORDS

    @property
    def batch_key(self) -> str:
        """Members of a compressed tar archive are read in order, so that it is unpacked once per worker."""
        return "archive" if any(each not in _RANDOM_ACCESS for each in self.formats) else ""

    def read(self) -> bytes:
        """Unpack the member."""
        try:
            return _get_open_archives().read(self, len(self.indices))
        except MemberChanged:
            message = f"the input {self.address} changed while it was read"
            raise StageError(message, category="io", retryable=True) from None
        except ReadError as error:
            raise StageError(str(error), category="input") from None


class _OpenArchive(NamedTuple):
    archive: Archive
    file: BinaryIO
    signature: tuple[int, ...]
    """Of the file, when it was opened."""

    def close(self) -> None:
        self.archive.close()
        self.file.close()


class OpenArchives:
    """The archives that one thread has open."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, tuple[int, ...]], _OpenArchive] = {}
        """By path, and positions in it."""
        self._latest: tuple[MemberInput, bytes] | None = None

    def read(self, member: MemberInput, depth: int) -> bytes:
        """The content of a member, or of the archive at this depth that leads to it."""
        is_whole = depth == len(member.indices)
        if is_whole and self._latest is not None and self._latest[0] == member:
            return self._latest[1]
        archive = self._find(member, depth - 1)
        passwords = read_passwords(member.password_file)
        content = archive.read(member.indices[depth - 1], member.fingerprints[depth - 1], passwords)
        if is_whole:  # the parts of a long PDF follow each other
            self._latest = (member, content) if len(content) <= NESTED_BYTES_MAX else None
        return content

    def _find(self, member: MemberInput, depth: int) -> Archive:
        """The archive at this depth, opened if necessary."""
        key = member.archive, member.indices[:depth]
        signature = FileStat.read(member.archive).signature
        found = self._open.pop(key, None)
        if found is not None and found.signature != signature:
            found.close()
            found = None
        if found is None:
            file = self._open_file(member, depth)
            try:
                found = _OpenArchive(open_archive(file, member.formats[depth]), file, signature)
            except BaseException:
                file.close()
                raise
        self._open[key] = found
        while len(self._open) > _OPEN_MAX:
            self._open.pop(next(iter(self._open))).close()
        return found.archive

    def _open_file(self, member: MemberInput, depth: int) -> BinaryIO:
        return io.BytesIO(self.read(member, depth)) if depth else open_regular(member.archive)


def read_member(file: BinaryIO, member: Member) -> bytes:
    """The content of a member of an archive, which is open as a file. Raises ArchiveError if it is damaged or needs a
    password."""
    content = b""
    for archive_format, index, fingerprint in zip(member.formats, member.indices, member.fingerprints, strict=True):
        content = open_archive(file, archive_format).read(index, fingerprint, ())
        file = io.BytesIO(content)
    return content


_local = threading.local()


def _get_open_archives() -> OpenArchives:
    found = getattr(_local, "archives", None)
    if found is None:
        found = _local.archives = OpenArchives()
    return found
