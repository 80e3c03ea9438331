"""Write a new file with vectors."""

import sqlite3
from typing import NamedTuple

from .files import PREFIX, MatrixWriter
from .row_chunks import ChunkIds, RowList


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
