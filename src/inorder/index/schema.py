"""What readers of an index find in a database.

A *file* is a source file or a document. It owns its chunks, symbols, imports and calls: they are replaced together when
the file changes and removed together with it. The library has tables or views of these columns, whose rows are those
of one generation:

    files    id, item_id, kind, path, language, lines, note, digest
    chunks   id, chunk_id, file, number, kind, name, context, start, end, pages, text
    symbols  file, number, name, qualified, kind, start, end, signature
    imports  file, number, module, names, line
    calls    file, data
    callees  file, name
    dead     chunk
    meta     name, value

Row numbers have no meaning outside the database. Others may refer to `chunk_id`, which is derived from the content.
Every file has a digest of all that it owns.
"""

import sqlite3


def has_table(connection: sqlite3.Connection, name: str) -> bool:
    """Whether the database has a table of this name."""
    return connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (name,)).fetchone() is not None


def read_meta(connection: sqlite3.Connection, name: str) -> str:
    """A value of the table `meta`; empty if there is none."""
    row = connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
    return str(row[0]) if row else ""


def write_meta(connection: sqlite3.Connection, name: str, value: str) -> None:
    """Set a value of the table `meta`."""
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))
