"""The dense vectors of the documents in an index: one matrix in a file of its own, and the chunk of each of its rows.

The file is named after its content, and the database names the file, so both always match: a new matrix is written and
made durable first, then the database is published, then the old matrix is removed. A matrix that was lost or cut is
written again by the next run of stage `index`.
"""

import contextlib
import sqlite3
from array import array
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from inorder.documents.embed.stored import load_dense
from inorder.documents.layout import find_vectors
from inorder.host.filesystem import SystemFilesystem

from .lexical.schema import DamagedIndexError
from .matrix_file import PREFIX, MatrixFile, make_name, new_digest
from .schema import read_meta, write_meta

_Rows = npt.NDArray[np.float32]
_SETTINGS = ("vectors_file", "vectors_width", "vectors_count", "vectors_provider")


def write_matrix(connection: sqlite3.Connection, data: str) -> None:
    """Write the vectors of all documents to one file, in the order of the item ids, and the ids of their
    chunks to the database."""
    connection.execute("DROP TABLE IF EXISTS vectors")
    connection.execute("CREATE TABLE vectors (chunks BLOB NOT NULL)")
    filesystem = SystemFilesystem()
    temporary = f"{data}/{PREFIX}new"
    with contextlib.suppress(FileNotFoundError):
        filesystem.unlink(temporary)
    file = filesystem.open(temporary)
    digest, width, provider, count = new_digest(), 0, "", 0
    rows = array("q")
    try:
        for matrix, chunks, spec in _read_documents(connection, data):
            if count and (matrix.shape[1], spec) != (width, provider):
                continue  # made by another provider, and not yet replaced
            width, provider = matrix.shape[1], spec
            raw = np.ascontiguousarray(matrix, dtype="<f4").tobytes()
            digest.update(raw)
            file.append(raw)
            rows.extend(chunks)
            count = len(rows)
        file.sync()
    finally:
        file.close()
    connection.execute("INSERT INTO vectors VALUES (?)", (np.array(rows, "<i8").tobytes(),))
    name = make_name(digest) if count else ""
    if count:
        filesystem.rename(temporary, f"{data}/{name}")
        filesystem.sync_directory(data)
    else:
        filesystem.unlink(temporary)
    for setting, value in zip(_SETTINGS, (name, width, count, provider), strict=True):
        write_meta(connection, setting, str(value))


def _read_documents(connection: sqlite3.Connection, data: str) -> Iterator[tuple[_Rows, list[int], str]]:
    """The vectors, the rows in `chunks` and the provider of each document that has vectors."""
    query = "SELECT id, item_id FROM files WHERE kind = 'document' ORDER BY item_id"
    for file, item_id in connection.execute(query).fetchall():
        found = find_vectors(data, "dense", item_id)
        if found is None:
            continue
        row_of = dict(connection.execute("SELECT chunk_id, id FROM chunks WHERE file = ?", (file,)).fetchall())
        ids, matrix, _, spec = load_dense(found.source)
        kept = [at for at, chunk_id in enumerate(ids) if chunk_id in row_of]
        if kept:
            yield matrix[kept], [row_of[ids[at]] for at in kept], spec


def remove_old_matrices(data: str, kept: str) -> None:
    """Remove every matrix file except `kept`."""
    for path in Path(data).glob(f"{PREFIX}*"):
        if path.name != kept:
            with contextlib.suppress(OSError):
                path.unlink()


def read_matrix_chunks(connection: sqlite3.Connection, count: int) -> npt.NDArray[np.int64]:
    """The ids of the chunks of all rows of the matrix. Raises DamagedIndexError if there are not `count` of them."""
    stored = connection.execute("SELECT chunks FROM vectors").fetchone()
    if stored is None or len(stored[0]) != 8 * count:
        raise DamagedIndexError(f"the table `vectors` does not have the chunks of {count} vectors")
    return np.frombuffer(stored[0], "<i8")


class VectorMatrix:
    """The vectors of a published index, mapped into memory."""

    def __init__(self, connection: sqlite3.Connection, data: str) -> None:
        self.provider = read_meta(connection, "vectors_provider")
        self._file = file = MatrixFile(connection, data)
        self._reason = reason = file.find_problem()
        self.problem = f"{file.path} {reason}; run `inorder index` to write it again" if reason else ""
        """Why the vectors of this index cannot be used; empty if they can, or if it has none."""
        self.is_available = bool(file.name) and not reason
        self._rows: _Rows | None = None
        if self.is_available:
            self._rows = np.memmap(file.path, dtype="<f4", mode="r", shape=file.shape)
            self._chunks = read_matrix_chunks(connection, file.shape[0])

    def is_current(self) -> bool:
        """Whether the file is as it was when it was opened."""
        return self._file.find_problem() == self._reason

    def compare(self, vector: _Rows) -> tuple[npt.NDArray[np.int64], _Rows]:
        """The ids of the chunks that have vectors, and the similarity of each to `vector`."""
        if self._rows is None:
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        return self._chunks, self._rows @ vector
