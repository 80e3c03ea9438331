"""Copy vectors from the files of the published index."""

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import cached_property
from typing import IO

import numpy as np

from inorder.index.schema import read_meta

from .documents import MatrixRows
from .files import MatrixFile
from .row_chunks import ChunkIds, find_narrow_type, read_matrix_chunks

_COPIED_ROWS = 512
"""Rows that are copied at once."""


class StoredRows:
    """The rows of some files, to copy vectors from. Nothing is copied from a file that is not as it was written: an
    altered vector in a new file would no longer be noticed."""

    def __init__(self, connection: sqlite3.Connection, files: Sequence[MatrixFile]) -> None:
        self._files = [file for file in files if not file.find_problem() and not file.is_altered()]
        self.is_whole = len(self._files) == len(files)
        """Whether all files are as they were written."""
        self._provider = read_meta(connection, "vectors_provider")
        self._chunks = read_matrix_chunks(connection, self._files, find_narrow_type(connection))
        self._starts = np.cumsum([0, *(file.shape[0] for file in self._files)])
        """The number of the first row of each file, when the rows of all are numbered together."""
        self._by_chunk = np.argsort(self._chunks).astype(self._chunks.dtype)
        """The rows in the order of their chunks."""
        self._resources = ExitStack()

    def find_rows(self, chunks: ChunkIds) -> ChunkIds:
        """The row of each of these chunks; -1: it has none. The chunks of a document that has changed since have other
        ids."""
        if not len(self._by_chunk):
            return np.full(len(chunks), -1, np.int64)
        known = chunks.astype(self._chunks.dtype)  # the same type: the other array would be converted
        at = np.searchsorted(self._chunks, known, sorter=self._by_chunk)
        rows = self._by_chunk[np.minimum(at, len(self._by_chunk) - 1)]
        return np.where(self._chunks[rows] == known, rows, -1).astype(np.int64)

    def list_alive(self) -> ChunkIds:
        """The rows whose chunks were not removed."""
        return np.flatnonzero(self._chunks >= 0)

    def read(self, rows: ChunkIds) -> Iterator[MatrixRows]:
        """Yield these rows in blocks. They are read, not mapped: a process is charged for the pages of a file that it
        has mapped."""
        owners = np.searchsorted(self._starts, rows, "right") - 1
        ends = np.flatnonzero((np.diff(rows) != 1) | (np.diff(owners) != 0)) + 1
        for run in np.split(rows, ends) if len(rows) else ():
            owner = int(np.searchsorted(self._starts, run[0], "right")) - 1
            width = self._files[owner].shape[1]
            for start in range(0, len(run), _COPIED_ROWS):
                block = run[start : start + _COPIED_ROWS]
                at = int(block[0] - self._starts[owner])
                raw = os.pread(self._opened[owner].fileno(), 4 * width * len(block), 4 * width * at)
                yield MatrixRows(raw, width, self._chunks[block], self._provider)

    @cached_property
    def _opened(self) -> list[IO[bytes]]:
        return [self._resources.enter_context(open(file.path, "rb")) for file in self._files]

    def close(self) -> None:
        """Close the files. Idempotent."""
        self._resources.close()
