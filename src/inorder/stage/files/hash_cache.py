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

from inorder.host.regular_file import require_regular_database

from .file_stat import FileStat

_PENDING_MAX = 2000
_SCHEMA = """
CREATE TABLE IF NOT EXISTS hashes (
    path BLOB NOT NULL, kind TEXT NOT NULL, signature TEXT NOT NULL, hash TEXT NOT NULL, PRIMARY KEY (path, kind)
) WITHOUT ROWID;
"""
"""Whenever the meaning of a signature changes, the table gets a new name."""


class HashCache:
    """Hashes by path and kind (`sha256`, `crc32`). Thread-safe; database errors count as a miss."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._opened: sqlite3.Connection | None = None
        self._pending: list[tuple[bytes, str, str, str]] = []
        self._lock = threading.Lock()

    @property
    def _connection(self) -> sqlite3.Connection:
        """The database. It is opened when it is needed: most stages have no files as inputs."""
        if self._opened is None:
            self._opened = _open_cache(self._path)
        return self._opened

    def get(self, path: str, stat: FileStat, kind: str) -> str | None:
        """Return the hash of a file that has not changed since it was hashed; None: not known."""
        query = "SELECT hash FROM hashes WHERE path = ? AND kind = ? AND signature = ?"
        with self._lock, contextlib.suppress(sqlite3.Error):  # a damaged page
            row = self._connection.execute(query, (os.fsencode(path), kind, _encode_signature(stat))).fetchone()
            return None if row is None else str(row[0])
        return None

    def put(self, path: str, stat: FileStat, kind: str, hash_: str) -> None:
        """Store the hash of a file, unless it is racy. The stat must be older than the read."""
        if stat.is_racy:
            return
        with self._lock:
            self._pending.append((os.fsencode(path), kind, _encode_signature(stat), hash_))
        if len(self._pending) >= _PENDING_MAX:
            self.flush()

    def put_inputs(self, inputs: Iterable[tuple[str, FileStat, str]]) -> None:
        """Store the hashes of an item's inputs, which its worker has just read. Outputs are racy then: their change
        time is that of the rename."""
        for path, stat, digest in inputs:
            if digest:
                self.put(path, stat, "sha256", digest)

    def flush(self) -> None:
        """Write pending hashes."""
        if not self._pending:
            return
        with self._lock, contextlib.suppress(sqlite3.Error):
            pending, self._pending = self._pending, []
            self._connection.executemany("REPLACE INTO hashes VALUES (?, ?, ?, ?)", pending)
            self._connection.execute("COMMIT")
            self._connection.execute("BEGIN")  # one transaction for many queries: without it each takes twice as long

    def close(self) -> None:
        """Write pending hashes and close the database."""
        self.flush()
        if self._opened is not None:
            self._opened.close()


def _encode_signature(stat: FileStat) -> str:
    """Size, times and inode, any of which may be too large for an integer of SQLite."""
    return " ".join(map(str, stat.signature))


def _open_cache(path: str) -> sqlite3.Connection:
    """Open the database of a cache. A damaged one is replaced; if that fails too, the cache lives in memory."""
    for attempt in range(2):
        try:
            require_regular_database(path)
            connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
            connection.execute("PRAGMA journal_mode=WAL")
            # Syncs only before the log is copied into the database. Without that, a power failure could leave a page
            # that is half old and half new: the signature of a file with the hash of its former content.
            connection.execute("PRAGMA synchronous=NORMAL")
            connection.executescript(_SCHEMA)
            connection.execute("BEGIN")
        except (OSError, sqlite3.Error):
            if attempt == 0:
                with contextlib.suppress(OSError):
                    os.unlink(path)
        else:
            return connection
    connection = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
    connection.executescript(_SCHEMA)
    connection.execute("BEGIN")
    return connection
