"""The vectors of documents, as stage `embed` has stored them."""

import sqlite3
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from inorder.documents.layout import find_vectors

from .row_chunks import BLOCK_ROWS, ChunkIds

_ALL_CHUNKS = "FROM files JOIN chunks ON file = files.id WHERE files.kind = 'document'"
_NEW_CHUNKS = "FROM chunks CROSS JOIN files ON files.id = file WHERE chunks.id >= ? AND files.kind = 'document'"


class MatrixRows(NamedTuple):
    """Vectors that follow each other."""

    raw: bytes
    """As 32-bit floats in little-endian order."""
    width: int
    chunks: ChunkIds
    """The chunk of each."""
    provider: str


class ChunkBlock:
    """The chunks of some documents, in the order of the item ids, and the file of each."""

    def __init__(self, table: ChunkIds) -> None:
        self._files, self.chunks = table[:, 0], table[:, 1]

    def list_new(self, rows: ChunkIds) -> Iterator[tuple[int, int]]:
        """The files of which no chunk has a row, each with the place of its first chunk. `rows` has the row of each
        chunk, or -1."""
        starts = np.flatnonzero(np.diff(self._files, prepend=-1))
        starts = starts[np.maximum.reduceat(rows, starts) < 0]
        yield from zip(self._files[starts].tolist(), starts.tolist(), strict=True)


def count_chunks(connection: sqlite3.Connection) -> int:
    """How many chunks all documents have."""
    return int(connection.execute(f"SELECT COUNT(*) {_ALL_CHUNKS}").fetchone()[0])


def read_chunks(connection: sqlite3.Connection) -> Iterator[ChunkBlock]:
    """The chunks of all documents, in blocks of whole documents."""
    found = connection.execute(f"SELECT file, chunks.id {_ALL_CHUNKS} ORDER BY item_id, number")
    table = np.zeros((0, 2), np.int64)
    while rows := found.fetchmany(BLOCK_ROWS):
        table = np.concatenate([table, np.array(rows, np.int64)])
        end = int(np.searchsorted(table[:, 0] == table[-1, 0], True))
        if end:
            yield ChunkBlock(table[:end])
        table = table[end:]
    if len(table):
        yield ChunkBlock(table)


def count_new_chunks(connection: sqlite3.Connection, first: int) -> int:
    """How many chunks documents have that were added from the chunk `first` on."""
    return int(connection.execute(f"SELECT COUNT(*) {_NEW_CHUNKS}", (first,)).fetchone()[0])


def read_new_documents(connection: sqlite3.Connection, data: str, first: int) -> Iterator[MatrixRows]:
    """The vectors of documents that were added from the chunk `first` on, in the order of the item ids."""
    for _, file in connection.execute(f"SELECT DISTINCT item_id, file {_NEW_CHUNKS} ORDER BY item_id", (first,)):
        yield from read_document(connection, data, file)


def read_document(connection: sqlite3.Connection, data: str, file: int) -> Iterator[MatrixRows]:
    """The vectors of a document, if it has vectors."""
    [item_id] = connection.execute("SELECT item_id FROM files WHERE id = ?", (file,)).fetchone()
    found = find_vectors(data, "dense", item_id)
    if found is None:
        return
    from inorder.documents.embed.stored import load_dense  # with PyArrow, which an index of code does not need

    row_of = dict(connection.execute("SELECT chunk_id, id FROM chunks WHERE file = ? ORDER BY number", (file,)))
    ids, matrix, _, spec = load_dense(found.source)
    kept = [at for at, chunk_id in enumerate(ids) if chunk_id in row_of]
    if kept:
        raw = np.ascontiguousarray(matrix[kept], "<f4").tobytes()
        yield MatrixRows(raw, matrix.shape[1], np.array([row_of[ids[at]] for at in kept], np.int64), spec)
