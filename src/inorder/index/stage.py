"""The stage `index`: source code and the chunks of documents become one searchable database.

An item is one file. It is up to date if the published database has it with the same content and configuration. A worker
makes the rows that the file owns, from source code with a grammar, or from the chunks of a document. They are written
in the order of the plan. A file that is in the database but no longer exists, or is not to be indexed any more, is an
item, too: its rows are removed. Items of files that no longer exist come last.
"""

import os
import sqlite3
from collections.abc import Callable, Container, Iterator, Mapping, Sequence, Set
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec

from inorder.code.discovery import describe_names, discover
from inorder.core.windows.id_set import IdSet
from inorder.documents.copies import list_present_copies
from inorder.documents.cost import count_chunks, estimate_code_chunks
from inorder.documents.edits import edit_documents
from inorder.documents.layout import (
    CHUNK,
    CHUNK_RESULTS,
    EMBED,
    Result,
    StoredResults,
    get_vector_kind,
    list_chunked,
    list_chunked_with_vectors,
)
from inorder.files.listing import list_folder
from inorder.runtime.identity import hash_settings, hash_strings
from inorder.sources.remote_input import RemoteInput, count_group, get_fetcher, read_group
from inorder.stage.context import StageContext
from inorder.stage.contracts import (
    Derivation,
    LastRun,
    PlanEdits,
    PredictionRules,
    Stage,
    StageHooks,
    StagePlan,
    WorkItem,
)
from inorder.stage.file_stat import FileStat
from inorder.stage.freshness import UNCHANGED
from inorder.stage.options import StageOptions
from inorder.stage.sources import Roots
from inorder.stage.store.inputs import Input, StoredInput
from inorder.stage.store.lookup import BlockLookup, IdRange, count_in_ranges
from inorder.stage.unchanged.receipt import hash_listing, read_listing, read_receipt

from .connection import open_index, translate_index_errors
from .drafts.draft import IndexSink
from .drafts.publishing import publish, published_path
from .lexical.schema import ANALYSIS_VERSION
from .rows import CODE, DOCUMENT
from .schema import read_meta
from .step import NAME, VERSION, settings_of
from .worker import REMOVE, predict_outcome, work

SCHEMA_VERSION = f"{VERSION} {ANALYSIS_VERSION}"
_DOCUMENT_CONFIGURATION = hash_settings(NAME, VERSION, settings_of(DOCUMENT))
_TIMEOUT_S = 60.0
_MEMORY_BYTES = 4 * 2**30


def plan(sources: Sequence[str | Path], data: Path) -> StagePlan:
    """Plan every document that has chunks, and every file below the sources."""
    items = IndexItems(Roots(sources), os.path.abspath(data))
    derived = Derivation(
        stages=("chunk", "embed"),
        version=SCHEMA_VERSION,
        find_edits=items.find_edits,
        is_same=items.has_only_documents,
        read_outputs=items.identify_published,
        make_listing=lambda: items.listed,
    )
    return StagePlan(
        NAME,
        items,
        judge=items.check_freshness,
        expected_items=items.estimate_count(),
        derived_from=derived,
    )


class IndexItems:
    """The items of a plan, compared with the published database. Can be iterated repeatedly."""

    def __init__(self, roots: Roots, data: str) -> None:
        self._roots = roots
        self._data = data
        self._inside = f"{data}/"
        self._published: BlockLookup[tuple[str, str, str]] | None = None
        """Item id, hash and configuration of the published files."""
        self.listed = b""
        """What describes the names of all files, if they are documents; empty: there are others, or it is not known."""

    def __iter__(self) -> Iterator[WorkItem]:
        self._published = None
        planned = IdSet()
        hash_language = cache(_hash_language)
        for chunks, dense in list_chunked_with_vectors(self._data, "dense"):
            planned.add(chunks.doc_id)
            yield make_document_item(chunks, dense)
        copies = self._list_copies()
        self.listed, listed = b"", self._describe_files()
        for found in discover(
            self._roots,
            lambda item_id, path: path.startswith(self._inside) or item_id in planned or item_id in copies,
        ):
            listed = b""
            planned.add(found.item_id)
            if found.skip and self._is_published(found.item_id):
                yield _make_removal(found.item_id)
                continue
            language = found.language or ""
            yield WorkItem(
                item_id=found.item_id,
                inputs={} if found.skip or found.problem else {"source": found.source or found.path},
                cfg_hash=hash_language(language),
                cost_hint=estimate_code_chunks(found.size),
                meta={
                    "task": CODE,
                    "language": language,
                    "skip": found.skip,
                    "problem": found.problem,
                    "path": found.path,
                },
                batch_key=language,
            )
        yield from self._find_removed_items(planned)
        self.listed = listed

    def estimate_count(self) -> int:
        """An estimate: the files of the published database, or else all files that are not hidden."""
        database = self._open_database()
        if database is not None:
            with translate_index_errors(published_path(self._data)):
                [count] = database.execute("SELECT COUNT(*) FROM files").fetchone()
            return int(count)
        documents = sum(1 for _ in list_chunked(self._data))
        return max(documents, sum(map(_count_files, self._roots.paths.values())))

    def identify_published(self) -> str:
        """The hash of the content of the published database, and the stat of its file; empty if there is none."""
        database, path = self._open_database(), published_path(self._data)
        if database is None:
            return ""
        with translate_index_errors(path):
            return f"{read_meta(database, 'content_hash')} {FileStat.read(path).signature}"

    def find_edits(self, last: LastRun) -> PlanEdits | None:
        """The documents that were chunked or embedded again, or removed, since the last run; None: there is source
        code, too."""
        vectors = get_vector_kind("dense")
        ids = {*last.changed["chunk"]}
        ids |= {each.removeprefix(vectors.id_prefix) for each in last.changed["embed"] if each.startswith("dense/")}
        chunks = StoredResults(self._data, CHUNK_RESULTS, ids)
        if not self.has_only_documents(chunks.doc_ids, ids - chunks.doc_ids):
            return None
        dense = StoredResults(self._data, vectors, ids)

        def make_items(doc_id: str) -> list[WorkItem]:
            return [make_document_item(chunks[doc_id], dense.get(doc_id))]

        count_ids = self._bind_count_published(last.count)
        edits = edit_documents(last, ids, chunks.doc_ids, make_items, count_ids=count_ids)
        if edits is None:
            return None
        removed = [_make_removal(doc_id) for doc_id in edits.gone if self._is_published(doc_id)]
        return msgspec.structs.replace(edits, items=chain(edits.items, ((last.count, item) for item in removed)))

    def _bind_count_published(self, count: int) -> Callable[[Sequence[IdRange]], list[int]] | None:
        """A function that counts the published documents in each of some ranges of ids; None: they are not as many as
        the last run had, or some ids have escaped bytes, whose order is another one."""
        database = self._open_database()
        if database is None:
            return None

        def fetch_all(query: str, *values: int | str) -> list[Any]:
            with translate_index_errors(published_path(self._data)):
                return database.execute(query, values).fetchall()

        [[known, escaped]] = fetch_all("SELECT count(*), coalesce(sum(instr(item_id, ?) > 0), 0) FROM files", "\\u")
        return partial(count_in_ranges, fetch_all, "files") if known == count and not escaped else None

    def has_only_documents(self, new: Container[str] = (), gone: Set[str] = frozenset()) -> bool:
        """Whether the published database has no source code, and all files below the sources as documents. It is about
        to get `new` documents, and to lose those that are `gone`."""
        listed, self.listed = self._describe_files(), b""
        is_as_before = bool(listed) and not gone and listed == self._read_listed()
        if not is_as_before and not self._are_documents(new, gone):
            return False
        self.listed = listed
        return True

    def _are_documents(self, new: Container[str], gone: Container[str]) -> bool:
        database = self._open_database()
        if database is None:
            return False
        with translate_index_errors(published_path(self._data)):
            if database.execute("SELECT 1 FROM files WHERE kind != ? LIMIT 1", (DOCUMENT,)).fetchone() is not None:
                return False
        self._published = None
        copies = self._list_copies()

        def is_document(item_id: str) -> bool:
            is_published = item_id not in gone and self._find_published(item_id) is not None
            return item_id in new or is_published or item_id in copies

        others = discover(self._roots, lambda item_id, path: path.startswith(self._inside) or is_document(item_id))
        return next(others, None) is None

    def _describe_files(self) -> bytes:
        """What changes with the name of any file, and with any copy; empty: it is not known."""
        names = describe_names(self._roots, self._data)
        copies = [copy for copy, _ in list_present_copies(self._data)]
        return b"" if names is None else names + hash_strings(*copies).encode()

    def _read_listed(self) -> bytes:
        """What described the files of the last run, if all of them were documents. To be asked only if the published
        database is what that run has left."""
        receipt, listed = read_receipt(self._data, NAME), read_listing(self._data, NAME)
        return listed if receipt is not None and receipt.listing == hash_listing(listed) else b""

    def _list_copies(self) -> IdSet:
        """The files that are copies of documents: they are not read as source code."""
        found = IdSet()
        for copy, _ in list_present_copies(self._data):
            found.add(copy)
        return found

    def check_freshness(self, item: WorkItem, sha256_of: Callable[[Input], str]) -> str:
        """The reason to skip an item that the published database has in its present state; empty if it does not."""
        if item.meta["task"] == REMOVE or item.meta.get("skip") or item.meta.get("problem"):
            return ""
        row = self._find_published(item.item_id)
        if row is None or row[2] != item.cfg_hash:
            return ""
        try:
            hashes = [sha256_of(each) for each in item.inputs.values()]
        except OSError:
            return ""
        return UNCHANGED if row[1] == hash_strings(*hashes) else ""

    def _find_published(self, item_id: str) -> tuple[str, str, str] | None:
        if self._published is None:
            self._published = BlockLookup(partial(self._fetch_files, self._open_database()), lambda row: row)
        return self._published.get(item_id)

    def _fetch_files(self, database: sqlite3.Connection | None, item_id: str, count: int) -> list[tuple[str, str, str]]:
        if database is None:
            return []
        query = f"SELECT item_id, sha256, cfg_hash FROM files WHERE item_id >= ? ORDER BY item_id LIMIT {count}"
        with translate_index_errors(published_path(self._data)):
            return database.execute(query, (item_id,)).fetchall()

    def _find_removed_items(self, planned: IdSet) -> Iterator[WorkItem]:
        """Files of the published database that belong to these sources, or to documents, and were not planned. Source
        code in folders that cannot be read stays."""
        database = self._open_database()
        if database is None:
            return
        with translate_index_errors(published_path(self._data)):
            for item_id, kind in database.execute("SELECT item_id, kind FROM files ORDER BY item_id"):
                is_listed = self._roots.has(item_id) and not self._roots.may_be_unread(item_id)
                if item_id not in planned and (kind == DOCUMENT or is_listed):
                    yield _make_removal(item_id)

    def _is_published(self, item_id: str) -> bool:
        database = self._open_database()
        if database is None:
            return False
        with translate_index_errors(published_path(self._data)):
            return database.execute("SELECT 1 FROM files WHERE item_id = ?", (item_id,)).fetchone() is not None

    def _open_database(self) -> sqlite3.Connection | None:
        path = published_path(self._data)
        return open_index(path) if os.path.exists(path) else None


def make_document_item(chunks: Result, dense: Result | None) -> WorkItem:
    """The item of a document, from its chunks and, if it has some, its dense vectors."""
    return WorkItem(
        item_id=chunks.doc_id,
        inputs={"chunks": chunks.source} | ({} if dense is None else {"dense": dense.source}),
        cfg_hash=_DOCUMENT_CONFIGURATION,
        cost_hint=count_chunks(chunks),
        meta={"task": DOCUMENT},
        batch_key=DOCUMENT,
    )


def follow_document(doc_id: str, results: Mapping[str, StoredInput]) -> list[WorkItem]:
    """The item of a document that was just chunked and embedded."""
    chunks, dense = results.get(CHUNK), results.get(f"{EMBED}/dense")
    if chunks is None:
        return []
    vectors = None if dense is None else Result(doc_id, dense, dense.size)
    return [make_document_item(Result(doc_id, chunks, chunks.size), vectors)]


def _hash_language(language: str) -> str:
    """A hash of everything that the rows of a source file depend on, except the file."""
    return hash_settings(NAME, VERSION, settings_of(CODE, language))


def _make_removal(item_id: str) -> WorkItem:
    return WorkItem(item_id=item_id, meta={"task": REMOVE}, batch_key=REMOVE)


def _count_files(root: str) -> int:
    """Files below a directory, without those in hidden directories."""
    count = 0
    folders = [root]
    while folders:
        folder = folders.pop()
        try:
            found = list_folder(folder)
        except OSError:
            continue
        count += len(found.files)
        folders += [f"{folder}/{name}" for name in found.folders if name[0] != "."]
    return count


def sinks(data: Path) -> list[IndexSink]:
    """The sink of the stage: the draft of the index."""
    return [IndexSink(os.fspath(data))]


def _count_remote(items: Sequence[WorkItem]) -> int:
    """How many of these items are fetched at once."""
    return count_group([_find_remote(item) for item in items])


def _fetch_remote(items: Sequence[WorkItem], context: StageContext) -> None:
    """Fetch the source code of these items at once."""
    read_group([_find_remote(item) for item in items], get_fetcher())


def _find_remote(item: WorkItem) -> RemoteInput | None:
    source = item.inputs.get("source")
    return source if isinstance(source, RemoteInput) else None


stage = Stage(
    name=NAME,
    plan=plan,
    worker=work,
    sinks=sinks,
    follow=lambda data: follow_document,
    follow_imports=("inorder.index.lexical.terms", "Stemmer"),
    finish=lambda data: publish(os.fspath(data)),
    finish_imports=(
        "inorder.index.lexical.inversion",
        "inorder.index.vectors.update",
        "inorder.documents.embed.stored",
    ),
    options=StageOptions(policy="cpu", timeout_s=_TIMEOUT_S, memory_bytes_max=_MEMORY_BYTES),
    remote=StageHooks(group_size=_count_remote, before_group=_fetch_remote),
    prediction=PredictionRules(outcome=predict_outcome, is_removal=lambda item: item.meta["task"] == REMOVE),
)
