"""The lexical vectors of DATA: the terms of the chunks of the index, and their weights.

The weights of one file depend on all files. So the terms of all files are weighed first, in one transaction, into
temporary files. No transaction is open while a caller works with them, so a run can publish at any time.
"""

import sqlite3
from array import array
from collections.abc import Iterator, Mapping
from contextlib import closing
from hashlib import blake2b
from itertools import groupby, islice, repeat
from operator import itemgetter
from tempfile import SpooledTemporaryFile
from typing import Any, NamedTuple

import msgspec
import numpy as np

from inorder.documents.parquet import make_schema
from inorder.index.chunk_terms import count_index_terms
from inorder.index.lexical.schema import ANALYSIS_VERSION
from inorder.index.lexical.scoring import LENGTH_WEIGHT, SATURATION
from inorder.index.lexical.weights import WeightedTerms
from inorder.index.place import IndexConnection
from inorder.index.ranking.retrieval import HEAD_WEIGHTS
from inorder.index.rows import CODE, DOCUMENT
from inorder.library.opening import find_index
from inorder.library.snapshots import GenerationReader

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
_IN_MEMORY_BYTES = 1 << 24
"""A larger temporary file is on disk."""
_CHUNKS = (
    "SELECT item_id, digest, files.kind, chunks.id, chunk_id FROM files JOIN chunks ON file = files.id "
    "ORDER BY item_id, chunks.number"
)


class IndexChangedError(Exception):
    """A later generation was published before the terms of this one were weighed."""


class IndexedTerms(NamedTuple):
    """The terms of the chunks of a document or a source file."""

    chunk_ids: list[str]
    terms: list[dict[str, float]]
    """For each chunk, the weight of each of its terms, in the order of the terms."""
    facts: Mapping[str, str]
    """What the weights are made of, which is the same for all files."""


class TermReader(LibraryResults):
    """The terms of documents and source files of one generation, as results. Loading them in the order of ids is
    fast."""

    def __init__(self, data: str, generation: GenerationReader) -> None:
        self._data = data
        self._generation = generation
        self._files = sqlite3.connect("", check_same_thread=False)  # on disk if they are many
        self._files.execute("CREATE TABLE files (item_id TEXT PRIMARY KEY, digest TEXT, chunk_ids BLOB) WITHOUT ROWID")
        self._postings = SpooledTemporaryFile(_IN_MEMORY_BYTES)  # noqa: SIM115 - `close` closes it
        self._weighted: WeightedTerms | None = None
        self._rest: Iterator[LoadedResult] | None = None
        self._last = ""

    def iterate(self, after: str = "") -> Iterator[ListedResult]:
        """The documents and source files in the order of their ids, those that follow `after`."""
        while page := self._generation.list_indexed(after, _PAGE):
            for each in page:
                if each.chunks:
                    yield ListedResult(each.item_id, each.chunks * _CHUNK_BYTES, self._hash(each.digest))
            after = page[-1].item_id

    def read_version(self) -> object:
        """The generation, and how many of its files are still there."""
        return self._generation.epoch, self._generation.count_indexed()

    def has(self, doc_id: str) -> bool:
        """Whether the index has a document. Raises as `weigh` does."""
        self.weigh()
        return self._files.execute("SELECT 1 FROM files WHERE item_id = ?", (doc_id,)).fetchone() is not None

    def load(self, doc_id: str) -> LoadedResult | None:
        """Load the terms of a document; None: the index does not have it. Raises as `weigh` does."""
        if self._rest is None or doc_id <= self._last:
            self._rest = self.read_all()
        found = next((each for each in self._rest if each.doc_id >= doc_id), None)
        self._last = doc_id if found is None else found.doc_id
        return found if found is not None and found.doc_id == doc_id else None

    def weigh(self) -> None:
        """Weigh the terms of all files, if there are any. Raises IndexChangedError if a later generation was published
        since the reader was opened."""
        if self._weighted is None and self._generation.count_indexed():
            with closing(IndexConnection(find_index(self._data))) as index, index.snapshot() as connection:
                if index.version != self._generation.epoch:
                    raise IndexChangedError("the index has changed since the reader was opened")
                self._weighted = self._weigh(connection)

    def read_all(self) -> Iterator[LoadedResult]:
        """The terms of all documents and source files, in the order of their ids. Raises as `weigh` does."""
        self.weigh()
        if self._weighted is None:
            return
        names, rows = self._weighted.terms, iter(self._weighted)
        facts = _FORMULA | {"chunks": str(len(self._weighted)), "terms": str(len(names))}
        for item_id, digest, packed in self._files.execute("SELECT * FROM files ORDER BY item_id"):
            chunk_ids = msgspec.msgpack.decode(packed)
            terms = [
                dict(zip([names[at] for at in numbers.tolist()], weights.tolist(), strict=True))
                for numbers, weights in islice(rows, len(chunk_ids))
            ]
            yield LoadedResult(item_id, self._hash(digest), "", "", IndexedTerms(chunk_ids, terms, facts))

    def close(self) -> None:
        """Remove the temporary files. Idempotent."""
        self._files.close()
        self._postings.close()

    def _hash(self, digest: str) -> str:
        """Changes whenever the terms or weights of a file may change: they depend on all files."""
        state = f"{WEIGHTS_VERSION} {_FORMULA} {self._generation.content_hash} {digest}"
        return blake2b(state.encode(), digest_size=32).hexdigest()

    def _weigh(self, connection: sqlite3.Connection) -> WeightedTerms:
        chunks, shares = array("q"), array("d")
        for (item_id, digest, kind), rows in groupby(connection.execute(_CHUNKS), itemgetter(0, 1, 2)):
            numbers, chunk_ids = zip(*((number, chunk_id) for *_, number, chunk_id in rows), strict=True)
            row = item_id, digest, msgspec.msgpack.encode(chunk_ids)
            self._files.execute("INSERT INTO files VALUES (?, ?, ?)", row)
            chunks.extend(numbers)
            shares.extend(repeat(HEAD_WEIGHTS[kind], len(numbers)))
        return WeightedTerms(connection, np.array(chunks, np.int64), np.array(shares, np.float64), self._postings)


def make_statistics(data: str) -> Any:
    """The terms of the index as a `pyarrow.Table`. Raises OperatorError if there is no index."""
    import pyarrow as pa

    found = count_index_terms(find_index(data))
    schema = make_schema(
        [("term", pa.string()), ("chunks", pa.int64()), ("count", pa.int64())],
        {"schema": "inorder.statistics", "schema_version": "2", "chunks": str(len(found.sizes))},
    )
    return pa.table([pa.array(found.terms, pa.string()), found.chunks, found.counts], schema=schema)
