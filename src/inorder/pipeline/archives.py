"""Archives and mail: their members are files of their own, with ids below that of the archive.

What is known of a member without unpacking it is in the listing of its archive. A member is unchanged as long as its
fingerprint is. An archive that has not changed is opened only if a step is due that reads one of its members.
"""

import os
from collections.abc import Iterator
from hashlib import blake2b
from typing import TYPE_CHECKING

from inorder.documents.archives.names import ATTACHING_FORMATS, find_format
from inorder.documents.readers.passwords import NO_PASSWORDS
from inorder.library.rows import HASH_BYTES, FileIdentity, FileResult, StepResult
from inorder.stage.fingerprints import hash_file
from inorder.stage.inputs import AddressedInput

from .sources.classify import ARCHIVE, FileKind
from .sources.walk import ListedContent, ListedFile

if TYPE_CHECKING:
    from inorder.documents.archives.listing import Listing, Member

    from .steps import Step

_NO_NAME = "%"
"""The name of what is wrong with the attachments of a mail or a PDF. This is a document itself, and no attachment has
this name."""


def make_archive_kind(archive_format: str) -> FileKind:
    """Return the kind of an archive of a format, as `find_format` names it."""
    return FileKind(ARCHIVE, archive_format or "tar")


class ArchiveReader:
    """Lists archives. The latest members are kept: those of one archive follow each other."""

    def __init__(self, password_file: str = NO_PASSWORDS) -> None:
        self._password_file = password_file
        self._latest: tuple[str, dict[str, ListedFile]] | None = None

    def open(self, path: str) -> "Listing":
        """List an archive. What is wrong with it is in the result."""
        from inorder.documents.archives.listing import list_file  # with all that unpacks archives

        return list_file(path, find_format(path) or "")

    def list_members(self, archive_id: str, path: str, listing: "Listing") -> list[ListedFile]:
        """Return the members of an archive, in the order of their ids."""
        found = [self._make_file(archive_id, path, member) for member in listing.members]
        if listing.problem and find_format(path) in ATTACHING_FORMATS:
            address = f"{path}/{_NO_NAME}"
            content = ListedContent(AddressedInput(address=address, sha256=""), _sign(listing.problem))
            item_id = f"{archive_id}/{_NO_NAME}"
            found.append(
                ListedFile(item_id, address, None, problem=listing.problem, content=content, parent=archive_id)
            )
        return sorted(found, key=lambda file: file.item_id)

    def find(self, archive_id: str, path: str, item_id: str) -> ListedFile | None:
        """Return a member of an archive; None: it is not there any more."""
        if self._latest is None or self._latest[0] != path:
            members = self.list_members(archive_id, path, self.open(path))
            self._latest = path, {member.item_id: member for member in members}
        return self._latest[1].get(item_id)

    def _make_file(self, archive_id: str, path: str, member: "Member") -> ListedFile:
        from inorder.documents.archives.members import MemberInput

        address = f"{path}/{member.name}"
        source = MemberInput(
            address=address,
            sha256=member.fingerprints[-1],
            size=member.size,
            archive=path,
            formats=member.formats,
            indices=member.indices,
            fingerprints=member.fingerprints,
            password_file=self._password_file if member.is_encrypted else NO_PASSWORDS,
        )
        content = ListedContent(
            source, _sign((member.fingerprints, member.kind, member.problem)), member.kind, bytes.fromhex(member.sha256)
        )
        item_id = f"{archive_id}/{member.name}"
        return ListedFile(item_id, address, None, problem=member.problem, content=content, parent=archive_id)


def _sign(facts: object) -> bytes:
    """The signature of a member, of which these facts are known."""
    return blake2b(repr(facts).encode("utf-8", "surrogatepass"), digest_size=HASH_BYTES).digest()


def hash_archive(path: str) -> bytes:
    """Return the hash of an archive; empty if it cannot be read: then the next run lists it again."""
    try:
        return bytes.fromhex(hash_file(path))
    except OSError:
        return b""


def describe_archive(archive: ListedFile, step: "Step", *, was_other: bool) -> Iterator[FileResult]:
    """Yield what is known of an archive that was listed to its end. `was_other`: the library knows the file as a
    document, and what it has of that goes."""
    if was_other:
        yield FileResult(FileIdentity(archive.item_id), is_removed=True)
    digest = hash_archive(archive.path)
    facts = FileIdentity(
        archive.item_id,
        str(make_archive_kind(archive.archive_format or "")),
        os.fspath(archive.path),
        archive.signature if digest else b"",
        digest,
        archive.size,
    )
    yield FileResult(facts, [StepResult(step.name, step.settings, digest[:HASH_BYTES], digest[:HASH_BYTES])])
