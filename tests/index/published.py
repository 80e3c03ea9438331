"""The published index of DATA, checked as a whole."""

import sqlite3
from contextlib import closing
from pathlib import Path

from inorder.index.drafts.publishing import published_path
from inorder.index.matrix_file import MatrixFile
from inorder.index.schema import read_meta
from inorder.index.verify import find_problems


def read_whole_index(data: Path) -> tuple[str, str]:
    """The content hash of an index that is whole, and the name of its matrix. There must be no draft beside it."""
    assert not list(data.glob("index.draft*"))
    with closing(sqlite3.connect(published_path(str(data)))) as connection:
        assert list(find_problems(connection)) == []
        matrix = MatrixFile(connection, str(data))
        assert not matrix.find_problem()
        assert not matrix.is_altered()
        return read_meta(connection, "content_hash"), matrix.name
