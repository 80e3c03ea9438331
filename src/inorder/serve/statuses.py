"""The latest row of every item of a stage, for lists of documents and for one document's way through the stages, where
DATA has no library.

A manifest is read once; later calls read only what was appended since. The table is in a temporary database that spills
to disk, so memory does not grow with the corpus.
"""

import os
import sqlite3
from threading import Lock

import msgspec

from inorder.sinks.packed_lines import measure_lines
from inorder.stage.data_layout import DataLayout
from inorder.stage.manifest.reader import ManifestRow, read_line_at, read_rows

_SCHEMA = "CREATE TABLE items (id TEXT PRIMARY KEY, status TEXT, note TEXT, latest INTEGER) WITHOUT ROWID"
_LENGTH_MAX = 300


class ListedItem(msgspec.Struct, frozen=True, kw_only=True):
    """An item of a stage, and how it ended."""

    id: str
    status: str
    note: str
    """The error, or why it was skipped."""


class StageTable:
    """The items of one stage. Thread-safe."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._lock = Lock()
        self._reset()

    def _reset(self) -> None:
        self._offset = 0
        self._inode: int | None = None
        self._database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._database.execute("PRAGMA synchronous=OFF")
        self._database.execute("PRAGMA journal_mode=OFF")
        self._database.execute(_SCHEMA)

    def find(self, item_id: str) -> tuple[ManifestRow, bytes] | None:
        """The latest row of an item, and the row as it was written; None: there is none."""
        with self._lock:
            self._refresh()
            found = self._database.execute("SELECT latest FROM items WHERE id = ?", (item_id,)).fetchone()
        if found is None:
            return None
        line = read_line_at(self._path, found[0])
        return None if line.row is None else (line.row, line.raw)

    def list_items(self, after: str, count: int, status: str, text: str) -> tuple[list[ListedItem], int]:
        """Items in the order of their ids that follow `after`, and the number of all that meet the conditions."""
        pattern = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        condition = "(?1 = '' OR status = ?1) AND id LIKE '%' || ?2 || '%' ESCAPE '\\'"
        with self._lock:
            self._refresh()
            rows = self._database.execute(
                f"SELECT id, status, note FROM items WHERE {condition} AND id > ?3 ORDER BY id LIMIT ?4",
                (status, pattern, after, count),
            ).fetchall()
            counting = f"SELECT COUNT(*) FROM items WHERE {condition}"
            [total] = self._database.execute(counting, (status, pattern)).fetchone()
        return [ListedItem(id=each, status=ended, note=note) for each, ended, note in rows], total

    def _refresh(self) -> None:
        try:
            found = os.stat(self._path)
        except FileNotFoundError:
            return
        if self._inode is not None and (self._inode != found.st_ino or measure_lines(self._path) < self._offset):
            self._reset()
        self._inode = found.st_ino
        self._database.execute("BEGIN")
        for line, row in read_rows(self._path, self._offset):
            self._offset = line.end
            if row.is_removed:
                self._database.execute("DELETE FROM items WHERE id = ?", (row.doc_id,))
            elif not row.is_config:
                self._store(row, line.source)
        self._database.execute("COMMIT")

    def _store(self, row: ManifestRow, offset: int) -> None:
        status = "success" if row.is_satisfied else row.status
        note = row.error.message if row.error is not None else "" if row.is_satisfied else row.reason
        values = (row.doc_id, status, note[:_LENGTH_MAX], offset, row.is_satisfied)
        self._database.execute(
            "INSERT INTO items VALUES (?1, ?2, ?3, ?4) ON CONFLICT (id) DO UPDATE SET status = ?2, note = ?3, "
            "latest = CASE WHEN ?5 THEN latest ELSE ?4 END",
            values,
        )


_tables: dict[str, StageTable] = {}
_tables_lock = Lock()


def open_table(data: str, stage: str) -> StageTable:
    """The items of a stage of DATA."""
    path = DataLayout(data, stage).manifest
    with _tables_lock:
        return _tables.setdefault(path, StageTable(path))
