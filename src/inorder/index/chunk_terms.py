"""The terms of every chunk of a published index and their weights, file by file: the lexical vectors of DATA.

Weights are those of one state of the index. No transaction is open while a caller works with them, so a run can publish
at any time.
"""

import sqlite3
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import groupby, islice, repeat, starmap
from operator import itemgetter
from tempfile import SpooledTemporaryFile
from typing import Any, NamedTuple

import msgspec
import numpy as np

from inorder.documents.quantiles import find_quantile

from .lexical.postings import read_segments
from .lexical.schema import ANALYSIS_VERSION
from .lexical.scoring import LENGTH_WEIGHT, SATURATION
from .lexical.weights import TermCounts, WeightedTerms, count_terms
from .place import IndexConnection, IndexPlace
from .ranking.retrieval import HEAD_WEIGHTS
from .rows import CODE, DOCUMENT
from .schema import read_meta

WEIGHTS_VERSION = 1
"""To be increased whenever the same index gives other weights."""
_FORMULA = {
    "k1": str(SATURATION),
    "b": str(LENGTH_WEIGHT),
    "document_headings": str(HEAD_WEIGHTS[DOCUMENT]),
    "code_headings": str(HEAD_WEIGHTS[CODE]),
    "analysis": str(ANALYSIS_VERSION),
}
_IN_MEMORY_BYTES = 1 << 24
"""A larger temporary file is on disk."""
_DIGITS = 4
_CHUNKS = (
    "SELECT item_id, files.kind, chunks.id, chunk_id FROM files JOIN chunks ON file = files.id "
    "ORDER BY item_id, chunks.number"
)
_FILES = (
    "SELECT item_id, digest, (SELECT MIN(id) FROM chunks WHERE file = files.id) AS first, "
    "(SELECT MAX(id) FROM chunks WHERE file = files.id) FROM files WHERE first IS NOT NULL ORDER BY item_id"
)


class IndexChangedError(Exception):
    """Another state of the index was published meanwhile."""


class IndexedTerms(NamedTuple):
    """The terms of the chunks of a document or a source file."""

    item_id: str
    sha256: str
    """Changes whenever the terms or weights may change: those of each file depend on all files."""
    chunk_ids: list[str]
    terms: list[dict[str, float]]
    """For each chunk, the weight of each of its terms, in the order of the terms."""
    facts: Mapping[str, str]
    """What the weights are made of, which is the same for all files."""


class ListedTerms(NamedTuple):
    """A file that has chunks, without its terms."""

    item_id: str
    sha256: str
    length: int
    """The number of words of its chunks, headings included."""


class IndexTerms:
    """Reads the terms of an index: those of one state of it, which `list_files` or `weigh` finds first. Raises
    OperatorError if there is no index."""

    def __init__(self, place: IndexPlace) -> None:
        self._opened = IndexConnection(place)
        self._connection = self._opened.connection
        self._files: _FileList | None = None
        self._postings = SpooledTemporaryFile(_IN_MEMORY_BYTES)  # noqa: SIM115 - `close` closes it
        self._weights: WeightedTerms | None = None

    def close(self) -> None:
        """Close the index. Idempotent."""
        for found in (self._opened, self._files, self._postings):
            if found is not None:
                found.close()

    @property
    def generation(self) -> object:
        """What identifies the generation that is read."""
        return self._list().generation

    def list_files(self, after: str = "") -> Iterator[ListedTerms]:
        """The files that have chunks, in the order of their ids; those that follow `after`."""
        return self._list().read(after)

    def has(self, item_id: str) -> bool:
        """Whether a file has chunks."""
        return self._list().has(item_id)

    def weigh(self) -> None:
        """Weigh the terms of all chunks. Raises IndexChangedError if another state was published since the files were
        listed."""
        if self._weights is not None:
            return
        with self._opened.snapshot():
            if self._files is None:
                self._files = self._list_all()
            elif self._files.generation != self._opened.version:
                raise IndexChangedError("the index has changed since its files were listed")
            self._weigh(self._files)

    def read_files(self) -> Iterator[IndexedTerms]:
        """The terms of all files that have chunks, in the order of their ids. To be iterated once at a time. Raises as
        `weigh` does."""
        self.weigh()
        return iter(()) if self._weights is None else self._read_weighted(self._weights)

    def _read_weighted(self, weighted: WeightedTerms) -> Iterator[IndexedTerms]:
        names, rows = weighted.terms, iter(weighted)
        facts = _FORMULA | {"chunks": str(len(weighted)), "terms": str(len(names))}
        for item_id, sha256, chunk_ids in self._list().read_chunk_ids():
            terms = [
                dict(zip([names[at] for at in numbers.tolist()], weights.tolist(), strict=True))
                for numbers, weights in islice(rows, len(chunk_ids))
            ]
            yield IndexedTerms(item_id, sha256, chunk_ids, terms, facts)

    def count(self) -> TermCounts:
        """Count the terms of all chunks."""
        with self._opened.snapshot():
            return count_terms(self._connection)

    def summarize(self) -> dict[str, Any]:
        """The totals of the family `lexical`: of documents and source files alike."""
        with self._opened.snapshot():
            [files] = self._connection.execute("SELECT COUNT(DISTINCT file) FROM chunks").fetchone()
            found = count_terms(self._connection)
        chunks = len(found.sizes)
        sizes = Counter(found.sizes.tolist())
        return {
            "documents": files,
            "vectors": chunks,
            "terms": len(found.terms),
            "nnz": {
                "avg": round(int(found.sizes.sum()) / max(1, chunks), _DIGITS),
                "p95": find_quantile(sizes, 0.95),
                "p99": find_quantile(sizes, 0.99),
            },
        }

    def _list(self) -> "_FileList":
        if self._files is None:
            with self._opened.snapshot():
                self._files = self._list_all()
        return self._files

    def _list_all(self) -> "_FileList":
        state = self._read_state()
        segments = read_segments(self._connection)
        empty = np.zeros(0, np.int64)
        body, head = (np.concatenate([empty, *(each[at] for each in segments)]) for at in (2, 3))
        sums = np.concatenate([[0], np.cumsum(body + head)])
        chunks = np.concatenate([empty, *(each.chunks for each in segments)])
        found = _FileList(self._opened.version)
        for item_id, digest, first, last in self._connection.execute(_FILES):
            start, end = np.searchsorted(chunks, (first, last + 1))
            found.add(item_id, _hash(state, digest), int(sums[end] - sums[start]))
        return found

    def _read_state(self) -> str:
        """What all weights depend on."""
        return f"{WEIGHTS_VERSION} {_FORMULA} {read_meta(self._connection, 'content_hash')}"

    def _weigh(self, files: "_FileList") -> None:
        chunks, shares = array("q"), array("d")
        for (item_id, kind), rows in groupby(self._connection.execute(_CHUNKS), itemgetter(0, 1)):
            numbers, chunk_ids = zip(*((number, chunk_id) for *_, number, chunk_id in rows), strict=True)
            files.set_chunk_ids(item_id, chunk_ids)
            chunks.extend(numbers)
            shares.extend(repeat(HEAD_WEIGHTS[kind], len(numbers)))
        self._weights = WeightedTerms(
            self._connection, np.array(chunks, np.int64), np.array(shares, np.float64), self._postings
        )


class _FileList:
    """The files of one generation, in a temporary database: on disk if they are many."""

    def __init__(self, generation: object) -> None:
        self.generation = generation
        self._database = sqlite3.connect("", check_same_thread=False)
        self._database.execute(
            "CREATE TABLE files (item_id TEXT PRIMARY KEY, sha256 TEXT, length INTEGER, chunk_ids BLOB) WITHOUT ROWID"
        )

    def add(self, item_id: str, sha256: str, length: int) -> None:
        """Add a file."""
        self._database.execute("INSERT INTO files VALUES (?, ?, ?, NULL)", (item_id, sha256, length))

    def set_chunk_ids(self, item_id: str, chunk_ids: Sequence[str]) -> None:
        """Set the ids of the chunks of a file."""
        row = msgspec.msgpack.encode(chunk_ids), item_id
        self._database.execute("UPDATE files SET chunk_ids = ? WHERE item_id = ?", row)

    def read(self, after: str = "") -> Iterator[ListedTerms]:
        """The files that follow `after`, in the order of their ids."""
        query = "SELECT item_id, sha256, length FROM files WHERE item_id > ? ORDER BY item_id"
        return starmap(ListedTerms, self._database.execute(query, (after,)))

    def read_chunk_ids(self) -> Iterator[tuple[str, str, list[str]]]:
        """The id and the hash of all files, in the order of their ids, and the ids of their chunks."""
        query = "SELECT item_id, sha256, chunk_ids FROM files ORDER BY item_id"
        for item_id, sha256, chunk_ids in self._database.execute(query):
            yield item_id, sha256, msgspec.msgpack.decode(chunk_ids)

    def has(self, item_id: str) -> bool:
        """Whether a file is among them."""
        return self._database.execute("SELECT 1 FROM files WHERE item_id = ?", (item_id,)).fetchone() is not None

    def close(self) -> None:
        """Remove what is stored."""
        self._database.close()


def _hash(state: str, digest: str) -> str:
    return blake2b(f"{state} {digest}".encode(), digest_size=32).hexdigest()
