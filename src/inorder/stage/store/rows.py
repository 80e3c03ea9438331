"""The rows of a store: what an entry becomes there, and what is read back.

What most rows share is stored once: folder, configuration and the beginning of the input path are an *origin*, and
dictionaries have what the contents and the extras have in common. Hashes are bytes, extras are compressed JSON.
"""

import os
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from inorder.core.invariants import raise_violation
from inorder.sinks.base import Entry

from .codec import DICTIONARIES, RAW, SAMPLES, SMALL_BYTES, Dictionary, compress, train

SCHEMA = """
CREATE TABLE IF NOT EXISTS items (
    item_id TEXT PRIMARY KEY,
    origin INTEGER NOT NULL,
    input_sha256 BLOB NOT NULL,
    input_path NOT NULL,
    extras NOT NULL,
    size INTEGER NOT NULL,
    sha256 BLOB NOT NULL,
    codec INTEGER NOT NULL,
    content BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS origins (
    number INTEGER PRIMARY KEY, folder TEXT NOT NULL, cfg_hash TEXT NOT NULL, input_base TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS dictionaries (number INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS removed (
    item_id TEXT PRIMARY KEY, folder TEXT NOT NULL, input_path TEXT NOT NULL
) WITHOUT ROWID;
"""
"""`removed` has the items that the last run has removed: see `sink`. An `input_path` that is a number is the length of
the end that the path shares with the id. `extras` is JSON, or the number of a dictionary and a compressed frame."""
TABLES = ("items", "origins", "dictionaries", "removed", "inorder_position")
SELECT = """
SELECT item_id, folder, cfg_hash, input_base, input_sha256, input_path, extras, size, sha256, codec, {content}
FROM items CROSS JOIN origins ON origins.number = items.origin
"""
_INSERT = """
INSERT OR REPLACE INTO items
(rowid, item_id, origin, input_sha256, input_path, extras, size, sha256, codec, content)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_EXTRAS_BYTES_MAX = 2**26
_REMOVE = "DELETE FROM items WHERE item_id = ?"


class StoredItem(NamedTuple):
    """The fingerprint of a stored result, and its size."""

    item_id: str
    folder: str
    """The path of the output, as the item declared it, without the item id."""
    cfg_hash: str
    input_sha256: str
    input_path: str
    raw_extras: str | bytes
    """JSON; as bytes, the number of a dictionary and a compressed frame."""
    size: int
    """Of the content, before compression."""
    sha256: str
    """Of the content, before compression."""
    find_dictionary: Callable[[int], Dictionary] | None = None
    """Returns a dictionary of the store; None: the store has none."""

    @property
    def extras(self) -> dict[str, Any]:
        """What the worker returned."""
        raw = self.raw_extras
        if isinstance(raw, bytes) and self.find_dictionary is not None:
            raw = self.find_dictionary(raw[0]).decompress_shared(raw[1:], _EXTRAS_BYTES_MAX)
        found: dict[str, Any] = msgspec.json.decode(raw)
        return found


class ItemWriter:
    """Writes rows in the transactions of a sink."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._origins: dict[tuple[str, str, str], int] = {}
        self._samples: list[tuple[bytes, bytes]] = []
        rows = connection.execute("SELECT number, data FROM dictionaries ORDER BY number")
        self._dictionaries = [Dictionary(number, data) for number, data in rows]
        self._known = _identify_dictionaries(self._dictionaries)
        self._is_trained = bool(self._dictionaries)
        """Whether there are dictionaries, or the results of this run have too little in common."""
        for number, folder, cfg_hash, base in connection.execute("SELECT * FROM origins"):
            self._origins[folder, cfg_hash, decode_id(base)] = number

    def write(self, first: int, entries: Sequence[Entry]) -> None:
        """Write the results of entries, with consecutive numbers from `first` on."""
        raw = [(entry, msgspec.json.encode(entry.payload.extras)) for entry in entries]
        if not self._is_trained:
            self._train(raw)
        rows = (self._make_row(number, entry, extras) for number, (entry, extras) in enumerate(raw, first))
        self._connection.executemany(_INSERT, rows)

    def remove(self, item_ids: Iterable[str]) -> None:
        """Remove the rows of items. Those that were there are in `removed` afterwards."""
        for item_id in item_ids:
            stored = encode_id(item_id)
            found = self._connection.execute(f"{SELECT.format(content='NULL')} WHERE item_id = ?", (stored,)).fetchone()
            if found is not None:
                row = stored, found[1], encode_id(_join_path(item_id, found[3], found[5]))
                self._connection.execute("INSERT OR REPLACE INTO removed VALUES (?, ?, ?)", row)
                self._connection.execute(_REMOVE, (stored,))

    def _make_row(self, number: int, entry: Entry, extras: bytes) -> tuple[Any, ...]:
        item, result = entry.item.item, entry.payload
        stored = result.stored
        if stored is None:
            raise_violation(f"item {item.item_id!r} has no result to store")
        folder = os.fspath(next(iter(item.outputs.values()))).removesuffix(item.item_id).rstrip("/")
        base, path = _split_path(item.item_id, os.fspath(next(iter(item.inputs.values()), "")))
        codec, content = stored.codec, stored.content
        if codec >= DICTIONARIES:
            if (codec, stored.dictionary) not in self._known:
                raise_violation(f"item {item.item_id!r} was compressed with a dictionary that the store does not have")
        elif codec == RAW and not stored.dictionary and stored.size <= SMALL_BYTES:
            codec, content = compress(content, self._dictionaries[0] if self._dictionaries else None)
        return (
            number,
            encode_id(item.item_id),
            self._find_origin(folder, item.cfg_hash, base),
            pack_hash(result.input_sha256),
            path,
            self._pack_extras(extras),
            stored.size,
            bytes.fromhex(stored.sha256),
            codec,
            content,
        )

    def _find_origin(self, *origin: *tuple[str, str, str]) -> int:
        found = self._origins.get(origin)
        if found is None:
            found = self._origins[origin] = max(self._origins.values(), default=0) + 1
            folder, cfg_hash, base = origin
            row = found, folder, cfg_hash, encode_id(base)
            self._connection.execute("INSERT INTO origins VALUES (?, ?, ?, ?)", row)
        return found

    def _pack_extras(self, extras: bytes) -> str | bytes:
        if not self._dictionaries:
            return extras.decode()
        dictionary = self._dictionaries[1]
        packed = dictionary.compress_shared(extras)
        return bytes([dictionary.number]) + packed if len(packed) + 1 < len(extras) else extras.decode()

    def _train(self, raw: Iterable[tuple[Entry, bytes]]) -> None:
        """Take samples. When there are enough, make the dictionaries of the store."""
        for entry, extras in raw:
            stored = entry.payload.stored
            if stored is not None and stored.codec == RAW and len(self._samples) < SAMPLES:
                self._samples.append((stored.content, extras))
        if len(self._samples) < SAMPLES:
            return
        contents, extras_samples = zip(*self._samples, strict=True)
        made = train(DICTIONARIES, contents), train(DICTIONARIES + 1, extras_samples)
        self._samples.clear()
        self._is_trained = True
        if made[0] is not None and made[1] is not None:
            self._dictionaries = [made[0], made[1]]
            self._known = _identify_dictionaries(self._dictionaries)
            rows = [(each.number, each.data) for each in self._dictionaries]
            self._connection.executemany("INSERT INTO dictionaries VALUES (?, ?)", rows)


def _identify_dictionaries(dictionaries: Iterable[Dictionary]) -> set[tuple[int, int]]:
    return {(each.number, each.checksum) for each in dictionaries}


def make_item(row: Any, find_dictionary: Callable[[int], Dictionary]) -> StoredItem:
    """Turn a row of a query into a fingerprint."""
    stored_id, folder, cfg_hash, base, input_sha256, path, extras, size, sha256 = row[:9]
    item_id = stored_id if type(stored_id) is str else decode_id(stored_id)
    digest = input_sha256.hex() if type(input_sha256) is bytes else input_sha256
    joined = _join_path(item_id, base, path)
    return StoredItem(item_id, folder, cfg_hash, digest, joined, extras, size, sha256.hex(), find_dictionary)


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


def _split_path(item_id: str, path: str) -> tuple[str, int | str | bytes]:
    """Split a path into its beginning and the length of the end that it shares with the id: all of it, or all but the
    first name. A path that shares neither is stored as it is."""
    for end in (item_id, item_id.partition("/")[2]):
        if end and path.endswith(f"/{end}"):
            return path.removesuffix(end), len(end)
    return "", encode_id(path)


def _join_path(item_id: str, base: str | bytes, path: int | str | bytes) -> str:
    """The inverse of `_split_path`."""
    return decode_id(base) + item_id[len(item_id) - path :] if isinstance(path, int) else decode_id(path)


def pack_hash(digest: str) -> str | bytes:
    """A hash as bytes; what is no hash stays as it is."""
    try:
        packed = bytes.fromhex(digest)
    except ValueError:
        return digest
    return packed if packed.hex() == digest else digest


def unpack_hash(stored: str | bytes) -> str:
    """The inverse of `pack_hash`."""
    return stored if isinstance(stored, str) else stored.hex()
