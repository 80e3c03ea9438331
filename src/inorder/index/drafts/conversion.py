"""Convert an index of an older version, so that nothing in it is lost before its sources are indexed again."""

import contextlib
import os
import sqlite3

import msgspec

from inorder.code.model import CallSite
from inorder.host.filesystem import SystemFilesystem
from inorder.index.calls import read_calls
from inorder.index.lexical.languages import detect_language
from inorder.index.rows import DOCUMENT, LANGUAGE_CHUNKS, FileRows
from inorder.index.schema import INDEXES, TABLES, VERSION
from inorder.index.vectors.table import convert_tables
from inorder.index.writer import RowWriter, read_file

_COPIED_BEFORE = 5
"""Older versions are written to a new database. Later ones differ only in the tables of the vectors."""
_PAGES = "words"
"""Version 1 had the pages of a document in the column in which code had parts of names. Versions 1 and 2 had a row for
each call."""


def read_version(path: str) -> int:
    """The version of the schema of a database; 0 for an empty one."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        [version] = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


def is_outdated(path: str) -> bool:
    """Whether there is a database of an older version, which must be converted. A damaged one is left to the run."""
    try:
        return os.path.exists(path) and read_version(path) < VERSION
    except sqlite3.Error:
        return False


def must_be_copied(path: str) -> bool:
    """Whether there is a database of a version that cannot be converted in place."""
    return is_outdated(path) and read_version(path) < _COPIED_BEFORE


def convert_in_place(connection: sqlite3.Connection) -> None:
    """Convert a database that need not be copied, in the transaction that changes it."""
    [version] = connection.execute("PRAGMA user_version").fetchone()
    if version < VERSION:
        convert_tables(connection)
        connection.execute(f"PRAGMA user_version={VERSION}")


def convert_index(source: str, target: str) -> None:
    """Write the files of an older database to a new one at `target`, which appears when it is complete."""
    filesystem = SystemFilesystem()
    new = f"{target}.new"
    with contextlib.suppress(FileNotFoundError):
        filesystem.unlink(new)
    with (
        contextlib.closing(sqlite3.connect(source)) as old,
        contextlib.closing(sqlite3.connect(new, isolation_level=None)) as connection,
    ):
        connection.executescript(TABLES)
        connection.execute("BEGIN")
        for name, value in old.execute("SELECT name, value FROM meta WHERE name NOT GLOB 'vectors_*'"):
            connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))
        writer = RowWriter(connection)
        [version] = old.execute("PRAGMA user_version").fetchone()
        for (item_id,) in old.execute("SELECT item_id FROM files ORDER BY item_id"):
            pages = _PAGES if version < 2 else "pages"
            rows, _ = read_file(old, item_id, pages, _read_calls if version < 3 else read_calls)
            writer.replace_file(connection, _update_first_version(rows) if version < 2 else rows)
        writer.invert(connection)
        connection.execute(f"PRAGMA user_version={VERSION}")
        connection.execute("COMMIT")
        connection.executescript(INDEXES)
    file = filesystem.open(new)
    try:
        file.sync()
    finally:
        file.close()
    filesystem.rename(new, target)
    filesystem.sync_directory(os.path.dirname(target))


def _read_calls(old: sqlite3.Connection, file: int) -> list[CallSite]:
    query = 'SELECT caller, callee, line, "column" FROM calls WHERE file = ? ORDER BY number'
    return [CallSite(*row) for row in old.execute(query, (file,))]


def _update_first_version(rows: FileRows) -> FileRows:
    if rows.kind == DOCUMENT:
        rows.language = detect_language("\n".join(chunk.text for chunk in rows.chunks[:LANGUAGE_CHUNKS]))
    else:
        rows.chunks = [msgspec.structs.replace(chunk, pages="") for chunk in rows.chunks]
    return rows
