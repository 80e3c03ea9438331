"""The published index of DATA, checked as a whole."""

import sqlite3
from contextlib import closing
from pathlib import Path

from inorder.index.drafts.publishing import published_path
from inorder.index.schema import read_meta
from inorder.index.vectors.matrix import VectorMatrix
from inorder.index.vectors.table import list_matrix_files
from inorder.index.vectors.update import FILES_MAX
from inorder.index.verify import find_problems

Vectors = dict[tuple[str, int, str], bytes]
"""By the id of a document, and the number and the id of a chunk in it."""


def read_whole_index(data: Path) -> tuple[str, Vectors]:
    """The content hash of an index that is whole, and its vectors, of which there must be some. There must be no draft
    beside it, and no file with vectors that it does not name."""
    assert not list(data.glob("index.draft*"))
    with closing(sqlite3.connect(published_path(str(data)))) as connection:
        found = read_connected(connection, data)
        assert {path.name for path in data.glob("index.vectors.*")} == set(list_names(connection))
    return found


def read_connected(connection: sqlite3.Connection, data: Path) -> tuple[str, Vectors]:
    """The same through an open connection, with any other files beside it."""
    assert list(find_problems(connection)) == []
    files = list_matrix_files(connection, str(data))
    assert [file.find_problem() for file in files] == [""] * len(files)
    assert not any(file.is_altered() for file in files)
    assert len(files) <= 1 + FILES_MAX
    content_hash, vectors = read_meta(connection, "content_hash"), read_vectors(connection, data)
    assert content_hash
    assert vectors
    return content_hash, vectors


def read_vectors(connection: sqlite3.Connection, data: Path) -> Vectors:
    """All vectors of an index, whatever files they are in."""
    matrix = VectorMatrix(connection, str(data))
    assert not matrix.problem
    query = "SELECT chunks.id, item_id, number, chunk_id FROM chunks JOIN files ON files.id = file"
    name_of = {id_: (item_id, number, chunk_id) for id_, item_id, number, chunk_id in connection.execute(query)}
    alive = (matrix.chunks >= 0).nonzero()[0]
    names = [name_of[chunk] for chunk in matrix.chunks[alive].tolist()]
    assert len(set(names)) == len(names) == int(read_meta(connection, "vectors_count"))
    return dict(sorted(zip(names, matrix.read(alive), strict=True)))


def list_names(connection: sqlite3.Connection) -> list[str]:
    """The names of the files with vectors, from the first one to the latest."""
    return [file.name for file in list_matrix_files(connection, "")]
