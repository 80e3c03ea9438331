"""The chunk of each row of the files with vectors."""

import sqlite3
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from inorder.index.lexical.schema import DamagedIndexError
from inorder.index.vector_files import MatrixFile

from .table import remove_file

ChunkIds = npt.NDArray[np.int64]
DEAD = -1
"""In place of the chunk of a row: it was removed."""
BLOCK_ROWS = 512
"""Rows that are read or written at once: about a megabyte of vectors."""


def read_chunk_blocks(connection: sqlite3.Connection, file: MatrixFile) -> Iterator[ChunkIds]:
    """The chunks of the rows of a file in blocks. Raises DamagedIndexError if there is not one for each row."""
    _check_chunks(connection, file)
    with connection.blobopen("vectors", "chunks", file.id, readonly=True) as blob:
        for _, size in _divide(file):
            yield np.frombuffer(blob.read(8 * size), "<i8")


def _check_chunks(connection: sqlite3.Connection, file: MatrixFile) -> None:
    stored = connection.execute(
        "SELECT length(chunks), typeof(chunks) FROM vectors WHERE rowid = ?", (file.id,)
    ).fetchone()
    if stored != (8 * file.shape[0], "blob"):
        raise DamagedIndexError(f"the table `vectors` does not have the chunks of {file.shape[0]} vectors")


def _divide(file: MatrixFile) -> Iterator[tuple[int, int]]:
    """The first row of each block, and the number of its rows."""
    for start in range(0, file.shape[0], BLOCK_ROWS):
        yield start, min(BLOCK_ROWS, file.shape[0] - start)


def read_matrix_chunks(connection: sqlite3.Connection, files: Sequence[MatrixFile]) -> ChunkIds:
    """The chunks of the rows of all these files, one file after the other."""
    blocks = (chunks for file in files for chunks in read_chunk_blocks(connection, file))
    return np.concatenate([np.zeros(0, np.int64), *blocks])


def mark_dead(connection: sqlite3.Connection, files: Sequence[MatrixFile], removed: ChunkIds) -> bool:
    """Mark the rows of removed chunks, and leave out files that have no others. Returns whether there were any.
    `removed` has all chunks that were removed since the last time, in ascending order."""
    if not files or not len(removed):
        return False
    marked = [_mark_rows(connection, file, removed) for file in files]
    for file, rows in zip(files, marked, strict=True):
        if file.dead + rows == file.shape[0]:
            remove_file(connection, file)
        elif rows:
            connection.execute("UPDATE vector_files SET dead = dead + ? WHERE id = ?", (rows, file.id))
    return any(marked)


def _mark_rows(connection: sqlite3.Connection, file: MatrixFile, removed: ChunkIds) -> int:
    """Mark the rows of these chunks, which are in ascending order. Returns how many there were."""
    _check_chunks(connection, file)
    count = 0
    with connection.blobopen("vectors", "chunks", file.id) as blob:
        for start, size in _divide(file):
            chunks = np.frombuffer(blob.read(8 * size), "<i8").copy()
            at = np.searchsorted(removed, chunks)
            is_removed = removed[np.minimum(at, len(removed) - 1)] == chunks
            if is_removed.any():
                chunks[is_removed] = DEAD
                blob.seek(8 * start)
                blob.write(chunks.tobytes())
                count += int(is_removed.sum())
    return count


class RowList:
    """The chunk of each row of a new file, written to the table `vectors` in place: it is as long as the file."""

    def __init__(self, connection: sqlite3.Connection, count_max: int) -> None:
        self._connection = connection
        self._size = 8 * count_max
        cursor = connection.execute("INSERT INTO vectors (chunks) VALUES (zeroblob(?))", (self._size,))
        self._id = cursor.lastrowid or 0
        self._blob = connection.blobopen("vectors", "chunks", self._id)
        self._pending = bytearray()
        self.count = 0

    def add(self, chunks: ChunkIds) -> None:
        """Add the chunks of further rows."""
        self._pending += chunks.astype("<i8").tobytes()
        self.count += len(chunks)
        if len(self._pending) >= 8 * BLOCK_ROWS:
            self._flush()

    def finish(self, name: str) -> None:
        """Write the rest, and name the file."""
        self._flush()
        self.close()
        if 8 * self.count < self._size:  # there are documents without vectors
            query = "UPDATE vectors SET chunks = substr(chunks, 1, ?) WHERE id = ?"
            self._connection.execute(query, (8 * self.count, self._id))
        self._connection.execute("INSERT INTO vector_files VALUES (?, ?, ?, 0)", (self._id, name, self.count))

    def discard(self) -> None:
        """Remove the list: there is no such file."""
        self.close()
        self._connection.execute("DELETE FROM vectors WHERE id = ?", (self._id,))

    def close(self) -> None:
        """Write no more. Idempotent."""
        self._blob.close()

    def _flush(self) -> None:
        self._blob.write(self._pending)
        self._pending.clear()
