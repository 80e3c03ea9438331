"""The database of a stage, `DATA/store/<stage>.sqlite`: one row per item, with its result and its fingerprint.

Every run of commits is one transaction, so a reader sees the results of whole runs, and never a result without its
fingerprint. A reader needs no lock; it can stay open while a run writes.
"""

import contextlib
import os
import sqlite3
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec

from inorder.errors import IntegrityError
from inorder.sinks.sqlite import translate_sqlite_error

from .codec import decompress

FOLDER = "store"
VERSION = 1
SCHEMA = """
CREATE TABLE IF NOT EXISTS items (
    item_id TEXT PRIMARY KEY,
    output TEXT NOT NULL,
    cfg_hash TEXT NOT NULL,
    input_sha256 TEXT NOT NULL,
    input_path TEXT NOT NULL,
    extras TEXT NOT NULL,
    size INTEGER NOT NULL,
    sha256 BLOB NOT NULL,
    codec INTEGER NOT NULL,
    content BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS removed (item_id TEXT PRIMARY KEY, input_path TEXT NOT NULL) WITHOUT ROWID;
"""
"""`removed` has the items that the last run has removed: see `sink`."""
_READERS_MAX = 16
_ROWS = 500
_readers: "dict[tuple[str, int, int], StoreReader]" = {}
_readers_lock = threading.Lock()
_COLUMNS = "item_id, output, cfg_hash, input_sha256, input_path, extras, size, sha256"


def store_path(data: str, stage: str) -> str:
    """The path of a stage's store."""
    return f"{data}/{FOLDER}/{stage}.sqlite"


def encode_id(text: str) -> str | bytes:
    """An item id or path as SQLite stores it: text, or bytes if it is not valid Unicode."""
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
    output: str
    """The name of the output."""
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
        with self._translate():
            self._connection = sqlite3.connect(
                f"file:{quote(os.fsencode(path))}?mode=ro", uri=True, check_same_thread=False, timeout=30.0
            )

    def get(self, item_id: str) -> StoredItem | None:
        """Return the fingerprint of an item; None: the store does not have it."""
        row = self._fetch_one(f"SELECT {_COLUMNS} FROM items WHERE item_id = ?", item_id)
        return None if row is None else _make_item(row)

    def read(self, item_id: str) -> tuple[StoredItem, bytes] | None:
        """Return the fingerprint and the content of an item; None: the store does not have it."""
        row = self._fetch_one(f"SELECT {_COLUMNS}, codec, content FROM items WHERE item_id = ?", item_id)
        if row is None:
            return None
        item = _make_item(row[:-2])
        try:
            return item, decompress(row[-2], row[-1], item.size)
        except IntegrityError as error:
            raise IntegrityError(f"{self.path}: table `items`, {item_id!r}: {error}") from error

    def iterate(self, prefix: str = "", after: str = "") -> Iterator[StoredItem]:
        """Yield the fingerprint of every item whose id begins with `prefix`, in the order of the ids; those that follow
        `after`, if it is given, which begins with `prefix`, too."""
        low: str | bytes = encode_id(after or prefix)
        comparison = ">" if after else ">="
        while rows := self._fetch_all(
            f"SELECT {_COLUMNS} FROM items WHERE item_id {comparison} ? ORDER BY item_id LIMIT {_ROWS}", low
        ):
            for row in rows:
                item = _make_item(row)
                if not item.item_id.startswith(prefix):
                    if isinstance(row[0], str):
                        break
                    continue
                yield item
            else:
                low, comparison = rows[-1][0], ">"
                continue
            return

    def list_removed(self) -> list[tuple[str, str]]:
        """The items that the last run has removed, with their input paths."""
        return [(decode_id(row[0]), decode_id(row[1])) for row in self._fetch_all("SELECT * FROM removed")]

    def count(self, prefix: str = "") -> int:
        """Return the number of items whose ids begin with `prefix`."""
        if not prefix:
            return int(self._fetch_all("SELECT count(*) FROM items")[0][0])
        return sum(1 for _ in self.iterate(prefix))

    def close(self) -> None:
        """Close the database. Idempotent."""
        self._connection.close()

    def _fetch_one(self, query: str, item_id: str) -> Any:
        with self._lock, self._translate():
            return self._connection.execute(query, (encode_id(item_id),)).fetchone()

    def _fetch_all(self, query: str, *values: str | bytes) -> list[Any]:
        with self._lock, self._translate():
            return self._connection.execute(query, values).fetchall()

    @contextlib.contextmanager
    def _translate(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise translate_sqlite_error(error, self.path, "it cannot be read") from error


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
    item_id, output, cfg_hash, input_sha256, input_path, extras, size, sha256 = row
    path = decode_id(input_path)
    return StoredItem(decode_id(item_id), output, cfg_hash, input_sha256, path, extras, size, sha256.hex())
