"""Open a published index for reading."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import lru_cache, partial
from pathlib import Path
from urllib.parse import quote

from inorder.errors import IntegrityError, OperatorError
from inorder.sinks.sqlite import translate_sqlite_error
from inorder.stage.store.format import INDEX_FORMAT, require_current

from .locations import find_roots, locate

_DAMAGED = (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT)


@contextmanager
def translate_index_errors(path: str, doing: str = "it cannot be read") -> Iterator[None]:
    """Raise an error of SQLite in the body as ours. `path` is the index that a user can remove if it is damaged."""
    try:
        yield
    except (sqlite3.Error, OperatorError, IntegrityError) as error:
        cause = error if isinstance(error, sqlite3.Error) else error.__cause__
        if not isinstance(cause, sqlite3.Error):
            raise
        if getattr(cause, "sqlite_errorcode", 0) & 0xFF in _DAMAGED:
            message = f"{path} is damaged ({cause}); remove it and run `inorder index` again"
            raise IntegrityError(message) from cause
        if error is not cause:
            raise
        raise translate_sqlite_error(cause, path, doing) from cause


@lru_cache(maxsize=4)
def open_index(path: str) -> sqlite3.Connection:
    """As `connect_index`. The connection stays open and is shared by later calls."""
    return connect_index(path)


def connect_index(path: str) -> sqlite3.Connection:
    """A read-only connection to the index at `path`.

    Queries may call `location(kind, item_id, path)`: where a row of `files` lies, as seen from the current folder.
    Raises OperatorError for a file that is missing, not an index, or written by another version, and IntegrityError for
    a damaged one.
    """
    if not Path(path).exists():
        raise OperatorError(f"no index at {path}; create one with `inorder index` or `inorder run`")
    with translate_index_errors(path):
        try:
            return _connect(path)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_READONLY:
                raise
        _finish_recovery(path)
        return _connect(path)


def _finish_recovery(path: str) -> None:
    """Let SQLite undo what an interrupted run has left, which a connection that only reads cannot do."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()


@contextmanager
def read_snapshot(connection: sqlite3.Connection) -> Iterator[None]:
    """Let all queries in the body see one state of the index, whatever is published in the meantime."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.rollback()


def _connect(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True, check_same_thread=False)
    [version] = connection.execute("PRAGMA user_version").fetchone()
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    if version > INDEX_FORMAT:
        raise OperatorError(
            f"{path} was written by a newer version of inorder (schema {version}, supported {INDEX_FORMAT});"
            " upgrade inorder"
        )
    require_current(path, version, INDEX_FORMAT)
    if not {"files", "chunks", "meta"} <= tables:
        raise OperatorError(f"{path} is a database, but not an index of inorder; remove it and run `inorder index`")
    roots = find_roots(connection)
    connection.create_function("location", 3, partial(locate, roots))
    return connection
