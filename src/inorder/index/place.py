"""Where an index lies, and how it is opened: what readers of an index need to know of the database that holds it."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import NamedTuple, Protocol

from .locations import RootsByKind


class Generation(NamedTuple):
    """What readers see: the state of an index that was published at once."""

    number: int
    """Counts publications from 1; 0: nothing was published."""
    published_at: float
    """In seconds since 1970; 0: nothing was published."""


class IndexPlace(Protocol):
    """A database that holds an index. Its tables or views are those of `schema`.

    The methods with a connection are called in the transaction that reads.
    """

    @property
    def data(self) -> str:
        """The absolute path of DATA, where the files with vectors are."""

    @property
    def path(self) -> str:
        """The path of the database, for messages."""

    def exists(self) -> bool:
        """Whether there is a database."""

    def connect(self) -> sqlite3.Connection:
        """Return a connection that only reads. Queries may call `location(kind, item_id, path)`.

        Raises OperatorError for a database that is missing or cannot be used, and IntegrityError for a damaged one."""

    def translate_errors(self) -> AbstractContextManager[None]:
        """Raise an error of SQLite in the body as ours."""

    def identify(self) -> object:
        """Return another value if the file was replaced by another one. Raises OSError if there is none."""

    def refresh(self, connection: sqlite3.Connection) -> object:
        """Notice what was published since the last time. Returns another value after every publication."""

    def read_roots(self, connection: sqlite3.Connection) -> RootsByKind:
        """Return where the sources lie."""

    def read_generation(self, connection: sqlite3.Connection) -> Generation:
        """Return of when the index is."""

    def read_compared_ns(self, connection: sqlite3.Connection) -> int:
        """Return when the sources were last compared with the index, in nanoseconds since 1970."""

    def list_copies(
        self, connection: sqlite3.Connection, originals: Sequence[str] | None = None
    ) -> list[tuple[str, str]]:
        """Return the id of each copy of these documents, or of all, and that of the document, in order."""


class IndexConnection:
    """A connection to an index, whose questions see one state each."""

    def __init__(self, place: IndexPlace) -> None:
        self.place = place
        self.connection = place.connect()
        self.version: object = None
        """Another one after every publication."""

    def close(self) -> None:
        """Close the database. Idempotent."""
        self.connection.close()

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """Let all queries in the body see one state of the index, whatever is published in the meantime."""
        with self.place.translate_errors():
            self.connection.execute("BEGIN")
            try:
                self.version = self.place.refresh(self.connection)
                yield self.connection
            finally:
                self.connection.rollback()
