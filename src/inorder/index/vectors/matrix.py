"""The vectors of a published index, to be searched and exported."""

import os
import sqlite3
import weakref
from collections.abc import Sequence
from functools import cached_property
from typing import IO

import numpy as np
import numpy.typing as npt

from inorder.host.regular_file import open_regular
from inorder.index.block_sums import find_damaged_vectors
from inorder.index.schema import read_meta

from .row_chunks import ChunkIds, read_matrix_chunks
from .table import list_matrix_files

Vectors = npt.NDArray[np.float32]
_COMPARED_ROWS = 4096
"""Rows that are compared with several vectors at once."""


def compare_rows(rows: Vectors, vector: Vectors) -> Vectors:
    """The similarity of each row to `vector`. It does not depend on the other rows, or on their order: a product of a
    matrix and a vector adds in another order in the last rows of a block."""
    found: Vectors = np.matmul(rows[:, np.newaxis, :], vector[:, np.newaxis])[:, 0, 0]
    return found


class VectorMatrix:
    """The vectors of a published index. The rows of all files are numbered together."""

    def __init__(self, connection: sqlite3.Connection, data: str) -> None:
        self.provider = read_meta(connection, "vectors_provider")
        self._data = data
        self._files = files = list_matrix_files(connection, data)
        self._reasons = self._find_problems()
        self._damage: list[str] = []
        self.problem = self._describe(self._reasons)
        """Why the vectors of this index cannot be used; empty if they can, as far as it is known, or if it has none."""
        self.is_available = bool(files) and not self.problem
        self._opened: list[IO[bytes]] = []
        self.chunks = np.zeros(0, np.int64)
        """The ids of the chunks of all rows; negative if the chunk was removed."""
        self._starts = np.cumsum([0, *(file.shape[0] for file in files)])
        if self.is_available:
            for file in files:
                opened = open_regular(file.path)  # it stays readable when a run replaces it
                weakref.finalize(self, opened.close)
                self._opened.append(opened)
            self.chunks = read_matrix_chunks(connection, files)

    def check(self) -> None:
        """Compare the files with their checksums, before vectors are compared. What differs becomes the problem."""
        if self.is_available:
            self._damage = self._find_damage()
            self.problem = self._describe(self._damage)
            self.is_available = not self.problem

    def is_current(self) -> bool:
        """Whether the files are as they were when they were opened."""
        return self._find_problems() == self._reasons and (not any(self._damage) or self._find_damage() == self._damage)

    def _find_problems(self) -> list[str]:
        return [file.find_problem() for file in self._files]

    def _find_damage(self) -> list[str]:
        damaged = dict(find_damaged_vectors(self._data))
        return [damaged.get(file.name, "") for file in self._files]

    def _describe(self, reasons: Sequence[str]) -> str:
        lost = next((f"{file.path} {reason}" for file, reason in zip(self._files, reasons, strict=True) if reason), "")
        return f"{lost}; run `inorder index` to write it again" if lost else ""

    def compare(self, vector: Vectors, rows: ChunkIds) -> Vectors:
        """The similarity of some rows to `vector`. A few rows are read; if they are most of all, the files are mapped
        into memory and stay there."""
        if not len(rows) or not self._opened:
            return np.zeros(0, np.float32)
        if 2 * len(rows) > len(self.chunks):
            found: Vectors = np.concatenate([compare_rows(mapped, vector) for mapped in self._mapped])[rows]
            return found
        raw = b"".join(self.read(rows))
        return compare_rows(np.frombuffer(raw, "<f4").reshape(len(rows), -1), vector)

    def find_highest(self, vectors: Vectors, rows: ChunkIds) -> float:
        """The highest similarity of any of these rows to any of `vectors`."""
        if not len(rows) or not self._opened:
            return 0.0
        blocks = (rows[at : at + _COMPARED_ROWS] for at in range(0, len(rows), _COMPARED_ROWS))
        found = (np.frombuffer(b"".join(self.read(block)), "<f4").reshape(len(block), -1) for block in blocks)
        return max(float((each @ vectors.T).max()) for each in found)

    def read(self, rows: ChunkIds) -> list[bytes]:
        """The vectors of some rows, each as 32-bit floats in little-endian order."""
        if not self._opened:
            return []
        size = 4 * self._files[0].shape[1]
        owners = np.searchsorted(self._starts, rows, "right") - 1
        places = zip(owners.tolist(), (rows - self._starts[owners]).tolist(), strict=True)
        numbers = [opened.fileno() for opened in self._opened]
        return [os.pread(numbers[owner], size, size * at) for owner, at in places]

    @cached_property
    def _mapped(self) -> list[Vectors]:
        return [
            np.memmap(opened, dtype="<f4", mode="r", shape=file.shape)
            for opened, file in zip(self._opened, self._files, strict=True)
        ]
