"""Documents of other sources than those of a run: a new file may be a copy of one, and one may be a copy of a document
that this run removes or changes.

A run sees only the files below its sources. DATA says what else there is: the store has the documents, and the list of
copies has the files that were left out because of a document. Such a file is checked again by each run that covers its
document, so that it takes its place when the document is gone.
"""

import os
import sqlite3
from collections.abc import Iterable, Iterator, Set
from contextlib import closing, contextmanager

from inorder.documents.copies import CopiedFile, CopyFinder, SizeFilter, list_copied_files
from inorder.documents.discovery import DocumentFile, FileBatch, inspect_file
from inorder.documents.inputs import find_file, is_there
from inorder.stage.sources import Roots
from inorder.stage.store.database import StoreReader, store_path

_LAST = "\U0010ffff"
_PAGE_CACHE = "PRAGMA cache_size = -8192"


class OtherSources:
    """What DATA has of other sources than these."""

    def __init__(self, data: str, stage: str, roots: Roots) -> None:
        self._data = data
        path = store_path(data, stage)
        self._store = StoreReader(path) if os.path.exists(path) else None
        self._roots = roots
        self._documents: sqlite3.Connection | None = None
        self.checked: set[str] = set()
        """The ids of the copies that were checked again."""

    def has_documents(self) -> bool:
        """Whether there are documents of other sources."""
        with closing(self):
            return self._has_documents()

    def _has_documents(self) -> bool:
        after = ""
        while self._store is not None:
            item = next(self._store.iterate(after=after), None)
            if item is None:
                return False
            if not self._roots.has(item.item_id):
                return True
            after = self._find_end(item.item_id)
        return False

    def _find_end(self, item_id: str) -> str:
        """The last id of those that are below the same root and follow this one, or this one."""
        for end in ("#", "/"):
            name = item_id.partition(end)[0]
            if name != item_id and self._roots.has(f"{name}{end}"):
                return f"{name}{end}{_LAST}"
        return item_id

    @contextmanager
    def open_finder(self, sizes: SizeFilter) -> Iterator[CopyFinder]:
        """A finder of copies for one pass over the files of a plan, which also finds documents of other sources."""
        find = self._find if self.has_documents() else None
        with closing(self), closing(CopyFinder(sizes, f"{self._data}/cache/contents.sqlite", find)) as finder:
            yield finder

    def add_copies(self, found: Iterable[FileBatch | DocumentFile]) -> Iterator[FileBatch | DocumentFile]:
        """Yield these files, and then those below other sources that are known as copies of documents which are below
        the sources of the run, or gone: of the content of a file some document must remain."""
        yield from found
        with closing(self):
            yield from self._list_copies()

    def _list_copies(self) -> Iterator[DocumentFile]:
        listed = set()
        for _, path, outer in self._check_copies():
            if path not in listed and os.path.isfile(path):
                listed.add(path)
                yield inspect_file(path, outer, os.path.dirname(path))

    def _check_copies(self) -> list[tuple[CopiedFile, str, str]]:
        """The copies below other sources that this run has to check, each with its file and the id of that.

        With a member of an archive, all members are planned: documents among them may become copies, or have changed.
        So their copies are checked, too.
        """
        self.checked.clear()
        opened: set[str] = set()
        found: list[tuple[CopiedFile, str, str]] = []
        waiting = [copy for copy in list_copied_files(self._data) if not self._roots.has(copy.item_id)]
        due = [copy for copy in waiting if self._is_planned(copy.original)]
        while due:
            for copy in due:
                path = find_file(copy.path)
                if os.path.islink(path) or "://" in path:
                    continue
                self.checked.add(copy.item_id)
                parts = copy.path.removeprefix(path).count("/")
                outer = copy.item_id.rsplit("/", parts)[0] if parts else copy.item_id
                found.append((copy, path, outer))
                opened.add(outer)
            seen = {copy.item_id for copy in due}
            waiting = [copy for copy in waiting if copy.item_id not in seen]
            due = [copy for copy in waiting if _is_below(copy.original, opened) or _is_below(copy.item_id, opened)]
        return sorted(found, key=lambda each: each[0].item_id)

    def _is_planned(self, original: str) -> bool:
        if self._roots.has(original):
            return True
        stored = None if self._store is None else self._store.get(original)
        return stored is None or not is_there(stored.input_path)

    def _find(self, sha256: str, cfg_hash: str) -> str:
        rows = self._open().execute(
            "SELECT item_id, input_path FROM documents WHERE sha256 = ? AND cfg_hash = ?", (sha256, cfg_hash)
        )
        return next((str(item_id) for item_id, path in rows if is_there(path)), "")

    def _open(self) -> sqlite3.Connection:
        """The documents by their content, in a temporary file once they do not fit in memory."""
        if self._documents is None:
            self._documents = documents = sqlite3.connect("", isolation_level=None)
            documents.execute(_PAGE_CACHE)
            documents.execute("CREATE TABLE documents (item_id TEXT, input_path TEXT, sha256 TEXT, cfg_hash TEXT)")
            documents.execute("BEGIN")
            documents.executemany("INSERT INTO documents VALUES (?, ?, ?, ?)", self._list_documents())
            documents.execute("CREATE INDEX by_content ON documents (sha256)")
        return self._documents

    def _list_documents(self) -> Iterator[tuple[str, str, str, str]]:
        for item in self._store.iterate() if self._store is not None else ():
            values = (item.item_id, item.input_path, item.input_sha256, item.cfg_hash)
            if not self._roots.has(item.item_id) and item.input_path.isprintable() and item.item_id.isprintable():
                yield values

    def close(self) -> None:
        """Forget what was found, and close the store: an open one keeps files beside it. Idempotent."""
        if self._store is not None:
            self._store.close()
        if self._documents is not None:
            self._documents.close()
            self._documents = None


def _is_below(item_id: str, folders: Set[str]) -> bool:
    """Whether an item is a member of one of these archives, or of an archive within."""
    place = item_id.find("/")
    while place >= 0:
        if item_id[:place] in folders:
            return True
        place = item_id.find("/", place + 1)
    return False
