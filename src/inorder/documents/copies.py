"""Copies: files of one kind with the same content are one document with several paths.

The first of them in the plan is the document, and the others are skipped. They are found when the plan is made. Only
content that has the size of another one is hashed; of a short file the first bytes, which are read anyway, are all of
it. If DATA has documents of other sources, all content is hashed, and a document there with the same content is the
document: see `other_sources`. What was found is kept in DATA, so that searches can name every path.
"""

import contextlib
import hashlib
import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Sequence, Set
from mmap import mmap
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec

from inorder.documents.discovery import DocumentFile, FileBatch
from inorder.documents.readers.sniff import HEAD_BYTES
from inorder.errors import InorderError
from inorder.files.predicted import get_predicted_notes, is_predicting
from inorder.stage.fingerprints import hash_file
from inorder.stage.hash_cache import HashCache
from inorder.stage.sources import Roots
from inorder.stage.store.database import open_store
from inorder.stage.store.rows import decode_id, encode_id

_SLOTS = 2**23
_FACTOR = 0x9E3779B97F4A7C15
_SCHEMA = (
    "DROP TABLE IF EXISTS copies",
    "CREATE TABLE copies (item_id TEXT PRIMARY KEY, original TEXT NOT NULL, path NOT NULL) WITHOUT ROWID",
    "CREATE INDEX copies_original ON copies (original)",
)
_NOTE = "copies"
_PAGE_CACHE = "PRAGMA cache_size = -8192"


class CopiedFile(NamedTuple):
    """A file that is a copy."""

    item_id: str
    original: str
    """The id of the document."""
    path: str
    """The path of the file, or the address of a part of one."""


class SizeFilter:
    """Says whether a size occurs twice. It takes two megabytes for any number of files, and may err on that side."""

    def __init__(self) -> None:
        self._once = mmap(-1, _SLOTS // 8)  # takes the memory of what is set
        self._twice = mmap(-1, _SLOTS // 8)
        self.has_parts = False
        """Whether there are documents that are no files of their own."""

    def add(self, size: int) -> None:
        """Count the size of a file."""
        byte, bit = _find_slot(size)
        if self._once[byte] & bit:
            self._twice[byte] |= bit
        else:
            self._once[byte] |= bit

    def add_files(self, found: FileBatch | DocumentFile) -> None:
        """Count the sizes of files."""
        if isinstance(found, DocumentFile):
            self.add(found.size)
            self.has_parts |= found.source is not None
            return
        for size, count in Counter(found.sizes).items():
            self.add(size)
            if count > 1:
                self.add(size)

    def has_two(self, size: int) -> bool:
        """Whether there may be two files of this size."""
        byte, bit = _find_slot(size)
        return bool(self._twice[byte] & bit)


def _find_slot(size: int) -> tuple[int, int]:
    slot = (size * _FACTOR >> 24) % _SLOTS
    return slot >> 3, 1 << (slot & 7)


class CopyFinder:
    """Finds the copies in one pass over the files of a plan. The contents that were seen are on disk, not in memory."""

    def __init__(
        self, sizes: SizeFilter, cache_path: str, find_elsewhere: Callable[[str, str], str] | None = None
    ) -> None:
        """`find_elsewhere` returns the document of other sources that was made of content with a hash by a
        configuration with a hash; empty: there is none. None: DATA has no documents of other sources."""
        self._sizes = sizes
        self._find_elsewhere = find_elsewhere
        self._cache_path = cache_path
        self._cache: HashCache | None = None
        self._seen: sqlite3.Connection | None = None
        self.found: list[CopiedFile] = []

    def find(self, file: DocumentFile, kind: str, head: bytes, cfg_hash: str) -> str:
        """The id of the first file with the same content and kind; empty: this is the first one."""
        has_two = self._sizes.has_two(file.size)
        if not file.size or not (has_two or self._find_elsewhere):
            return ""
        try:
            digest = file.sha256 or self._hash(file, head)
        except (OSError, InorderError):  # its item says what is wrong with it
            return ""
        key = bytes.fromhex(digest)[:16] + kind.encode()
        original = self._find_seen(key) if has_two else ""
        if not original and self._find_elsewhere is not None:
            original = self._find_elsewhere(digest, cfg_hash)
        if has_two:
            self._note(key, original or file.item_id)
        if original in ("", file.item_id):
            return ""
        self.found.append(CopiedFile(file.item_id, original, file.path))
        return original

    def _find_seen(self, key: bytes) -> str:
        row = self._open().execute("SELECT item_id FROM seen WHERE key = ?", (key,)).fetchone()
        return "" if row is None else str(row[0])

    def _note(self, key: bytes, document: str) -> None:
        self._open().execute("INSERT OR IGNORE INTO seen VALUES (?, ?)", (key, document))

    def close(self) -> None:
        """Forget what was seen. What was found is kept."""
        if self._cache is not None:
            self._cache.close()
        if self._seen is not None:
            self._seen.close()
        self._cache = self._seen = None

    def _hash(self, file: DocumentFile, head: bytes) -> str:
        if file.source is None and file.size <= HEAD_BYTES and len(head) == file.size:
            return hashlib.sha256(head).hexdigest()
        cache = self._open_cache()
        known = None if cache is None or file.stat is None else cache.get(file.path, file.stat, "sha256")
        if known is not None:
            return known
        digest = hash_file(file.path) if file.source is None else hashlib.sha256(file.source.read()).hexdigest()
        if cache is not None and file.stat is not None:
            cache.put(file.path, file.stat, "sha256", digest)
        return digest

    def _open(self) -> sqlite3.Connection:
        if self._seen is None:
            self._seen = sqlite3.connect("", isolation_level=None)  # a temporary file, once it does not fit in memory
            self._seen.execute(_PAGE_CACHE)
            self._seen.execute("CREATE TABLE seen (key BLOB PRIMARY KEY, item_id TEXT NOT NULL) WITHOUT ROWID")
            self._seen.execute("BEGIN")
        return self._seen

    def _open_cache(self) -> HashCache | None:
        if self._cache is None and os.path.isdir(os.path.dirname(self._cache_path)):
            is_wanted = os.path.exists(self._cache_path) or not is_predicting()
            self._cache = HashCache(self._cache_path) if is_wanted else None
        return self._cache


def may_have_copies(
    files: Iterable[DocumentFile],
    sizes: SizeFilter,
    find_stored: Callable[[list[str]], Sequence[str]],
    *,
    has_others: bool,
) -> bool:
    """Whether one of these files, which are new or have changed, may be a copy of another one, or of one of the others
    of the plan. `sizes` are those of all files; `find_stored` returns the documents of the others that were made of
    content with one of these hashes; `has_others`: DATA has documents of other sources. May err on the side of
    copies."""
    compared = [file for file in files if not file.problem and (has_others or sizes.has_two(file.size))]
    if not compared or sizes.has_parts:
        return bool(compared)
    try:
        hashes = {hash_file(file.path) for file in compared}
    except OSError:
        return True
    return len(hashes) < len(compared) or bool(find_stored(list(hashes)))


def find_made_of(data: str, stage: str, hashes: list[str], *, without: Set[str]) -> list[str]:
    """The documents in a store that were made of content with one of these hashes, except some."""
    store = open_store(data, stage)
    return [] if store is None else [each for each in store.find_made_of(hashes) if each not in without]


class CopyLog:
    """What the plan of a run has found, until the run is complete."""

    def __init__(self) -> None:
        self._found: _Found | None = None

    def set(self, found: list[CopiedFile], roots: Roots, checked: Set[str]) -> None:
        """Take the copies that a plan has found below its sources, and among files of other sources that it has
        `checked`."""
        self._found = _Found(found, roots, checked)
        notes = get_predicted_notes()
        if notes is not None:
            notes[_NOTE] = self._found

    def write(self, data: str | os.PathLike[str]) -> None:
        """Write them to DATA, unless the plan was not read. Copies below other sources stay."""
        if self._found is None:
            return
        path = _locate(data)
        if not self._found.copies and not os.path.exists(path):
            return
        rows = [
            (each.item_id, each.original, encode_id(each.path)) for each in _merge(list_copied_files(data), self._found)
        ]
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            for statement in _SCHEMA:
                connection.execute(statement)
            connection.executemany("INSERT OR REPLACE INTO copies VALUES (?, ?, ?)", rows)
            connection.execute("COMMIT")


class _Found(NamedTuple):
    """What a plan has found."""

    copies: list[CopiedFile]
    roots: Roots
    checked: Set[str]


def list_copied_files(data: str | os.PathLike[str]) -> list[CopiedFile]:
    """All copies in DATA, with their paths, in the order of their ids."""
    return [
        CopiedFile(each[0], each[1], decode_id(each[2])) for each in _query(data, "", [], "item_id, original, path")
    ]


def list_copies(data: str | os.PathLike[str], originals: Iterable[str] | None = None) -> list[tuple[str, str]]:
    """The id of each copy of these documents, or of all in DATA, and that of the document, in order."""
    listed = None if originals is None else msgspec.json.encode(list(originals)).decode()
    where = "" if listed is None else "WHERE original IN (SELECT value FROM json_each(?))"
    return _query(data, where, [] if listed is None else [listed])


def list_present_copies(data: str | os.PathLike[str]) -> list[tuple[str, str]]:
    """As `list_copies`, and in a dry run what the run before would have found."""
    notes = get_predicted_notes() or {}
    found = _merge(list_copied_files(data), notes[_NOTE]) if _NOTE in notes else list_copied_files(data)
    return [(each.item_id, each.original) for each in found]


def _merge(known: list[CopiedFile], found: _Found) -> list[CopiedFile]:
    """The copies that are known below other sources, and those that were found."""
    kept = (each for each in known if not found.roots.has(each.item_id) and each.item_id not in found.checked)
    return [*kept, *found.copies]


def _query(
    data: str | os.PathLike[str], where: str, values: list[str], columns: str = "item_id, original"
) -> list[Any]:
    """The rows that meet a condition; none if the database is missing or cannot be read."""
    path = _locate(data)
    if not os.path.exists(path):
        return []
    with contextlib.suppress(sqlite3.Error):
        connection = sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True)
        with contextlib.closing(connection):
            return connection.execute(f"SELECT {columns} FROM copies {where} ORDER BY item_id", values).fetchall()
    return []


def find_original(data: str | os.PathLike[str], item_id: str) -> str | None:
    """The document that this file is a copy of; None: it is none."""
    return next((original for _, original in _query(data, "WHERE item_id = ?", [item_id])), None)


def _locate(data: str | os.PathLike[str]) -> str:
    return f"{os.path.abspath(data)}/store/copies.sqlite"
