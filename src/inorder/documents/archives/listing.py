"""Lists the members of an archive, and of the archives in it."""

import io
from collections.abc import Iterator
from typing import BinaryIO

import msgspec

from inorder.documents.readers.sniff import EXTENSIONS, HEAD_BYTES, sniff
from inorder.host.regular_file import open_regular

from .entry import ENCRYPTED, Archive, ArchiveEntry
from .limits import DEPTH_MAX, NAME_CHARACTERS_MAX, NESTED_BYTES_MAX, ArchiveError, Budget
from .names import MAIL_FORMATS, UniqueNames, find_nested_format, is_hidden, quote_name
from .tars import TarArchive
from .zips import ZipArchive

LISTING_VERSION = 2
"""Raise it when the same archive is listed differently."""


class Member(msgspec.Struct, frozen=True, array_like=True):
    """A member of an archive that may be a document."""

    indices: tuple[int, ...]
    """Its position in the archive; before it, those of the archives that it is in."""
    name: str
    """Its path below the archive, as part of an id."""
    size: int
    fingerprints: tuple[str, ...]
    """Its own; before it, those of the archives that it is in."""
    formats: tuple[str, ...]
    """The formats of the archives that it is in."""
    kind: str = ""
    problem: str = ""
    is_encrypted: bool = False
    sha256: str = ""
    """Of its content, if it was read."""


class Listing(msgspec.Struct, frozen=True, array_like=True):
    """What was found in an archive."""

    members: list[Member] = []
    problem: str = ""
    """Why the archive was not read, or not to its end; empty: it was."""
    is_archive: bool = True
    """False: it is a document, such as an office file with the name of an archive."""


class _Place(msgspec.Struct, frozen=True):
    """An archive, within others."""

    name: str = ""
    indices: tuple[int, ...] = ()
    fingerprints: tuple[str, ...] = ()
    formats: tuple[str, ...] = ()


def open_archive(file: BinaryIO, archive_format: str) -> Archive:
    """Open an archive. Raises ArchiveError if it is damaged."""
    if archive_format in MAIL_FORMATS:
        from .mails import MailArchive  # with the reader of HTML, which a run without mail does not need

        return MailArchive(file, is_mailbox=archive_format == "mbox")
    if archive_format == "pdf":
        from .pdfs import PdfArchive  # with PDFium, if there are attachments

        return PdfArchive(file)
    return ZipArchive(file) if archive_format == "zip" else TarArchive(file, archive_format)


def list_archive(file: BinaryIO, archive_format: str) -> Listing:
    """List an archive."""
    members: list[Member] = []
    names, place = UniqueNames(), _Place(formats=(archive_format,))
    try:
        archive = open_archive(file, archive_format)
        if isinstance(archive, ZipArchive) and archive.is_document():
            return Listing(is_archive=False)
        for member in _list(archive, place, Budget()):
            name = names.make(member.name)
            members.append(msgspec.structs.replace(member, name=name))
    except ArchiveError as error:
        is_partial = archive_format != "zip"
        return Listing(members if is_partial else [], str(error))
    return Listing(members)


def _list(archive: Archive, place: _Place, budget: Budget) -> Iterator[Member]:
    for entry in archive.list_entries():
        budget.take(entry.size)
        if is_hidden(entry.name):
            continue
        member = _make_member(entry, place)
        inner = find_nested_format(entry.name)
        if inner is None or entry.problem or entry.kind:
            yield member
        else:
            yield from _list_nested(entry, inner, place, member, budget)


def _list_nested(entry: ArchiveEntry, inner: str, place: _Place, member: Member, budget: Budget) -> Iterator[Member]:
    """The members of an archive within an archive; if it cannot be read, the archive as a member with the reason. Mail
    is a member, too."""
    if inner in MAIL_FORMATS:
        yield member
        if entry.content is None or len(place.formats) >= DEPTH_MAX:
            return
    if entry.content is None:
        problem = f"an archive within an archive has at most {NESTED_BYTES_MAX:,} bytes; this one has {entry.size:,}"
        yield msgspec.structs.replace(member, problem=problem)
        return
    if len(place.formats) >= DEPTH_MAX:
        problem = f"archives are read to a depth of {DEPTH_MAX}, and this one lies deeper"
        yield msgspec.structs.replace(member, problem=problem)
        return
    below = _Place(member.name, member.indices, member.fingerprints, (*place.formats, inner))
    try:
        archive = open_archive(io.BytesIO(entry.content), inner)
        if isinstance(archive, ZipArchive) and archive.is_document():
            yield msgspec.structs.replace(member, kind=sniff(entry.name, entry.content[:HEAD_BYTES]))
            return
        yield from _list(archive, below, budget)
    except ArchiveError as error:
        yield msgspec.structs.replace(member, problem=str(error))


def _make_member(entry: ArchiveEntry, place: _Place) -> Member:
    name = quote_name(entry.name) or "%00"
    problem = entry.problem
    if len(name) > NAME_CHARACTERS_MAX:
        name, problem = f"{name[:NAME_CHARACTERS_MAX]}...", "the name of the member is too long"
    is_encrypted = entry.kind == ENCRYPTED
    kind = "" if is_encrypted else entry.kind
    if not kind and not problem:
        head = entry.head if entry.content is None else entry.content[:HEAD_BYTES]
        kind = _find_kind(entry.name) if is_encrypted else sniff(entry.name, head)
    return Member(
        indices=(*place.indices, entry.number),
        name=f"{place.name}/{name}" if place.name else name,
        size=entry.size,
        fingerprints=(*place.fingerprints, entry.fingerprint),
        formats=place.formats,
        kind=kind,
        problem=problem,
        is_encrypted=is_encrypted,
        sha256=entry.sha256,
    )


def _find_kind(name: str) -> str:
    """The kind of a member whose bytes are not known."""
    return EXTENSIONS.get(name.rpartition(".")[2].lower(), "unknown")


def list_file(path: str, archive_format: str) -> Listing:
    """List an archive file. What is wrong with it is in the result."""
    try:
        with open_regular(path) as file:
            return list_archive(file, archive_format)
    except OSError as error:
        return Listing(problem=f"the file cannot be read: {error.strerror or error}")
    except Exception as error:  # whatever the libraries raise: it costs this archive, not the run
        return Listing(problem=f"the archive cannot be read: {type(error).__name__}: {error}")
