"""Remove what an item owns."""

import sqlite3

from .schema import TEXT_BLOCKS_MAX

OWNED_TABLES = ("chunk_rows", "symbols", "imports", "calls", "callees")


def remove_rows(connection: sqlite3.Connection, item: int, id_: int) -> None:
    """Remove a searchable file of an item, and the rows that it owns."""
    [texts] = connection.execute("SELECT texts FROM searchable WHERE id = ?", (id_,)).fetchone()
    connection.execute("DELETE FROM searchable WHERE id = ?", (id_,))
    for table in OWNED_TABLES:
        connection.execute(f"DELETE FROM {table} WHERE file = ?", (id_,))
    _remove_texts(connection, item, texts)


def remove_result(connection: sqlite3.Connection, item: int, id_: int) -> None:
    """Remove a result of an item."""
    connection.execute("DELETE FROM results WHERE id = ?", (id_,))
    _remove_texts(connection, item, id_)


def _remove_texts(connection: sqlite3.Connection, item: int, owner: int) -> None:
    """Remove texts, unless their result is there, or a searchable file still has them: the step `chunk` may have run
    without the step `index`."""
    used = connection.execute(
        "SELECT 1 FROM results WHERE id = ?2 UNION ALL SELECT 1 FROM searchable WHERE item = ?1 AND texts = ?2 LIMIT 1",
        (item, owner),
    )
    if used.fetchone() is None:
        first = owner * TEXT_BLOCKS_MAX
        connection.execute("DELETE FROM texts WHERE id BETWEEN ? AND ?", (first, first + TEXT_BLOCKS_MAX - 1))
