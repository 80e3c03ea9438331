"""The database in the making.

Nobody ever sees a database that is half brought up to date. A run works on a draft beside it: a copy of the published
one, made when the first change comes. The draft has its own write-ahead log and its own position, in the same
transaction as the rows; killed at any moment, the next run goes on with it. When everything is committed the draft is
put in order and takes the place of the published database in one rename. Whoever had that one open keeps it.
"""

import os
import shutil
import sqlite3
from collections.abc import Sequence

from inorder.errors import InfrastructureError
from inorder.host.filesystem import SystemFilesystem
from inorder.sinks.base import Entry, Position, Trace, check_run, tally
from inorder.sinks.sqlite import SqliteSink
from inorder.sinks.sqlite_errors import explained

from .connection import meta
from .rows import unpacked
from .schema import SCHEMA, VERSION
from .vectors import remove_old_matrices, write_matrix
from .writer import content_hash, remove_file, replace_file

NAME = "index"
_FEW = 10
"""Fewer than one file in so many is a small change."""


def published(data: str) -> str:
    """Where the database of DATA lies."""
    return f"{data}/index.sqlite"


def draft(data: str) -> str:
    """Where it is made."""
    return f"{data}/index.draft.sqlite"


class IndexSink:
    """Takes files into the draft. As long as nothing has changed there is none."""

    name = NAME

    def __init__(self, data: str) -> None:
        self._data = data
        self._path = draft(data)
        self._inner: SqliteSink | None = None
        self._position: Position | None = None

    def apply(self, entries: Sequence[Entry]) -> Position:
        """Write what the successes bring."""
        position = check_run(self.name, self._position, entries)
        if self._inner is None and any(entry.is_success for entry in entries):
            self._begin()
        if self._inner is None:
            self._position = tally(position, entries)
        else:
            self._position = self._inner.apply(entries)
        return self._position

    def position(self) -> Position:
        """How far it has come."""
        return check_run(self.name, self._position, ())

    def sync(self) -> None:
        """Make it safe from a loss of power."""
        if self._inner is not None:
            self._inner.sync()

    def holds(self, position: Position, since: Sequence[Trace]) -> bool:
        """Whether it stands there. Where nothing had changed by then, there is nothing to be held."""
        if position.offset == 0:
            return True
        return os.path.exists(self._path) and self._open().holds(position, since)

    def roll_back(self, position: Position, undone: Sequence[Trace]) -> None:
        """Go on from there; from before the first change that is without a draft."""
        self._position = position
        if position.offset == 0:
            self.close()
            remove_draft(self._data)
        else:
            self._open().roll_back(position, undone)

    def verify(self, position: Position) -> list[str]:
        """What is wrong with the draft."""
        return self._inner.verify(position) if self._inner is not None else []

    def close(self) -> None:
        """Let it go."""
        if self._inner is not None:
            self._inner.close()
            self._inner = None

    def _begin(self) -> None:
        """Make the draft, a copy of what is published, and catch up with what was skipped so far."""
        remove_draft(self._data)
        if os.path.exists(published(self._data)):
            try:
                shutil.copyfile(published(self._data), f"{self._path}.new")
                os.replace(f"{self._path}.new", self._path)
            except OSError as error:
                raise InfrastructureError(f"{self._path} cannot be made ({error.strerror or error})") from error
        inner = self._open()
        inner.skip_to(self.position())

    def _open(self) -> SqliteSink:
        if self._inner is None:
            self._inner = SqliteSink(self._path, SCHEMA, _write, version=VERSION, name=self.name)
        return self._inner


def _write(connection: sqlite3.Connection, entries: Sequence[Entry]) -> None:
    for entry in entries:
        delivery = entry.payload.delivery
        if delivery is None:
            remove_file(connection, entry.item.item.item_id)
        else:
            replace_file(connection, unpacked(delivery))


def remove_draft(data: str) -> None:
    """There is no draft any more."""
    for ending in ("", "-wal", "-shm", "-journal", ".new", f".{NAME}.lock"):
        try:
            os.unlink(f"{draft(data)}{ending}")
        except FileNotFoundError:
            continue
        except OSError as error:
            raise InfrastructureError(f"{draft(data)} cannot be removed ({error.strerror or error})") from error


def _tidy_up(connection: sqlite3.Connection) -> None:
    """Bring the full-text index into one piece after many changes; after a few, only some of it."""
    row = connection.execute('SELECT "offset" FROM inorder_position WHERE sink = ?', (NAME,)).fetchone()
    [files] = connection.execute("SELECT COUNT(*) FROM files").fetchone()
    if row is None or row[0] * _FEW >= files:
        connection.execute("INSERT INTO lookup (lookup) VALUES ('optimize')")
    else:
        connection.execute("INSERT INTO lookup (lookup, rank) VALUES ('merge', 200)")


def publish(data: str) -> None:
    """Put the draft in order and in the place of what is published. Without one nothing has changed."""
    path = draft(data)
    if not os.path.exists(path):
        return
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.execute("BEGIN")
        _tidy_up(connection)
        connection.execute("DELETE FROM inorder_position WHERE sink = ?", (NAME,))
        write_matrix(connection, data)
        matrix = meta(connection, "vectors_file")
        for name, value in (("content_hash", content_hash(connection)), ("schema", str(VERSION))):
            connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))
        connection.execute("COMMIT")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("PRAGMA journal_mode=DELETE")
    except sqlite3.Error as error:
        raise explained(error, path, "it cannot be put in order") from error
    finally:
        connection.close()
    filesystem = SystemFilesystem()
    try:
        file = filesystem.open(path)
        file.sync()
        file.close()
        filesystem.rename(path, published(data))
        filesystem.sync_directory(data)
    except OSError as error:
        raise InfrastructureError(f"{published(data)} cannot be written ({error.strerror or error})") from error
    remove_draft(data)
    remove_old_matrices(data, matrix)
