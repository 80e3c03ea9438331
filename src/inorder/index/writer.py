"""Write files to the database, read them back, and remove them."""

import sqlite3
from collections.abc import Iterable
from hashlib import sha256

from inorder.stage.store.texts import StoredText, TextPacker, TextReader

from .calls import insert_calls, pack_calls, read_calls
from .rows import DOCUMENT, ChunkRow, FileRows, ImportRow, SymbolRow, count_terms, hash_rows

_HASHED_ROWS = 1024
"""Files that are hashed at once."""
_OWNED_TABLES = ("chunks", "symbols", "imports", "calls", "callees")


class RowWriter:
    """Writes files to a database, and keeps the terms of their chunks until enough of them wait to be inverted. After a
    crash they are counted again, from the chunks that no segment has."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        [last, inverted] = connection.execute(
            "SELECT COALESCE((SELECT MAX(id) FROM chunks), 0), COALESCE((SELECT MAX(last) FROM segments), 0)"
        ).fetchone()
        self.next_chunk: int = max(last, inverted) + 1
        """The id of the next chunk, above that of every other, also of those that are dead."""
        self._inverted_end: int = inverted + 1
        from .lexical import inversion  # with NumPy, which is slow to import

        self._inversion = inversion
        self._buffer = inversion.TermBuffer()
        self._texts = TextPacker(connection)
        self._has_unknown = last > inverted
        """Whether there are chunks that no segment has, and whose terms are not in the buffer."""

    def replace_file(self, connection: sqlite3.Connection, rows: FileRows) -> None:
        """Replace everything that the file owns."""
        file = _insert_file(connection, rows)
        if file is None:
            self.remove_file(connection, rows.item_id)
            file = _insert_file(connection, rows) or 0
        first = self.next_chunk
        chunks = [
            _make_chunk_values(first + n, file, n, each, self._pack_text(connection, rows.kind, each.text))
            for n, each in enumerate(rows.chunks)
        ]
        _insert(connection, "chunks", 11, chunks)
        self.next_chunk += len(rows.chunks)
        self._buffer.add(first, rows.terms or count_terms(rows))
        symbols = (
            (file, n, each.name, each.qualified, each.kind, each.start, each.end, each.signature)
            for n, each in enumerate(rows.symbols)
        )
        _insert(connection, "symbols", 8, symbols)
        imports = ((file, n, each.module, each.names, each.line) for n, each in enumerate(rows.imports))
        _insert(connection, "imports", 5, imports)
        insert_calls(connection, file, rows.packed_calls or pack_calls(rows.calls))
        if self._buffer.size_bytes >= self._inversion.BATCH_BYTES_MAX:
            self.invert(connection)

    def _pack_text(self, connection: sqlite3.Connection, kind: str, text: str) -> StoredText:
        return self._texts.pack(connection, text) if kind == DOCUMENT else text

    def remove_file(self, connection: sqlite3.Connection, item_id: str) -> None:
        """Remove a file and everything that it owns. Does nothing if the index does not have the file."""
        found = connection.execute("SELECT id FROM files WHERE item_id = ?", (item_id,)).fetchone()
        if found is None:
            return
        [first, last] = connection.execute("SELECT MIN(id), MAX(id) FROM chunks WHERE file = ?", found).fetchone()
        if last is not None and last >= self._inverted_end:
            self.invert(connection)
        if first is not None:
            connection.execute("INSERT INTO dead SELECT id FROM chunks WHERE file = ?", found)
        for table in _OWNED_TABLES:
            connection.execute(f"DELETE FROM {table} WHERE file = ?", found)
        connection.execute("DELETE FROM files WHERE id = ?", found)

    def invert(self, connection: sqlite3.Connection) -> None:
        """Invert the terms of all chunks that no segment has."""
        if self._has_unknown:
            self._count_unknown(connection)
            self._has_unknown = False
        self._buffer.invert(connection)
        self._inverted_end = self.next_chunk

    def _count_unknown(self, connection: sqlite3.Connection) -> None:
        """Count the terms of chunks that an interrupted run has written. They belong before those in the buffer."""
        known = self._buffer.first or self.next_chunk
        query = (
            "SELECT MIN(chunks.id), item_id FROM chunks JOIN files ON files.id = file "
            "WHERE chunks.id >= ? AND chunks.id < ? GROUP BY file ORDER BY 1"
        )
        counted = self._inversion.TermBuffer()
        for first, item_id in connection.execute(query, (self._inverted_end, known)).fetchall():
            rows, _ = read_file(connection, item_id)
            counted.add(first, count_terms(rows))
        counted.extend(self._buffer)
        self._buffer = counted


def _insert_file(connection: sqlite3.Connection, rows: FileRows) -> int | None:
    """Insert the row of a file, and return its number; None: there is one already."""
    cursor = connection.execute(
        "INSERT INTO files (item_id, kind, path, language, lines, note, sha256, cfg_hash, digest) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (
            rows.item_id,
            rows.kind,
            rows.path,
            rows.language,
            rows.lines,
            rows.note,
            rows.sha256,
            rows.cfg_hash,
            rows.digest or hash_rows(rows),
        ),
    )
    return cursor.lastrowid if cursor.rowcount else None


def _make_chunk_values(id_: int, file: int, number: int, chunk: ChunkRow, text: StoredText) -> tuple[object, ...]:
    head = (id_, chunk.chunk_id, file, number, chunk.kind, chunk.name, chunk.context)
    return *head, chunk.start, chunk.end, chunk.pages, text


def _insert(connection: sqlite3.Connection, table: str, width: int, rows: Iterable[tuple[object, ...]]) -> None:
    connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * width)})", rows)


def read_file(connection: sqlite3.Connection, item_id: str) -> tuple[FileRows, str]:
    """Everything that a file owns, without the terms, and its recorded digest."""
    file, kind, path, language, lines, note, sha256, cfg_hash, digest = connection.execute(
        "SELECT id, kind, path, language, lines, note, sha256, cfg_hash, digest FROM files WHERE item_id = ?",
        (item_id,),
    ).fetchone()
    chunks = connection.execute(
        'SELECT chunk_id, kind, name, context, start, "end", pages, text FROM chunks WHERE file = ? ORDER BY number',
        (file,),
    )
    texts = TextReader(connection)
    symbols = connection.execute(
        'SELECT name, qualified, kind, start, "end", signature FROM symbols WHERE file = ? ORDER BY number', (file,)
    )
    imports = connection.execute("SELECT module, names, line FROM imports WHERE file = ? ORDER BY number", (file,))
    rows = FileRows(
        item_id=item_id,
        kind=kind,
        path=path,
        language=language,
        lines=lines,
        note=note,
        sha256=sha256,
        cfg_hash=cfg_hash,
        chunks=[ChunkRow(*[*row, texts.read(stored)]) for *row, stored in chunks],
        symbols=[SymbolRow(*row) for row in symbols],
        imports=[ImportRow(*row) for row in imports],
        calls=read_calls(connection, file),
    )
    return rows, digest


def content_hash(connection: sqlite3.Connection) -> str:
    """A hash over all files. It is the same for the same files, in whatever order they were added."""
    result = sha256()
    files = connection.execute("SELECT item_id, digest FROM files ORDER BY item_id")
    while rows := files.fetchmany(_HASHED_ROWS):
        text = "\n".join([*map("\0".join, rows), ""])
        result.update(text.encode("utf-8", "surrogatepass"))
    return result.hexdigest()
