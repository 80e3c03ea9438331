"""The lexical vectors of DATA: the terms of the chunks of the index, and their weights.

The weights of one file depend on all files. So the terms of all files are counted first, into a temporary database,
which is on disk if they are many. No transaction is open meanwhile, so a run can publish at any time.
"""

import sqlite3
from collections.abc import Iterator, Mapping
from functools import cached_property
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec

from inorder.documents.parquet import make_schema
from inorder.index.chunk_terms import count_index_terms
from inorder.index.lexical.file_terms import FileTerms
from inorder.index.lexical.schema import ANALYSIS_VERSION
from inorder.index.lexical.scoring import LENGTH_WEIGHT, SATURATION
from inorder.index.lexical.weights import TermWeights
from inorder.index.ranking.retrieval import HEAD_WEIGHTS
from inorder.index.rows import CODE, DOCUMENT, count_terms
from inorder.library.opening import find_index
from inorder.library.snapshots import GenerationReader, IndexedFile

from .results import LibraryResults, ListedResult, LoadedResult

WEIGHTS_VERSION = 1
"""To be increased whenever the same index gives other weights."""
_FORMULA = {
    "k1": str(SATURATION),
    "b": str(LENGTH_WEIGHT),
    "document_headings": str(HEAD_WEIGHTS[DOCUMENT]),
    "code_headings": str(HEAD_WEIGHTS[CODE]),
    "analysis": str(ANALYSIS_VERSION),
}
_CHUNK_BYTES = 400
"""About the size of the terms of a chunk in a shard."""
_PAGE = 1000
_TERMS = msgspec.msgpack.Decoder(tuple[str, str, list[str], FileTerms])


class IndexChangedError(Exception):
    """A later generation has replaced files of this one before their terms were counted."""


class IndexedTerms(NamedTuple):
    """The terms of the chunks of a document or a source file."""

    chunk_ids: list[str]
    terms: list[dict[str, float]]
    """For each chunk, the weight of each of its terms, in the order of the terms."""
    facts: Mapping[str, str]
    """What the weights are made of, which is the same for all files."""


class TermReader(LibraryResults):
    """The terms of documents and source files of one generation, as results."""

    def __init__(self, generation: GenerationReader) -> None:
        self._generation = generation

    def iterate(self, after: str = "") -> Iterator[ListedResult]:
        """The documents and source files in the order of their ids, those that follow `after`."""
        for each in self._list(after):
            yield ListedResult(each.item_id, each.chunks * _CHUNK_BYTES, self._hash(each.digest))

    def read_version(self) -> object:
        """The generation, and how many of its files are still there."""
        return self._generation.epoch, self._generation.count_indexed()

    def has(self, doc_id: str) -> bool:
        """Whether the index has a document."""
        return self._find(doc_id) is not None

    def load(self, doc_id: str) -> LoadedResult | None:
        """Load the terms of a document; None: the index does not have it. Raises as `read_all` does."""
        found = self._find(doc_id)
        return None if found is None else self._weigh(doc_id, found)

    def read_all(self) -> Iterator[LoadedResult]:
        """The terms of all documents and source files, in the order of their ids. Raises IndexChangedError if a later
        generation has replaced some of them."""
        for item_id, found in self._counted[0].execute("SELECT item_id, terms FROM files ORDER BY item_id"):
            yield self._weigh(item_id, found)

    def close(self) -> None:
        """Remove what was counted. Idempotent."""
        if "_counted" in self.__dict__:
            self._counted[0].close()

    def _find(self, doc_id: str) -> bytes | None:
        row = self._counted[0].execute("SELECT terms FROM files WHERE item_id = ?", (doc_id,)).fetchone()
        return None if row is None else row[0]

    def _weigh(self, doc_id: str, content: bytes) -> LoadedResult:
        weights = self._counted[1]
        kind, digest, chunk_ids, terms = _TERMS.decode(content)
        facts = _FORMULA | {"chunks": str(weights.chunks), "terms": str(len(weights.found))}
        found = IndexedTerms(chunk_ids, weights.weigh(terms, HEAD_WEIGHTS[kind]), facts)
        return LoadedResult(doc_id, self._hash(digest), "", "", found)

    def _hash(self, digest: str) -> str:
        """Changes whenever the terms or weights of a file may change: they depend on all files."""
        state = f"{WEIGHTS_VERSION} {_FORMULA} {self._generation.content_hash} {digest}"
        return blake2b(state.encode(), digest_size=32).hexdigest()

    def _list(self, after: str) -> Iterator[IndexedFile]:
        """The files that have chunks."""
        while page := self._generation.list_indexed(after, _PAGE):
            yield from (each for each in page if each.chunks)
            after = page[-1].item_id

    @cached_property
    def _counted(self) -> tuple[sqlite3.Connection, TermWeights]:
        """The kind and digest of each file with the ids and the terms of its chunks, encoded; and the weights."""
        count, weights = self._generation.count_indexed(), TermWeights()
        database = sqlite3.connect("", check_same_thread=False)
        database.execute("CREATE TABLE files (item_id TEXT PRIMARY KEY, terms BLOB) WITHOUT ROWID")
        for each in self._list(""):
            found = self._generation.read_indexed(each.item_id)
            if found is not None:
                terms, chunk_ids = count_terms(found.rows), [chunk.chunk_id for chunk in found.rows.chunks]
                weights.add(terms)
                row = each.item_id, msgspec.msgpack.encode((each.kind, each.digest, chunk_ids, terms))
                database.execute("INSERT INTO files VALUES (?, ?)", row)
        if self._generation.count_indexed() != count:
            raise IndexChangedError("the index has changed while its terms were counted")
        return database, weights


def make_statistics(data: str) -> Any:
    """The terms of the index as a `pyarrow.Table`. Raises OperatorError if there is no index."""
    import pyarrow as pa

    found = count_index_terms(find_index(data))
    schema = make_schema(
        [("term", pa.string()), ("chunks", pa.int64()), ("count", pa.int64())],
        {"schema": "inorder.statistics", "schema_version": "2", "chunks": str(len(found.sizes))},
    )
    return pa.table([pa.array(found.terms, pa.string()), found.chunks, found.counts], schema=schema)
