"""The tables of `library.sqlite`, and what is visible in them.

An *item* is a known file. A *state* is what a step last did with it. A *result* is what a step made: a row of
`results` with its bytes, or, for the step `index`, a row of `searchable` with the chunks, symbols, imports and calls
that it owns.

What was made is *committed* before it is *visible*. A result has two epochs, `since` and `until`: it is visible from
the first one to before the second one. The table `generation` has the present epoch. To publish is to increase it, so
any number of results become visible, and those that they replace invisible, by a change of one row. There are two
epochs in the future: the next one, for files that are published as they come, and the *held* one, for files whose
settings have changed and which must change together. See `generations`.

The present epoch counts by one. The held epoch is the next multiple of 2**32, which is above every number that can be
reached by counting. All epochs have the same length in the database, so a row is changed in place when it is retired.

Readers of the index use the views `files`, `chunks` and `dead`, which have the columns of the tables of the same names
in `index.schema`. `symbols`, `imports`, `calls` and `callees` have rows of invisible files, too: a query joins `files`.
"""

from inorder.index.block_sums import BLOCK_BYTES
from inorder.index.lexical.schema import SCHEMA as LEXICAL_SCHEMA
from inorder.index.vectors.schema import SCHEMA as VECTORS_SCHEMA

FORMAT = 2
"""Number of the format. A library with a higher one is refused. See `connection` for one with a lower one."""
APPLICATION_ID = 0x696E6F72
"""In the header of the file: what tells a library from other databases."""
PAGE_BYTES = BLOCK_BYTES
"""Each page has a checksum of its own: see `inorder.index.block_sums`."""
STEPS_MAX = 64
"""Steps and families. A state has the key `item * STEPS_MAX + step`, so those of an item are next to each other."""
TEXT_BLOCKS_MAX = 1 << 20
"""Blocks of texts of one file. A block has the key `owner * TEXT_BLOCKS_MAX + number of its first chunk`."""

SEARCH_COPY = "search_copy"
"""Name in `meta` of the mark of a copy for search alone, which no run can write to."""
FIRST_EPOCH = 1 << 32
FOREVER = (1 << 47) - 1


def next_epoch(epoch: int) -> int:
    """Return the epoch of what is published next."""
    return epoch + 1


def held_epoch(epoch: int) -> int:
    """Return the epoch of what is published with the end of a pass."""
    return ((epoch >> 32) + 1) << 32


_EPOCH = "(SELECT epoch FROM generation)"
TABLES = (
    f"""
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS generation (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    epoch INTEGER NOT NULL,
    number INTEGER NOT NULL,
    published_at REAL NOT NULL
);
INSERT OR IGNORE INTO generation VALUES (1, {FIRST_EPOCH}, 0, 0);
CREATE TABLE IF NOT EXISTS totals (epoch INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS pending (
    epoch INTEGER NOT NULL,
    item INTEGER NOT NULL,
    replaces INTEGER NOT NULL,
    PRIMARY KEY (epoch, item)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS sources (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    path BLOB NOT NULL,
    kind TEXT NOT NULL,
    state TEXT NOT NULL,
    added_at REAL NOT NULL,
    walked_at REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS runs (
    id INTEGER PRIMARY KEY,
    run_id TEXT NOT NULL UNIQUE,
    began_at REAL NOT NULL,
    outcome BLOB
);
CREATE TABLE IF NOT EXISTS steps (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS settings (
    id INTEGER PRIMARY KEY,
    step INTEGER NOT NULL,
    hash TEXT NOT NULL,
    parts TEXT NOT NULL,
    UNIQUE (step, hash)
);
CREATE TABLE IF NOT EXISTS items (
    id INTEGER PRIMARY KEY,
    item_id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    path BLOB,
    signature BLOB,
    sha256 BLOB,
    size INTEGER NOT NULL,
    reason TEXT,
    copy_of TEXT,
    parent TEXT,
    pages_without_text INTEGER NOT NULL,
    removed INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS items_by_original ON items (copy_of) WHERE copy_of IS NOT NULL;
CREATE INDEX IF NOT EXISTS items_by_parent ON items (parent) WHERE parent IS NOT NULL;
CREATE TABLE IF NOT EXISTS states (
    id INTEGER PRIMARY KEY,
    settings INTEGER NOT NULL,
    input BLOB NOT NULL,
    output BLOB,
    duration_ms REAL NOT NULL,
    run INTEGER NOT NULL,
    extras BLOB
);
CREATE TABLE IF NOT EXISTS failures (
    id INTEGER PRIMARY KEY,
    category TEXT NOT NULL,
    message TEXT NOT NULL,
    detail TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    is_outside INTEGER NOT NULL,
    run INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS results (
    id INTEGER PRIMARY KEY,
    key INTEGER NOT NULL,
    since INTEGER NOT NULL,
    until INTEGER NOT NULL,
    input BLOB,
    output BLOB NOT NULL,
    codec INTEGER NOT NULL,
    size INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    summary BLOB,
    data BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS results_by_key ON results (key);
CREATE TABLE IF NOT EXISTS texts (id INTEGER PRIMARY KEY, checksum INTEGER NOT NULL, data BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS searchable (
    id INTEGER PRIMARY KEY,
    item INTEGER NOT NULL,
    since INTEGER NOT NULL,
    until INTEGER NOT NULL,
    first_chunk INTEGER NOT NULL,
    chunks INTEGER NOT NULL,
    texts INTEGER NOT NULL,
    kind TEXT NOT NULL,
    language TEXT NOT NULL,
    lines INTEGER NOT NULL,
    note TEXT NOT NULL,
    input BLOB NOT NULL,
    digest TEXT NOT NULL,
    summary BLOB
);
CREATE INDEX IF NOT EXISTS searchable_by_item ON searchable (item);
CREATE TABLE IF NOT EXISTS chunk_rows (
    id INTEGER PRIMARY KEY,
    chunk_id TEXT NOT NULL,
    file INTEGER NOT NULL,
    number INTEGER NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    context TEXT NOT NULL,
    start INTEGER NOT NULL,
    "end" INTEGER NOT NULL,
    pages TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS chunk_rows_by_file ON chunk_rows (file, number);
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
CREATE TABLE IF NOT EXISTS hidden (chunk INTEGER PRIMARY KEY, since INTEGER NOT NULL, until INTEGER NOT NULL);
"""
    + LEXICAL_SCHEMA.partition("CREATE TABLE IF NOT EXISTS dead")[0]
    + VECTORS_SCHEMA
    + f"""
CREATE VIEW IF NOT EXISTS files AS
SELECT searchable.id, items.item_id, searchable.kind, COALESCE(items.path, items.item_id) AS path, language, lines,
    note, lower(hex(COALESCE(items.sha256, x''))) AS sha256, digest
FROM searchable JOIN items ON items.id = searchable.item
WHERE since <= {_EPOCH} AND until > {_EPOCH};
CREATE VIEW IF NOT EXISTS chunks AS
SELECT id, chunk_id, file, number, kind, name, context, start, "end", pages, chunk_text(file, number) AS text
FROM chunk_rows WHERE EXISTS (
    SELECT 1 FROM searchable WHERE searchable.id = file AND since <= {_EPOCH} AND until > {_EPOCH}
);
CREATE VIEW IF NOT EXISTS dead AS SELECT chunk FROM hidden WHERE since > {_EPOCH} OR until <= {_EPOCH};
CREATE VIEW IF NOT EXISTS retired AS SELECT chunk FROM hidden WHERE until <= {_EPOCH};
"""
)

LATE_INDEXES = {
    "chunks_by_chunk_id": "chunk_rows (chunk_id)",
    "symbols_by_name": "symbols (name COLLATE NOCASE)",
    "imports_by_module": "imports (module COLLATE NOCASE)",
    "callees_by_name": "callees (name COLLATE NOCASE)",
    "items_by_sha256": "items (substr(sha256, 1, 6))",
}
"""Indexes in whose order the rows do not come, so that each row changes a page of its own. A run that adds most of the
rows goes without them, and creates them when it ends."""
