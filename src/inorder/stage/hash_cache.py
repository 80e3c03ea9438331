"""What files hashed to, so that an unchanged one need not be read again.

A file is taken for unchanged if size, modification time and inode are those it had when it was hashed, *and* it was by
then old enough: a file that was changed twice within the resolution of the clock looks the same both times, so one
modified less than two seconds before it was looked at is read again. What is remembered here is never the only copy of
anything: the cache may be deleted, and a run is then slower.
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
    """Hashes by path, of one kind each (`sha256`, `crc32`)."""

    def __init__(self, path: str) -> None:
        self._connection = _open(path)
        self._pending: list[tuple[object, ...]] = []
        self._lock = threading.Lock()

    def get(self, path: str, look: FileStat, kind: str) -> str | None:
        """The hash of a file that has not changed since; None: not known."""
        query = "SELECT hash FROM files WHERE path=? AND kind=? AND size=? AND mtime_ns=? AND inode=? AND hashed_ns>=?"
        wanted = (os.fsencode(path), kind, *look.facts, look.mtime_ns + _OLD_ENOUGH_NS)
        row = None
        with self._lock, contextlib.suppress(sqlite3.Error):  # a damaged page: as good as nothing
            row = self._connection.execute(query, wanted).fetchone()
        return None if row is None else str(row[0])

    def put(self, path: str, look: FileStat, kind: str, hash_: str) -> None:
        """A file was hashed after it looked like this."""
        with self._lock:
            self._pending.append((os.fsencode(path), kind, *look, hash_))
        if len(self._pending) >= _PENDING_MAX:
            self.flush()

    def flush(self) -> None:
        """Write down what was put. Trouble with it costs time in the next run, and nothing else."""
        with self._lock, contextlib.suppress(sqlite3.Error):
            pending, self._pending = self._pending, []
            self._connection.executemany("REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?)", pending)
            self._connection.execute("COMMIT")
            self._connection.execute("BEGIN")  # one transaction for many questions: each by itself would cost double

    def close(self) -> None:
        """Write down what is left."""
        self.flush()
        self._connection.close()


def _open(path: str) -> sqlite3.Connection:
    """The database, begun anew where what lies there is none."""
    for attempt in ("as it is", "anew"):
        try:
            connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=OFF")
            connection.execute(_SCHEMA)
            connection.execute("BEGIN")
        except sqlite3.Error:
            if attempt == "anew":
                break
            with contextlib.suppress(OSError):
                os.unlink(path)
        else:
            return connection
    connection = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
    connection.execute(_SCHEMA)
    connection.execute("BEGIN")
    return connection
