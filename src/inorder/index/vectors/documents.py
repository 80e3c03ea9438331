"""The vectors of documents, as stage `embed` has stored them."""

import sqlite3
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from inorder.documents.layout import find_stored, find_vectors, get_vector_kind
from inorder.stage.store.inputs import Input

from .row_chunks import BLOCK_ROWS, ChunkIds

if TYPE_CHECKING:
    from inorder.documents.embed.stored import DenseVectors

_DOCUMENTS, _BYTES = 64, 2**20
"""Documents whose vectors are read together: no more than this, and no more bytes, unless one has them alone."""
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
    found = connection.execute(f"SELECT DISTINCT item_id, file {_NEW_CHUNKS} ORDER BY item_id", (first,))
    while documents := found.fetchmany(_DOCUMENTS):
        yield from _read_vectors(connection, data, documents)


def read_documents(connection: sqlite3.Connection, data: str, files: Sequence[int]) -> Iterator[MatrixRows]:
    """The vectors of those of these documents that have vectors."""
    for start in range(0, len(files), _DOCUMENTS):
        documents = []
        for file in files[start : start + _DOCUMENTS]:
            [item_id] = connection.execute("SELECT item_id FROM files WHERE id = ?", (file,)).fetchone()
            documents.append((item_id, file))
        yield from _read_vectors(connection, data, documents)


def _read_vectors(
    connection: sqlite3.Connection, data: str, documents: Sequence[tuple[str, int]]
) -> Iterator[MatrixRows]:
    """The vectors of a few documents. Those of the store are read together, unless they are large."""
    stored = find_stored(data, get_vector_kind("dense"), [item_id for item_id, _ in documents])
    pending: list[tuple[int, Input]] = []
    size = 0
    for item_id, file in documents:
        found = stored.get(item_id) or find_vectors(data, "dense", item_id)
        if found is None:
            continue
        if size + found.size > _BYTES:
            yield from _load_rows(connection, pending)
            pending, size = [], 0
        pending.append((file, found.source))
        size += found.size
    yield from _load_rows(connection, pending)


def _load_rows(connection: sqlite3.Connection, found: Sequence[tuple[int, Input]]) -> Iterator[MatrixRows]:
    """The rows of these files and their vectors."""
    if not found:
        return
    from inorder.documents.embed.stored import load_dense_tables  # with PyArrow, which an index of code does not need

    tables = load_dense_tables([source for _, source in found])
    for (file, _), vectors in zip(found, tables, strict=True):
        yield from _select_rows(connection, file, vectors)


def _select_rows(connection: sqlite3.Connection, file: int, vectors: "DenseVectors") -> Iterator[MatrixRows]:
    """Those vectors of a document whose chunks are in the database."""
    row_of = dict(connection.execute("SELECT chunk_id, id FROM chunks WHERE file = ? ORDER BY number", (file,)))
    ids, matrix, _, spec = vectors
    kept = [at for at, chunk_id in enumerate(ids) if chunk_id in row_of]
    if kept:
        raw = np.ascontiguousarray(matrix[kept], "<f4").tobytes()
        yield MatrixRows(raw, matrix.shape[1], np.array([row_of[ids[at]] for at in kept], np.int64), spec)
