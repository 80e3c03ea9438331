"""Open the index of DATA for reading: that of the library, or the one that the stage `index` has published.

This is the one place that decides which of the two a reader gets.
"""

import os
import sqlite3
from collections.abc import Sequence
from contextlib import AbstractContextManager

from inorder.errors import InorderError
from inorder.index.drafts.published import PublishedIndex
from inorder.index.locations import RootsByKind, read_manifest_roots
from inorder.index.place import Generation, IndexPlace
from inorder.index.rows import CODE, DOCUMENT
from inorder.index.search import use_index

from .connection import LibraryConnection, connect_library, library_path, translate_library_errors
from .contents import read_roots
from .reader import list_copies
from .rows import DENSE
from .schema import STEPS_MAX

_NANOSECONDS = 10**9
_EPOCH = "(SELECT epoch FROM generation)"


class LibraryIndex:
    """The index in the library of DATA: see `IndexPlace`. What is visible in it is one generation."""

    digest = (
        "digest || COALESCE((SELECT hex(results.output) FROM items CROSS JOIN results ON results.key = "
        f"items.id * {STEPS_MAX} + (SELECT id FROM steps WHERE name = '{DENSE}') "
        f"AND since <= {_EPOCH} AND until > {_EPOCH} WHERE items.item_id = files.item_id), '')"
    )

    def __init__(self, data: str) -> None:
        self.data = os.path.abspath(data)
        self.path = library_path(self.data)

    def exists(self) -> bool:
        """Whether there is a library."""
        return os.path.exists(self.path)

    def connect(self) -> sqlite3.Connection:
        """Return a connection that only reads."""
        return connect_library(self.data)

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
    """Return the folders, files and addresses that runs were given, by kind and name, whether or not there is an
    index."""
    place = find_index(data)
    recorded = {} if isinstance(place, LibraryIndex) else read_manifest_roots(place.data)
    try:
        with use_index(place) as index:
            stored = place.read_roots(index.connection)
    except InorderError:
        return recorded
    return {kind: {**stored.get(kind, {}), **recorded.get(kind, {})} for kind in {*stored, *recorded}}


def has_library(data: str | os.PathLike[str]) -> bool:
    """Whether DATA has a library."""
    return os.path.exists(library_path(os.fspath(data)))


def find_index(data: str | os.PathLike[str]) -> IndexPlace:
    """Return where the index of DATA is. It need not exist."""
    folder = os.fspath(data)
    return LibraryIndex(folder) if has_library(folder) else PublishedIndex(folder)
