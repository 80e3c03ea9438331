"""Convert an index of an older version, so that nothing in it is lost before its sources are indexed again."""

import contextlib
import os
import sqlite3

import msgspec

from inorder.host.filesystem import SystemFilesystem
from inorder.index.lexical.languages import detect_language
from inorder.index.rows import DOCUMENT, LANGUAGE_CHUNKS, FileRows
from inorder.index.schema import INDEXES, TABLES, VERSION
from inorder.index.writer import RowWriter, read_file

_PAGES = "words"
"""Version 1 had the pages of a document in the column in which code had parts of names."""


def read_version(path: str) -> int:
    """The version of the schema of a database; 0 for an empty one."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        [version] = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


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
        for name, value in old.execute("SELECT name, value FROM meta"):
            connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))
        writer = RowWriter(connection)
        for (item_id,) in old.execute("SELECT item_id FROM files ORDER BY item_id"):
            writer.replace_file(connection, _read_file(old, item_id))
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


def _read_file(old: sqlite3.Connection, item_id: str) -> FileRows:
    rows, _ = read_file(old, item_id, _PAGES)
    if rows.kind == DOCUMENT:
        rows.language = detect_language("\n".join(chunk.text for chunk in rows.chunks[:LANGUAGE_CHUNKS]))
    else:
        rows.chunks = [msgspec.structs.replace(chunk, pages="") for chunk in rows.chunks]
    return rows
