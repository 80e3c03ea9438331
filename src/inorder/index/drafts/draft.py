"""The draft of an index: the database that a run writes before its changes are published.

Readers never see a partly updated index. A run writes to a draft beside the published database, which is created by the
first change. The first run writes a whole index there; a later one only its changes: see `changes`. The draft has its
own write-ahead log, and stores its position in the same transaction as the rows, so a run that was killed at any moment
can be resumed.

A draft that has every change of its run is marked as complete before the journal records the end of the run. If the
process dies before it is published, the next run finds the mark, publishes the draft, and repeats nothing.
"""

import contextlib
import os
import sqlite3
from collections.abc import Sequence

from inorder.errors import IntegrityError
from inorder.host.os_errors import translate_os_errors
from inorder.index.connection import translate_index_errors
from inorder.index.rows import decode_rows
from inorder.index.schema import TABLES, has_table, read_meta, write_meta
from inorder.index.writer import RowWriter
from inorder.sinks.base import AppliedRun, Entry, Position, advance_position, advance_skipped, check_run, check_skipped
from inorder.sinks.sqlite import SqliteSink
from inorder.stage.store.format import INDEX_FORMAT

from .changes import SCHEMA as CHANGES_SCHEMA
from .changes import are_changes, create_changes, fits, store_changes
from .publishing import draft_path, publish, published_path, remove_draft

NAME = "index"
_COMPLETE = "draft_is_complete"
"""Name in `meta` of the mark of a draft that has every change of its run. It stays in the published database."""
_SETTINGS = "PRAGMA page_size=8192"
_LOG_PAGES = 8_000
"""Pages in the write-ahead log before they are copied to the database: a page that changes often is copied once."""


class IndexSink:
    """Writes files to the draft. There is no draft until the first change."""

    name = NAME

    def __init__(self, data: str) -> None:
        self._data = data
        self._path = draft_path(data)
        self._inner: SqliteSink | None = None
        self._writer: RowWriter | None = None
        """Writes to a draft that is a whole index."""
        self._position: Position | None = None

    def apply(self, entries: Sequence[Entry]) -> Position:
        """Write the rows of the successful items."""
        position = check_run(self.name, self._position, entries)
        with translate_index_errors(published_path(self._data), "it cannot be written"):
            if self._inner is None and any(entry.applies for entry in entries):
                self._create_draft()
            if self._inner is None:
                self._position = advance_position(position, entries)
            else:
                self._position = self._inner.apply(entries)
        return self._position

    def apply_skipped(self, start: int, count: int) -> Position:
        """Advance by entries that have no rows."""
        position = check_skipped(self.name, self._position, start)
        with translate_index_errors(published_path(self._data), "it cannot be written"):
            if self._inner is None:
                self._position = advance_skipped(position, count)
            else:
                self._position = self._inner.apply_skipped(start, count)
        return self._position

    def position(self) -> Position:
        """The position after the last applied entry."""
        return check_run(self.name, self._position, ())

    def origin(self) -> Position:
        """Where a new run begins: at the published database, after a complete draft of an earlier run is published."""
        with contextlib.suppress(IntegrityError):  # a draft that is damaged, or of another index, is made again
            if self._is_complete():
                publish(self._data)
        return Position()

    def complete(self) -> None:
        """Mark the draft as complete: every entry of the run is applied."""
        if self._inner is None:
            return
        with (
            translate_index_errors(published_path(self._data), "it cannot be written"),
            contextlib.closing(sqlite3.connect(self._path, isolation_level=None)) as connection,
        ):
            connection.execute("BEGIN")
            if self._writer is not None:
                self._writer.invert(connection)
            write_meta(connection, _COMPLETE, "1")
            connection.execute("COMMIT")

    def sync(self) -> None:
        """Make everything applied so far durable."""
        if self._inner is not None:
            self._inner.sync()

    def holds(self, position: Position, since: Sequence[AppliedRun]) -> bool:
        """Whether the draft contains everything up to `position`. At offset 0 there were no changes, so this holds."""
        if position.offset == 0:
            return True
        return (
            os.path.exists(self._path)
            and self._has_schema()
            and self._fits_published()
            and self._open().holds(position, since)
        )

    def roll_back(self, position: Position, undone: Sequence[AppliedRun]) -> None:
        """Return to `position`. At offset 0 there were no changes yet, so the draft is removed."""
        self._position = position
        if position.offset == 0:
            self.close()
            remove_draft(self._data)
        else:
            self._open().roll_back(position, undone)
            _remove_mark(self._path)

    def close(self) -> None:
        """Close the draft. Idempotent."""
        if self._inner is not None:
            self._inner.close()
            self._inner = self._writer = None

    def _create_draft(self) -> None:
        """Create the draft, and advance it to the position that was reached without one."""
        remove_draft(self._data)
        published = published_path(self._data)
        with translate_os_errors(f"cannot create {self._path}"):
            if not os.path.exists(published):
                _create_index(self._path)
            else:
                create_changes(self._path, published)
        self._open().skip_to(self.position())

    def _open(self) -> SqliteSink:
        if self._inner is None:
            with contextlib.closing(sqlite3.connect(self._path)) as connection:
                has_changes = are_changes(connection)
            schema, write = (CHANGES_SCHEMA, store_changes) if has_changes else (TABLES, self._write_rows)
            self._inner = SqliteSink(self._path, schema, write, version=INDEX_FORMAT, name=self.name)
        return self._inner

    def _write_rows(self, connection: sqlite3.Connection, entries: Sequence[Entry]) -> None:
        if self._writer is None:
            connection.execute(f"PRAGMA wal_autocheckpoint={_LOG_PAGES}")
            self._writer = RowWriter(connection)
        for entry in entries:
            delivery = entry.payload.delivery
            if delivery is None:
                self._writer.remove_file(connection, entry.item.item.item_id)
            else:
                self._writer.replace_file(connection, decode_rows(delivery))

    def _is_complete(self) -> bool:
        """Whether there is a draft that has every change of its run."""
        if not os.path.exists(self._path):
            return False
        with translate_index_errors(self._path), contextlib.closing(sqlite3.connect(self._path)) as connection:
            return has_table(connection, "meta") and bool(read_meta(connection, _COMPLETE))

    def _has_schema(self) -> bool:
        """Whether the draft has its tables: a power loss may leave one that is empty."""
        with translate_index_errors(self._path), contextlib.closing(sqlite3.connect(self._path)) as draft:
            [version] = draft.execute("PRAGMA user_version").fetchone()
        return bool(version == INDEX_FORMAT)

    def _fits_published(self) -> bool:
        """Whether the draft is an index itself, or has changes to the published one."""
        with translate_index_errors(self._path), contextlib.closing(sqlite3.connect(self._path)) as draft:
            if not are_changes(draft):
                return True
            published = published_path(self._data)
            if not os.path.exists(published):
                return False
            with contextlib.closing(sqlite3.connect(published)) as index:
                return fits(draft, index)


def _create_index(path: str) -> None:
    """Create an empty database, with larger pages than the default: rows are written and read in large groups."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript(f"{_SETTINGS};BEGIN;{TABLES}COMMIT;")


def _remove_mark(path: str) -> None:
    """Remove the mark of a complete draft, durably."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        write_meta(connection, _COMPLETE, "")
