"""The draft of an index: the database that a run writes before it is published.

Readers never see a partly updated index. A run writes to a draft beside the published database: a copy of it, created
by the first change. The draft has its own write-ahead log, and stores its position in the same transaction as the rows,
so a run that was killed at any moment can be resumed. When everything is committed, the draft replaces the published
database in one rename. A reader that has the old one open keeps it.

A draft that has every change of its run is marked as complete before the journal records the end of the run. If the
process dies before the rename, the next run finds the mark, publishes the draft, and repeats nothing.
"""

import contextlib
import os
import sqlite3
from collections.abc import Sequence

from inorder.errors import IntegrityError
from inorder.host.filesystem import SystemFilesystem, copy_atomic
from inorder.host.os_errors import translate_os_errors
from inorder.sinks.base import AppliedRun, Entry, Position, advance_position, check_run
from inorder.sinks.sqlite import SqliteSink

from .connection import open_index, translate_index_errors
from .conversion import convert_index, read_version
from .lexical.postings import invert_pending, merge_segments
from .locations import are_roots_current, store_roots
from .matrix_file import MatrixFile
from .rows import DOCUMENT, decode_rows
from .schema import SCHEMA, VERSION, read_meta, write_meta
from .vectors import remove_old_matrices, write_matrix
from .writer import content_hash, remove_file, replace_file

NAME = "index"
_FREE_SHARE = 4
"""The database is vacuumed when more than 1/4 of its pages are free."""
_COMPLETE = "draft_is_complete"
"""Name in `meta` of the mark of a draft that has every change of its run. It stays in the published database."""


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

    def origin(self) -> Position:
        """Where a new run begins: at the published database, after a complete draft of an earlier run is published."""
        with contextlib.suppress(IntegrityError):  # a damaged draft is made again
            if _is_complete(self._path):
                publish(self._data)
        return Position()

    def complete(self) -> None:
        """Mark the draft as complete: every entry of the run is applied."""
        if self._inner is not None:
            with translate_index_errors(published_path(self._data), "it cannot be written"):
                _mark(self._path, is_complete=True)

    def sync(self) -> None:
        """Make everything applied so far durable."""
        if self._inner is not None:
            self._inner.sync()

    def holds(self, position: Position, since: Sequence[AppliedRun]) -> bool:
        """Whether the draft contains everything up to `position`. At offset 0 there were no changes, so this holds."""
        if position.offset == 0:
            return True
        return (
            os.path.exists(self._path) and read_version(self._path) == VERSION and self._open().holds(position, since)
        )

    def roll_back(self, position: Position, undone: Sequence[AppliedRun]) -> None:
        """Return to `position`. At offset 0 there were no changes yet, so the draft is removed."""
        self._position = position
        if position.offset == 0:
            self.close()
            remove_draft(self._data)
        else:
            self._open().roll_back(position, undone)
            _mark(self._path, is_complete=False)

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
            _mark(self._path, is_complete=False)
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
    """Make a draft of the published database. One of an older version is converted."""
    path, published = draft_path(data), published_path(data)
    with translate_os_errors(f"cannot create {path}"):
        if read_version(published) < VERSION:
            with translate_index_errors(published):
                convert_index(published, path)
        else:
            copy_atomic(SystemFilesystem(), published, path)


def remove_draft(data: str) -> None:
    """Remove the draft and its log files, durably: a log that reappeared would be applied to the next draft."""
    filesystem = SystemFilesystem()
    with translate_os_errors(f"cannot remove {draft_path(data)}"):
        paths = [f"{draft_path(data)}{ending}" for ending in ("", "-wal", "-shm", "-journal", ".new", f".{NAME}.lock")]
        found = [path for path in paths if os.path.exists(path)]
        for path in found:
            filesystem.unlink(path)
        if found:
            filesystem.sync_directory(data)


def publish(data: str) -> None:
    """Complete the draft and replace the published database with it. Without a draft no file has changed, but a source
    may have been moved, or the matrix lost. Can be repeated after it was interrupted at any point."""
    path = draft_path(data)
    filesystem = SystemFilesystem()
    if not os.path.exists(path):
        if not os.path.exists(published_path(data)):
            return
        if _is_published_current(data):
            _remove_leftovers(data)
            return
        _copy_published(data)
    with (
        translate_os_errors(f"cannot write {published_path(data)}"),
        translate_index_errors(published_path(data), "it cannot be published"),
    ):
        _complete(path, data)
        file = filesystem.open(path)
        try:
            file.sync()
        finally:
            file.close()
        filesystem.rename(path, published_path(data))
        filesystem.sync_directory(data)
    open_index.cache_clear()  # open connections still read the old database
    _remove_leftovers(data)


def _is_published_current(data: str) -> bool:
    """Whether no source was moved since the database was published, and its matrix is there."""
    path = published_path(data)
    with translate_index_errors(path):
        connection = open_index(path)
        return are_roots_current(connection, data) and not MatrixFile(connection, data).find_problem()


def _remove_leftovers(data: str) -> None:
    """Remove what only the database before the published one needed."""
    remove_draft(data)
    path = published_path(data)
    with translate_index_errors(path):
        remove_old_matrices(data, MatrixFile(open_index(path), data).name)


def _is_complete(path: str) -> bool:
    """Whether there is a draft that has every change of its run."""
    if not os.path.exists(path):
        return False
    with translate_index_errors(path), contextlib.closing(sqlite3.connect(path)) as connection:
        return bool(read_meta(connection, _COMPLETE))


def _mark(path: str, *, is_complete: bool) -> None:
    """Set or remove the mark of a complete draft, durably."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        write_meta(connection, _COMPLETE, "1" if is_complete else "")


def _complete(path: str, data: str) -> None:
    """Write what describes the draft as a whole, and leave no log file behind."""
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.execute("BEGIN")
        invert_pending(connection)
        merge_segments(connection)
        connection.execute("DELETE FROM inorder_position WHERE sink = ?", (NAME,))
        write_matrix(connection, data)
        store_roots(connection, data)
        write_meta(connection, "content_hash", content_hash(connection))
        write_meta(connection, "languages", " ".join(_list_languages(connection)))
        write_meta(connection, "schema", str(VERSION))
        connection.execute("COMMIT")
        _release_free_pages(connection)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("PRAGMA journal_mode=DELETE")
    finally:
        connection.close()


def _list_languages(connection: sqlite3.Connection) -> list[str]:
    """The languages of the documents."""
    found = connection.execute("SELECT DISTINCT language FROM files WHERE kind = ? ORDER BY language", (DOCUMENT,))
    return [language for (language,) in found if language]


def _release_free_pages(connection: sqlite3.Connection) -> None:
    """Shrink the file if much of it is free: chunks that waited to be inverted, merged segments, removed files."""
    [free], [pages] = (connection.execute(f"PRAGMA {each}_count").fetchone() for each in ("freelist", "page"))
    if free * _FREE_SHARE > pages:
        connection.execute("VACUUM")
