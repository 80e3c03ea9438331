"""The dense vectors of the documents in an index: one matrix in a file of its own, and the chunk of each of its rows.

The file is named after its content, and the database names the file, so both always match: a new matrix is written and
made durable first, then the database is published, then the old matrix is removed. A matrix that was lost or cut is
written again by the next run of stage `index`.
"""

import contextlib
import os
import sqlite3
import weakref
from collections.abc import Generator, Iterator
from functools import cached_property
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from inorder.documents.layout import find_vectors

from .lexical.schema import DamagedIndexError
from .matrix_file import PREFIX, MatrixCheck, MatrixFile, MatrixWriter
from .schema import has_table, read_meta, write_meta

_Rows = npt.NDArray[np.float32]
_BLOCK_ROWS = 4096
"""Chunks that are looked up at once."""
_NARROW_END = 2**31
_COPIED_ROWS = 512
"""Rows of the old matrix that are copied at once."""
_DOCUMENT_CHUNKS = "FROM files JOIN chunks ON file = files.id WHERE files.kind = 'document'"
_SETTINGS = ("vectors_file", "vectors_width", "vectors_count", "vectors_provider")


def write_matrix(connection: sqlite3.Connection, data: str, check: MatrixCheck) -> None:
    """Write the vectors of all documents to one file, in the order of the item ids, and the ids of their chunks to the
    database. Vectors of documents that have not changed are copied from the file before, if `check` finds that it is
    not altered. It stays if none has changed."""
    old = _OldMatrix(connection, data)
    if old.has_exactly(connection, data):
        return
    old.discard_if_altered(check)
    rows = _RowList(connection)
    width, provider = 0, ""
    with contextlib.closing(MatrixWriter(f"{data}/{PREFIX}new")) as writer:
        for found in _read_documents(connection, data, old):
            if rows.count and (found.width, found.provider) != (width, provider):
                continue  # made by another provider, and not yet replaced
            width, provider = found.width, found.provider
            writer.append(found.raw)
            rows.add(found.chunks)
        rows.finish()
        name = writer.finish(data) if rows.count else ""
        if not rows.count:
            writer.discard()
    for setting, value in zip(_SETTINGS, (name, width, rows.count, provider), strict=True):
        write_meta(connection, setting, str(value))


class _MatrixRows(NamedTuple):
    """Vectors that follow each other."""

    raw: bytes
    """As 32-bit floats in little-endian order."""
    width: int
    chunks: npt.NDArray[np.int64]
    """The chunk of each."""
    provider: str


class _RowList:
    """The chunk of each row of a new matrix, written to the table `vectors` in place: it is as long as the matrix."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        connection.execute("DROP TABLE IF EXISTS vectors")
        connection.execute("CREATE TABLE vectors (chunks BLOB NOT NULL)")
        [chunks] = connection.execute(f"SELECT COUNT(*) {_DOCUMENT_CHUNKS}").fetchone()
        self._size = 8 * chunks
        number = connection.execute("INSERT INTO vectors VALUES (zeroblob(?))", (self._size,)).lastrowid
        self._blob = connection.blobopen("vectors", "chunks", number or 0)
        self._connection = connection
        self._pending = bytearray()
        self.count = 0

    def add(self, chunks: npt.NDArray[np.int64]) -> None:
        """Add the chunks of further rows."""
        self._pending += chunks.astype("<i8").tobytes()
        self.count += len(chunks)
        if len(self._pending) >= 8 * _BLOCK_ROWS:
            self._flush()

    def finish(self) -> None:
        """Write the rest."""
        self._flush()
        self._blob.close()
        if 8 * self.count < self._size:  # there are documents without vectors
            self._connection.execute("UPDATE vectors SET chunks = substr(chunks, 1, ?)", (8 * self.count,))

    def _flush(self) -> None:
        self._blob.write(self._pending)
        self._pending.clear()


class _OldMatrix:
    """The matrix of the published index, to copy vectors from. Empty if there is none, or it is damaged."""

    def __init__(self, connection: sqlite3.Connection, data: str) -> None:
        self._file = MatrixFile(connection, data)
        self._provider = read_meta(connection, "vectors_provider")
        self._is_whole = has_table(connection, "vectors") and not self._file.find_problem()
        count = self._file.shape[0] if self._is_whole else 0
        self._chunks = read_matrix_chunks(connection, count, _narrow_type(connection))
        self._by_chunk = np.argsort(self._chunks).astype(self._chunks.dtype)
        """The rows in the order of their chunks."""

    def has_exactly(self, connection: sqlite3.Connection, data: str) -> bool:
        """Whether the matrix has the vectors of all documents, and no others."""
        if not self._is_whole:
            return False
        known = 0
        with contextlib.closing(_read_chunks(connection)) as blocks:
            for block in blocks:
                rows = self.find_rows(block.chunks)
                new = (_read_item_id(connection, file) for file, _ in block.list_new(rows))
                if any(find_vectors(data, "dense", item_id) is not None for item_id in new):
                    return False
                known += int((rows >= 0).sum())
        return known == len(self._by_chunk)

    def discard_if_altered(self, check: MatrixCheck) -> None:
        """Copy nothing from a file with other content than was written: it would no longer be noticed."""
        if len(self._by_chunk) and check.is_altered():
            self._by_chunk = self._by_chunk[:0]

    def find_rows(self, chunks: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The row of each of these chunks; -1: it has none. The chunks of a document that has changed since have other
        ids."""
        if not len(self._by_chunk):
            return np.full(len(chunks), -1, np.int64)
        known = chunks.astype(self._chunks.dtype)  # the same type: the other array would be converted
        at = np.searchsorted(self._chunks, known, sorter=self._by_chunk)
        rows = self._by_chunk[np.minimum(at, len(self._by_chunk) - 1)]
        return np.where(self._chunks[rows] == known, rows, -1).astype(np.int64)

    def read(self, rows: npt.NDArray[np.int64]) -> Iterator[_MatrixRows]:
        """Yield these rows in blocks. They are read, not mapped: a process is charged for the pages of a file that it
        has mapped."""
        width = self._file.shape[1]
        for run in np.split(rows, np.flatnonzero(np.diff(rows) != 1) + 1) if len(rows) else ():
            for start in range(0, len(run), _COPIED_ROWS):
                block = run[start : start + _COPIED_ROWS]
                raw = os.pread(self._opened.fileno(), 4 * width * len(block), 4 * width * int(block[0]))
                yield _MatrixRows(raw, width, self._chunks[block], self._provider)

    @cached_property
    def _opened(self) -> IO[bytes]:
        opened = open(self._file.path, "rb")  # noqa: SIM115 - it is read until all vectors are written
        weakref.finalize(self, opened.close)
        return opened


class _ChunkBlock:
    """The chunks of some documents, in the order of the item ids, and the file of each."""

    def __init__(self, table: npt.NDArray[np.int64]) -> None:
        self._files, self.chunks = table[:, 0], table[:, 1]

    def list_new(self, rows: npt.NDArray[np.int64]) -> Iterator[tuple[int, int]]:
        """The files of which no chunk has a row, each with the place of its first chunk. `rows` has the row of each
        chunk, or -1."""
        starts = np.flatnonzero(np.diff(self._files, prepend=-1))
        starts = starts[np.maximum.reduceat(rows, starts) < 0]
        yield from zip(self._files[starts].tolist(), starts.tolist(), strict=True)


def _read_chunks(connection: sqlite3.Connection) -> Generator[_ChunkBlock, None, None]:
    """The chunks of all documents, in blocks of whole documents."""
    found = connection.execute(f"SELECT file, chunks.id {_DOCUMENT_CHUNKS} ORDER BY item_id, number")
    table = np.zeros((0, 2), np.int64)
    while rows := found.fetchmany(_BLOCK_ROWS):
        table = np.concatenate([table, np.array(rows, np.int64)])
        end = int(np.searchsorted(table[:, 0] == table[-1, 0], True))
        if end:
            yield _ChunkBlock(table[:end])
        table = table[end:]
    if len(table):
        yield _ChunkBlock(table)


def _read_item_id(connection: sqlite3.Connection, file: int) -> str:
    [item_id] = connection.execute("SELECT item_id FROM files WHERE id = ?", (file,)).fetchone()
    return str(item_id)


def _read_documents(connection: sqlite3.Connection, data: str, old: _OldMatrix) -> Iterator[_MatrixRows]:
    """The vectors of all documents that have vectors, in the order of their item ids."""
    for block in _read_chunks(connection):
        rows = old.find_rows(block.chunks)
        before = 0
        for file, start in block.list_new(rows):
            yield from old.read(_keep_known(rows[before:start]))
            before = start
            yield from _read_new(connection, data, file)
        yield from old.read(_keep_known(rows[before:]))


def _keep_known(rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return rows[rows >= 0]


def _read_new(connection: sqlite3.Connection, data: str, file: int) -> Iterator[_MatrixRows]:
    """The vectors of a document that the old matrix does not have, if it has vectors."""
    found = find_vectors(data, "dense", _read_item_id(connection, file))
    if found is None:
        return
    from inorder.documents.embed.stored import load_dense  # with PyArrow, which an index of code does not need

    row_of = dict(connection.execute("SELECT chunk_id, id FROM chunks WHERE file = ? ORDER BY number", (file,)))
    ids, matrix, _, spec = load_dense(found.source)
    kept = [at for at, chunk_id in enumerate(ids) if chunk_id in row_of]
    if kept:
        raw = np.ascontiguousarray(matrix[kept], "<f4").tobytes()
        yield _MatrixRows(raw, matrix.shape[1], np.array([row_of[ids[at]] for at in kept], np.int64), spec)


def read_matrix_chunks(
    connection: sqlite3.Connection, count: int, type_: type[np.int64 | np.int32] = np.int64
) -> npt.NDArray[np.int64]:
    """The ids of the chunks of all rows of the matrix. Raises DamagedIndexError if there are not `count` of them."""
    found: npt.NDArray[Any] = np.empty(count, type_)
    for start, chunks in read_chunk_blocks(connection, count):
        found[start : start + len(chunks)] = chunks
    return found


def read_chunk_blocks(connection: sqlite3.Connection, count: int) -> Iterator[tuple[int, npt.NDArray[np.int64]]]:
    """The same in blocks, each with the number of its first row."""
    if not count:
        return
    stored = connection.execute("SELECT rowid, length(chunks), typeof(chunks) FROM vectors").fetchone()
    if stored is None or stored[1:] != (8 * count, "blob"):
        raise DamagedIndexError(f"the table `vectors` does not have the chunks of {count} vectors")
    with connection.blobopen("vectors", "chunks", stored[0], readonly=True) as blob:
        for start in range(0, count, _BLOCK_ROWS):
            yield start, np.frombuffer(blob.read(8 * min(_BLOCK_ROWS, count - start)), "<i8")


def _narrow_type(connection: sqlite3.Connection) -> type[np.int64 | np.int32]:
    """The narrowest type for the ids of all chunks."""
    [last] = connection.execute("SELECT COALESCE(MAX(id), 0) FROM chunks").fetchone()
    return np.int32 if last < _NARROW_END else np.int64


class VectorMatrix:
    """The vectors of a published index."""

    def __init__(self, connection: sqlite3.Connection, data: str) -> None:
        self.provider = read_meta(connection, "vectors_provider")
        self._file = file = MatrixFile(connection, data)
        self._reason = reason = file.find_problem()
        self.problem = f"{file.path} {reason}; run `inorder index` to write it again" if reason else ""
        """Why the vectors of this index cannot be used; empty if they can, or if it has none."""
        self.is_available = bool(file.name) and not reason
        self._opened: IO[bytes] | None = None
        self.chunks = np.zeros(0, np.int64)
        """The ids of the chunks of all rows."""
        if self.is_available:
            self._opened = open(file.path, "rb")  # noqa: SIM115 - the file stays readable when a run replaces it
            weakref.finalize(self, self._opened.close)
            self.chunks = read_matrix_chunks(connection, file.shape[0])

    def is_current(self) -> bool:
        """Whether the file is as it was when it was opened."""
        return self._file.find_problem() == self._reason

    def compare(self, vector: _Rows, rows: npt.NDArray[np.int64]) -> _Rows:
        """The similarity of some rows to `vector`. A few rows are read; if they are most of the file, it is mapped into
        memory and stays there."""
        if self._opened is None:
            return np.zeros(0, np.float32)
        if 2 * len(rows) > self._file.shape[0]:
            return (self._all_rows @ vector)[rows]
        raw = b"".join(self.read(rows))
        return np.frombuffer(raw, "<f4").reshape(len(rows), -1) @ vector if raw else np.zeros(0, np.float32)

    def read(self, rows: npt.NDArray[np.int64]) -> list[bytes]:
        """The vectors of some rows, each as 32-bit floats in little-endian order."""
        if self._opened is None:
            return []
        size = 4 * self._file.shape[1]
        number = self._opened.fileno()
        return [os.pread(number, size, size * row) for row in rows.tolist()]

    @cached_property
    def _all_rows(self) -> _Rows:
        return np.memmap(self._opened or self._file.path, dtype="<f4", mode="r", shape=self._file.shape)
