"""Dense vectors of the documents in the index: one matrix in a file, and the database that names its rows.

The file is named after its content, so the database, which names the file, and the matrix never disagree: a new matrix
is written first, then the database is published, then the old matrix goes.
"""

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path

import numpy as np
import numpy.typing as npt

from inorder.documents.embed.storage import read_dense
from inorder.documents.parquet import footer_of
from inorder.host.filesystem import SystemFilesystem

from .connection import meta
from .worker import dense_beside

_PREFIX, _ENDING = "index.vectors.", ".f32"
_SETTINGS = ("vectors_file", "vectors_width", "vectors_count", "vectors_provider")


def write_matrix(connection: sqlite3.Connection, data: str) -> None:
    """The vectors of every document that has some, in the order of the documents; and which chunk each row is of."""
    connection.execute("DROP TABLE IF EXISTS vectors")
    connection.execute("CREATE TABLE vectors (row INTEGER PRIMARY KEY, chunk INTEGER NOT NULL UNIQUE)")
    temporary = f"{data}/{_PREFIX}new"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(temporary)
    file = SystemFilesystem().open(temporary)
    digest, width, provider, count = blake2b(digest_size=12), 0, "", 0
    try:
        for item_id, matrix, chunks in _documents(connection, data):
            footer = footer_of(dense_beside(data, item_id))
            if count and (matrix.shape[1], footer.get("spec", "")) != (width, provider):
                continue  # of another provider, which is about to be replaced
            width, provider = matrix.shape[1], footer.get("spec", "")
            raw = np.ascontiguousarray(matrix, dtype="<f4").tobytes()
            digest.update(raw)
            file.append(raw)
            connection.executemany("INSERT INTO vectors VALUES (?, ?)", enumerate(chunks, count))
            count += len(chunks)
        file.sync()
    finally:
        file.close()
    name = f"{_PREFIX}{digest.hexdigest()}{_ENDING}" if count else ""
    if count:
        SystemFilesystem().rename(temporary, f"{data}/{name}")
    else:
        os.unlink(temporary)
    for setting, value in zip(_SETTINGS, (name, width, count, provider), strict=True):
        connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (setting, str(value)))


def _documents(connection: sqlite3.Connection, data: str) -> Iterator[tuple[str, npt.NDArray[np.float32], list[int]]]:
    """Item id, vectors and chunks of each document with vectors."""
    query = "SELECT id, item_id FROM files WHERE kind = 'document' ORDER BY item_id"
    for file, item_id in connection.execute(query).fetchall():
        path = dense_beside(data, item_id)
        if not os.path.exists(path):
            continue
        known = dict(connection.execute("SELECT chunk_id, id FROM chunks WHERE file = ?", (file,)).fetchall())
        ids, matrix = read_dense(path)
        kept = [place for place, chunk_id in enumerate(ids) if chunk_id in known]
        if kept:
            yield item_id, matrix[kept], [known[ids[place]] for place in kept]


def remove_old_matrices(data: str, kept: str) -> None:
    """Those that the published database does not name."""
    for path in Path(data).glob(f"{_PREFIX}*"):
        if path.name != kept:
            with contextlib.suppress(OSError):
                path.unlink()


class Matrix:
    """The vectors of a published database, mapped and not read."""

    def __init__(self, connection: sqlite3.Connection, data: str) -> None:
        self.provider = meta(connection, "vectors_provider")
        name = meta(connection, "vectors_file")
        count, width = int(meta(connection, "vectors_count") or 0), int(meta(connection, "vectors_width") or 0)
        self.is_there = bool(name) and os.path.exists(f"{data}/{name}")
        self._rows: npt.NDArray[np.float32] | None = None
        if self.is_there:
            self._rows = np.memmap(f"{data}/{name}", dtype="<f4", mode="r", shape=(count, width))

    def nearest(self, vector: npt.NDArray[np.float32], count: int) -> list[tuple[int, float]]:
        """Rows that are nearest, and how near; the lower row first where two are as near."""
        if self._rows is None:
            return []
        near = self._rows @ vector
        kept = min(count, len(near))
        best = np.argpartition(-near, kept - 1)[:kept]
        return [(int(row), float(near[row])) for row in sorted(best, key=lambda row: (-near[row], row))]
