"""The target `postgresql://`: one transaction per write holds the rows, the removals, the hashes and the position.

Tables and indexes are on disk before anything else happens. Rows are sent with COPY. A commit of rows does not wait for
the disk of the server, but `sync` does. Until then the changes are kept in memory, up to a limit: if the server is
stopped or killed, it may lose its last commits, but never one without all that follow. When it is back, the stored
position tells how much is missing, and exactly that is written again.

A session lock keeps a second export out. It ends with the connection.
"""

import hashlib
from collections.abc import Callable, Sequence
from typing import TypeVar

import psycopg
from psycopg import sql

from inorder.errors import BusyError, InfrastructureError, OperatorError
from inorder.sinks.base import Position
from inorder.targets.base import (
    ListedDocument,
    TargetChanges,
    TargetLayout,
    TargetOptions,
)

from .connection import LOCK_S, Connection, ServerGone, connect, translate_errors, wait_for_server
from .encoding import (
    CHUNK_COLUMNS,
    DOCUMENT_COLUMNS,
    HEADER,
    TERM_COLUMNS,
    TRAILER,
    EncodedDocument,
    decode_rows,
    encode_rows,
)
from .schema import check_collection, compose, drop, list_missing_indexes, prepare

T = TypeVar("T")
encode = encode_rows
_UNSYNCED_BYTES_MAX = 32 * 2**20
LOCK_WAIT_S = 10
"""A killed export holds its lock until the server has noticed."""
_WAIT_FOR_DISK = "SET LOCAL synchronous_commit = on"
_NO_CHANGES = TargetChanges((), (), ())
_DELETE = """
WITH without_chunks AS (DELETE FROM {schema}.chunks WHERE doc_id = ANY(%s)),
    without_terms AS (DELETE FROM {schema}.terms WHERE doc_id = ANY(%s))
DELETE FROM {schema}.documents WHERE doc_id = ANY(%s)
"""
_FIND_HOLDERS = """
SELECT application_name FROM pg_locks JOIN pg_stat_activity USING (pid)
WHERE locktype = 'advisory' AND granted AND classid::bigint << 32 | objid::bigint = %s
AND pg_locks.database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""
_STORE_POSITION = """
INSERT INTO {schema}.position VALUES (true, %s, %s, %s)
ON CONFLICT (only_row) DO UPDATE SET "end" = EXCLUDED."end", "offset" = EXCLUDED."offset", checksum = EXCLUDED.checksum
"""


def open_target(address: str, options: TargetOptions) -> "PostgresTarget":
    """The target at an address, not yet connected."""
    return PostgresTarget(address, options)


def check_address(address: str) -> None:
    """Raise an error if the server does not let us in."""
    connect(address).close()


class PostgresTarget:
    """Tables in one schema of a database."""

    def __init__(self, address: str, options: TargetOptions) -> None:
        check_collection(options.collection)
        self._address = address
        self._options = options
        self._collection = options.collection
        self._layout = TargetLayout(dimensions=0, provider="")
        self._writer: Connection | None = None
        self._lister: Connection | None = None
        self._unsynced: list[tuple[TargetChanges, Position]] = []
        """The writes since the last one that the server has on disk, oldest first."""
        self._unsynced_bytes = 0
        self._synced = Position()
        """The position before them."""

    @property
    def name(self) -> str:
        """The address and the schema."""
        return f"{self._address}#{self._collection}"

    def open(self, layout: TargetLayout) -> None:
        """Connect, take the lock, and create or check the tables."""
        self._layout = layout
        try:
            self._writer = connection = self._connect()
            with translate_errors(self._address, "the tables cannot be created"), connection.transaction():
                connection.execute(_WAIT_FOR_DISK)
                if self._options.recreate:
                    drop(connection, self._address, self._collection)
                prepare(connection, self._address, self._collection, layout)
            self._synced = self.read_position()
        except ServerGone as error:
            raise InfrastructureError(f"{self._address}: the connection was lost ({error}); run again") from None

    def read_position(self) -> Position:
        """The position of the last write."""
        return self._repeat(self._read_position)

    def list_documents(self, after: str, count: int) -> Sequence[ListedDocument]:
        """Documents in the order of their ids. Uses a connection of its own."""
        query = self._compose("SELECT doc_id, hash FROM {schema}.documents WHERE doc_id > %s ORDER BY doc_id LIMIT %s")

        def read() -> Sequence[ListedDocument]:
            if self._lister is None or self._lister.closed:
                self._lister = connect(self._address)
            with translate_errors(self._address, "the documents cannot be listed"):
                return [ListedDocument(*row) for row in self._lister.execute(query, (after, count))]

        return wait_for_server(self._address, read)

    def write(self, changes: TargetChanges, position: Position) -> None:
        """Write in one transaction."""
        self._unsynced.append((changes, position))
        self._unsynced_bytes += sum(map(len, changes.written))
        is_synced = self._unsynced_bytes > _UNSYNCED_BYTES_MAX
        self._repeat(lambda connection: self._write(connection, changes, position, is_synced=is_synced))
        if is_synced:
            self._note_synced(position)

    def clear(self) -> None:
        """Remove all rows in one transaction, and wait until that is on disk."""
        self._repeat(self._clear)
        self._note_synced(Position())

    def sync(self) -> None:
        """Commit once more, and wait until the server has everything on disk."""
        if self._unsynced:
            position = self._unsynced[-1][1]
            self._repeat(lambda connection: self._write(connection, _NO_CHANGES, position, is_synced=True))
            self._note_synced(position)

    def complete(self) -> None:
        """Build the indexes that are still missing."""
        self._repeat(self._build_indexes)

    def close(self) -> None:
        """Close both connections. Idempotent."""
        for connection in (self._writer, self._lister):
            if connection is not None:
                connection.close()

    # ---- Statements

    def _write(self, connection: Connection, changes: TargetChanges, position: Position, *, is_synced: bool) -> None:
        with connection.transaction():
            if is_synced:
                connection.execute(_WAIT_FOR_DISK)
            if replaced := [*changes.removed_ids, *changes.written_ids]:
                connection.execute(self._compose(_DELETE), (replaced, replaced, replaced))
            if changes.written:
                self._copy(connection, [decode_rows(content) for content in changes.written])
            values = (position.end, position.offset, position.checksum)
            connection.execute(self._compose(_STORE_POSITION), values)

    def _copy(self, connection: Connection, documents: Sequence[EncodedDocument]) -> None:
        self._copy_rows(connection, "documents", DOCUMENT_COLUMNS, [each.document for each in documents])
        self._copy_rows(connection, "terms", TERM_COLUMNS, [each.terms for each in documents])
        for has_vectors, columns in ((False, CHUNK_COLUMNS), (True, (*CHUNK_COLUMNS, "embedding"))):
            chunks = [each.chunks for each in documents if each.has_vectors == has_vectors]
            self._copy_rows(connection, "chunks", columns, chunks)

    def _copy_rows(self, connection: Connection, table: str, columns: Sequence[str], rows: Sequence[bytes]) -> None:
        if not any(rows):
            return
        names = sql.SQL(", ").join(map(sql.Identifier, columns))
        place = sql.Identifier(self._collection, table)
        query = sql.SQL("COPY {} ({}) FROM STDIN (FORMAT BINARY)").format(place, names)
        with connection.cursor() as cursor, cursor.copy(query) as copy:
            copy.write(b"".join([HEADER, *rows, TRAILER]))

    def _clear(self, connection: Connection) -> None:
        with connection.transaction():
            connection.execute(_WAIT_FOR_DISK)
            for table in ("position", "documents", "chunks", "terms"):
                connection.execute(self._compose("DELETE FROM {schema}.{table}", table=table))

    def _build_indexes(self, connection: Connection) -> None:
        has_hnsw = self._options.hnsw and self._layout.dimensions > 0
        missing = list_missing_indexes(connection, self._collection, has_hnsw=has_hnsw)
        for _, query in missing:
            with connection.transaction():
                connection.execute(_WAIT_FOR_DISK)
                connection.execute(query)
        if missing:
            for table in ("documents", "chunks", "terms"):
                connection.execute(self._compose("ANALYZE {schema}.{table}", table=table))

    def _read_position(self, connection: Connection) -> Position:
        query = 'SELECT "end", "offset", checksum FROM {schema}.position'
        row = connection.execute(self._compose(query)).fetchone()
        return Position() if row is None else Position(*row)

    def _compose(self, template: str, **names: str) -> sql.Composed:
        return compose(template, self._collection, **names)

    # ---- Connection

    def _note_synced(self, position: Position) -> None:
        self._synced = position
        self._unsynced.clear()
        self._unsynced_bytes = 0

    def _repeat(self, act: Callable[[Connection], T]) -> T:
        """Do something that can be repeated. If the server goes away meanwhile, wait for it and do it again."""
        while True:
            try:
                with translate_errors(self._address, "the export failed"):
                    if self._writer is None:
                        raise ServerGone("the connection is closed")
                    return act(self._writer)
            except ServerGone:
                wait_for_server(self.name, self._reconnect)

    def _reconnect(self) -> None:
        """Connect again, and repeat the writes that the server has lost."""
        if self._writer is not None:
            self._writer.close()
        self._writer = connection = self._connect()
        with translate_errors(self._address, "the export failed"):
            stored = self._read_position(connection)
            known = [self._synced, *(position for _, position in self._unsynced)]
            if stored not in known:
                raise OperatorError(f"{self.name} was changed by another program while it was written; run again")
            for changes, position in self._unsynced[known.index(stored) :]:
                self._write(connection, changes, position, is_synced=False)

    def _connect(self) -> Connection:
        """A connection that holds the lock. Commits do not wait for the disk."""
        connection = connect(self._address)
        with translate_errors(self._address, "the export failed"):
            connection.execute("SET synchronous_commit = off")
            connection.execute(f"SET lock_timeout = '{LOCK_WAIT_S}s'")
            key = _derive_lock(self._collection)
            try:
                connection.execute("SELECT pg_advisory_lock(%s)", (key,))
            except psycopg.errors.LockNotAvailable:
                holders = connection.execute(_FIND_HOLDERS, (key,)).fetchall()
                connection.close()
                named = ", ".join(str(name) for (name,) in holders) or "unknown"
                raise BusyError(f"{self.name}: another export to it is active ({named})") from None
            connection.execute(f"SET lock_timeout = '{LOCK_S}s'")
        return connection


def _derive_lock(collection: str) -> int:
    """The number of the lock that exports to a schema take."""
    return int.from_bytes(hashlib.sha256(f"inorder export {collection}".encode()).digest()[:8], signed=True)
