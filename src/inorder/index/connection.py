"""Opening a published database, to look something up in it."""

import sqlite3
from functools import lru_cache
from pathlib import Path
from urllib.parse import quote

from inorder.errors import IntegrityError, OperatorError
from inorder.sinks.sqlite_errors import explained

from .schema import VERSION


@lru_cache(maxsize=4)
def opened(path: str) -> sqlite3.Connection:
    """For reading, kept open. What is no index of ours, or one of a newer version, is refused in one line."""
    try:
        connection = sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True, check_same_thread=False)
        [version] = connection.execute("PRAGMA user_version").fetchone()
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    except sqlite3.Error as error:
        if not Path(path).exists():
            raise OperatorError(f"there is no index: {path}; make one with `inorder index` or `inorder run`") from None
        raise explained(error, path, "it cannot be read") from error
    if version > VERSION:
        raise OperatorError(f"{path} was made by a newer version of inorder (schema {version}, here {VERSION})")
    if not {"files", "chunks", "lookup", "meta"} <= tables:
        raise OperatorError(f"{path} is a database, but no index of inorder")
    return connection


def meta(connection: sqlite3.Connection, name: str) -> str:
    """What the database says of itself; empty: nothing."""
    try:
        found = connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
    except sqlite3.DatabaseError as error:
        raise IntegrityError(f"the index is damaged ({error})") from error
    return str(found[0]) if found else ""
