"""The index in `index.sqlite`, which the stage `index` publishes."""

import os
import sqlite3
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress

from inorder.documents.copies import list_copies
from inorder.index.connection import connect_index, translate_index_errors
from inorder.index.locations import RootsByKind, find_roots
from inorder.index.place import Generation
from inorder.stage.data_layout import DataLayout

from .publishing import published_path


class PublishedIndex:
    """The published index of DATA: see `IndexPlace`."""

    digest = "digest"

    def __init__(self, data: str) -> None:
        self.data = os.path.abspath(data)
        self.path = published_path(self.data)

    def exists(self) -> bool:
        """Whether an index was published."""
        return os.path.exists(self.path)

    def connect(self) -> sqlite3.Connection:
        """Return a connection that only reads."""
        return connect_index(self.path)

    def translate_errors(self) -> AbstractContextManager[None]:
        """Raise an error of SQLite in the body as ours."""
        return translate_index_errors(self.path)

    def identify(self) -> object:
        """Return what identifies the file. A publication may replace it."""
        found = os.stat(self.path)
        return found.st_ino, found.st_size, found.st_mtime_ns

    def refresh(self, connection: sqlite3.Connection) -> object:
        """Return another value after every change of the database."""
        return connection.execute("PRAGMA data_version").fetchone()[0]

    def read_roots(self, connection: sqlite3.Connection) -> RootsByKind:
        """Return where the sources lie."""
        return find_roots(connection)

    def read_generation(self, connection: sqlite3.Connection) -> Generation:
        """Return when the index was published."""
        return Generation(0, round(_read_ns(self.path) / 1e9, 3))

    def read_compared_ns(self, connection: sqlite3.Connection) -> int:
        """Return when a run last compared the sources with the index."""
        return max(_read_ns(self.path), _read_ns(DataLayout(self.data, "index").manifest))

    def list_copies(
        self, connection: sqlite3.Connection, originals: Sequence[str] | None = None
    ) -> list[tuple[str, str]]:
        """Return the copies of documents."""
        return list_copies(self.data, originals)


def _read_ns(path: str) -> int:
    """Return when a file was modified; 0: that cannot be known."""
    with suppress(OSError):
        return os.stat(path).st_mtime_ns
    return 0
