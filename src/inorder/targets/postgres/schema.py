"""The tables of an export. They are in a schema of their own; `meta` has its version.

* `documents`: documents and source files, each with the hash that the next export compares.
* `chunks`: the text, the location and the vector of each chunk, and a full-text column for SQL of your own.
* `terms`: the terms of each chunk as `inorder search` analyzes and counts them.
* `position`: how much of an export is written. It changes in the same transactions as the other tables.
"""

import re

import psycopg
from psycopg import sql

from inorder.errors import OperatorError, require
from inorder.targets.base import TargetLayout

from .connection import Connection

VERSION = 1
EXTENSION = "vector"
_TEXT_MAX = 200_000
"""Characters of a chunk in the full-text column: PostgreSQL refuses a value with more than a megabyte of words."""

_TABLES = f"""
CREATE TABLE {{schema}}.meta (name text PRIMARY KEY, value text NOT NULL);
CREATE TABLE {{schema}}.position (
    only_row boolean PRIMARY KEY CHECK (only_row), "end" bigint NOT NULL, "offset" bigint NOT NULL,
    checksum bigint NOT NULL
);
CREATE TABLE {{schema}}.documents (
    doc_id text COLLATE "C" PRIMARY KEY,
    hash text NOT NULL,
    kind text NOT NULL,
    language text NOT NULL,
    lines integer NOT NULL,
    chunks integer NOT NULL,
    body_terms bigint NOT NULL,
    head_terms bigint NOT NULL
);
CREATE TABLE {{schema}}.chunks (
    doc_id text COLLATE "C" NOT NULL,
    number integer NOT NULL,
    chunk_id uuid NOT NULL,
    kind text NOT NULL,
    name text NOT NULL,
    headings text NOT NULL,
    context text NOT NULL,
    start_at integer NOT NULL,
    end_at integer NOT NULL,
    pages integer[] NOT NULL,
    text text NOT NULL,
    metadata jsonb NOT NULL,
    fulltext tsvector GENERATED ALWAYS AS (
        setweight(to_tsvector('simple', headings), 'A') || to_tsvector('simple', left(text, {_TEXT_MAX}))
    ) STORED,
    PRIMARY KEY (doc_id, number)
);
CREATE TABLE {{schema}}.terms (
    doc_id text COLLATE "C" NOT NULL,
    number integer NOT NULL,
    body_length integer NOT NULL,
    head_length integer NOT NULL,
    terms text[] NOT NULL,
    counts integer[] NOT NULL,
    PRIMARY KEY (doc_id, number)
);
"""
INDEXES = {
    "chunks_chunk_id": "CREATE INDEX {name} ON {schema}.chunks (chunk_id)",
    "chunks_fulltext": "CREATE INDEX {name} ON {schema}.chunks USING gin (fulltext)",
    "terms_terms": "CREATE INDEX {name} ON {schema}.terms USING gin (terms)",
}
"""Built when the first export is complete, which takes less time than to maintain them meanwhile."""
HNSW = "chunks_embedding_hnsw"
_HNSW_SQL = "CREATE INDEX {name} ON {schema}.chunks USING hnsw (embedding vector_ip_ops)"
_OURS = ("meta", "position", "documents", "chunks", "terms")


def compose(template: str, collection: str, **names: str) -> sql.Composed:
    """SQL with the name of the schema, and further names, in place of their placeholders."""
    identifiers = {name: sql.Identifier(value) for name, value in names.items()}
    return sql.SQL(template).format(schema=sql.Identifier(collection), **identifiers)


def check_collection(collection: str) -> None:
    """Raise OperatorError for a name that cannot be that of a schema."""
    is_valid = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,59}", collection) is not None
    require(is_valid and not collection.startswith("pg_"), f"--collection must be a name; got {collection!r}")


def prepare(connection: Connection, address: str, collection: str, layout: TargetLayout) -> None:
    """Create the tables, or check that they fit the index. To be called in a transaction, so that an error leaves
    nothing behind. Raises OperatorError if they do not fit."""
    _check_server(connection, address)
    if layout.dimensions:
        _require_extension(connection, address)
    version = read_version(connection, address, collection)
    if version is None:
        connection.execute(compose("CREATE SCHEMA IF NOT EXISTS {schema}", collection))
        connection.execute(compose(_TABLES, collection))
        write_meta(connection, collection, "schema_version", str(VERSION))
    known = int(read_meta(connection, collection, "dimensions") or 0)
    if layout.dimensions and known != layout.dimensions:
        if known:
            provider = read_meta(connection, collection, "provider")
            raise OperatorError(
                f"{address}: schema {collection} has vectors with {known} dimensions, made by {provider}, and the "
                f"index has {layout.dimensions}, made by {layout.provider}; use another --collection, "
                "or `inorder export --recreate`"
            )
        column = f"ALTER TABLE {{schema}}.chunks ADD COLUMN embedding vector({layout.dimensions})"
        connection.execute(compose(column, collection))
        write_meta(connection, collection, "dimensions", str(layout.dimensions))
    write_meta(connection, collection, "provider", layout.provider)


def read_version(connection: Connection, address: str, collection: str) -> int | None:
    """The version of the tables; None: there are none. Raises OperatorError for tables of other programs, or of a newer
    version."""
    query = "SELECT tablename FROM pg_tables WHERE schemaname = %s"
    tables = {name for (name,) in connection.execute(query, (collection,))}
    if not tables & set(_OURS):
        return None
    if "meta" not in tables or not (found := read_meta(connection, collection, "schema_version")):
        raise OperatorError(f"{address}: schema {collection} has tables of another program; use another --collection")
    version = int(found)
    if version > VERSION:
        raise OperatorError(
            f"{address}: schema {collection} was written by a newer version of inorder (schema {version}, supported "
            f"{VERSION}); upgrade inorder"
        )
    return version


def drop(connection: Connection, address: str, collection: str) -> None:
    """Remove the tables, if they are those of an export. Other tables in the schema stay."""
    if read_version(connection, address, collection) is not None:
        for table in _OURS:
            connection.execute(compose("DROP TABLE IF EXISTS {schema}.{table}", collection, table=table))


def list_missing_indexes(connection: Connection, collection: str, *, has_hnsw: bool) -> list[tuple[str, sql.Composed]]:
    """The indexes that are still to be built: their names, and the SQL that builds them."""
    query = (
        "SELECT relname, indisvalid FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid "
        "JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE nspname = %s"
    )
    built = {name for name, is_valid in connection.execute(query, (collection,)) if is_valid}
    wanted = INDEXES | ({HNSW: _HNSW_SQL} if has_hnsw else {})
    return [(name, compose(text, collection, name=name)) for name, text in wanted.items() if name not in built]


def read_meta(connection: Connection, collection: str, name: str) -> str:
    """A value of the table `meta`; empty if there is none."""
    row = connection.execute(compose("SELECT value FROM {schema}.meta WHERE name = %s", collection), (name,)).fetchone()
    return "" if row is None else str(row[0])


def write_meta(connection: Connection, collection: str, name: str, value: str) -> None:
    """Set a value of the table `meta`."""
    query = (
        "INSERT INTO {schema}.meta VALUES (%s, %s) ON CONFLICT (name) DO UPDATE SET value = EXCLUDED.value "
        "WHERE meta.value != EXCLUDED.value"
    )
    connection.execute(compose(query, collection), (name, value))


def _check_server(connection: Connection, address: str) -> None:
    row = connection.execute(
        "SELECT pg_is_in_recovery(), current_setting('transaction_read_only'), current_setting('server_encoding')"
    ).fetchone()
    is_standby, read_only, encoding = row or (False, "off", "UTF8")
    if is_standby:
        raise OperatorError(f"{address}: the server is a standby, which cannot be written to; use the primary server")
    if read_only == "on":
        raise OperatorError(f"{address}: the server or the user is read-only; use another user")
    if encoding != "UTF8":
        raise OperatorError(f"{address}: the database has the encoding {encoding}; create one with the encoding UTF8")


def _require_extension(connection: Connection, address: str) -> None:
    if connection.execute("SELECT 1 FROM pg_extension WHERE extname = %s", (EXTENSION,)).fetchone() is not None:
        return
    if connection.execute("SELECT 1 FROM pg_available_extensions WHERE name = %s", (EXTENSION,)).fetchone() is None:
        raise OperatorError(f"{address}: the server has no extension `{EXTENSION}`; install pgvector on it")
    try:
        with connection.transaction():
            connection.execute(f"CREATE EXTENSION IF NOT EXISTS {EXTENSION}")
    except psycopg.errors.InsufficientPrivilege:
        raise OperatorError(
            f"{address}: the database does not have the extension `vector`, and this user may not create it; let its "
            "owner run: CREATE EXTENSION vector"
        ) from None
