"""Rows in an SQLite database, written in the same transaction as the position.

Each run is one transaction: the rows of what it applies, and the sink's position in the table `inorder_position`. So
rows and position always agree, whenever a crash happens. What `write` did to the database cannot be undone later, and
need not be: after a crash the sink *stays ahead* of the journal, reports the earlier position, and skips what is stored
already. When the run has caught up, the outcomes must be the same as the first time. Only position 0 removes all rows:
the objects of `schema` are dropped and created again. Several sinks with different names may share one database.

A sink that `keeps` rows is for a plan that is a remainder: every run begins after the rows of the runs before it, with
a number of its own as the checksum of its positions. It is final: other sinks follow it.

A commit goes to the write-ahead log without waiting for the disk: it survives the death of the process, and after a
power loss the database is intact but may lack the latest runs. `sync` commits once more with the log synced to its end,
which makes everything before it durable too. A checkpoint would do the same, but readers can block it.
"""

import os
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from inorder.core.invariants import check
from inorder.errors import BusyError, InfrastructureError, IntegrityError, OperatorError
from inorder.host.lock import Lock
from inorder.host.os_errors import translate_os_errors
from inorder.host.regular_file import require_regular_database

from .base import (
    AppliedRun,
    Entry,
    Position,
    advance_position,
    check_run,
)

Write = Callable[[sqlite3.Connection, Sequence[Entry]], None]

_POSITION_TABLE = """
CREATE TABLE IF NOT EXISTS inorder_position (
    sink TEXT PRIMARY KEY, "end" INTEGER NOT NULL, "offset" INTEGER NOT NULL, checksum INTEGER NOT NULL
) WITHOUT ROWID;
"""
_LIST_OBJECTS = """
SELECT type, name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT GLOB 'sqlite_*'
ORDER BY type DESC, sql NOT LIKE 'CREATE VIRTUAL%'
"""
"""Views first, then virtual tables: dropping one drops its shadow tables."""

_BUSY_CODES = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_INFRASTRUCTURE_CODES = {
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_PROTOCOL,
    sqlite3.SQLITE_INTERRUPT,
    sqlite3.SQLITE_INTERNAL,
}
_PATH_CODES = {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM}


class DatabaseSink(ABC):
    """Writes rows and its position to an SQLite database, in one transaction. Subclasses write the rows of entries.

    The arguments, and what it raises, are those of `SqliteSink`. With `keeps`, a new run keeps the rows of earlier
    runs: for a plan that is a remainder.
    """

    def __init__(
        self,
        path: str,
        schema: str,
        *,
        version: int = 1,
        name: str = "sqlite",
        wait_s: float = 30.0,
        keeps: bool = False,
    ) -> None:
        self.name = name
        self.is_final = keeps
        """Whether what it has written cannot be undone, and other sinks follow it; see `inorder.sinks.base`."""
        self._path = path
        self._schema = schema
        self._version = version
        self._lock = Lock(f"{path}.{name}.lock", path)
        try:
            self._connection = self._connect(wait_s)
            self._stored = self._position = self._read_position()
        except BaseException:
            self._lock.release()
            raise
        self._is_synced = self._stored.end == 0

    def apply(self, entries: Sequence[Entry]) -> Position:
        """Write the rows of what is applied and the position, in one transaction. What is stored already is skipped."""
        check_run(self.name, self._position, entries)
        position = self._advance(self._position, entries)
        already = self._stored.end - self._position.end
        if already <= len(entries):
            if self._advance(self._position, entries[:already]) != self._stored:
                raise IntegrityError(
                    f"{self._path}: the stored outcomes of seqs below {self._stored.end} differ from those of this run;"
                    " start the run over"
                )
            self._add(entries[already:], position)
        self._position = position
        return position

    def _advance(self, position: Position, entries: Sequence[Entry]) -> Position:
        """Return the position after these entries."""
        if not self.is_final:
            return advance_position(position, entries)
        added = sum(entry.applies for entry in entries)
        return Position(position.end + len(entries), position.offset + added, position.checksum)

    def position(self) -> Position:
        """Return the position of the run; `offset` counts successes. The database may be ahead of it."""
        return self._position

    def sync(self) -> None:
        """Make every run so far durable."""
        if self._is_synced:
            return
        with self._translate_errors("it cannot be synced"):
            self._connection.execute("PRAGMA synchronous=FULL")
            try:
                with self._transaction("it cannot be synced"):
                    self._store(self._stored)
            finally:
                self._connection.execute("PRAGMA synchronous=NORMAL")
        self._is_synced = True

    def origin(self) -> Position:
        """Return where a new run begins: at the empty sink, or with `keeps` after the rows that are there."""
        return Position(0, self._stored.offset, int.from_bytes(os.urandom(4)) or 1) if self.is_final else Position()

    def applied(self, position: Position) -> Position:
        """Return the position of the database, which cannot be rolled back, if it is of the same run."""
        return self._stored if self._stored.checksum == position.checksum else position

    def holds(self, position: Position, since: Sequence[AppliedRun]) -> bool:
        """Whether the database is at this position, or ahead of it. One that keeps rows also holds the origin of
        another run, unless it was written to after that run began."""
        if self.is_final and position != Position() and position.checksum != self._stored.checksum:
            return position.end == 0 and position.offset >= self._stored.offset
        return position in (self._stored, Position()) or position.end < self._stored.end

    def roll_back(self, position: Position, undone: Sequence[AppliedRun]) -> None:
        """Stay ahead, or begin a new run; at position 0, become empty."""
        check(self.holds(position, ()), f"sink {self.name} does not hold {position}")
        if self.is_final and position != Position():
            if position.checksum != self._stored.checksum:
                with self._transaction("its position cannot be written"):
                    self._store(position)
                self._stored, self._is_synced = position, False
        elif position.end == 0 and self._stored != Position():
            self._clear_all()
        self._position = position

    def close(self) -> None:
        """Close the database, then release the lock. Idempotent."""
        self._connection.close()
        self._lock.release()

    # ---- Database

    def _add(self, entries: Sequence[Entry], position: Position) -> None:
        if not entries:
            return
        with self._transaction(f"seqs {entries[0].seq} to {entries[-1].seq} cannot be written"):
            self._write_entries(entries)
            self._store(position)
        self._stored = position
        self._is_synced = False

    @abstractmethod
    def _write_entries(self, entries: Sequence[Entry]) -> None:
        """Write the rows of entries. Called in a transaction."""

    def _connect(self, wait_s: float) -> sqlite3.Connection:
        with translate_os_errors(f"{self._path} cannot be opened"):
            require_regular_database(self._path)
        with self._translate_errors("it cannot be opened"):
            connection = sqlite3.connect(self._path, timeout=wait_s, isolation_level=None, check_same_thread=False)
        try:
            self._connection = connection
            with self._translate_errors("it cannot be opened"):
                self._prepare()
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self) -> None:
        [version] = self._connection.execute("PRAGMA user_version").fetchone()
        if version > self._version:
            raise OperatorError(
                f"{self._path} has schema version {version}, written by a newer program; this one knows {self._version}"
            )
        [mode] = self._connection.execute("PRAGMA journal_mode=WAL").fetchone()
        if mode != "wal":
            raise InfrastructureError(f"{self._path}: no write-ahead log is possible here, only {mode!r}")
        self._connection.execute("PRAGMA synchronous=NORMAL")
        with self._transaction("its schema cannot be created", _POSITION_TABLE + self._schema):
            self._connection.execute(f"PRAGMA user_version={self._version}")

    def _read_position(self) -> Position:
        query = 'SELECT "end", "offset", checksum FROM inorder_position WHERE sink = ?'
        with self._translate_errors("it cannot be read"):
            row = self._connection.execute(query, (self.name,)).fetchone()
        return Position() if row is None else Position(*row)

    def _store(self, position: Position) -> None:
        row = (self.name, position.end, position.offset, position.checksum)
        self._connection.execute("INSERT OR REPLACE INTO inorder_position VALUES (?, ?, ?, ?)", row)

    def _clear_all(self) -> None:
        with self._transaction("it cannot be cleared", _make_drop_script(self._schema) + self._schema):
            self._connection.execute("DELETE FROM inorder_position WHERE sink = ?", (self.name,))
        self._stored = Position()
        self._is_synced = False

    @contextmanager
    def _transaction(self, doing: str, script: str = "") -> Iterator[None]:
        """Commit everything or nothing. The script begins the transaction itself, because `executescript` commits an
        open one first."""
        connection = self._connection
        with self._translate_errors(doing):
            try:
                connection.executescript(f"BEGIN IMMEDIATE;\n{script}\n;")
                yield
                if not connection.in_transaction:
                    raise OperatorError(f"{self._path}: the SQL of sink {self.name} ended its transaction")
                connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    connection.rollback()
                raise

    @contextmanager
    def _translate_errors(self, doing: str) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise translate_sqlite_error(error, self._path, doing) from error


class SqliteSink(DatabaseSink):
    """Writes rows with a function of the user.

    `schema` is SQL that creates what does not exist yet; it runs at every opening. `version` is the version of that
    schema; a database with a higher one is refused. `write` gets the successes of a run, and the failures that have a
    partial result, and must leave the transaction open: no `commit()`, no `executescript()`. `name` identifies the
    sink in the journal and in the database. `wait_s` is how long to wait for another program that writes to the same
    database. A new run begins with an empty database.

    Raises `BusyError` while another sink or program has the database, `OperatorError` for a file that is not a database
    or for SQL that fails, `IntegrityError` for a damaged database, and `InfrastructureError` for a failure of the disk.

    >>> import os, tempfile
    >>> from inorder.core.transitions import State
    >>> from inorder.sinks import Entry, SqliteSink
    >>> schema = "CREATE TABLE IF NOT EXISTS results (seq INTEGER PRIMARY KEY, result TEXT);"
    >>> def write(connection, entries):
    ...     rows = [(entry.seq, entry.payload) for entry in entries]
    ...     connection.executemany("INSERT INTO results VALUES (?, ?)", rows)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sink = SqliteSink(os.path.join(folder, "results.sqlite"), schema, write)
    ...     print(sink.apply([Entry(0, State.TERMINAL_SUCCESS, payload="a")]).end)
    ...     sink.close()
    1
    """

    def __init__(
        self,
        path: str,
        schema: str,
        write: Write,
        *,
        version: int = 1,
        name: str = "sqlite",
        wait_s: float = 30.0,
    ) -> None:
        self._write = write
        super().__init__(path, schema, version=version, name=name, wait_s=wait_s)

    def _write_entries(self, entries: Sequence[Entry]) -> None:
        applied = [entry for entry in entries if entry.applies]
        if applied:
            self._write(self._connection, applied)


def _make_drop_script(schema: str) -> str:
    """Return SQL that drops everything that `schema` creates. The schema is created in memory to list its objects."""
    memory = sqlite3.connect(":memory:")
    try:
        memory.executescript(schema)
        rows = memory.execute(_LIST_OBJECTS).fetchall()
    finally:
        memory.close()
    return "".join(f'DROP {kind} IF EXISTS "{name.replace(chr(34), chr(34) * 2)}";\n' for kind, name in rows)


def translate_sqlite_error(
    error: sqlite3.Error, path: str, doing: str
) -> OperatorError | InfrastructureError | IntegrityError:
    """Return the error to raise for one of SQLite. Failed SQL is an `OperatorError`, because the SQL is the user's."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    if code in _BUSY_CODES:
        return BusyError(f"{path}: {doing}: another program has locked it")
    if code == sqlite3.SQLITE_NOTADB:
        return OperatorError(f"{path} is not an SQLite database; it was not changed")
    if code == sqlite3.SQLITE_CORRUPT:
        return IntegrityError(f"{path} is damaged ({error}); remove it and run again")
    if code in _INFRASTRUCTURE_CODES or (code == sqlite3.SQLITE_CANTOPEN and _is_usable(path)):
        return InfrastructureError(f"{path}: {doing}: {error}")
    if code in _PATH_CODES:
        return OperatorError(f"{path}: {doing}: {error}")
    return OperatorError(f"{path}: {doing}: SQL failed: {error}")


def _is_usable(path: str) -> bool:
    """Whether a database at this path could be opened, or created: if not, the disk is full, or fails."""
    is_file = os.path.isfile(path) and os.access(path, os.R_OK | os.W_OK)
    return os.access(os.path.dirname(path) or ".", os.W_OK) and (is_file or not os.path.lexists(path))
