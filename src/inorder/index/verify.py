"""Check an index against its digests: that of each file, recomputed from its rows, and that of the whole content."""

import sqlite3
from collections.abc import Iterator

from .lexical.check import is_inverted_index_intact
from .rows import CallRow, ChunkRow, FileRows, ImportRow, SymbolRow, count_terms, hash_rows
from .schema import VERSION, read_meta
from .writer import content_hash

_REBUILD = "remove index.sqlite and run `inorder index` again"


def find_problems(connection: sqlite3.Connection) -> Iterator[str]:
    """What is wrong with the index, one line per problem."""
    for (message,) in connection.execute("PRAGMA integrity_check(20)").fetchall():
        if message != "ok":
            yield f"the database is damaged: {message}; {_REBUILD}"
            return
    [version] = connection.execute("PRAGMA user_version").fetchone()
    if version < VERSION:
        return  # its digests are of other rows; the next run of stage `index` converts it
    if not is_inverted_index_intact(connection, _count_all_terms(connection)):
        yield f"the inverted index does not match the chunks; {_REBUILD}"
    for (item_id,) in connection.execute("SELECT item_id FROM files ORDER BY item_id").fetchall():
        rows, digest = read_rows(connection, item_id)
        if hash_rows(rows) != digest:
            yield f"{item_id}: its rows do not match its digest; {_REBUILD}"
    found, recorded = content_hash(connection), read_meta(connection, "content_hash")
    if found != recorded:
        yield f"the content hash is {found}, but {recorded} was recorded; {_REBUILD}"


def _count_all_terms(connection: sqlite3.Connection) -> Iterator[tuple[int, bytes]]:
    """The terms of every chunk, counted again."""
    for file, item_id in connection.execute("SELECT id, item_id FROM files").fetchall():
        rows, _ = read_rows(connection, item_id)
        ids = connection.execute("SELECT id FROM chunks WHERE file = ? ORDER BY number", (file,))
        yield from zip((id_ for (id_,) in ids.fetchall()), count_terms(rows), strict=True)


def read_rows(connection: sqlite3.Connection, item_id: str) -> tuple[FileRows, str]:
    """Everything that a file owns, and its recorded digest."""
    file, kind, path, language, lines, note, sha256, cfg_hash, digest = connection.execute(
        "SELECT id, kind, path, language, lines, note, sha256, cfg_hash, digest FROM files WHERE item_id = ?",
        (item_id,),
    ).fetchone()
    chunks = connection.execute(
        'SELECT chunk_id, kind, name, context, start, "end", pages, text FROM chunks WHERE file = ? ORDER BY number',
        (file,),
    )
    symbols = connection.execute(
        'SELECT name, qualified, kind, start, "end", signature FROM symbols WHERE file = ? ORDER BY number', (file,)
    )
    imports = connection.execute("SELECT module, names, line FROM imports WHERE file = ? ORDER BY number", (file,))
    calls = connection.execute(
        'SELECT caller, callee, line, "column" FROM calls WHERE file = ? ORDER BY number', (file,)
    )
    rows = FileRows(
        item_id=item_id,
        kind=kind,
        path=path,
        language=language,
        lines=lines,
        note=note,
        sha256=sha256,
        cfg_hash=cfg_hash,
        chunks=[ChunkRow(*row) for row in chunks],
        symbols=[SymbolRow(*row) for row in symbols],
        imports=[ImportRow(*row) for row in imports],
        calls=[CallRow(*row) for row in calls],
    )
    return rows, digest
