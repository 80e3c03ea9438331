"""The documents in archives below the sources. What reads archives is imported with the first one."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from inorder.documents.discovery import DocumentFile, FileBatch
from inorder.documents.readers.passwords import NO_PASSWORDS
from inorder.stage.file_stat import FileStat

from .names import MAIL_FORMATS, find_format, may_have_archives

if TYPE_CHECKING:
    from .cache import ListingCache
    from .listing import Listing, Member


class ArchiveExpander:
    """Replaces archives by their members, and adds the attachments of mail."""

    def __init__(self, cache_path: str, password_file: str = NO_PASSWORDS) -> None:
        self._cache_path = cache_path
        self._cache: ListingCache | None = None
        self._password_file = password_file

    def expand(self, found: Iterator[FileBatch | DocumentFile]) -> Iterator[FileBatch | DocumentFile]:
        """The same files, with the members of each archive in its place. An archive that cannot be read to its end
        comes after its members, as a file with the reason. Batches without archives stay as they are."""
        try:
            for each in found:
                if isinstance(each, FileBatch):
                    if may_have_archives(each.names):
                        for file in each:
                            yield from self._expand_file(file)
                    else:
                        yield each
                else:
                    yield from self._expand_file(each)
        finally:
            if self._cache is not None:
                self._cache.close()

    def _expand_file(self, file: DocumentFile) -> Iterator[DocumentFile]:
        archive_format = find_format(file.path) if file.stat is not None and file.size else None
        if archive_format is None or file.stat is None:
            yield file
        else:
            yield from self._expand_archive(file, file.stat, archive_format)

    def _expand_archive(self, file: DocumentFile, stat: FileStat, archive_format: str) -> Iterator[DocumentFile]:
        listing = self._list(file.path, stat, archive_format)
        if archive_format in MAIL_FORMATS or not listing.is_archive:
            yield file
        for member in listing.members:
            yield self._make_file(file, member)
        if not listing.problem:
            return
        if archive_format in MAIL_FORMATS:  # the mail itself is a document; no attachment has this name
            file = file._replace(item_id=f"{file.item_id}/%", path=f"{file.path}/%")
        yield file._replace(problem=listing.problem, kind="binary")

    def _list(self, path: str, stat: FileStat, archive_format: str) -> "Listing":
        from .cache import ListingCache
        from .listing import list_file

        if self._cache is None:
            self._cache = ListingCache(self._cache_path)
        return self._cache.get(path, stat, lambda: list_file(path, archive_format))

    def _make_file(self, file: DocumentFile, member: "Member") -> DocumentFile:
        from .members import MemberInput

        address = f"{file.path}/{member.name}"
        source = MemberInput(
            address=address,
            sha256=member.fingerprints[-1],
            size=member.size,
            archive=file.path,
            formats=member.formats,
            indices=member.indices,
            fingerprints=member.fingerprints,
            password_file=self._password_file if member.is_encrypted else NO_PASSWORDS,
        )
        item_id = f"{file.item_id}/{member.name}"
        return DocumentFile(
            item_id, address, member.size, member.problem, file.stat, source, member.kind, member.sha256
        )
