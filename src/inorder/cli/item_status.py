"""How every item of a stage stands, after all of its runs.

An item stands as its latest row says, with one exception: a skip because the outputs are there, unchanged, is the
success it relies on. So an item is

    success   its outputs were made, and every later run found them good
    skip      its worker said that there was nothing to do
    failure   it failed the last time that it was tried; `inorder retry` tries it again

A manifest may have millions of rows. They are read once, and what is known of each item goes into a table that the
system keeps on the disk where it does not fit.
"""

import sqlite3
from collections.abc import Iterator
from typing import Any, NamedTuple

from inorder.stage.manifest.reader import ManifestLine, ManifestRow, decode_config, read_lines

_BATCH = 5000
_SCHEMA = """
CREATE TABLE items (
    doc_id TEXT PRIMARY KEY, status TEXT, category TEXT, warnings INTEGER,
    latest INTEGER, made INTEGER, fingerprinted INTEGER
) WITHOUT ROWID
"""
_TAKE = """
INSERT INTO items VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (doc_id) DO UPDATE SET
    status = ?2, category = ?3, warnings = ?4, latest = ?5,
    made = CASE WHEN ?6 < 0 OR (?8 AND made >= 0) THEN made ELSE ?6 END,
    fingerprinted = CASE WHEN ?6 < 0 OR (?8 AND made >= 0) THEN fingerprinted ELSE ?7 END
"""
STATUSES = ("success", "skip", "failure")


class Standing(NamedTuple):
    """How one item stands."""

    doc_id: str
    status: str
    category: str
    """Of its failure."""
    latest: int
    """Where its latest row begins in the manifest."""
    made: int
    """Where the row begins that tells of its outputs; -1: there is none."""
    is_fingerprinted: bool


class Standings:
    """All items of one manifest."""

    def __init__(self) -> None:
        self._database = sqlite3.connect("", isolation_level=None)
        self._database.execute("PRAGMA synchronous=OFF")
        self._database.execute("PRAGMA journal_mode=OFF")
        self._database.execute(_SCHEMA)
        self._is_fingerprinting = True
        self._pending: list[tuple[object, ...]] = []
        self.damaged = 0
        """Lines that are no rows."""

    @classmethod
    def of_manifest(cls, path: str) -> "Standings":
        """Read all of it."""
        standings = cls()
        for line in read_lines(path):
            if line.row is None:
                standings.damaged += 1
            else:
                standings.take(line, line.row)
        return standings

    def take(self, line: ManifestLine, row: ManifestRow) -> None:
        """One more row."""
        if row.is_config:
            config = decode_config(line)
            self._is_fingerprinting = config is None or config.options.get("fingerprinting") is not False
        elif row.is_removed:
            self._flush()
            self._query("DELETE FROM items WHERE doc_id = ?", row.doc_id)
        elif row.status in STATUSES:
            status = "success" if row.is_satisfied else row.status
            category = row.error.category if row.error is not None else ""
            made = line.offset if status == "success" else -1
            facts = (line.offset, made, self._is_fingerprinting, row.is_satisfied)
            self._pending.append((row.doc_id, status, category, len(row.warnings), *facts))
            if len(self._pending) >= _BATCH:
                self._flush()

    def _flush(self) -> None:
        """Put down what has gathered."""
        pending, self._pending = self._pending, []
        self._database.execute("BEGIN")
        self._database.executemany(_TAKE, pending)
        self._database.execute("COMMIT")

    def counts(self) -> dict[str, int]:
        """Items by how they stand."""
        found = dict(self._query("SELECT status, COUNT(*) FROM items GROUP BY status"))
        return {status: found.get(status, 0) for status in STATUSES}

    def categories(self) -> dict[str, int]:
        """Failures by category, the most frequent first."""
        query = "SELECT category, COUNT(*) FROM items WHERE status = 'failure' GROUP BY category ORDER BY 2 DESC, 1"
        return dict(self._query(query))

    def warned(self) -> int:
        """Items whose latest row has warnings."""
        [(count,)] = self._query("SELECT COUNT(*) FROM items WHERE warnings > 0")
        return int(count)

    def of(self, doc_id: str) -> Standing | None:
        """How one item stands; None: no run has come to it."""
        return next(self._select("WHERE doc_id = ?", doc_id), None)

    def failures(self) -> Iterator[Standing]:
        """Failed items, in the order of their rows."""
        return self._select("WHERE status = 'failure' ORDER BY latest")

    def successes(self) -> Iterator[Standing]:
        """Items with outputs, in the order of the rows that tell of them."""
        return self._select("WHERE status = 'success' ORDER BY made")

    def _select(self, condition: str, *values: object) -> Iterator[Standing]:
        query = f"SELECT doc_id, status, category, latest, made, fingerprinted FROM items {condition}"
        for doc_id, status, category, latest, made, fingerprinted in self._query(query, *values):
            yield Standing(doc_id, status, category, latest, made, bool(fingerprinted))

    def _query(self, query: str, *values: object) -> Iterator[tuple[Any, ...]]:
        self._flush()
        return self._database.execute(query, values)
