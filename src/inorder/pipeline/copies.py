"""Copies: files of one kind with the same content are one document with several paths.

The document is the first of them in the order of ids, whatever order they came in. If a run changes which one that is,
the new document and the files that become its copies change in one transaction: the visit of the document carries them
(`VisitOrder.also`). So does a file that was renamed: its old id goes when the new one comes.

A file is hashed for this only if another one has the same size, or if the library has files of other sources.
"""

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from types import TracebackType
from typing import NamedTuple, Self

from inorder.errors import InorderError
from inorder.files.size_filter import SizeFilter
from inorder.library.reader import KnownFile, LibraryReader
from inorder.library.rows import FileIdentity, FileResult
from inorder.stage.fingerprints import hash_file
from inorder.stage.sources import is_address

from .comparison import ChangeLog, FileChange, make_facts
from .sources.addressed import decode_source

_PAGE_CACHE = "PRAGMA cache_size = -2048"
_LOOKUP = 500


class FoundCopy(NamedTuple):
    """What is known of a file with new content."""

    copy_of: str = ""
    """The document that it is a copy of; empty: it is a document itself."""
    sha256: bytes = b""
    """Of its content; empty: it was not needed."""
    also: Sequence[FileResult] = ()
    """What happens to other files if it becomes a document."""


class CopyDetector:
    """Finds copies and renamed files among the changes of a plan. What it has seen is on disk, not in memory."""

    def __init__(
        self, library: LibraryReader | None, changes: ChangeLog, sizes: SizeFilter, *, hashes_all: bool
    ) -> None:
        """`sizes` are those of all files of the sources. `hashes_all`: the library has files of other sources."""
        self._library = library
        self._sizes = sizes
        self._hashes_all = hashes_all
        self._seen = sqlite3.connect("", isolation_level=None)  # a temporary file, once it does not fit in memory
        self._seen.execute(_PAGE_CACHE)
        self._seen.executescript(
            "CREATE TABLE seen (key BLOB PRIMARY KEY, item_id TEXT NOT NULL) WITHOUT ROWID;"
            "CREATE TABLE gone (item_id TEXT PRIMARY KEY, is_removed INTEGER NOT NULL) WITHOUT ROWID;"
            "CREATE TABLE removed (sha256 BLOB NOT NULL, item_id TEXT NOT NULL);"
            "CREATE INDEX removed_by_sha256 ON removed (sha256);"
            "BEGIN"
        )
        self._has_removed = False
        if library is not None:
            self._note_gone(changes)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._seen.close()

    def _note_gone(self, changes: Iterable[FileChange]) -> None:
        """Note the files that are removed, or have another content than the library knows."""
        gone = ((each.item_id, each.is_removed) for each in changes if each.is_known and each.has_new_content)
        self._seen.executemany("INSERT OR IGNORE INTO gone VALUES (?, ?)", gone)
        for known in self._list_known("SELECT item_id FROM gone WHERE is_removed = 1"):
            if known.sha256:
                self._has_removed = True
                self._sizes.add(known.size)
                self._sizes.add(known.size)
                self._seen.execute("INSERT INTO removed VALUES (?, ?)", (known.sha256, known.item_id))

    def _list_known(self, query: str) -> Iterator[KnownFile]:
        if self._library is None:
            return
        for (item_id,) in self._seen.execute(query).fetchall():
            known = self._library.get_file(item_id)
            if known is not None:
                yield known

    def find(self, change: FileChange, kind: str, head: bytes) -> FoundCopy:
        """Return whether a file with new content is a copy, and what happens to other files if it is none."""
        if not change.size or not (self._hashes_all or self._sizes.has_two(change.size)):
            return FoundCopy()
        try:
            digest = change.sha256 or _hash(change, head)
        except (OSError, InorderError):  # its visit says what is wrong with it
            return FoundCopy()
        key = digest[:16] + kind.encode()
        first = self._find_seen(key)
        if first and first < change.item_id:
            return FoundCopy(first, digest)
        present = self._find_present(digest, kind)
        original = next((each.item_id for each in present if not each.copy_of), "")
        original = original or min((each.item_id for each in present), default="")  # which `list_promoted` promotes
        if original and original < change.item_id:
            return FoundCopy(original, digest)
        self._seen.execute("INSERT OR REPLACE INTO seen VALUES (?, ?)", (key, change.item_id))
        also = [*self._demote(present, change.item_id), *self._take_renamed(digest)]
        return FoundCopy("", digest, also)

    def _find_seen(self, key: bytes) -> str:
        row = self._seen.execute("SELECT item_id FROM seen WHERE key = ?", (key,)).fetchone()
        return "" if row is None else str(row[0])

    def _find_present(self, digest: bytes, kind: str) -> list[KnownFile]:
        """The files of the library with this content and kind that are still there and have not changed."""
        if self._library is None:
            return []
        ids = self._library.find_by_sha256([digest]).get(digest, [])
        known = (self._library.get_file(each) for each in ids if not self.is_gone(each))
        found = (each for each in known if each is not None and each.kind == kind and not each.reason)
        return [each for each in found if not is_address(each.path)]  # objects of remote sources are not compared

    def is_gone(self, item_id: str) -> bool:
        """Whether a file that the library knows is removed, or has another content now."""
        return self._seen.execute("SELECT 1 FROM gone WHERE item_id = ?", (item_id,)).fetchone() is not None

    def _demote(self, present: Iterable[KnownFile], original: str) -> Iterator[FileResult]:
        """Make files copies of a document."""
        for each in present:
            if each.item_id != original:
                yield FileResult(make_facts(each, copy_of=original))

    def _take_renamed(self, digest: bytes) -> list[FileResult]:
        """The removal of a file with this content, which was renamed."""
        if not self._has_removed:
            return []
        row = self._seen.execute("SELECT rowid, item_id FROM removed WHERE sha256 = ? LIMIT 1", (digest,)).fetchone()
        if row is None:
            return []
        self._seen.execute("DELETE FROM removed WHERE rowid = ?", (row[0],))
        self._seen.execute("UPDATE gone SET is_removed = 0 WHERE item_id = ?", (row[1],))
        return [FileResult(FileIdentity(row[1]), is_removed=True)]

    def list_removed(self) -> Iterator[str]:
        """Yield the ids of the files that are gone, and were not renamed."""
        for (item_id,) in self._seen.execute("SELECT item_id FROM gone WHERE is_removed = 1 ORDER BY item_id"):
            yield item_id

    def list_promoted(self) -> Iterator[tuple[KnownFile, list[FileResult]]]:
        """Yield the files that were copies of a document which is gone, one for each content, and what happens to the
        others: they become its copies."""
        if self._library is None:
            return
        originals = [item_id for (item_id,) in self._seen.execute("SELECT item_id FROM gone ORDER BY item_id")]
        for start in range(0, len(originals), _LOOKUP):
            by_original: dict[str, list[str]] = {}
            for copy, original in self._library.list_copies(originals[start : start + _LOOKUP]):
                if not self.is_gone(copy):
                    by_original.setdefault(original, []).append(copy)
            for copies in by_original.values():
                yield from self._promote(copies)

    def _promote(self, copies: Sequence[str]) -> Iterator[tuple[KnownFile, list[FileResult]]]:
        known = [each for each in map(self._get, copies) if each is not None]
        if not known:
            return
        first, *others = known
        seen = self._find_seen(first.sha256[:16] + first.kind.encode())
        if seen:  # a new file has become the document
            return
        yield first, list(self._demote(others, first.item_id))

    def _get(self, item_id: str) -> KnownFile | None:
        return None if self._library is None else self._library.get_file(item_id)


def _hash(change: FileChange, head: bytes) -> bytes:
    """The hash of the content of a file, or of a member of an archive."""
    if change.source:
        return hashlib.sha256(decode_source(change.source).read()).digest()
    return hashlib.sha256(head).digest() if len(head) == change.size else bytes.fromhex(hash_file(change.path))
