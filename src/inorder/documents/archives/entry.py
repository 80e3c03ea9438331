"""What the formats of archives have in common."""

import lzma
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from typing import NamedTuple, Protocol

from inorder.host.zstd import load_zstd

ENCRYPTED, LINK, SPECIAL = "encrypted", "link", "special"
"""Kinds of members that are not plain files."""


class ArchiveEntry(NamedTuple):
    """What an archive says of one member."""

    number: int
    """Its position in the archive, from 0. Names may occur twice."""
    name: str
    size: int
    fingerprint: str = ""
    """Changes whenever the content does."""
    head: bytes = b""
    """Its first bytes."""
    kind: str = ""
    """Why it is no plain file: `ENCRYPTED`, `LINK`, `SPECIAL`; empty: it is one."""
    problem: str = ""
    """Why it cannot be read; empty: no reason is known."""
    sha256: str = ""
    """Of the content, if it was read."""
    content: bytes | None = None
    """The content of an archive within this one; None: it is no archive, or too large."""


class Archive(Protocol):
    """An open archive."""

    def list_entries(self) -> Iterator[ArchiveEntry]:
        """Its members, in order, without folders. Raises ArchiveError if it is damaged, perhaps after some members."""

    def read(self, number: int, fingerprint: str, passwords: tuple[str, ...]) -> bytes:
        """The content of a member. Raises ReadError if it cannot be read, and `MemberChanged`."""

    def close(self) -> None:
        """Close the archive, not the file that it is read from."""


class MemberChanged(Exception):
    """The member is not what it was when the archive was listed."""


def list_damage() -> tuple[type[Exception], ...]:
    """What unpacking a damaged archive may raise."""
    return (
        zipfile.BadZipFile,
        tarfile.TarError,
        zlib.error,
        lzma.LZMAError,
        load_zstd().ZstdError,
        struct.error,
        OSError,
        EOFError,
        ValueError,
        LookupError,
        NotImplementedError,  # a compression method that `zipfile` does not know
        OverflowError,
        RuntimeError,
    )
