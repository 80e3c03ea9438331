"""Open the index in the library of DATA for reading."""

import os
import sqlite3
from collections.abc import Sequence
from contextlib import AbstractContextManager, closing

from inorder.errors import InorderError, OperatorError
from inorder.index.locations import RootsByKind
from inorder.index.place import Generation
from inorder.index.rows import CODE, DOCUMENT
from inorder.index.schema import read_meta

from .connection import (
    LibraryConnection,
    connect_library,
    library_path,
    require_library_file,
    translate_library_errors,
)
from .contents import has_index, read_roots
from .reader import list_copies

_NANOSECONDS = 10**9


class LibraryIndex:
    """The index in the library of DATA: see `IndexPlace`. What is visible in it is one generation."""

    def __init__(self, data: str) -> None:
        self.data = os.path.abspath(data)
        self.path = library_path(self.data)

    def exists(self) -> bool:
        """Whether there is a library."""
        return os.path.exists(self.path)

    def connect(self) -> sqlite3.Connection:
        """Return a connection that only reads. Raises OperatorError if runs have left out the step `index`."""
        connection = connect_library(self.data)
        if not has_index(connection):
            connection.close()
            raise OperatorError(f"no index in {self.data}; make one with `inorder index` or `inorder run SRC`")
        return connection

    def translate_errors(self) -> AbstractContextManager[None]:
        """Raise an error of SQLite in the body as ours."""
        return translate_library_errors(self.path)

    def identify(self) -> object:
        """Return what identifies the file, which a run changes in place."""
        found = os.stat(self.path)
        return found.st_dev, found.st_ino

    def refresh(self, connection: sqlite3.Connection) -> object:
        """Return the generation. Commits that are not published do not change it."""
        if isinstance(connection, LibraryConnection):
            connection.refresh()
        return connection.execute("SELECT epoch FROM generation").fetchone()[0]

    def read_roots(self, connection: sqlite3.Connection) -> RootsByKind:
        """Return where the sources lie."""
        roots = read_roots(connection)
        return {CODE: roots, DOCUMENT: roots}

    def read_generation(self, connection: sqlite3.Connection) -> Generation:
        """Return the generation and of when it is."""
        return Generation(*connection.execute("SELECT number, published_at FROM generation").fetchone())

    def read_compared_ns(self, connection: sqlite3.Connection) -> int:
        """Return when a run last compared a source with the library, or published what has changed."""
        query = "SELECT MAX(published_at, (SELECT COALESCE(MAX(walked_at), 0) FROM sources)) FROM generation"
        [compared_s] = connection.execute(query).fetchone()
        return int(compared_s * _NANOSECONDS)

    def list_copies(
        self, connection: sqlite3.Connection, originals: Sequence[str] | None = None
    ) -> list[tuple[str, str]]:
        """Return the copies of documents."""
        return list_copies(connection, originals)


def read_source_roots(data: str) -> RootsByKind:
    """Return the folders, files and addresses that runs were given, by kind and name; none if there is no library."""
    try:
        with closing(connect_library(data)) as connection, translate_library_errors(library_path(data)):
            roots = read_roots(connection)
    except InorderError:
        return {}
    return {CODE: roots, DOCUMENT: roots}


def read_vectors_provider(data: str) -> str:
    """Return the provider of the dense vectors of the index, with which questions are embedded; empty: it has none."""
    with closing(connect_library(data)) as connection, translate_library_errors(library_path(data)):
        return read_meta(connection, "vectors_provider")


def has_library(data: str | os.PathLike[str]) -> bool:
    """Whether DATA has a library. Raises IntegrityError if a run has made one, and it is missing."""
    require_library_file(os.fspath(data))
    return os.path.exists(library_path(os.fspath(data)))


def find_index(data: str | os.PathLike[str]) -> LibraryIndex:
    """Return where the index of DATA is. It need not exist. Raises as `has_library` does."""
    folder = os.fspath(data)
    require_library_file(folder)
    return LibraryIndex(folder)
