"""Write a new file with vectors, and read them again to merge files."""

import sqlite3
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from inorder.host.regular_file import open_regular
from inorder.index.vector_files import PREFIX, MatrixFile, MatrixWriter

from .row_chunks import ChunkIds, RowList, read_chunk_blocks


class MatrixRows(NamedTuple):
    """Vectors that follow each other."""

    raw: bytes
    """As 32-bit floats in little-endian order."""
    width: int
    chunks: ChunkIds
    """The chunk of each."""


class NewMatrixFile:
    """A new file, and the chunks of its rows."""

    def __init__(self, connection: sqlite3.Connection, data: str, count_max: int) -> None:
        self._data = data
        self._writer = MatrixWriter(f"{data}/{PREFIX}new")
        self._chunks = RowList(connection, count_max)

    @property
    def count(self) -> int:
        """The number of its rows."""
        return self._chunks.count

    def add(self, rows: MatrixRows) -> None:
        """Write further rows."""
        self._writer.append(rows.raw)
        self._chunks.add(rows.chunks)

    def finish(self) -> None:
        """Make the file durable, and name it in the database."""
        self._chunks.finish(self._writer.finish(self._data))

    def discard(self) -> None:
        """Remove the file."""
        self._chunks.discard()
        self._writer.discard()

    def close(self) -> None:
        """Close the file. Idempotent."""
        self._chunks.close()
        self._writer.close()


def read_alive_rows(connection: sqlite3.Connection, file: MatrixFile) -> Iterator[MatrixRows]:
    """Yield the vectors of a file whose chunks were not removed, in blocks."""
    width = file.shape[1]
    with open_regular(file.path) as opened:
        for chunks in read_chunk_blocks(connection, file):
            rows = np.frombuffer(opened.read(4 * width * len(chunks)), "<f4").reshape(len(chunks), width)
            alive = chunks >= 0
            if alive.any():
                yield MatrixRows(rows[alive].tobytes(), width, chunks[alive])
