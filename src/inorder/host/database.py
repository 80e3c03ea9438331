"""Open a database of SQLite for reading alone, wherever it lies.

SQLite reads a log beside a database with a file of shared memory, which it makes if there is none. On a medium that
cannot be written, and in the folder of another user, it cannot. Nobody else writes there either, as far as this process
can know. So the database is read as one that does not change; or, if there is a log, with the index of the log in
memory. SQLite does that for a connection that has the database to itself, and leaves out locks that it cannot have.
"""

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from typing import TypeVar
from urllib.parse import quote

Connection = TypeVar("Connection", bound=sqlite3.Connection)
_SHARED, _UNCHANGED, _ALONE = "mode=ro", "immutable=1", "mode=ro&vfs=unix-none"
_CANNOT_WRITE = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM)


def connect_to_read(path: str, connect: Callable[[str, str], Connection]) -> Connection:
    """Return a connection that only reads. `connect` is called with the URI of the database and the locking mode that
    the connection sets before it reads something, which it must do. Raises sqlite3.Error."""

    def connect_in(mode: str) -> Connection:
        uri = f"file:{quote(os.fsencode(os.path.abspath(path)))}?{mode}"
        return connect(uri, "EXCLUSIVE" if mode == _ALONE else "NORMAL")

    try:
        return connect_in(_SHARED)
    except sqlite3.OperationalError as error:
        _require_unwritable(error)
    if not _has_log(path):
        return connect_in(_UNCHANGED)
    try:
        with closing(sqlite3.connect(path)) as connection:  # undoes what an interrupted program has left
            connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError as error:
        _require_unwritable(error)
        return connect_in(_ALONE)
    return connect_in(_SHARED)


def _require_unwritable(error: sqlite3.OperationalError) -> None:
    if error.sqlite_errorcode & 0xFF not in _CANNOT_WRITE:
        raise error


def _has_log(path: str) -> bool:
    """Whether there are changes beside the database, which are read with it."""
    return any(os.path.exists(name) and os.path.getsize(name) for name in (f"{path}-wal", f"{path}-journal"))
