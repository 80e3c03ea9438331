"""Convert an index of an older version, so that nothing in it is lost before its sources are indexed again."""

import contextlib
import os
import sqlite3

import msgspec

from inorder.host.filesystem import SystemFilesystem

from .lexical.languages import detect_language
from .rows import DOCUMENT, CallRow, ChunkRow, FileRows, ImportRow, SymbolRow, count_terms
from .schema import SCHEMA, VERSION
from .writer import replace_file


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
        connection.executescript(SCHEMA)
        connection.execute("BEGIN")
        for name, value in old.execute("SELECT name, value FROM meta"):
            connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))
        for (file,) in old.execute("SELECT id FROM files ORDER BY item_id"):
            replace_file(connection, _read_file(old, file))
        connection.execute(f"PRAGMA user_version={VERSION}")
        connection.execute("COMMIT")
    file = filesystem.open(new)
    try:
        file.sync()
    finally:
        file.close()
    filesystem.rename(new, target)
    filesystem.sync_directory(os.path.dirname(target))


def _read_file(old: sqlite3.Connection, file: int) -> FileRows:
    item_id, kind, path, language, lines, note, sha256, cfg_hash = old.execute(
        "SELECT item_id, kind, path, language, lines, note, sha256, cfg_hash FROM files WHERE id = ?", (file,)
    ).fetchone()
    columns = 'chunk_id, kind, name, context, start, "end", words, text'
    found = old.execute(f"SELECT {columns} FROM chunks WHERE file = ? ORDER BY number", (file,))
    chunks = [ChunkRow(*row) for row in found]
    if kind != DOCUMENT:
        chunks = [msgspec.structs.replace(chunk, pages="") for chunk in chunks]
    symbols = old.execute(
        'SELECT name, qualified, kind, start, "end", signature FROM symbols WHERE file = ? ORDER BY number', (file,)
    )
    imports = old.execute("SELECT module, names, line FROM imports WHERE file = ? ORDER BY number", (file,))
    calls = old.execute('SELECT caller, callee, line, "column" FROM calls WHERE file = ? ORDER BY number', (file,))
    rows = FileRows(
        item_id=item_id,
        kind=kind,
        path=path,
        language=language or detect_language("\n".join(chunk.text for chunk in chunks[:16])),
        lines=lines,
        note=note,
        sha256=sha256,
        cfg_hash=cfg_hash,
        chunks=chunks,
        symbols=[SymbolRow(*row) for row in symbols],
        imports=[ImportRow(*row) for row in imports],
        calls=[CallRow(*row) for row in calls],
    )
    rows.terms = count_terms(rows)
    return rows
