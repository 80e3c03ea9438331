"""The table of the files with vectors, and what describes them as a whole."""

import sqlite3

from inorder.index.lexical.schema import DamagedIndexError
from inorder.index.schema import read_meta, write_meta
from inorder.index.vector_files import MatrixFile


def list_matrix_files(connection: sqlite3.Connection, data: str) -> list[MatrixFile]:
    """The files of an index, from the first one to the latest. Raises DamagedIndexError if the tables do not have all
    vectors."""
    count, width = (int(read_meta(connection, f"vectors_{each}") or 0) for each in ("count", "width"))
    found = connection.execute("SELECT id, name, count, dead FROM vector_files ORDER BY id").fetchall()
    if sum(rows - dead for _, _, rows, dead in found) != count:
        raise DamagedIndexError(f"the table `vector_files` does not have the files of {count} vectors")
    return [MatrixFile(id_, f"{data}/{name}", (rows, width), dead) for id_, name, rows, dead in found]


def remove_files(connection: sqlite3.Connection) -> None:
    """Name no file any longer."""
    connection.execute("DELETE FROM vector_files")
    connection.execute("DELETE FROM vectors")


def describe_vectors(connection: sqlite3.Connection, width: int, provider: str) -> None:
    """Write what all vectors have in common."""
    write_meta(connection, "vectors_width", str(width))
    write_meta(connection, "vectors_provider", provider)
    count_vectors(connection)


def count_vectors(connection: sqlite3.Connection) -> None:
    """Write how many vectors all files have."""
    [count] = connection.execute("SELECT COALESCE(SUM(count - dead), 0) FROM vector_files").fetchone()
    write_meta(connection, "vectors_count", str(count))


def remove_file(connection: sqlite3.Connection, file: MatrixFile) -> None:
    """Name a file no longer."""
    connection.execute("DELETE FROM vector_files WHERE id = ?", (file.id,))
    connection.execute("DELETE FROM vectors WHERE id = ?", (file.id,))
