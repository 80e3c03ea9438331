"""What a library publishes, checked as a whole."""

import sqlite3
from contextlib import closing
from pathlib import Path

from inorder.index.schema import read_meta
from inorder.index.vectors.matrix import VectorMatrix
from inorder.index.vectors.table import list_matrix_files
from inorder.library.connection import connect_library
from inorder.library.reader import LibraryReader
from inorder.library.whole.verify import verify_library

Vectors = dict[tuple[str, int, str], bytes]
"""By the id of a document, and the number and the id of a chunk in it."""


def read_published(data: Path) -> tuple[str, Vectors]:
    """The content hash of a library that is intact, and its vectors. There must be no file with vectors beside it that
    it does not name."""
    assert [str(finding) for finding in verify_library(str(data))] == []
    with closing(LibraryReader(str(data))) as reader:
        content_hash = reader.read_totals().content_hash
    with closing(connect_library(str(data))) as connection:
        files = list_matrix_files(connection, str(data))
        assert {path.name for path in data.glob("library.vectors.*")} == {file.name for file in files}
        return content_hash, read_vectors(connection, data)


def read_vectors(connection: sqlite3.Connection, data: Path) -> Vectors:
    """All vectors of an index, whatever files they are in."""
    matrix = VectorMatrix(connection, str(data))
    assert not matrix.problem
    query = "SELECT chunks.id, item_id, number, chunk_id FROM chunks JOIN files ON files.id = file"
    name_of = {id_: (item_id, number, chunk_id) for id_, item_id, number, chunk_id in connection.execute(query)}
    alive = (matrix.chunks >= 0).nonzero()[0]
    names = [name_of[chunk] for chunk in matrix.chunks[alive].tolist()]
    assert len(set(names)) == len(names) == int(read_meta(connection, "vectors_count") or 0)
    return dict(sorted(zip(names, matrix.read(alive), strict=True)))
