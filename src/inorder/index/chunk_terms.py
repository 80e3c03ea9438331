"""The terms of every chunk of a published index and their weights, file by file: the lexical vectors of DATA.

Weights are those of one state of the index. No transaction is open while a caller works with them, so a run can publish
at any time.
"""

from array import array
from collections import Counter
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from itertools import groupby, islice, repeat
from operator import itemgetter
from tempfile import SpooledTemporaryFile
from typing import IO, Any, NamedTuple

import msgspec
import numpy as np

from inorder.documents.quantiles import find_quantile

from .lexical.blocks import Numbers
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
_PAGE_FILES = 1000
_SIZE_BYTES = 4
_DIGITS = 4
_CHUNKS = (
    "SELECT item_id, digest, files.kind, chunks.id, chunk_id FROM files JOIN chunks ON file = files.id "
    "ORDER BY item_id, chunks.number"
)
_FILES = (
    "SELECT item_id, digest, (SELECT MIN(id) FROM chunks WHERE file = files.id) AS first, "
    "(SELECT MAX(id) FROM chunks WHERE file = files.id) FROM files "
    "WHERE item_id > ? AND first IS NOT NULL ORDER BY item_id LIMIT ?"
)


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
    """Reads the terms of an index. Raises OperatorError if there is none."""

    def __init__(self, place: IndexPlace) -> None:
        self._opened = IndexConnection(place)
        self._connection = self._opened.connection
        self._lengths: tuple[str, Numbers, Numbers] | None = None

    def close(self) -> None:
        """Close the index. Idempotent."""
        self._opened.close()

    def read_version(self) -> str:
        """Another one after every change of a file, and if the index was replaced."""
        with self._opened.snapshot():
            return f"{self._opened.place.identify()} {self._read_state()}"

    def list_files(self, after: str = "") -> Iterator[ListedTerms]:
        """The files that have chunks, in the order of their ids; those that follow `after`. What a run publishes
        meanwhile may be among them."""
        while True:
            with self._opened.snapshot():
                state = self._read_state()
                chunks, sums = self._read_lengths(state)
                rows = self._connection.execute(_FILES, (after, _PAGE_FILES)).fetchall()
                page = [
                    ListedTerms(item_id, _hash(state, digest), int(sums[end] - sums[start]))
                    for item_id, digest, first, last in rows
                    for start, end in [np.searchsorted(chunks, (first, last + 1))]
                ]
            yield from page
            if not page:
                return
            after = page[-1].item_id

    def read_files(self) -> Iterator[IndexedTerms]:
        """The terms of all files that have chunks, in the order of their ids, from one state of the index."""
        with SpooledTemporaryFile(_IN_MEMORY_BYTES) as ids, SpooledTemporaryFile(_IN_MEMORY_BYTES) as postings:
            with self._opened.snapshot():
                weighted = self._weigh(ids, postings)
            names, rows = weighted.terms, iter(weighted)
            facts = _FORMULA | {"chunks": str(len(weighted)), "terms": str(len(names))}
            ids.seek(0)
            while size := ids.read(_SIZE_BYTES):
                item_id, sha256, chunk_ids = msgspec.msgpack.decode(ids.read(int.from_bytes(size)))
                terms = [
                    dict(zip([names[at] for at in numbers.tolist()], weights.tolist(), strict=True))
                    for numbers, weights in islice(rows, len(chunk_ids))
                ]
                yield IndexedTerms(item_id, sha256, chunk_ids, terms, facts)

    def has(self, item_id: str) -> bool:
        """Whether there is a file."""
        with self._opened.snapshot():
            found = self._connection.execute("SELECT 1 FROM files WHERE item_id = ?", (item_id,)).fetchone()
        return found is not None

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

    def _read_state(self) -> str:
        """What all weights depend on."""
        return f"{WEIGHTS_VERSION} {_FORMULA} {read_meta(self._connection, 'content_hash')}"

    def _read_lengths(self, state: str) -> tuple[Numbers, Numbers]:
        """The ids of all chunks of the segments, and the sum of the lengths before each, and of all."""
        if self._lengths is None or self._lengths[0] != state:
            segments = read_segments(self._connection)
            empty = np.zeros(0, np.int64)
            body, head = (np.concatenate([empty, *(each[at] for each in segments)]) for at in (2, 3))
            sums = np.concatenate([[0], np.cumsum(body + head)])
            self._lengths = state, np.concatenate([empty, *(each.chunks for each in segments)]), sums
        return self._lengths[1:]

    def _weigh(self, ids: IO[bytes], postings: IO[bytes]) -> WeightedTerms:
        """Weigh the terms of all chunks. The ids of files and chunks are written to `ids`."""
        chunks, shares, state = array("q"), array("d"), self._read_state()
        for (item_id, digest, kind), rows in groupby(self._connection.execute(_CHUNKS), itemgetter(0, 1, 2)):
            numbers, chunk_ids = zip(*((number, chunk_id) for *_, number, chunk_id in rows), strict=True)
            record = msgspec.msgpack.encode((item_id, _hash(state, digest), chunk_ids))
            ids.write(len(record).to_bytes(_SIZE_BYTES) + record)
            chunks.extend(numbers)
            shares.extend(repeat(HEAD_WEIGHTS[kind], len(numbers)))
        return WeightedTerms(self._connection, np.array(chunks, np.int64), np.array(shares, np.float64), postings)


def _hash(state: str, digest: str) -> str:
    return blake2b(f"{state} {digest}".encode(), digest_size=32).hexdigest()
