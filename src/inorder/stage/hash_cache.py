"""A cache of file hashes, so that an unchanged file need not be read again.

A hash is valid as long as the signature of the file is the same: size, modification time, change time and inode. The
hash of a file that was racy when its stat was read is not stored, so that the file is read again (see `file_stat`). The
cache is never the only copy of anything. It may be deleted; the next run is then slower.
"""

import contextlib
import os
import sqlite3
import threading
from collections.abc import Iterable
from functools import partial
from hashlib import blake2b

from .file_stat import FileStat
from .store.lookup import BlockLookup
from .store.rows import pack_hash, unpack_hash

_PENDING_MAX = 2000
_DROP_OLD = "DROP TABLE IF EXISTS files; DROP TABLE IF EXISTS file_hashes;"
"""Tables of earlier versions, with signatures of another form: their hashes are not used. Whenever the meaning of a
signature changes, the table gets a new name."""
_SCHEMA = """
CREATE TABLE IF NOT EXISTS signed_hashes (
    path BLOB NOT NULL, kind TEXT NOT NULL, signature BLOB NOT NULL, hash NOT NULL, PRIMARY KEY (path, kind)
) WITHOUT ROWID
"""
_SIGNATURE_BYTES = 16


class HashCache:
    """Hashes by path and kind (`sha256`, `crc32`). Thread-safe; database errors count as a miss."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._opened: sqlite3.Connection | None = None
        self._pending: list[tuple[bytes, str, bytes, str | bytes]] = []
        self._lock = threading.Lock()
        self._lookups: dict[str, BlockLookup[tuple[bytes, bytes, str | bytes]]] = {}
        """By kind. The plan of a run asks for one file after the other, and for each before it is hashed."""

    @property
    def _connection(self) -> sqlite3.Connection:
        """The database. It is opened when it is needed: most stages have no files as inputs."""
        if self._opened is None:
            self._opened = open_cache(self._path, f"{_DROP_OLD}{_SCHEMA};")
        return self._opened

    def get(self, path: str, stat: FileStat, kind: str) -> str | None:
        """Return the hash of a file that has not changed since it was hashed; None: not known."""
        with self._lock:
            lookup = self._lookups.get(kind)
            if lookup is None:
                lookup = self._lookups[kind] = BlockLookup(partial(self._fetch, kind), lambda row: row)
            row = lookup.get(os.fsencode(path))
        if row is None or row[1] != _encode_signature(stat):
            return None
        return unpack_hash(row[2])

    def put(self, path: str, stat: FileStat, kind: str, hash_: str) -> None:
        """Store the hash of a file, unless it is racy. The stat must be older than the read."""
        if stat.is_racy:
            return
        with self._lock:
            self._pending.append((os.fsencode(path), kind, _encode_signature(stat), pack_hash(hash_)))
        if len(self._pending) >= _PENDING_MAX:
            self.flush()

    def put_inputs(self, inputs: Iterable[tuple[str, FileStat, str]]) -> None:
        """Store the hashes of an item's inputs, which its worker has just read. Outputs are racy then: their change
        time is that of the rename."""
        for path, stat, digest in inputs:
            if digest:
                self.put(path, stat, "sha256", digest)

    def _fetch(self, kind: str, path: bytes, count: int) -> list[tuple[bytes, bytes, str | bytes]]:
        query = f"SELECT path, signature, hash FROM signed_hashes WHERE path>=? AND kind=? ORDER BY path LIMIT {count}"
        with contextlib.suppress(sqlite3.Error):  # a damaged page
            return self._connection.execute(query, (path, kind)).fetchall()
        return []

    def flush(self) -> None:
        """Write pending hashes."""
        if not self._pending:
            return
        with self._lock, contextlib.suppress(sqlite3.Error):
            pending, self._pending = self._pending, []
            self._connection.executemany("REPLACE INTO signed_hashes VALUES (?, ?, ?, ?)", pending)
            self._connection.execute("COMMIT")
            self._connection.execute("BEGIN")  # one transaction for many queries: without it each takes twice as long
            self._lookups.clear()

    def close(self) -> None:
        """Write pending hashes and close the database."""
        self.flush()
        if self._opened is not None:
            self._opened.close()


def _encode_signature(stat: FileStat) -> bytes:
    """A digest of size, times and inode."""
    text = f"{stat.size} {stat.mtime_ns} {stat.ctime_ns} {stat.inode}"
    return blake2b(text.encode(), digest_size=_SIGNATURE_BYTES).digest()


def open_cache(path: str, schema: str) -> sqlite3.Connection:
    """Open the database of a cache. A damaged one is replaced; if that fails too, the cache lives in memory."""
    for attempt in range(2):
        try:
            connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
            connection.execute("PRAGMA journal_mode=WAL")
            # Syncs only before the log is copied into the database. Without that, a power failure could leave a page
            # that is half old and half new: the signature of a file with the hash of its former content.
            connection.execute("PRAGMA synchronous=NORMAL")
            connection.executescript(schema)
            connection.execute("BEGIN")
        except sqlite3.Error:
            if attempt == 0:
                with contextlib.suppress(OSError):
                    os.unlink(path)
        else:
            return connection
    connection = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
    connection.executescript(schema)
    connection.execute("BEGIN")
    return connection
