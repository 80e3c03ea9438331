"""The tables of `index.sqlite`.

A *file* is a source file or a document. It owns its chunks, symbols, imports and calls: they are replaced together when
the file changes and removed together with it, so the database always matches the files it lists. Row numbers have no
meaning outside the database. Others may refer to `chunk_id`, which is derived from the content.

Every file has a digest of all that it owns. The digest of these digests is the *content hash*: it is the same for the
same files, in whatever order they were added.
"""

import sqlite3

from .lexical.schema import SCHEMA as LEXICAL_SCHEMA
from .vectors.schema import SCHEMA as VECTORS_SCHEMA

META_TABLE = "CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"
TABLES = (
    META_TABLE
    + """
CREATE TABLE IF NOT EXISTS files (
    id INTEGER PRIMARY KEY,
    item_id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    path TEXT NOT NULL,
    language TEXT NOT NULL,
    lines INTEGER NOT NULL,
    note TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    cfg_hash TEXT NOT NULL,
    digest TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS chunks (
    id INTEGER PRIMARY KEY,
    chunk_id TEXT NOT NULL,
    file INTEGER NOT NULL,
    number INTEGER NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    context TEXT NOT NULL,
    start INTEGER NOT NULL,
    "end" INTEGER NOT NULL,
    pages TEXT NOT NULL,
    text NOT NULL
);
CREATE TABLE IF NOT EXISTS dictionaries (number INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS symbols (
    file INTEGER NOT NULL,
    number INTEGER NOT NULL,
    name TEXT NOT NULL,
    qualified TEXT NOT NULL,
    kind TEXT NOT NULL,
    start INTEGER NOT NULL,
    "end" INTEGER NOT NULL,
    signature TEXT NOT NULL,
    PRIMARY KEY (file, number)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS imports (
    file INTEGER NOT NULL,
    number INTEGER NOT NULL,
    module TEXT NOT NULL,
    names TEXT NOT NULL,
    line INTEGER NOT NULL,
    PRIMARY KEY (file, number)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS calls (file INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS callees (
    file INTEGER NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (file, name)
) WITHOUT ROWID;
"""
    + LEXICAL_SCHEMA
    + VECTORS_SCHEMA
)
INDEXES = """
CREATE INDEX IF NOT EXISTS chunks_by_file ON chunks (file, number);
CREATE INDEX IF NOT EXISTS chunks_by_chunk_id ON chunks (chunk_id);
CREATE INDEX IF NOT EXISTS symbols_by_name ON symbols (name COLLATE NOCASE);
CREATE INDEX IF NOT EXISTS imports_by_module ON imports (module COLLATE NOCASE);
CREATE INDEX IF NOT EXISTS callees_by_name ON callees (name COLLATE NOCASE);
"""
"""Created when all rows of a new database are written: sorting them once is faster than to insert them one by one."""


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
