-- The tables of an index of version 1, with the full-text table of SQLite.
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
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
    words TEXT NOT NULL,
    text TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS chunks_by_file ON chunks (file, number);
CREATE INDEX IF NOT EXISTS chunks_by_chunk_id ON chunks (chunk_id);
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
CREATE INDEX IF NOT EXISTS symbols_by_name ON symbols (name COLLATE NOCASE);
CREATE INDEX IF NOT EXISTS symbols_by_qualified ON symbols (qualified COLLATE NOCASE);
CREATE TABLE IF NOT EXISTS imports (
    file INTEGER NOT NULL,
    number INTEGER NOT NULL,
    module TEXT NOT NULL,
    names TEXT NOT NULL,
    line INTEGER NOT NULL,
    PRIMARY KEY (file, number)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS imports_by_module ON imports (module COLLATE NOCASE);
CREATE TABLE IF NOT EXISTS calls (
    file INTEGER NOT NULL,
    number INTEGER NOT NULL,
    caller TEXT NOT NULL,
    callee TEXT NOT NULL,
    line INTEGER NOT NULL,
    "column" INTEGER NOT NULL,
    PRIMARY KEY (file, number)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS calls_by_callee ON calls (callee COLLATE NOCASE);
CREATE VIRTUAL TABLE IF NOT EXISTS lookup USING fts5 (
    name, context, words, text,
    content = 'chunks', content_rowid = 'id', tokenize = 'porter unicode61 remove_diacritics 2'
);
PRAGMA user_version = 1;
