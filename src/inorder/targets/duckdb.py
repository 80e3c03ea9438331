"""The target `duckdb:///path/file.duckdb`: one transaction per write holds the rows, the removals, the hashes and the
position.

The tables are in a schema with the name of the collection. DuckDB lets one process write to a file, so a second export
is refused.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from inorder.errors import BusyError, InorderError, OperatorError, require
from inorder.files.optional_deps import require_module
from inorder.sinks.base import Position

from .base import (
    ListedDocument,
    TargetChanges,
    TargetLayout,
    TargetOptions,
    decode_document,
)
from .mismatches import failed_access, other_content, other_version, require_identifier, wrong_dimensions
from .tables import encode_clean, make_chunk_table, make_document_table

VERSION = 1
encode = encode_clean
_TABLES = """
CREATE TABLE {schema}.meta (name VARCHAR, value VARCHAR);
CREATE TABLE {schema}.position ("end" BIGINT, "offset" BIGINT, checksum BIGINT);
CREATE TABLE {schema}.documents (
    doc_id VARCHAR NOT NULL, hash VARCHAR NOT NULL, kind VARCHAR NOT NULL, language VARCHAR NOT NULL,
    lines INTEGER NOT NULL, chunks INTEGER NOT NULL
);
CREATE TABLE {schema}.chunks (
    doc_id VARCHAR NOT NULL, number INTEGER NOT NULL, chunk_id UUID NOT NULL, kind VARCHAR NOT NULL,
    name VARCHAR NOT NULL, headings VARCHAR NOT NULL, context VARCHAR NOT NULL, start_at INTEGER NOT NULL,
    end_at INTEGER NOT NULL, pages INTEGER[] NOT NULL, text VARCHAR NOT NULL
);
"""


def open_target(address: str, options: TargetOptions) -> "DuckDBTarget":
    """The target at an address, not yet opened."""
    duckdb = require_module("duckdb", by="--to duckdb://", extra="duckdb")
    return DuckDBTarget(address, options, duckdb)


class DuckDBTarget:
    """Tables in one schema of a file."""

    def __init__(self, address: str, options: TargetOptions, duckdb: Any) -> None:
        self._path = address.partition("://")[2]
        require(bool(self._path), "the address of a DuckDB file is duckdb:///folder/file.duckdb")
        require_identifier(options.collection)
        require(not options.hnsw, "hnsw is not available for DuckDB: its HNSW index is not crash-safe")
        self.name = f"{address}#{options.collection}"
        self._address = address
        self._options = options
        self._schema = f'"{options.collection}"'
        self._duckdb = duckdb
        self._connection: Any = None
        self._dimensions = 0

    def open(self, layout: TargetLayout) -> None:
        """Open the file, and create or check the tables."""
        with self._translate("cannot be opened"):
            self._connection = self._duckdb.connect(self._path)
            with self._transaction():
                self._prepare(layout)

    def read_position(self) -> Position:
        """The position of the last write."""
        with self._translate("cannot be read"):
            row = self._execute('SELECT "end", "offset", checksum FROM {schema}.position').fetchone()
        return Position() if row is None else Position(*row)

    def list_documents(self, after: str, count: int) -> Sequence[ListedDocument]:
        """Documents in the order of their ids."""
        query = "SELECT doc_id, hash FROM {schema}.documents WHERE doc_id > ? ORDER BY doc_id LIMIT ?"
        with self._translate("cannot be read"):
            cursor = self._connection.cursor()
            try:
                rows = cursor.execute(query.format(schema=self._schema), [after, count]).fetchall()
            finally:
                cursor.close()
        return [ListedDocument(*row) for row in rows]

    def write(self, changes: TargetChanges, position: Position) -> None:
        """Write in one transaction."""
        documents = [decode_document(content) for content in changes.written]
        with self._translate("cannot be written"), self._transaction():
            if replaced := [*changes.removed_ids, *changes.written_ids]:
                for table in ("chunks", "documents"):
                    self._execute(f"DELETE FROM {{schema}}.{table} WHERE doc_id IN (SELECT unnest(?))", [replaced])
            if documents:
                self._insert("documents", make_document_table(documents))
                self._insert("chunks", make_chunk_table(documents, self._dimensions))
            self._execute("DELETE FROM {schema}.position")
            values = [position.end, position.offset, position.checksum]
            self._execute("INSERT INTO {schema}.position VALUES (?, ?, ?)", values)

    def clear(self) -> None:
        """Remove all rows in one transaction."""
        with self._translate("cannot be written"), self._transaction():
            for table in ("chunks", "documents", "position"):
                self._execute(f"DELETE FROM {{schema}}.{table}")

    def sync(self) -> None:
        """Nothing: a commit is durable."""

    def complete(self) -> None:
        """Move what was written from the log to the file, where space that became free is used again."""
        with self._translate("cannot be written"):
            self._connection.execute("CHECKPOINT")

    def close(self) -> None:
        """Close the file. Idempotent."""
        if self._connection is not None:
            with suppress(self._duckdb.Error):
                self._connection.close()
            self._connection = None

    def _prepare(self, layout: TargetLayout) -> None:
        if self._options.recreate:
            self._execute("DROP SCHEMA IF EXISTS {schema} CASCADE")
        query = "SELECT table_name FROM information_schema.tables WHERE table_schema = ?"
        found = {name for (name,) in self._connection.execute(query, [self._options.collection]).fetchall()}
        if not found:
            self._execute("CREATE SCHEMA IF NOT EXISTS {schema}")
            self._execute(_TABLES)
            self._execute("INSERT INTO {schema}.meta VALUES ('version', ?)", [str(VERSION)])
        self._check_version(found)
        known = int(self._read_meta("dimensions") or 0)
        self._dimensions = layout.dimensions or known
        if layout.dimensions and not known:
            self._execute(f"ALTER TABLE {{schema}}.chunks ADD COLUMN vector FLOAT[{layout.dimensions}]")
            rows = [("dimensions", str(layout.dimensions)), ("provider", layout.provider)]
            for name, value in rows:
                self._execute("INSERT INTO {schema}.meta VALUES (?, ?)", [name, value])
        elif layout.dimensions and known != layout.dimensions:
            raise wrong_dimensions(self._address, self._options.collection, known, layout)

    def _check_version(self, found: set[str]) -> None:
        if found and "meta" not in found:
            raise other_content(self._address, self._options.collection)
        version = self._read_meta("version")
        if version != str(VERSION):
            raise other_version(self._address, self._options.collection, version or "?", VERSION)

    def _read_meta(self, name: str) -> str | None:
        row = self._execute("SELECT value FROM {schema}.meta WHERE name = ?", [name]).fetchone()
        return None if row is None else str(row[0])

    def _insert(self, table: str, rows: Any) -> None:
        self._connection.register("incoming", rows)
        try:
            self._execute(f"INSERT INTO {{schema}}.{table} BY NAME SELECT * FROM incoming")
        finally:
            self._connection.unregister("incoming")

    def _execute(self, query: str, values: Sequence[Any] = ()) -> Any:
        return self._connection.execute(query.format(schema=self._schema), list(values))

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.begin()
        try:
            yield
            self._connection.commit()
        except BaseException:
            with suppress(self._duckdb.Error):
                self._connection.rollback()
            raise

    @contextmanager
    def _translate(self, doing: str) -> Iterator[None]:
        """Raise an error of DuckDB as ours."""
        try:
            yield
        except self._duckdb.Error as error:
            raise self._explain(error, doing) from None

    def _explain(self, error: Exception, doing: str) -> InorderError:
        problem = " ".join(str(error).split())[:300]
        if "lock on file" in problem:
            found = re.search(r"PID (\d+)", problem)
            holder = f"process {found[1]}" if found else "another process"
            return BusyError(f"{self._address} is in use by {holder}; wait until it ends, or stop it")
        if any(each in problem for each in ("not a valid DuckDB", "Cannot open file")):
            return OperatorError(f"{self._address} {doing}: {problem}")
        return failed_access(self._address, doing, problem)
