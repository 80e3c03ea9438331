"""The changes of a run to an index that is published already.

A run that changes an index does not copy it. It writes the rows of the changed files to a draft: a small database with
its own write-ahead log and position. Publishing applies them to the index in one transaction, so the cost depends on
the change and not on the index.

A draft fits one state of the index only: it lacks the files that were up to date. It names that state by the content
hash, and has an id that the transaction writes to the index, so that it is applied once.
"""

import contextlib
import sqlite3
from collections.abc import Iterator, Sequence

from inorder.index.rows import FileRows, decode_rows
from inorder.index.schema import META_TABLE, has_table, read_meta, write_meta
from inorder.runtime.identity import new_run_id
from inorder.sinks.base import Entry
from inorder.stage.store.format import INDEX_FORMAT

SCHEMA = (
    META_TABLE
    + """
CREATE TABLE IF NOT EXISTS changes (seq INTEGER PRIMARY KEY, item_id TEXT NOT NULL, "rows" BLOB);
"""
)
_BASE, _ID, _APPLIED = "base_content_hash", "draft_id", "applied_draft_id"


def create_changes(path: str, index: str) -> None:
    """Create an empty draft of changes to the index at `index`."""
    with contextlib.closing(sqlite3.connect(index)) as published:
        base = read_meta(published, "content_hash")
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript(f"BEGIN;{SCHEMA}PRAGMA user_version={INDEX_FORMAT};")
        write_meta(connection, _BASE, base)
        write_meta(connection, _ID, new_run_id())
        connection.commit()


def are_changes(connection: sqlite3.Connection) -> bool:
    """Whether a draft has the changes to an index, and is not an index itself."""
    return has_table(connection, "changes")


def store_changes(connection: sqlite3.Connection, entries: Sequence[Entry]) -> None:
    """Add the rows of successful items to a draft."""
    rows = ((entry.seq, entry.item.item.item_id, entry.payload.delivery) for entry in entries)
    connection.executemany("INSERT INTO changes VALUES (?, ?, ?)", rows)


def read_changes(draft: sqlite3.Connection) -> Iterator[tuple[str, FileRows | None]]:
    """The item id and the rows of every changed file; None for a file that was removed."""
    for item_id, rows in draft.execute('SELECT item_id, "rows" FROM changes ORDER BY seq'):
        yield item_id, None if rows is None else decode_rows(rows)


def is_applied(draft: sqlite3.Connection, index: sqlite3.Connection) -> bool:
    """Whether the index has these changes already."""
    return read_meta(index, _APPLIED) == read_meta(draft, _ID)


def mark_applied(draft: sqlite3.Connection, index: sqlite3.Connection) -> None:
    """Write to the index that it has these changes. To be called in the transaction that applies them."""
    write_meta(index, _APPLIED, read_meta(draft, _ID))


def fits(draft: sqlite3.Connection, index: sqlite3.Connection) -> bool:
    """Whether the index is the one that the changes were made for, with them or without."""
    return read_meta(index, "content_hash") == read_meta(draft, _BASE) or is_applied(draft, index)
