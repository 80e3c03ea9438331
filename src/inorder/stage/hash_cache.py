"""A cache of file hashes, so that an unchanged file need not be read again.

A file counts as unchanged if its size, modification time and inode are those of the time when it was hashed, and if it
was old enough then: two changes within the resolution of the clock give the same modification time, so a file that was
modified less than two seconds before its stat is read again. The cache is never the only copy of anything. It may be
deleted; the next run is then slower.
"""

import contextlib
import os
import sqlite3
import threading

from .file_stat import FileStat

_OLD_ENOUGH_NS = 2_000_000_000
_PENDING_MAX = 2000
_SCHEMA = """
CREATE TABLE IF NOT EXISTS files (
    path BLOB NOT NULL, kind TEXT NOT NULL, size INTEGER, mtime_ns INTEGER, inode INTEGER, hashed_ns INTEGER, hash TEXT,
    PRIMARY KEY (path, kind)
) WITHOUT ROWID
"""


class HashCache:
    """Hashes by path and kind (`sha256`, `crc32`). Thread-safe; database errors count as a miss."""

    def __init__(self, path: str) -> None:
        self._connection = _open_database(path)
        self._pending: list[tuple[object, ...]] = []
        self._lock = threading.Lock()

    def get(self, path: str, stat: FileStat, kind: str) -> str | None:
        """Return the hash of a file that has not changed since it was hashed; None: not known."""
        query = "SELECT hash FROM files WHERE path=? AND kind=? AND size=? AND mtime_ns=? AND inode=? AND hashed_ns>=?"
        wanted = (os.fsencode(path), kind, *stat.signature, stat.mtime_ns + _OLD_ENOUGH_NS)
        row = None
        with self._lock, contextlib.suppress(sqlite3.Error):  # a damaged page
            row = self._connection.execute(query, wanted).fetchone()
        return None if row is None else str(row[0])

    def put(self, path: str, stat: FileStat, kind: str, hash_: str) -> None:
        """Store the hash of a file. The stat must be older than the read."""
        with self._lock:
            self._pending.append((os.fsencode(path), kind, *stat, hash_))
        if len(self._pending) >= _PENDING_MAX:
            self.flush()

    def flush(self) -> None:
        """Write pending hashes."""
        with self._lock, contextlib.suppress(sqlite3.Error):
            pending, self._pending = self._pending, []
            self._connection.executemany("REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?)", pending)
            self._connection.execute("COMMIT")
            self._connection.execute("BEGIN")  # one transaction for many queries: without it each takes twice as long

    def close(self) -> None:
        """Write pending hashes and close the database."""
        self.flush()
        self._connection.close()


def _open_database(path: str) -> sqlite3.Connection:
    """Open the database. A damaged one is replaced; if that fails too, the cache lives in memory."""
    for attempt in range(2):
        try:
            connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=OFF")
            connection.execute(_SCHEMA)
            connection.execute("BEGIN")
        except sqlite3.Error:
            if attempt == 0:
                with contextlib.suppress(OSError):
                    os.unlink(path)
        else:
            return connection
    connection = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
    connection.execute(_SCHEMA)
    connection.execute("BEGIN")
    return connection
