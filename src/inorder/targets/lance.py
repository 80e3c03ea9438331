"""The target `lance:///folder`: two tables in the Lance format, which LanceDB opens by the name of the folder.

    <collection>.lance                the chunks with their vectors
    <collection>_documents.lance      the documents with their hashes; its configuration has the state

Each commit to a table is a version of it. A write replaces the rows of its documents in one commit per table, chunks
first, and then stores the *state* in one more: the position, and the version of each table that belongs to it. Versions
that are newer than those of the state are left from a write that was interrupted. The next export restores the versions
of the state, so no document has a part of its rows.

Every commit adds files. After many of them, and when an export is complete, small files are joined, and versions that
are older than `KEPT_S` are removed.
"""

import datetime
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

from inorder.errors import InfrastructureError, InorderError, require
from inorder.files.optional_deps import require_module
from inorder.host.filesystem import SystemFilesystem
from inorder.host.lock import Lock
from inorder.sinks.base import Position

from .base import ListedDocument, TargetChanges, TargetLayout, TargetOptions, decode_document
from .mismatches import failed_access, other_content, other_version, require_identifier, wrong_dimensions
from .tables import DOCUMENTS, encode_clean, make_chunk_schema, make_chunk_table, make_document_table

VERSION = 1
encode = encode_clean
KEPT_S = 3600.0
"""How long the versions of the tables stay, for readers that have opened them."""
_MAINTAIN_EVERY = 200
"""Writes after which small files are joined."""
_FRAGMENTS_MAX = 16
"""Files of a table that are not joined when an export is complete."""
_INDEXED_ROWS_MIN = 256
_STATE = "inorder.state"
_ROW_KEEPING = {"BaseOperation", "CreateIndex", "Rewrite", "UpdateConfig"}
"""Commits after which a table has the same rows: those of users who build an index, or join files."""


class LanceState(msgspec.Struct, frozen=True, kw_only=True):
    """The state of an export, and the versions of both tables that belong to it."""

    version: int = VERSION
    position: Position = Position()
    chunks: int
    documents: int
    dimensions: int
    provider: str


def open_target(address: str, options: TargetOptions) -> "LanceTarget":
    """The target at an address, not yet opened."""
    return LanceTarget(address, options, require_module("lance", by="--to lance://", extra="lance"))


class LanceTarget:
    """Two tables in a local folder."""

    def __init__(self, address: str, options: TargetOptions, lance: Any) -> None:
        self._folder = address.partition("://")[2].rstrip("/")
        require(bool(self._folder), "the address of a Lance folder is lance:///folder")
        require_identifier(options.collection)
        self.name = f"{address}#{options.collection}"
        self._address = address
        self._options = options
        self._lance = lance
        self._lock: Lock | None = None
        self._chunks: Any = None
        self._documents: Any = None
        self._state = LanceState(chunks=0, documents=0, dimensions=0, provider="")
        self._is_new = False
        """Whether no document was there when it was opened. Then one that follows all others need not be looked for."""
        self._last = ""
        """The last id that was written."""
        self._writes = 0

    def open(self, layout: TargetLayout) -> None:
        """Lock the tables, and create them, or restore those of the last complete write."""
        base = f"{self._folder}/{self._options.collection}"
        with self._translate("cannot be opened"):
            os.makedirs(self._folder, exist_ok=True)
            self._lock = Lock(f"{base}.lock", self._address)
            state = None
            if _is_table(f"{base}_documents.lance") and not self._options.recreate:
                self._documents = self._lance.dataset(f"{base}_documents.lance")
                state = self._read_state()
            if state is None:
                self._create(base, layout)
            else:
                self._restore(base, state, layout)
            self._is_new = self._documents.count_rows() == 0

    def read_position(self) -> Position:
        """The position of the last write."""
        return self._state.position

    def list_documents(self, after: str, count: int) -> Sequence[ListedDocument]:
        """Documents in the order of their ids."""
        with self._translate("cannot be read"):
            rows = self._documents.scanner(
                columns=["doc_id", "hash"], filter=f"doc_id > {_quote(after)}", order_by=["doc_id"], limit=count
            ).to_table()
        return [ListedDocument(*row) for row in zip(*(column.to_pylist() for column in rows.columns), strict=True)]

    def write(self, changes: TargetChanges, position: Position) -> None:
        """Replace the rows of each table in one commit, and store the state in a last one."""
        documents = [decode_document(content) for content in changes.written]
        with self._translate("cannot be written"):
            held = self._find_held([*changes.removed_ids, *changes.written_ids])
            chunks = make_chunk_table(documents, self._state.dimensions)
            self._replace(self._chunks, chunks, held, ["doc_id", "number"])
            self._replace(self._documents, make_document_table(documents), held, ["doc_id"])
            self._store(position)
            self._writes += 1
            if self._writes % _MAINTAIN_EVERY == 0:
                self._maintain(fragments_max=1)

    def clear(self) -> None:
        """Remove all rows."""
        with self._translate("cannot be written"):
            self._chunks.delete("true")
            self._documents.delete("true")
            self._store(Position())
            self._is_new, self._last = True, ""

    def sync(self) -> None:
        """Make the files of all commits durable. Lance leaves that to the system."""
        with self._translate("cannot be written"):
            SystemFilesystem().sync_all(self._folder)

    def complete(self) -> None:
        """Join small files, remove old versions, and build or extend the index of the vectors, if asked for."""
        with self._translate("cannot be written"):
            self._maintain(_FRAGMENTS_MAX)
            if self._options.hnsw and self._state.dimensions and self._chunks.count_rows() >= _INDEXED_ROWS_MIN:
                if self._chunks.describe_indices():
                    self._chunks.optimize.optimize_indices()
                else:
                    self._chunks.create_index("vector", "IVF_HNSW_SQ", metric="dot", num_partitions=1)
                self._store(self._state.position)

    def close(self) -> None:
        """Release the tables. Idempotent."""
        self._chunks = self._documents = None
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def _create(self, base: str, layout: TargetLayout) -> None:
        """Create empty tables. The state comes last: tables without one are created again."""
        if _is_table(f"{base}.lance") and self._documents is None and not self._options.recreate:
            self._require_ours(base)
        self._chunks = self._create_table(f"{base}.lance", make_chunk_schema(layout.dimensions))
        self._documents = self._create_table(f"{base}_documents.lance", DOCUMENTS)
        self._state = LanceState(chunks=0, documents=0, dimensions=layout.dimensions, provider=layout.provider)
        self._store(Position())

    def _create_table(self, path: str, schema: Any) -> Any:
        mode = "overwrite" if _is_table(path) else "create"
        return self._lance.write_dataset(schema.empty_table(), path, mode=mode)

    def _require_ours(self, base: str) -> None:
        """Raise OperatorError for a table that an export cannot have left before its table of documents."""
        if self._lance.dataset(f"{base}.lance").count_rows():
            raise other_content(self._address, f"{self._options.collection}.lance")

    def _restore(self, base: str, state: LanceState, layout: TargetLayout) -> None:
        collection = self._options.collection
        if state.version != VERSION:
            raise other_version(self._address, collection, state.version, VERSION)
        if layout.dimensions and state.dimensions != layout.dimensions:
            raise wrong_dimensions(self._address, collection, state.dimensions, layout)
        self._chunks = self._lance.dataset(f"{base}.lance")
        self._state = state
        if (self._chunks.version, self._documents.version) != (state.chunks, state.documents):
            if not (_has_same_rows(self._chunks, state.chunks) and _has_same_rows(self._documents, state.documents)):
                self._chunks = self._roll_back(self._chunks, state.chunks)
                self._documents = self._roll_back(self._documents, state.documents)
            self._store(state.position)

    def _roll_back(self, table: Any, version: int) -> Any:
        """The table with the content of a version, as its latest."""
        if table.version != version:
            table.checkout_version(version).restore()
        return self._lance.dataset(table.uri)

    def _read_state(self) -> LanceState | None:
        """The state; None: the tables were not created completely."""
        content = self._documents.config().get(_STATE)
        if content is None:
            if self._documents.count_rows():
                raise other_content(self._address, f"{self._options.collection}_documents.lance")
            return None
        try:
            return msgspec.json.decode(content, type=LanceState)
        except msgspec.ValidationError:
            found = msgspec.json.decode(content, type=dict[str, Any]).get("version")
            raise other_version(self._address, self._options.collection, found, VERSION) from None

    def _store(self, position: Position) -> None:
        """Store the state: with it, the versions that both tables have now are those of the position."""
        state = msgspec.structs.replace(
            self._state, position=position, chunks=self._chunks.version, documents=self._documents.version + 1
        )
        self._documents.update_config({_STATE: msgspec.json.encode(state).decode()})
        if self._documents.version != state.documents:
            raise InfrastructureError(f"{self._address} was changed by another program; run again to resume")
        self._state = state

    def _find_held(self, ids: Sequence[str]) -> list[str]:
        """Those of these documents that the target holds."""
        if not ids:
            return []
        last, self._last = self._last, max(self._last, *ids)
        if self._is_new and min(ids) > last:
            return []
        rows = self._documents.to_table(columns=["doc_id"], filter=f"doc_id IN ({', '.join(map(_quote, ids))})")
        held: list[str] = rows["doc_id"].to_pylist()
        return held

    def _replace(self, table: Any, rows: Any, held: Sequence[str], key: list[str]) -> None:
        """Replace the rows of the documents that are held, and add those of the others, in one commit."""
        condition = f"doc_id IN ({', '.join(map(_quote, held))})"
        if held and rows.num_rows:
            merge = table.merge_insert(key).when_matched_update_all().when_not_matched_insert_all()
            merge.when_not_matched_by_source_delete(condition).execute(rows)
        elif held:
            table.delete(condition)
        elif rows.num_rows:
            table.insert(rows, mode="append")

    def _maintain(self, fragments_max: int) -> None:
        """Join small files and remove old versions. An interruption leaves versions that the next export restores."""
        tables = (self._chunks, self._documents)
        is_joined = [_join_files(table, fragments_max) for table in tables]
        if any(is_joined):
            self._store(self._state.position)
        for table in tables:
            table.cleanup_old_versions(datetime.timedelta(seconds=KEPT_S), error_if_tagged_old_versions=False)

    @contextmanager
    def _translate(self, doing: str) -> Iterator[None]:
        """Raise an error of Lance or of the system as ours."""
        try:
            yield
        except InorderError:
            raise
        except OSError as error:
            where = f" ({error.filename})" if error.filename else ""
            raise failed_access(self._address, doing, f"{error.strerror or error}{where}") from None
        except (RuntimeError, ValueError) as error:
            raise failed_access(self._address, doing, str(error)) from None


def _is_table(path: str) -> bool:
    """Whether there is a table, and not only the beginning of one."""
    versions = os.path.join(path, "_versions")
    return os.path.isdir(versions) and any(name.endswith(".manifest") for name in os.listdir(versions))


def _has_same_rows(table: Any, version: int) -> bool:
    """Whether no commit since this version has changed rows."""
    later = range(version + 1, table.version + 1)
    return all(type(table.read_transaction(each).operation).__name__ in _ROW_KEEPING for each in later)


def _join_files(table: Any, fragments_max: int) -> bool:
    """Join small files, if there are more than this many. Returns whether there is a new version."""
    before = table.version
    if len(table.get_fragments()) > fragments_max:
        table.optimize.compact_files()
    return bool(table.version != before)


def _quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
