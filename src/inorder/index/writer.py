"""Write files to the database, read them back, and remove them."""

import sqlite3
from collections.abc import Iterable
from hashlib import sha256

from .lexical.postings import add_chunks, next_chunk_id, remove_chunks
from .rows import CallRow, ChunkRow, FileRows, ImportRow, SymbolRow, hash_rows

_OWNED_TABLES = ("chunks", "symbols", "imports", "calls")


def replace_file(connection: sqlite3.Connection, rows: FileRows) -> None:
    """Replace everything that the file owns."""
    remove_file(connection, rows.item_id)
    cursor = connection.execute(
        "INSERT INTO files (item_id, kind, path, language, lines, note, sha256, cfg_hash, digest) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            rows.item_id,
            rows.kind,
            rows.path,
            rows.language,
            rows.lines,
            rows.note,
            rows.sha256,
            rows.cfg_hash,
            hash_rows(rows),
        ),
    )
    file = cursor.lastrowid or 0
    first = next_chunk_id(connection)
    _insert(
        connection, "chunks", 11, (_make_chunk_values(first + n, file, n, each) for n, each in enumerate(rows.chunks))
    )
    add_chunks(connection, enumerate(rows.terms, first))
    _insert(
        connection,
        "symbols",
        8,
        (
            (file, n, each.name, each.qualified, each.kind, each.start, each.end, each.signature)
            for n, each in enumerate(rows.symbols)
        ),
    )
    imports = ((file, n, each.module, each.names, each.line) for n, each in enumerate(rows.imports))
    _insert(connection, "imports", 5, imports)
    calls = ((file, n, each.caller, each.callee, each.line, each.column) for n, each in enumerate(rows.calls))
    _insert(connection, "calls", 6, calls)


def _make_chunk_values(id_: int, file: int, number: int, chunk: ChunkRow) -> tuple[object, ...]:
    head = (id_, chunk.chunk_id, file, number, chunk.kind, chunk.name, chunk.context)
    return *head, chunk.start, chunk.end, chunk.pages, chunk.text


def _insert(connection: sqlite3.Connection, table: str, width: int, rows: Iterable[tuple[object, ...]]) -> None:
    connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * width)})", rows)


def remove_file(connection: sqlite3.Connection, item_id: str) -> None:
    """Remove a file and everything that it owns. Does nothing if the index does not have the file."""
    found = connection.execute("SELECT id FROM files WHERE item_id = ?", (item_id,)).fetchone()
    if found is None:
        return
    remove_chunks(connection, found[0])
    for table in _OWNED_TABLES:
        connection.execute(f"DELETE FROM {table} WHERE file = ?", found)
    connection.execute("DELETE FROM files WHERE id = ?", found)


def read_file(connection: sqlite3.Connection, item_id: str, pages: str = "pages") -> tuple[FileRows, str]:
    """Everything that a file owns, without the terms, and its recorded digest. `pages` is the column of the pages."""
    file, kind, path, language, lines, note, sha256, cfg_hash, digest = connection.execute(
        "SELECT id, kind, path, language, lines, note, sha256, cfg_hash, digest FROM files WHERE item_id = ?",
        (item_id,),
    ).fetchone()
    chunks = connection.execute(
        f'SELECT chunk_id, kind, name, context, start, "end", {pages}, text FROM chunks WHERE file = ? ORDER BY number',
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


def content_hash(connection: sqlite3.Connection) -> str:
    """A hash over all files. It is the same for the same files, in whatever order they were added."""
    result = sha256()
    for item_id, digest in connection.execute("SELECT item_id, digest FROM files ORDER BY item_id"):
        result.update(f"{item_id}\0{digest}\n".encode("utf-8", "surrogatepass"))
    return result.hexdigest()
