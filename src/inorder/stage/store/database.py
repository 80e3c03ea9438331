"""The database of a stage, `DATA/store/<stage>.sqlite`: one row per item, with its result and its fingerprint.

Every run of commits is one transaction, so a reader sees the results of whole runs, and never a result without its
fingerprint. A reader needs no lock; it can stay open while a run writes.
"""

import contextlib
import hashlib
import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from urllib.parse import quote

from inorder.errors import IntegrityError, OperatorError
from inorder.sinks.base import Position
from inorder.sinks.sqlite import translate_sqlite_error

from .codec import DICTIONARIES, Dictionary, decompress
from .format import STORE_FORMAT, require_current
from .lookup import BlockLookup, IdRange, count_in_ranges
from .rows import SELECT, TABLES, StoredItem, decode_id, encode_id, make_item, pack_hash

FOLDER = "store"
REMEDY = "remove the file and run the stage again"
"""What to do about a damaged store."""
_READERS_MAX = 16
_ROWS = 500
_readers: "dict[tuple[str, int, int], StoreReader]" = {}
_readers_lock = threading.Lock()
_inherited: "list[dict[tuple[str, int, int], StoreReader]]" = []
"""In a process that is a copy of another one, the readers of that. They are kept: to close them is to use them."""


def store_path(data: str, stage: str) -> str:
    """The path of a stage's store."""
    return f"{data}/{FOLDER}/{stage}.sqlite"


class StoreReader:
    """Reads the store of a stage. Thread-safe.

    Raises IntegrityError if the database is damaged.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._dictionaries: dict[int, Dictionary] = {}

    def get(self, item_id: str) -> StoredItem | None:
        """Return the fingerprint of an item; None: the store does not have it."""
        rows = self._fetch_items("WHERE item_id = ?", encode_id(item_id))
        return make_item(rows[0], self._find_dictionary) if rows else None

    def get_all(self, item_ids: Iterable[str]) -> dict[str, StoredItem]:
        """Return the fingerprints of those of these items that the store has, by id."""
        return {item.item_id: item for item in map(self.make_item, self.fetch_many(item_ids))}

    def read_all(self, item_ids: Iterable[str]) -> dict[str, tuple[StoredItem, bytes]]:
        """Return the fingerprints and the contents of those of these items that the store has, by id. Raises as `read`
        does."""
        found = map(self._unpack, self.fetch_many(item_ids, content="content"))
        return {item.item_id: (item, content) for item, content in found}

    def fetch_many(self, item_ids: Iterable[str], content: str = "NULL") -> list[Any]:
        """Return the rows of those of these items that the store has, in any order. `content` is the last column."""
        found: list[Any] = []
        wanted = [*map(encode_id, item_ids)]
        for start in range(0, len(wanted), _ROWS):
            values = wanted[start : start + _ROWS]
            condition = f"WHERE item_id IN ({', '.join('?' * len(values))})"
            found += self._fetch_items(condition, *values, content=content)
        return found

    def fetch_numbered(self, condition: str, value: str | bytes) -> list[Any]:
        """Return the rows that meet a condition, for `StoreLookup`. The last column is the number of the row."""
        return self._fetch_items(condition, value, content="items.rowid")

    def make_item(self, row: Any) -> StoredItem:
        """Turn a row into a fingerprint."""
        return make_item(row, self._find_dictionary)

    def iterate_numbers(self) -> Iterator[tuple[str | bytes, int]]:
        """Yield the id, as it is stored, and the number of every row."""
        query = f"SELECT item_id, rowid FROM items WHERE item_id > ? ORDER BY item_id LIMIT {_ROWS}"
        last: str | bytes = ""
        while rows := self._fetch_all(query, last):
            yield from rows
            last = rows[-1][0]

    def read(self, item_id: str) -> tuple[StoredItem, bytes] | None:
        """Return the fingerprint and the content of an item; None: the store does not have it. Raises IntegrityError
        if the content does not have its hash."""
        rows = self._fetch_items("WHERE item_id = ?", encode_id(item_id), content="content")
        return self._unpack(rows[0]) if rows else None

    def _unpack(self, row: Any) -> tuple[StoredItem, bytes]:
        item_id, *_, codec, stored = row
        try:
            item = make_item(row, self._find_dictionary)
            dictionary = self._find_dictionary(codec) if codec >= DICTIONARIES else None
            content = decompress(codec, stored, item.size, dictionary)
            if hashlib.sha256(content).hexdigest() != item.sha256:
                raise IntegrityError("a stored result differs from what was written")
        except IntegrityError as error:
            hint = "run the stage again with --force"
            raise IntegrityError(f"{self.path}: table `items`, {decode_id(item_id)!r}: {error}; {hint}") from error
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
        while rows := self._fetch_items(f"WHERE item_id {comparison} ? ORDER BY item_id LIMIT {_ROWS}", low):
            for row in rows:
                item = make_item(row, self._find_dictionary)
                if type(row[0]) is not kind or not item.item_id.startswith(prefix):
                    return
                yield item
            low, comparison = rows[-1][0], ">"

    def list_hashes(self, first: str, last: str) -> list[tuple[str, str]]:
        """The ids of all items from `first` to `last`, which are valid Unicode, in order, and the hash of each."""
        query = "SELECT item_id, sha256 FROM items WHERE item_id BETWEEN ? AND ? ORDER BY item_id"
        rows = self._fetch_all(query, first, last)
        return [(item_id, sha256.hex()) for item_id, sha256 in rows]

    def iterate_ids(self) -> Iterator[list[str]]:
        """Yield the ids of all items in order, in blocks, without those that are not valid Unicode."""
        low: str = ""
        query = f"SELECT item_id FROM items WHERE item_id > ? AND item_id < x'' ORDER BY item_id LIMIT {_ROWS}"
        while rows := self._fetch_all(query, low):  # bytes follow all text
            yield [item_id for (item_id,) in rows]
            low = rows[-1][0]

    def count_in(self, ranges: Sequence[IdRange]) -> list[int]:
        """For each of these ranges, the number of items. The ids are valid Unicode."""
        return count_in_ranges(self._fetch_all, "items", ranges)

    def has_all(self, item_ids: Iterable[str]) -> bool:
        """Whether the store has all of these items."""
        wanted = {*item_ids}
        return len(self.get_all(wanted)) == len(wanted)

    def has_invalid_ids(self) -> bool:
        """Whether the ids of some items are not valid Unicode."""
        return bool(self._fetch_all("SELECT 1 FROM items WHERE item_id > x'' LIMIT 1"))

    def list_removed(self) -> list[tuple[str, str, str]]:
        """The items that the last run has removed: id, folder and input path."""
        rows = self._fetch_all("SELECT item_id, folder, input_path FROM removed")
        return [(decode_id(item_id), folder, decode_id(path)) for item_id, folder, path in rows]

    def list_written(self, after: int) -> list[str]:
        """The ids of items whose rows have numbers above `after`: they were written later."""
        return [
            decode_id(item_id) for (item_id,) in self._fetch_all("SELECT item_id FROM items WHERE rowid > ?", after)
        ]

    def find_made_of(self, hashes: Sequence[str]) -> list[str]:
        """The ids of items whose inputs have one of these hashes. Every row is looked at."""
        found = []
        for start in range(0, len(hashes), _ROWS):
            values = [pack_hash(each) for each in hashes[start : start + _ROWS]]
            marks = ", ".join("?" * len(values))
            query = f"SELECT item_id FROM items WHERE input_sha256 IN ({marks})"
            found += [decode_id(item_id) for (item_id,) in self._fetch_all(query, *values)]
        return found

    def read_position(self) -> Position:
        """How far the last run has come, and which one it was."""
        rows = self._fetch_all('SELECT "end", "offset", checksum FROM inorder_position')
        return Position(*rows[0]) if rows else Position()

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

    def _fetch_items(self, condition: str, *values: str | bytes, content: str = "NULL") -> list[Any]:
        with self._lock, translate_store_errors(self.path, "it cannot be read"):
            return self._connect().execute(f"{SELECT.format(content=content)} {condition}", values).fetchall()

    def find_content_dictionary(self) -> Dictionary | None:
        """The dictionary that contents are compressed with; None: the store has none, or not yet."""
        rows = self._fetch_all("SELECT count(*) FROM dictionaries WHERE number = ?", DICTIONARIES)
        return self._find_dictionary(DICTIONARIES) if rows[0][0] else None

    def _find_dictionary(self, number: int) -> Dictionary:
        """A dictionary of the store. A run may have added it after the store was opened."""
        found = self._dictionaries.get(number)
        if found is None:
            rows = self._fetch_all("SELECT data FROM dictionaries WHERE number = ?", number)
            if not rows:
                raise IntegrityError(f"{self.path}: table `dictionaries` has no dictionary {number}; {REMEDY}")
            found = self._dictionaries[number] = Dictionary(number, rows[0][0])
        return found

    def _fetch_all(self, query: str, *values: int | str | bytes) -> list[Any]:
        with self._lock, translate_store_errors(self.path, "it cannot be read"):
            return self._connect().execute(query, values).fetchall()

    def _connect(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = open_database(self.path)
            self._dictionaries = {}
        return self._connection


class StoreLookup:
    """Finds the fingerprints of many items, quickly if they are asked for in the order of their ids, and then tells
    which rows nothing has asked for.

    The row of an item that changes after it was read ahead is not seen: an item must be looked up before it is
    committed."""

    def __init__(self, store: StoreReader) -> None:
        self._store = store
        self._blocks = BlockLookup(self._fetch_from, self._take)
        self._count = store.count()
        self._last_number = store.read_position().offset
        """Rows with higher numbers were written later."""
        self._found = bytearray(self._last_number // 8 + 1)
        """A bit per row."""
        self._found_count = 0
        self._ahead: dict[str, Any] = {}
        """The rows of items that are asked for next; None: the store does not have it."""

    def read_ahead(self, item_ids: Sequence[str]) -> None:
        """Read the rows of items that are asked for next, at once. They replace those that were read before."""
        rows = self._store.fetch_many(item_ids, content="items.rowid")
        self._ahead = dict.fromkeys(item_ids) | {decode_id(row[0]): row for row in rows}

    def get(self, item_id: str) -> StoredItem | None:
        """Return the fingerprint of an item; None: the store does not have it."""
        if item_id in self._ahead:
            row = self._ahead.pop(item_id)
            return None if row is None else self._take(row)
        if item_id.isascii() or isinstance(encode_id(item_id), str):
            return self._blocks.get(item_id)
        rows = self._store.fetch_numbered("WHERE item_id = ?", encode_id(item_id))
        return self._take(rows[0]) if rows else None

    def list_others(self) -> list[StoredItem]:
        """The items that were in the store when this object was made, that are still there, and that were not found by
        a lookup; sorted by their ids."""
        if self._found_count == self._count:
            return []
        found: list[StoredItem] = []
        for stored_id, number in self._store.iterate_numbers():
            if number <= self._last_number and not self._found[number >> 3] & 1 << (number & 7):
                rows = self._store.fetch_numbered("WHERE item_id = ?", stored_id)
                found += map(self._store.make_item, rows)
        return sorted(found)

    def _fetch_from(self, item_id: str, count: int) -> list[Any]:
        return self._store.fetch_numbered(f"WHERE item_id >= ? ORDER BY item_id LIMIT {count}", item_id)

    def _take(self, row: Any) -> StoredItem:
        number = row[-1]
        place, bit = number >> 3, 1 << (number & 7)
        if number <= self._last_number and not self._found[place] & bit:
            self._found[place] |= bit
            self._found_count += 1
        return self._store.make_item(row)


def open_database(path: str) -> sqlite3.Connection:
    """Open a store for reading. Raises OperatorError if another version has written it."""
    address = f"file:{quote(os.fsencode(path))}?mode=ro"
    connection = sqlite3.connect(address, uri=True, check_same_thread=False, timeout=30.0)
    try:
        [version] = connection.execute("PRAGMA user_version").fetchone()
        if version > STORE_FORMAT:
            raise OperatorError(
                f"{path} has schema version {version}, written by a newer program; this one knows {STORE_FORMAT}"
            )
        require_current(path, version, STORE_FORMAT)
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
            known = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
            found = [(table, _check_table(connection, table)) for table in TABLES if table in known]
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


def _forget_inherited() -> None:
    """Use no connection of the process that this one is a copy of: SQLite does not support that."""
    _inherited.append(dict(_readers))
    _readers.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_inherited)
