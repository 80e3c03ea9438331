"""Copy vectors from files."""

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import cached_property
from typing import IO

import numpy as np

from .files import MatrixFile
from .row_chunks import ChunkIds, read_matrix_chunks
from .writing import MatrixRows

_COPIED_ROWS = 512
"""Rows that are copied at once."""


class StoredRows:
    """The rows of some files, to copy vectors from. Nothing is copied from a file that is not as it was written: an
    altered vector in a new file would no longer be noticed."""

    def __init__(self, connection: sqlite3.Connection, files: Sequence[MatrixFile]) -> None:
        self._files = [file for file in files if not file.find_problem() and not file.is_altered()]
        self.is_whole = len(self._files) == len(files)
        """Whether all files are as they were written."""
        self._chunks = read_matrix_chunks(connection, self._files)
        self._starts = np.cumsum([0, *(file.shape[0] for file in self._files)])
        """The number of the first row of each file, when the rows of all are numbered together."""
        self._resources = ExitStack()

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
                yield MatrixRows(raw, width, self._chunks[block])

    @cached_property
    def _opened(self) -> list[IO[bytes]]:
        return [self._resources.enter_context(open(file.path, "rb")) for file in self._files]

    def close(self) -> None:
        """Close the files. Idempotent."""
        self._resources.close()
