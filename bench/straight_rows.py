"""The database of the straight line: rows of an index in plain tables, with texts that are compressed."""

import sqlite3
from hashlib import sha256
from typing import Any

from inorder.host.zstd import load_zstd
from inorder.index.lexical.inversion import TermBuffer
from inorder.index.lexical.schema import SCHEMA as LEXICAL_SCHEMA
from inorder.index.rows import FileRows, count_terms, hash_rows
from inorder.index.vectors.schema import SCHEMA as VECTORS_SCHEMA

TABLES = (
    """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE files (
    id INTEGER PRIMARY KEY,
    item_id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    path TEXT NOT NULL,
    language TEXT NOT NULL,
    lines INTEGER NOT NULL,
    note TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    cfg_hash TEXT NOT NULL,
    digest TEXT NOT NULL
);
CREATE TABLE chunks (
    id INTEGER PRIMARY KEY,
    chunk_id TEXT NOT NULL,
    file INTEGER NOT NULL,
    number INTEGER NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    context TEXT NOT NULL,
    start INTEGER NOT NULL,
    "end" INTEGER NOT NULL,
    pages TEXT NOT NULL,
    text NOT NULL
);
CREATE TABLE dictionaries (number INTEGER PRIMARY KEY, data BLOB NOT NULL);
"""
    + LEXICAL_SCHEMA
    + VECTORS_SCHEMA
)
INDEXES = (
    "CREATE INDEX chunks_by_file ON chunks (file, number)",
    "CREATE INDEX chunks_by_chunk_id ON chunks (chunk_id)",
)
_SAMPLES = 512
_SAMPLE_BYTES = 1024
_DICTIONARY_BYTES_MAX = 8192
_LEVEL = 3


class RowWriter:
    """Writes files to a new database, and keeps the terms of their chunks until they are inverted."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.next_chunk = 1
        self._connection = connection
        self._buffer = TermBuffer()
        self._compressor: Any = load_zstd().ZstdCompressor(level=_LEVEL)
        self._samples: list[bytes] | None = []

    def add_file(self, rows: FileRows, content_hash: str) -> None:
        """Write everything that a file owns."""
        values = (rows.item_id, rows.kind, rows.item_id, rows.language, rows.lines, rows.note, content_hash, "")
        file = self._connection.execute(
            "INSERT INTO files (item_id, kind, path, language, lines, note, sha256, cfg_hash, digest) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*values, hash_rows(rows)),
        ).lastrowid
        first = self.next_chunk
        chunks = [
            (
                *(first + n, each.chunk_id, file, n, each.kind, each.name, each.context, each.start, each.end),
                *(each.pages, self._pack(each.text)),
            )
            for n, each in enumerate(rows.chunks)
        ]
        self._connection.executemany(f"INSERT INTO chunks VALUES ({', '.join('?' * 11)})", chunks)
        self.next_chunk += len(chunks)
        self._buffer.add(first, count_terms(rows))

    def invert(self) -> None:
        """Invert the terms of all chunks."""
        self._buffer.invert(self._connection)

    def _pack(self, text: str) -> bytes:
        """Compress a text, with a dictionary once there are enough of them to make one."""
        content = text.encode()
        if self._samples is not None:
            self._samples.append(content[:_SAMPLE_BYTES])
            if len(self._samples) == _SAMPLES:
                self._train(self._samples)
                self._samples = None
        packed: bytes = self._compressor.compress(content, self._compressor.FLUSH_FRAME)
        return packed

    def _train(self, samples: list[bytes]) -> None:
        zstd = load_zstd()
        dictionary = zstd.train_dict(samples, _DICTIONARY_BYTES_MAX)
        self._connection.execute("INSERT INTO dictionaries VALUES (1, ?)", (dictionary.dict_content,))
        self._compressor = zstd.ZstdCompressor(level=_LEVEL, zstd_dict=dictionary.as_digested_dict)


def hash_content(connection: sqlite3.Connection) -> str:
    """A hash over all files."""
    result = sha256()
    for row in connection.execute("SELECT item_id, digest FROM files ORDER BY item_id"):
        result.update("\0".join(row).encode())
    return result.hexdigest()
