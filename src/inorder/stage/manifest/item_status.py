"""The status of every item of a stage, after all of its runs.

An item has the status of its latest row in the manifest, with one exception: a skip because the outputs are up to date
counts as the success that made them. So an item is

    success   its outputs were made, and every later run found them up to date
    skip      its worker said that there was nothing to do
    failure   it failed the last time it was tried; `inorder retry` tries it again

A manifest may have millions of rows. They are read once, into a temporary SQLite table that spills to disk.
"""

import sqlite3
from collections.abc import Iterator
from typing import Any, NamedTuple

from inorder.stage.manifest.reader import ManifestLine, ManifestRow, decode_config, read_lines

_BATCH = 5000
_SCHEMA = """
CREATE TABLE items (
    doc_id TEXT PRIMARY KEY, status TEXT, category TEXT, warnings INTEGER,
    latest INTEGER, made INTEGER, fingerprinted INTEGER, input_sha256 TEXT
) WITHOUT ROWID
"""
_UPSERT = """
INSERT INTO items VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (doc_id) DO UPDATE SET
    status = ?2, category = ?3, warnings = ?4, latest = ?5,
    (made, fingerprinted, input_sha256) = (SELECT ?6, ?7, ?8 WHERE ?6 >= 0 AND NOT (?9 AND made >= 0)
        UNION ALL SELECT made, fingerprinted, input_sha256 LIMIT 1)
"""
STATUSES = ("success", "skip", "failure")


class ItemStatus(NamedTuple):
    """The status of one item."""

    doc_id: str
    status: str
    category: str
    """Error category of a failure."""
    latest: int
    """Offset of the latest row in the manifest."""
    made: int
    """Offset of the row that lists its outputs; -1: there is none."""
    is_fingerprinted: bool
    input_sha256: str
    """The hash of all inputs in that row."""


class ItemStatuses:
    """The status of all items of one manifest."""

    def __init__(self) -> None:
        self._database = sqlite3.connect("", isolation_level=None)
        self._database.execute("PRAGMA synchronous=OFF")
        self._database.execute("PRAGMA journal_mode=OFF")
        self._database.execute(_SCHEMA)
        self._is_fingerprinting = True
        self._pending: list[tuple[object, ...]] = []
        self.damaged = 0
        """Lines of the manifest that cannot be decoded."""

    @classmethod
    def read(cls, path: str) -> "ItemStatuses":
        """Read a manifest."""
        statuses = cls()
        for line in read_lines(path):
            if line.row is None:
                statuses.damaged += 1
            else:
                statuses.add(line, line.row)
        return statuses

    def add(self, line: ManifestLine, row: ManifestRow) -> None:
        """Take one more row into account."""
        if row.is_config:
            config = decode_config(line)
            self._is_fingerprinting = config is None or config.options.get("fingerprinting") is not False
        elif not row.is_item:
            return
        elif row.is_removed:
            self._flush()
            self._query("DELETE FROM items WHERE doc_id = ?", row.doc_id)
        elif row.status in STATUSES:
            status = "success" if row.is_satisfied else row.status
            category = row.error.category if row.error is not None else ""
            made = line.offset if status == "success" else -1
            offsets = (line.offset, made, self._is_fingerprinting, row.input_sha256, row.is_satisfied)
            self._pending.append((row.doc_id, status, category, len(row.warnings), *offsets))
            if len(self._pending) >= _BATCH:
                self._flush()

    def _flush(self) -> None:
        pending, self._pending = self._pending, []
        self._database.execute("BEGIN")
        self._database.executemany(_UPSERT, pending)
        self._database.execute("COMMIT")

    def count_by_status(self) -> dict[str, int]:
        """Number of items per status."""
        found = dict(self._query("SELECT status, COUNT(*) FROM items GROUP BY status"))
        return {status: found.get(status, 0) for status in STATUSES}

    def count_by_category(self) -> dict[str, int]:
        """Number of failures per error category, the most frequent first."""
        query = "SELECT category, COUNT(*) FROM items WHERE status = 'failure' GROUP BY category ORDER BY 2 DESC, 1"
        return dict(self._query(query))

    def count_items_with_warnings(self) -> int:
        """Number of items whose latest row has warnings."""
        [(count,)] = self._query("SELECT COUNT(*) FROM items WHERE warnings > 0")
        return int(count)

    def get(self, doc_id: str) -> ItemStatus | None:
        """The status of one item; None: no run has reached it."""
        return next(self._select("WHERE doc_id = ?", doc_id), None)

    def failures(self) -> Iterator[ItemStatus]:
        """Failed items, in the order of their rows."""
        return self._select("WHERE status = 'failure' ORDER BY latest")

    def list_all(self) -> Iterator[ItemStatus]:
        """All items, in the order of their latest rows."""
        return self._select("ORDER BY latest")

    def successes(self) -> Iterator[ItemStatus]:
        """Items with outputs, in the order of the rows that list them."""
        return self._select("WHERE status = 'success' ORDER BY made")

    def _select(self, condition: str, *values: object) -> Iterator[ItemStatus]:
        query = f"SELECT doc_id, status, category, latest, made, fingerprinted, input_sha256 FROM items {condition}"
        return (ItemStatus(*found) for found in self._query(query, *values))

    def _query(self, query: str, *values: object) -> Iterator[tuple[Any, ...]]:
        self._flush()
        return self._database.execute(query, values)
