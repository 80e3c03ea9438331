"""The database of a stage, `DATA/store/<stage>.sqlite`: one row per item, with its result and its fingerprint.

Every run of commits is one transaction, so a reader sees the results of whole runs, and never a result without its
fingerprint. A reader needs no lock; it can stay open while a run writes.
"""

import contextlib
import hashlib
import os
import sqlite3
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec

from inorder.errors import IntegrityError, OperatorError
from inorder.sinks.sqlite import translate_sqlite_error

from .codec import decompress

FOLDER = "store"
VERSION = 1
SCHEMA = """
CREATE TABLE IF NOT EXISTS items (
    item_id TEXT PRIMARY KEY,
    folder TEXT NOT NULL,
    cfg_hash TEXT NOT NULL,
    input_sha256 TEXT NOT NULL,
    input_path TEXT NOT NULL,
    extras TEXT NOT NULL,
    size INTEGER NOT NULL,
    sha256 BLOB NOT NULL,
    codec INTEGER NOT NULL,
    content BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS removed (
    item_id TEXT PRIMARY KEY, folder TEXT NOT NULL, input_path TEXT NOT NULL
) WITHOUT ROWID;
"""
"""`removed` has the items that the last run has removed: see `sink`."""
REMEDY = "remove the file and run the stage again"
"""What to do about a damaged store."""
TABLES = ("items", "removed", "inorder_position")
_READERS_MAX = 16
_ROWS = 500
_readers: "dict[tuple[str, int, int], StoreReader]" = {}
_readers_lock = threading.Lock()
_COLUMNS = "item_id, folder, cfg_hash, input_sha256, input_path, extras, size, sha256"


def store_path(data: str, stage: str) -> str:
    """The path of a stage's store."""
    return f"{data}/{FOLDER}/{stage}.sqlite"


def encode_id(text: str) -> str | bytes:
    """An item id or path as SQLite stores it: text, or bytes if it is not valid Unicode."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def decode_id(stored: str | bytes) -> str:
    """The inverse of `encode_id`."""
    return stored if isinstance(stored, str) else stored.decode("utf-8", "surrogatepass")


class StoredItem(NamedTuple):
    """The fingerprint of a stored result, and its size."""

    item_id: str
    folder: str
    """The path of the output, as the item declared it, without the item id."""
    cfg_hash: str
    input_sha256: str
    input_path: str
    raw_extras: str
    size: int
    """Of the content, before compression."""
    sha256: str
    """Of the content, before compression."""

    @property
    def extras(self) -> dict[str, Any]:
        """What the worker returned."""
        found: dict[str, Any] = msgspec.json.decode(self.raw_extras)
        return found


class StoreReader:
    """Reads the store of a stage. Thread-safe.

    Raises IntegrityError if the database is damaged.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    def get(self, item_id: str) -> StoredItem | None:
        """Return the fingerprint of an item; None: the store does not have it."""
        row = self._fetch_one(f"SELECT {_COLUMNS} FROM items WHERE item_id = ?", item_id)
        return None if row is None else _make_item(row)

    def read(self, item_id: str) -> tuple[StoredItem, bytes] | None:
        """Return the fingerprint and the content of an item; None: the store does not have it. Raises IntegrityError
        if the content does not have its hash."""
        row = self._fetch_one(f"SELECT {_COLUMNS}, codec, content FROM items WHERE item_id = ?", item_id)
        if row is None:
            return None
        item = _make_item(row[:-2])
        try:
            content = decompress(row[-2], row[-1], item.size)
            if hashlib.sha256(content).hexdigest() != item.sha256:
                raise IntegrityError("a stored result differs from what was written")
        except IntegrityError as error:
            hint = "run the stage again with --force"
            raise IntegrityError(f"{self.path}: table `items`, {item_id!r}: {error}; {hint}") from error
        return item, content

    def iterate(self, prefix: str = "", after: str = "") -> Iterator[StoredItem]:
        """Yield the fingerprint of every item whose id begins with `prefix`, in the order of the ids; those that follow
        `after`, if it is given, which begins with `prefix`, too."""
        start = encode_id(after or prefix)
        if isinstance(start, str):
            yield from self._iterate_from(start, prefix, is_excluded=bool(after))
            yield from self._iterate_from(prefix.encode(), prefix)
        else:
            yield from self._iterate_from(start, prefix, is_excluded=bool(after))

    def _iterate_from(self, low: str | bytes, prefix: str, *, is_excluded: bool = False) -> Iterator[StoredItem]:
        """Yield the items from the id `low` on whose ids are stored as it is, as text or as bytes, while they begin
        with `prefix`."""
        kind = type(low)
        comparison = ">" if is_excluded else ">="
        while rows := self._fetch_all(
            f"SELECT {_COLUMNS} FROM items WHERE item_id {comparison} ? ORDER BY item_id LIMIT {_ROWS}", low
        ):
            for row in rows:
                item = _make_item(row)
                if type(row[0]) is not kind or not item.item_id.startswith(prefix):
                    return
                yield item
            low, comparison = rows[-1][0], ">"

    def list_removed(self) -> list[tuple[str, str, str]]:
        """The items that the last run has removed: id, folder and input path."""
        rows = self._fetch_all("SELECT item_id, folder, input_path FROM removed")
        return [(decode_id(item_id), folder, decode_id(path)) for item_id, folder, path in rows]

    def count(self, prefix: str = "") -> int:
        """Return the number of items whose ids begin with `prefix`."""
        if not prefix:
            return int(self._fetch_all("SELECT count(*) FROM items")[0][0])
        return sum(1 for _ in self.iterate(prefix))

    def close(self) -> None:
        """Close the database. Idempotent; the next read opens it again."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _fetch_one(self, query: str, item_id: str) -> Any:
        with self._lock, translate_store_errors(self.path, "it cannot be read"):
            return self._connect().execute(query, (encode_id(item_id),)).fetchone()

    def _fetch_all(self, query: str, *values: str | bytes) -> list[Any]:
        with self._lock, translate_store_errors(self.path, "it cannot be read"):
            return self._connect().execute(query, values).fetchall()

    def _connect(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = open_database(self.path)
        return self._connection


def open_database(path: str) -> sqlite3.Connection:
    """Open a store for reading. Raises OperatorError if a newer version has written it."""
    address = f"file:{quote(os.fsencode(path))}?mode=ro"
    connection = sqlite3.connect(address, uri=True, check_same_thread=False, timeout=30.0)
    try:
        [version] = connection.execute("PRAGMA user_version").fetchone()
        if version > VERSION:
            raise OperatorError(
                f"{path} has schema version {version}, written by a newer program; this one knows {VERSION}"
            )
    except BaseException:
        connection.close()
        raise
    return connection


@contextlib.contextmanager
def translate_store_errors(path: str, doing: str) -> Iterator[None]:
    """Raise errors of SQLite as errors of inorder. That of a damaged store names the table."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        if code not in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            raise translate_sqlite_error(error, path, doing) from error
        raise IntegrityError(f"{path}: {find_damage(path) or error}; {REMEDY}") from error


def find_damage(path: str) -> str:
    """Return which table of a store is damaged, and how; empty: the structure of the database is intact."""
    try:
        with contextlib.closing(open_database(path)) as connection:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            found = [(table, _check_table(connection, table)) for table in TABLES]
    except sqlite3.DatabaseError as error:
        return f"the database is damaged ({error})"
    return next((f"table `{table}` is damaged ({message})" for table, message in found if message), "")


def _check_table(connection: sqlite3.Connection, table: str) -> str:
    try:
        [message] = connection.execute(f"PRAGMA quick_check({table})").fetchone()
    except sqlite3.DatabaseError as error:
        return str(error)
    return "" if message == "ok" else str(message).splitlines()[-1]


def open_store(data: str, stage: str) -> StoreReader | None:
    """Return a reader of a stage's store, shared by all callers in this process; None: there is no store."""
    path = store_path(data, stage)
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    key = path, found.st_dev, found.st_ino
    with _readers_lock:
        reader = _readers.get(key)
        if reader is None:
            while len(_readers) >= _READERS_MAX:
                _readers.pop(next(iter(_readers)))
            reader = _readers[key] = StoreReader(path)
    return reader


def close_readers() -> None:
    """Close the readers that `open_store` has opened in this process. The next call opens new ones."""
    with _readers_lock:
        while _readers:
            _readers.popitem()[1].close()


def _make_item(row: Any) -> StoredItem:
    item_id, folder, cfg_hash, input_sha256, input_path, extras, size, sha256 = row
    path = decode_id(input_path)
    return StoredItem(decode_id(item_id), folder, cfg_hash, input_sha256, path, extras, size, sha256.hex())
