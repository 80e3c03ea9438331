"""Remembers the members of archives, so that an archive that has not changed is not opened to make a plan.

A listing is valid as long as the stat of its archive is the same. One of a racy archive is valid for this plan alone.
The cache may be lost at any moment: the archives are listed again then.
"""

import contextlib
import os
import sqlite3
from collections.abc import Callable

import msgspec

from inorder.files.predicted import is_predicting
from inorder.host.zstd import load_zstd
from inorder.stage.file_stat import FileStat
from inorder.stage.hash_cache import open_cache
from inorder.version import __version__

from .listing import LISTING_VERSION, Listing

_SCHEMA = """
CREATE TABLE IF NOT EXISTS listings (
    path BLOB NOT NULL PRIMARY KEY, version TEXT NOT NULL, signature BLOB NOT NULL, listing BLOB NOT NULL
) WITHOUT ROWID
"""
_VERSION = f"{__version__} {LISTING_VERSION}"
_PENDING_BYTES_MAX = 2**24
_LISTING_BYTES_MAX = 2**28
_DECODER = msgspec.msgpack.Decoder(Listing)


class _Pending(msgspec.Struct, frozen=True):
    signature: bytes
    listing: bytes
    is_racy: bool


class ListingCache:
    """Listings by the path of their archive. Errors of the database count as a miss."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None
        self._pending: dict[str, _Pending] = {}
        """What is not in the database: because it does not exist yet, or is not to be changed."""
        self._pending_bytes = 0

    def get(self, path: str, stat: FileStat, make: Callable[[], Listing]) -> Listing:
        """The listing of an archive with this stat, made with `make` if it is not known."""
        signature = repr(stat.signature).encode()
        known = self._find(path, signature)
        if known is not None:
            return known
        listing = make()
        packed = load_zstd().compress(msgspec.msgpack.encode(listing))
        self._add(path, _Pending(signature, packed, stat.is_racy))
        return listing

    def _add(self, path: str, pending: _Pending) -> None:
        self._pending[path] = pending
        self._pending_bytes += len(pending.listing)
        if self._pending_bytes > _PENDING_BYTES_MAX:
            self._write()
            while self._pending_bytes > _PENDING_BYTES_MAX:
                self._pending_bytes -= len(self._pending.pop(next(iter(self._pending))).listing)

    def close(self) -> None:
        """Write what is new, and close the database. Listings of racy archives are kept for the rest of the plan."""
        if self._pending:
            self._write()
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _find(self, path: str, signature: bytes) -> Listing | None:
        pending = self._pending.get(path)
        packed = pending.listing if pending is not None and pending.signature == signature else None
        connection = self._connect() if packed is None else None
        if connection is not None:
            query = "SELECT listing FROM listings WHERE path = ? AND version = ? AND signature = ?"
            with contextlib.suppress(sqlite3.Error):
                row = connection.execute(query, (os.fsencode(path), _VERSION, signature)).fetchone()
                packed = None if row is None else row[0]
        if packed is None:
            return None
        try:
            return _DECODER.decode(_decompress(packed))
        except (ValueError, msgspec.DecodeError, load_zstd().ZstdError):
            return None

    def _connect(self) -> sqlite3.Connection | None:
        """The database; None: there is none yet. The folder is made by the run."""
        is_possible = os.path.isdir(os.path.dirname(self._path)) and (os.path.exists(self._path) or not is_predicting())
        if self._connection is None and is_possible:
            self._connection = open_cache(self._path, _SCHEMA)
        return self._connection

    def _write(self) -> None:
        connection = None if is_predicting() else self._connect()
        if connection is None:
            return
        rows = [
            (os.fsencode(path), _VERSION, each.signature, each.listing)
            for path, each in self._pending.items()
            if not each.is_racy
        ]
        with contextlib.suppress(sqlite3.Error):
            connection.executemany("REPLACE INTO listings VALUES (?, ?, ?, ?)", rows)
            connection.execute("COMMIT")
            connection.execute("BEGIN")
            self._pending = {path: each for path, each in self._pending.items() if each.is_racy}
            self._pending_bytes = sum(len(each.listing) for each in self._pending.values())


def _decompress(packed: bytes) -> bytes:
    content: bytes = load_zstd().ZstdDecompressor().decompress(packed, _LISTING_BYTES_MAX)
    return content
