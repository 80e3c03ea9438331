"""The draft of an index: the database that a run writes before it is published.

Readers never see a partly updated index. A run writes to a draft beside the published database: a copy of it, created
by the first change. The draft has its own write-ahead log, and stores its position in the same transaction as the rows,
so a run that was killed at any moment can be resumed. When everything is committed, the draft replaces the published
database in one rename. A reader that has the old one open keeps it.
"""

import os
import shutil
import sqlite3
from collections.abc import Sequence

from inorder.errors import InfrastructureError
from inorder.host.filesystem import SystemFilesystem
from inorder.sinks.base import AppliedRun, Entry, Position, advance_position, check_run
from inorder.sinks.sqlite import SqliteSink

from .connection import open_index, translate_index_errors
from .locations import are_roots_current, store_roots
from .rows import decode_rows
from .schema import SCHEMA, VERSION, read_meta, write_meta
from .vectors import remove_old_matrices, write_matrix
from .writer import content_hash, remove_file, replace_file

NAME = "index"
_SMALL_CHANGE_SHARE = 10
"""A run that changes less than one file in this many makes a small change."""


def published_path(data: str) -> str:
    """The database that readers open."""
    return f"{data}/index.sqlite"


def draft_path(data: str) -> str:
    """The database that a run writes."""
    return f"{data}/index.draft.sqlite"


class IndexSink:
    """Writes files to the draft. There is no draft until the first change."""

    name = NAME

    def __init__(self, data: str) -> None:
        self._data = data
        self._path = draft_path(data)
        self._inner: SqliteSink | None = None
        self._position: Position | None = None

    def apply(self, entries: Sequence[Entry]) -> Position:
        """Write the rows of the successful items."""
        position = check_run(self.name, self._position, entries)
        with translate_index_errors(published_path(self._data), "it cannot be written"):  # the draft is a copy of it
            if self._inner is None and any(entry.is_success for entry in entries):
                self._create_draft()
            if self._inner is None:
                self._position = advance_position(position, entries)
            else:
                self._position = self._inner.apply(entries)
        return self._position

    def position(self) -> Position:
        """The position after the last applied entry."""
        return check_run(self.name, self._position, ())

    def sync(self) -> None:
        """Make everything applied so far durable."""
        if self._inner is not None:
            self._inner.sync()

    def holds(self, position: Position, since: Sequence[AppliedRun]) -> bool:
        """Whether the draft contains everything up to `position`. At offset 0 there were no changes, so this holds."""
        if position.offset == 0:
            return True
        return os.path.exists(self._path) and self._open().holds(position, since)

    def roll_back(self, position: Position, undone: Sequence[AppliedRun]) -> None:
        """Return to `position`. At offset 0 there were no changes yet, so the draft is removed."""
        self._position = position
        if position.offset == 0:
            self.close()
            remove_draft(self._data)
        else:
            self._open().roll_back(position, undone)

    def close(self) -> None:
        """Close the draft. Idempotent."""
        if self._inner is not None:
            self._inner.close()
            self._inner = None

    def _create_draft(self) -> None:
        """Create the draft, and advance it to the position that was reached without one."""
        remove_draft(self._data)
        if os.path.exists(published_path(self._data)):
            _copy_published(self._data)
        inner = self._open()
        inner.skip_to(self.position())

    def _open(self) -> SqliteSink:
        if self._inner is None:
            self._inner = SqliteSink(self._path, SCHEMA, _write_entries, version=VERSION, name=self.name)
        return self._inner


def _write_entries(connection: sqlite3.Connection, entries: Sequence[Entry]) -> None:
    for entry in entries:
        delivery = entry.payload.delivery
        if delivery is None:
            remove_file(connection, entry.item.item.item_id)
        else:
            replace_file(connection, decode_rows(delivery))


def _copy_published(data: str) -> None:
    path = draft_path(data)
    try:
        shutil.copyfile(published_path(data), f"{path}.new")
        os.replace(f"{path}.new", path)
    except OSError as error:
        raise InfrastructureError(f"cannot create {path} ({error.strerror or error})") from error


def remove_draft(data: str) -> None:
    """Remove the draft and its log files. Idempotent."""
    for ending in ("", "-wal", "-shm", "-journal", ".new", f".{NAME}.lock"):
        try:
            os.unlink(f"{draft_path(data)}{ending}")
        except FileNotFoundError:
            continue
        except OSError as error:
            raise InfrastructureError(f"cannot remove {draft_path(data)} ({error.strerror or error})") from error


def publish(data: str) -> None:
    """Complete the draft and replace the published database with it. Without a draft no file has changed, but a source
    may have been moved."""
    path = draft_path(data)
    if not os.path.exists(path):
        if _is_published_current(data):
            return
        _copy_published(data)
    with translate_index_errors(published_path(data), "it cannot be published"):
        matrix = _complete(path, data)
    filesystem = SystemFilesystem()
    try:
        file = filesystem.open(path)
        file.sync()
        file.close()
        filesystem.rename(path, published_path(data))
        filesystem.sync_directory(data)
    except OSError as error:
        raise InfrastructureError(f"cannot write {published_path(data)} ({error.strerror or error})") from error
    open_index.cache_clear()  # open connections still read the old database
    remove_draft(data)
    remove_old_matrices(data, matrix)


def _is_published_current(data: str) -> bool:
    """Whether no source was moved since the database was published; also if there is none."""
    path = published_path(data)
    with translate_index_errors(path):
        return not os.path.exists(path) or are_roots_current(open_index(path), data)


def _complete(path: str, data: str) -> str:
    """Write what describes the draft as a whole, and leave no log file behind. Returns the name of its matrix."""
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.execute("BEGIN")
        _merge_full_text(connection)
        connection.execute("DELETE FROM inorder_position WHERE sink = ?", (NAME,))
        write_matrix(connection, data)
        store_roots(connection, data)
        write_meta(connection, "content_hash", content_hash(connection))
        write_meta(connection, "schema", str(VERSION))
        connection.execute("COMMIT")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("PRAGMA journal_mode=DELETE")
        return read_meta(connection, "vectors_file")
    finally:
        connection.close()


def _merge_full_text(connection: sqlite3.Connection) -> None:
    """Merge the segments of the full-text index: all of them after many changes, some after a few."""
    row = connection.execute('SELECT "offset" FROM inorder_position WHERE sink = ?', (NAME,)).fetchone()
    [files] = connection.execute("SELECT COUNT(*) FROM files").fetchone()
    if row is None or row[0] * _SMALL_CHANGE_SHARE >= files:
        connection.execute("INSERT INTO lookup (lookup) VALUES ('optimize')")
    else:
        connection.execute("INSERT INTO lookup (lookup, rank) VALUES ('merge', 200)")
