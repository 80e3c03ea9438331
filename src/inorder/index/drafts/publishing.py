"""Publish the draft of an index.

A draft that is an index is renamed. The changes of a later run are applied to the published database in one transaction
with a write-ahead log: readers see the old state until the commit, then the new one, and a process or a machine that
dies leaves one of the two.
"""

import contextlib
import os
import sqlite3

from inorder.errors import IntegrityError
from inorder.host.filesystem import SystemFilesystem
from inorder.host.os_errors import translate_os_errors
from inorder.index.connection import open_index, translate_index_errors
from inorder.index.locations import are_roots_current, store_roots
from inorder.index.rows import DOCUMENT
from inorder.index.schema import INDEXES, write_meta
from inorder.index.vectors.files import remove_other_files
from inorder.index.vectors.table import list_matrix_files
from inorder.index.writer import RowWriter, content_hash
from inorder.stage.store.format import INDEX_FORMAT

from .changes import are_changes, fits, is_applied, mark_applied, read_changes

_SINK = "index"
_FREE_SHARE = 2
"""The database is vacuumed when more than 1/2 of its pages are free. Later changes use them too."""
_LOG_ENDINGS = ("-wal", "-shm", "-journal")
_WAIT_S = 30.0
"""How long to wait for another program that reads the database in a transaction."""


def published_path(data: str) -> str:
    """The database that readers open."""
    return f"{data}/index.sqlite"


def draft_path(data: str) -> str:
    """The database that a run writes."""
    return f"{data}/index.draft.sqlite"


def remove_draft(data: str) -> None:
    """Remove the draft and its log files, durably: a log that reappeared would be applied to the next draft."""
    filesystem = SystemFilesystem()
    with translate_os_errors(f"cannot remove {draft_path(data)}"):
        endings = ("", "-wal", "-shm", "-journal", ".new", f".{_SINK}.lock")
        found = [path for path in (f"{draft_path(data)}{ending}" for ending in endings) if os.path.exists(path)]
        for path in found:
            filesystem.unlink(path)
        if found:
            filesystem.sync_directory(data)


def publish(data: str) -> None:
    """Publish the draft. Without a draft no file has changed, but a source may have been moved, or vectors lost. Can
    be repeated after it was interrupted at any point."""
    path, published = draft_path(data), published_path(data)
    with (
        translate_os_errors(f"cannot write {published}"),
        translate_index_errors(published, "it cannot be published"),
    ):
        if os.path.exists(path):
            _publish_draft(data)
        elif not os.path.exists(published):
            return
        elif not _is_published_current(data):
            _update_published(data, None)
    open_index.cache_clear()  # an open connection may still read the database that was replaced
    _remove_leftovers(data)


def _publish_draft(data: str) -> None:
    with contextlib.closing(sqlite3.connect(draft_path(data))) as draft:
        if are_changes(draft):
            _update_published(data, draft)
            return
    _replace_published(data)


def _update_published(data: str, draft: sqlite3.Connection | None) -> None:
    """Apply the changes of a draft to the published database, and write what describes it as a whole, in one
    transaction. The write-ahead log is synced by the commit."""
    path = published_path(data)
    if not os.path.exists(path):
        raise IntegrityError(f"{path} was removed while its changes were made; run `inorder index` again")
    open_index(path).close()  # a connection that is not in use keeps the log from being removed
    open_index.cache_clear()
    with contextlib.closing(sqlite3.connect(path, timeout=_WAIT_S, isolation_level=None)) as connection:
        if draft is not None and not fits(draft, connection):
            raise IntegrityError(f"{path} was replaced while its changes were made; run `inorder index` again")
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("BEGIN IMMEDIATE")
        writer = RowWriter(connection)
        first = writer.next_chunk
        if draft is not None and not is_applied(draft, connection):
            for item_id, rows in read_changes(draft):
                if rows is None:
                    writer.remove_file(connection, item_id)
                else:
                    writer.replace_file(connection, rows)
            writer.invert(connection)
            mark_applied(draft, connection)
        _describe_index(connection, data, first)
        connection.execute("COMMIT")
        _release_free_pages(connection)
        _leave_log(connection)


def _replace_published(data: str) -> None:
    """Complete a draft that is an index, and rename it."""
    path, published = draft_path(data), published_path(data)
    filesystem = SystemFilesystem()
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN")
        RowWriter(connection).invert(connection)
        for statement in INDEXES.split(";"):
            connection.execute(statement)
        _describe_index(connection, data, 0)
        connection.execute("COMMIT")
        _release_free_pages(connection)
        _leave_log(connection)
    file = filesystem.open(path)
    try:
        file.sync()
    finally:
        file.close()
    _remove_log_of_replaced(data)
    filesystem.rename(path, published)
    filesystem.sync_directory(data)


def _remove_log_of_replaced(data: str) -> None:
    """Leave no log beside the database that is replaced: it would be applied to its successor."""
    published = published_path(data)
    if os.path.exists(published):
        with contextlib.closing(sqlite3.connect(published, timeout=_WAIT_S, isolation_level=None)) as connection:
            _leave_log(connection)
    filesystem = SystemFilesystem()
    found = [path for path in (f"{published}{ending}" for ending in _LOG_ENDINGS) if os.path.exists(path)]
    for path in found:
        filesystem.unlink(path)
    if found:
        filesystem.sync_directory(data)


def _leave_log(connection: sqlite3.Connection) -> None:
    """Copy the write-ahead log to the database and remove it. Readers that are in a transaction can delay that until
    the next run."""
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with contextlib.suppress(sqlite3.OperationalError):
        connection.execute("PRAGMA journal_mode=DELETE")


def _describe_index(connection: sqlite3.Connection, data: str, first: int) -> None:
    """Write what describes the index as a whole. `first` is the first chunk that was not in it before."""
    from inorder.index.lexical.inversion import merge_segments  # with NumPy, which is slow to import
    from inorder.index.vectors.update import update_vectors

    update_vectors(connection, data, first)
    merge_segments(connection)  # which forgets the chunks that were removed
    connection.execute("DROP TABLE IF EXISTS inorder_position")
    store_roots(connection, data)
    write_meta(connection, "content_hash", content_hash(connection))
    write_meta(connection, "languages", " ".join(_list_languages(connection)))
    write_meta(connection, "schema", str(INDEX_FORMAT))


def _list_languages(connection: sqlite3.Connection) -> list[str]:
    """The languages of the documents."""
    found = connection.execute("SELECT DISTINCT language FROM files WHERE kind = ? ORDER BY language", (DOCUMENT,))
    return [language for (language,) in found if language]


def _release_free_pages(connection: sqlite3.Connection) -> None:
    """Shrink the file if much of it is free: merged segments, removed files."""
    [free], [pages] = (connection.execute(f"PRAGMA {each}_count").fetchone() for each in ("freelist", "page"))
    if free * _FREE_SHARE > pages:
        connection.execute("VACUUM")


def _is_published_current(data: str) -> bool:
    """Whether no source was moved since the database was published, and its vectors are there."""
    connection = open_index(published_path(data))
    are_there = not any(file.find_problem() for file in list_matrix_files(connection, data))
    return are_there and are_roots_current(connection, data)


def _remove_leftovers(data: str) -> None:
    """Remove what only the state before the published one needed."""
    remove_draft(data)
    path = published_path(data)
    with translate_index_errors(path):
        remove_other_files(data, [file.name for file in list_matrix_files(open_index(path), data)])
