"""Converts the store of an earlier schema version."""

import sqlite3

from .rows import SCHEMA

_STATEMENTS = (
    "ALTER TABLE items RENAME TO items_1",
    *(statement for statement in SCHEMA.split(";") if statement.strip()),
    "INSERT INTO origins (folder, cfg_hash, input_base) SELECT DISTINCT folder, cfg_hash, '' FROM items_1",
    """
    INSERT INTO items (rowid, item_id, origin, input_sha256, input_path, extras, size, sha256, codec, content)
    SELECT items_1.rowid, item_id, number, pack_hash(input_sha256), input_path, extras, size, sha256, codec, content
    FROM items_1 JOIN origins USING (folder, cfg_hash) ORDER BY items_1.rowid
    """,
    "DROP TABLE items_1",
    "PRAGMA user_version=2",
)


def migrate(connection: sqlite3.Connection) -> None:
    """Convert a store of version 1 in the open transaction. Its rows stay as they are but for their columns; they get
    smaller when their results are made again."""
    connection.create_function("pack_hash", 1, bytes.fromhex, deterministic=True)
    for statement in _STATEMENTS:
        connection.execute(statement)
