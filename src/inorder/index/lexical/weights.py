"""The terms of each chunk, and what they weigh in the ranking: the inverted index turned round.

The weight of a term in a chunk is what the term adds to the score of the chunk when a question has it:

    rarity * (k1 + 1) * (body / (body + norm of the text) + share * head / (head + norm of the headings))

`body` and `head` are how often the text and the headings have the term, `share` is what headings weigh beside the text,
and the rest is BM25: see `scoring`. Only chunks that are alive count. So weights are the same for the same chunks, in
whatever order they were indexed, and however they are divided into segments.

Postings are in the order of terms, and rows are wanted in the order of chunks. Chunks are divided into ranges with a
limited number of terms. One pass over the postings distributes them to these ranges, in a temporary file. Then one
range after the other is sorted in memory. Memory grows with the vocabulary and a few bytes per chunk.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .blocks import Numbers, PostingColumns
from .inversion import read_together
from .postings import IndexSegment, read_alive, read_segments
from .schema import DamagedIndexError
from .scoring import SATURATION, Scores, compute_rarity, make_norms

RANGE_TERMS = 1 << 20
"""Terms of the chunks of a range, counted with repetitions: about 30 MB of memory."""
_RECORD = np.dtype([("chunk", "<u4"), ("term", "<u4"), ("weight", "<f4")])

ChunkWeights = tuple[npt.NDArray[np.uint32], npt.NDArray[np.float32]]
"""The numbers of the terms of a chunk, in ascending order, and the weight of each."""


class TermCounts(NamedTuple):
    """The terms of all chunks."""

    terms: list[str]
    """In ascending order."""
    chunks: Numbers
    """For each term, the number of chunks that have it."""
    counts: Numbers
    """How often they have it, headings included: the text and the headings of a chunk count up to 255 each."""
    sizes: Numbers
    """For each chunk, the number of its terms."""


class WeightedTerms:
    """The terms of all chunks and their weights. The database is read once, when this is made; rows come from the
    temporary file."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        chunks: Numbers,
        head_shares: Scores,
        file: IO[bytes],
        range_terms: int = RANGE_TERMS,
    ) -> None:
        """`chunks` are all chunks that are alive, in the order of the rows, and `head_shares` is what their headings
        weigh beside their texts. `file` is a temporary file."""
        segments = read_segments(connection)
        self._place_of, numbers = _place_chunks(segments, chunks)
        fields = ([segment.body_lengths for segment in segments], [segment.head_lengths for segment in segments])
        lengths = [_join(each)[numbers] for each in fields]
        self._norms = [make_norms(each, each.sum() / max(1, len(chunks))) for each in lengths]
        self._head_shares = head_shares
        self._edges = _divide(lengths[0] + lengths[1], range_terms)
        self._parts: list[list[tuple[int, int]]] = [[] for _ in self._edges[1:]]
        """Where the postings of each range are in the file: the place of each part, and its size."""
        self._file = file
        self.terms: list[str] = []
        """All terms, in ascending order: a term has the number of its place."""
        for terms, columns in read_together(connection, segments):
            self._add(terms, columns)

    def __len__(self) -> int:
        return len(self._head_shares)

    def _add(self, terms: list[str], columns: PostingColumns) -> None:
        """Distribute the postings of these terms."""
        places = self._place_of[columns.numbers]
        alive = places >= 0
        found = np.add.reduceat(alive, columns.starts, dtype=np.int64)
        repeats = np.diff(columns.starts, append=len(places))
        factors = np.array([compute_rarity(len(self), each) for each in found.tolist()]) * (SATURATION + 1)
        numbers = len(self.terms) + np.cumsum(found > 0) - 1
        self.terms += [terms[at] for at in np.flatnonzero(found).tolist()]
        places = places[alive]
        body, head = (
            each[alive] / (each[alive] + norms[places])
            for each, norms in zip((columns.body, columns.head), self._norms, strict=True)
        )
        records = np.empty(len(places), _RECORD)
        records["chunk"] = places
        records["term"] = np.repeat(numbers, repeats)[alive]
        records["weight"] = np.repeat(factors, repeats)[alive] * (body + self._head_shares[places] * head)
        self._distribute(records)

    def _distribute(self, records: npt.NDArray[np.void]) -> None:
        ranges = np.searchsorted(self._edges, records["chunk"], "right") - 1
        records = records[np.argsort(ranges, kind="stable")]
        ends = np.cumsum(np.bincount(ranges, minlength=len(self._parts))).tolist()
        for parts, (start, end) in zip(self._parts, pairwise([0, *ends]), strict=True):
            if start < end:
                parts.append((self._file.tell(), (end - start) * _RECORD.itemsize))
                self._file.write(records[start:end].tobytes())

    def __iter__(self) -> Iterator[ChunkWeights]:
        """The terms of each chunk, in the order of the chunks. Can be called once at a time."""
        for parts, (first, end) in zip(self._parts, pairwise(self._edges.tolist()), strict=True):
            records = np.frombuffer(b"".join(map(self._read, parts)), _RECORD)
            records = records[np.argsort(records["chunk"], kind="stable")]
            bounds = np.searchsorted(records["chunk"], np.arange(first, end + 1)).tolist()
            for at, last in pairwise(bounds):
                yield records["term"][at:last], records["weight"][at:last]

    def _read(self, part: tuple[int, int]) -> bytes:
        place, size = part
        self._file.seek(place)
        return self._file.read(size)


def count_terms(connection: sqlite3.Connection) -> TermCounts:
    """Count the terms of all chunks that are alive."""
    segments = read_segments(connection)
    alive = read_alive(connection, _join([segment.chunks for segment in segments]))
    sizes = np.zeros(len(alive), np.int64)
    terms: list[str] = []
    chunks: list[Numbers] = []
    counts: list[Numbers] = []
    for names, columns in read_together(connection, segments):
        kept = alive[columns.numbers]
        found = np.add.reduceat(kept, columns.starts, dtype=np.int64)
        sums = np.add.reduceat((columns.body.astype(np.int64) + columns.head) * kept, columns.starts)
        present = np.flatnonzero(found)
        terms += [names[at] for at in present.tolist()]
        chunks.append(found[present])
        counts.append(sums[present])
        sizes += np.bincount(columns.numbers, minlength=len(sizes))
    return TermCounts(terms, _join(chunks), _join(counts), sizes[alive])


def _place_chunks(segments: list[IndexSegment], chunks: Numbers) -> tuple[Numbers, Numbers]:
    """For each chunk of the segments, its place in `chunks`, or -1; and where the segments have each of `chunks`."""
    known = _join([segment.chunks for segment in segments])
    numbers = np.searchsorted(known, chunks)
    if len(chunks) and (numbers.max() >= len(known) or (known[numbers] != chunks).any()):
        raise DamagedIndexError("a chunk is in no segment")
    places = np.full(len(known), -1, np.int64)
    places[numbers] = np.arange(len(chunks))
    return places, numbers


def _divide(lengths: Numbers, range_terms: int) -> Numbers:
    """Divide chunks of these lengths into ranges: the first chunk of each, and the number of chunks."""
    ranges = np.cumsum(lengths) // range_terms
    is_first = np.ones(len(lengths) + 1, np.bool_)
    is_first[1:-1] = ranges[1:] != ranges[:-1]
    return np.flatnonzero(is_first) if len(lengths) else np.zeros(1, np.int64)


def _join(columns: Sequence[npt.NDArray[np.integer[Any]]]) -> Numbers:
    return np.concatenate([np.zeros(0, np.int64), *columns])
