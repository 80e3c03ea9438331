"""Rows in an SQLite database, in the same transaction as the position.

Each run is one transaction: the rows of its successes, and in the table `inorder_position` how far the sink has come.
So the rows and the position are always those of the same moment, whatever dies when. What `write` may do to a database
cannot be undone later, and need not be: after a crash the sink *stays ahead* of the journal, answers as if it had gone
back, and skips what it already has. Once the run has caught up the outcomes must be those of the first time. Only
position 0 takes everything away: what `schema` makes is dropped and made again, or `clear` says what to do. Several
sinks, each with its name, may share one database.

A commit goes to the write-ahead log without waiting for the disk: it survives the death of the process, and after a
loss of power the database is whole but may lack the latest runs. `sync` commits once more with the log synced to its
end, which makes everything before it durable too. A checkpoint would do the same only if no reader stood in its way.
"""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from inorder.core.invariants import check
from inorder.errors import InfrastructureError, IntegrityError, OperatorError
from inorder.host.lock import Lock

from .base import Entry, Position, Trace, check_run, tally
from .sqlite_errors import explained

Write = Callable[[sqlite3.Connection, Sequence[Entry]], None]

_POSITIONS = """
CREATE TABLE IF NOT EXISTS inorder_position (
    sink TEXT PRIMARY KEY, "end" INTEGER NOT NULL, "offset" INTEGER NOT NULL, checksum INTEGER NOT NULL
) WITHOUT ROWID;
"""
_MADE = """
SELECT type, name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT GLOB 'sqlite_*'
ORDER BY type DESC, sql NOT LIKE 'CREATE VIRTUAL%'
"""
"""Views first, then virtual tables: those take their shadows along."""
_PROBLEMS_MAX = 20


class SqliteSink:
    """Rows that a function of yours writes.

    `schema`: SQL that makes what is not there yet; it runs at every opening. `version` says which schema that is: a
    database of a higher one is refused. `write` gets the successes of a run and must leave the transaction open: no
    `commit()`, no `executescript()`. `clear`: SQL that takes away all that `write` has put there. `wait_s`: how long to
    wait for another program that writes to the same database.
    """

    def __init__(
        self,
        path: str,
        schema: str,
        write: Write,
        *,
        clear: str | None = None,
        version: int = 1,
        name: str = "sqlite",
        wait_s: float = 30.0,
    ) -> None:
        self.name = name
        self._path = path
        self._schema = schema
        self._write = write
        self._clear = clear
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
        """Write the rows of the successes and the position, in one transaction. What it already has is skipped."""
        check_run(self.name, self._position, entries)
        position = tally(self._position, entries)
        already = self._stored.end - self._position.end
        if already <= len(entries):
            if tally(self._position, entries[:already]) != self._stored:
                seqs = f"the seqs below {self._stored.end}"
                raise IntegrityError(f"{self._path} has other outcomes for {seqs} than this run: begin it anew")
            self._add(entries[already:], position)
        self._position = position
        return position

    def position(self) -> Position:
        """Where the run is with it: offset counts successes. The database may be ahead."""
        return self._position

    def sync(self) -> None:
        """Make every run so far safe from a loss of power."""
        if self._is_synced:
            return
        with self._explained("it cannot be synced"):
            self._connection.execute("PRAGMA synchronous=FULL")
            try:
                with self._transaction("it cannot be synced"):
                    self._store(self._stored)
            finally:
                self._connection.execute("PRAGMA synchronous=NORMAL")
        self._is_synced = True

    def holds(self, position: Position, since: Sequence[Trace]) -> bool:
        """Whether it stands there, or is ahead."""
        return position in (self._stored, Position()) or position.end < self._stored.end

    def roll_back(self, position: Position, undone: Sequence[Trace]) -> None:
        """Stay ahead; or, at position 0, become empty."""
        check(self.holds(position, ()), f"sink {self.name} was never at {position}, or has lost it")
        if position.end == 0 and self._stored.end > 0:
            self._empty()
        self._position = position

    def skip_to(self, position: Position) -> None:
        """Stand there: what comes before has brought nothing."""
        check(self._stored.end == 0, f"sink {self.name} has begun already, at {self._stored}")
        with self._transaction("its position cannot be written"):
            self._store(position)
        self._stored = self._position = position
        self._is_synced = False

    def verify(self, position: Position) -> list[str]:
        """What is wrong with the database, all of which is read."""
        try:
            rows = self._connection.execute(f"PRAGMA integrity_check({_PROBLEMS_MAX})").fetchall()
            wrong = [f"{self._path}: {said}" for (said,) in rows if said != "ok"]
            stored = self._read_position()
        except sqlite3.Error as error:
            return [str(explained(error, self._path, "it cannot be read"))]
        if stored != position and stored.end <= position.end:
            wrong.append(f"{self._path}: sink {self.name} stands at {stored} and not at {position}")
        return wrong

    def close(self) -> None:
        """Let the database go, and the lock after it."""
        self._connection.close()
        self._lock.release()

    # ---- the database

    def _add(self, entries: Sequence[Entry], position: Position) -> None:
        if not entries:
            return
        successes = [entry for entry in entries if entry.is_success]
        with self._transaction(f"seqs {entries[0].seq} to {entries[-1].seq} cannot be written"):
            if successes:
                self._write(self._connection, successes)
            self._store(position)
        self._stored = position
        self._is_synced = False

    def _connect(self, wait_s: float) -> sqlite3.Connection:
        with self._explained("it cannot be opened"):
            connection = sqlite3.connect(self._path, timeout=wait_s, isolation_level=None, check_same_thread=False)
        try:
            self._connection = connection
            with self._explained("it cannot be opened"):
                self._prepare()
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self) -> None:
        [version] = self._connection.execute("PRAGMA user_version").fetchone()
        if version > self._version:
            raise OperatorError(
                f"{self._path} was made by a newer version: its schema is {version}, and {self._version} is known here"
            )
        [mode] = self._connection.execute("PRAGMA journal_mode=WAL").fetchone()
        if mode != "wal":
            raise InfrastructureError(f"{self._path}: there can be no write-ahead log, only {mode!r}")
        self._connection.execute("PRAGMA synchronous=NORMAL")
        with self._transaction("its schema cannot be made", _POSITIONS + self._schema):
            self._connection.execute(f"PRAGMA user_version={self._version}")

    def _read_position(self) -> Position:
        said = 'SELECT "end", "offset", checksum FROM inorder_position WHERE sink = ?'
        row = self._connection.execute(said, (self.name,)).fetchone()
        return Position() if row is None else Position(*row)

    def _store(self, position: Position) -> None:
        row = (self.name, position.end, position.offset, position.checksum)
        self._connection.execute("INSERT OR REPLACE INTO inorder_position VALUES (?, ?, ?, ?)", row)

    def _empty(self) -> None:
        script = _drops(self._schema) + self._schema if self._clear is None else self._clear
        with self._transaction("it cannot be emptied", script):
            self._connection.execute("DELETE FROM inorder_position WHERE sink = ?", (self.name,))
        self._stored = Position()
        self._is_synced = False

    @contextmanager
    def _transaction(self, doing: str, script: str = "") -> Iterator[None]:
        """All of it or nothing. A script is begun and left open in one call, because `executescript` first commits what
        is open."""
        connection = self._connection
        with self._explained(doing):
            try:
                connection.executescript(f"BEGIN IMMEDIATE;\n{script}\n;")
                yield
                if not connection.in_transaction:
                    raise OperatorError(f"{self._path}: the transaction of sink {self.name} was ended by its own SQL")
                connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    connection.rollback()
                raise

    @contextmanager
    def _explained(self, doing: str) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise explained(error, self._path, doing) from error


def _drops(schema: str) -> str:
    """SQL that takes away whatever `schema` makes, which is seen by making it in memory."""
    memory = sqlite3.connect(":memory:")
    try:
        memory.executescript(schema)
        rows = memory.execute(_MADE).fetchall()
    finally:
        memory.close()
    return "".join(f'DROP {kind} IF EXISTS "{name.replace(chr(34), chr(34) * 2)}";\n' for kind, name in rows)
