"""Open a published index for reading."""

import os
import sqlite3
from functools import lru_cache, partial
from pathlib import Path
from urllib.parse import quote

from inorder.errors import OperatorError
from inorder.sinks.sqlite import translate_sqlite_error

from .locations import find_roots, locate
from .schema import VERSION


@lru_cache(maxsize=4)
def open_index(path: str) -> sqlite3.Connection:
    """A read-only connection to the index at `path`. It stays open and is shared by later calls.

    Queries may call `location(kind, item_id, path)`: where a row of `files` lies, as seen from the current folder.
    Raises OperatorError for a file that is missing, not an index, or written by a newer version.
    """
    try:
        connection = sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True, check_same_thread=False)
        [version] = connection.execute("PRAGMA user_version").fetchone()
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    except sqlite3.Error as error:
        if not Path(path).exists():
            raise OperatorError(f"no index at {path}; create one with `inorder index` or `inorder run`") from None
        raise translate_sqlite_error(error, path, "it cannot be read") from error
    if version > VERSION:
        raise OperatorError(
            f"{path} was written by a newer version of inorder (schema {version}, supported {VERSION}); upgrade inorder"
        )
    if not {"files", "chunks", "lookup", "meta"} <= tables:
        raise OperatorError(f"{path} is a database, but not an index of inorder")
    roots = find_roots(connection, os.path.dirname(path))
    connection.create_function("location", 3, partial(locate, roots))
    return connection
