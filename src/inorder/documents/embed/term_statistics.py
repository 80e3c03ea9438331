"""Statistics of all terms of a corpus: in how many chunks each occurs, and how often.

The terms of a document are text in one piece, which is split and counted by Arrow, many documents at a time: a corpus
has hundreds of times as many terms as documents. Arrow does so without the interpreter lock, beside the thread that
reads. Memory grows with the vocabulary only.
"""

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from inorder.engines.base import count_cpus
from inorder.lanes import Lane, LaneConfig, Ticket

from .stored_terms import StoredTerms

_TERMS_PENDING = 50_000
"""Terms that are counted together."""
_MERGED_TERMS = 200_000
"""Sums that are kept apart, before they are added to what is known. They may be half as many as the terms that are
known: so each sum is added a few times at most."""
_THREADS_MAX = 4

Integers = npt.NDArray[np.int64]
_NO_INTEGERS = np.zeros(0, np.int64)


class _TermSums(NamedTuple):
    """Terms, each of them once, and for each the number of chunks with it and its total frequency."""

    terms: pa.Array
    sums: list[Integers]


class TermStatistics:
    """Adds up the terms of documents: on threads of its own, while the caller reads the next ones."""

    def __init__(self) -> None:
        self._texts: list[bytes] = []
        self._counts: list[Integers] = []
        self._pending = 0
        threads = min(_THREADS_MAX, count_cpus())
        self._lane = Lane(LaneConfig(name="terms", max_concurrency=threads, capacity=threads))
        self._ahead = threads
        """Portions that may wait to be collected. Each takes a few megabytes."""
        self._counting: deque[Ticket[_TermSums]] = deque()
        self._parts = [_TermSums(_make_texts([]).cast(pa.string()), [_NO_INTEGERS] * 2)]
        self._parts_size = 0

    def add(self, document: StoredTerms) -> None:
        """Add the terms of a document."""
        if not document.counts:
            return
        counts = np.frombuffer(document.counts, np.uint8 if document.has_narrow_counts else "<u4")
        self._texts.append(document.text.encode())
        self._counts.append(counts.astype(np.int64))
        self._pending += len(counts)
        if self._pending >= _TERMS_PENDING:
            self._count_pending()

    def settle(self) -> None:
        """Add up what was added so far, if that is much, so that less is left for `finish`."""
        self._count_pending()
        while self._counting:
            self._collect()
        if self._parts_size >= len(self._parts[0].terms):
            self._merge_parts()

    def finish(self) -> pa.Table:
        """The columns `term`, `chunks` and `count`, in the order of the terms."""
        self._count_pending()
        while self._counting:
            self._collect()
        self.close()
        terms, sums = _merge(self._parts) if len(self._parts) > 1 else self._parts[0]
        order = pc.sort_indices(terms)
        places = np.frombuffer(order.buffers()[1], "<u8", len(order))
        columns = [pc.take(terms, order), *(_make_integers(each[places]) for each in sums)]
        return pa.Table.from_arrays(columns, names=["term", "chunks", "count"])

    def close(self) -> None:
        """End the threads. Idempotent."""
        self._lane.close(drain=False)

    def _count_pending(self) -> None:
        if not self._texts:
            return
        if len(self._counting) > self._ahead:
            self._collect()
        self._counting.append(self._lane.submit(_count_terms, self._texts, self._counts))
        self._texts, self._counts, self._pending = [], [], 0

    def _collect(self) -> None:
        """Take the oldest sums that were asked for."""
        found = self._counting.popleft().result()
        self._parts.append(found)
        self._parts_size += len(found.terms)
        if self._parts_size > max(_MERGED_TERMS, len(self._parts[0].terms) // 2):
            self._merge_parts()

    def _merge_parts(self) -> None:
        self._parts, self._parts_size = [_merge(self._parts)], 0

    def count_held(self) -> int:
        """The number of sums in memory."""
        return sum(len(part.terms) for part in self._parts)


def _count_terms(texts: Sequence[bytes], counts: Sequence[Integers]) -> _TermSums:
    terms = pc.split_pattern(_make_texts(texts), "\n").flatten().cast(pa.string())
    frequencies = np.concatenate(counts)
    return _sum_by_term(terms, [np.ones(len(frequencies), np.int64), frequencies])


def _merge(parts: Sequence[_TermSums]) -> _TermSums:
    sums = [np.concatenate(each) for each in zip(*(part.sums for part in parts), strict=True)]
    return _sum_by_term(pa.concat_arrays([part.terms for part in parts]), sums)


def _sum_by_term(terms: pa.Array, values: Sequence[Integers]) -> _TermSums:
    """Add up the values of equal terms. `Table.group_by` does the same, and imports all of Arrow's datasets for it."""
    encoded = terms.dictionary_encode()
    places = np.frombuffer(encoded.indices.buffers()[1], "<i4", len(terms))
    size = len(encoded.dictionary)
    # The sums are exact: a corpus has fewer than 2**53 words.
    sums = [np.bincount(places, each, minlength=size).astype(np.int64) for each in values]
    return _TermSums(encoded.dictionary, sums)


def _make_texts(texts: Sequence[bytes]) -> pa.Array:
    """An array of texts. `pyarrow.array` imports Pandas where it is installed, which takes half a second."""
    ends = np.cumsum([0, *map(len, texts)], dtype="<i8")
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(texts))]
    return pa.Array.from_buffers(pa.large_string(), len(texts), buffers)


def _make_integers(values: Sequence[int] | Integers) -> pa.Array:
    return pa.Array.from_buffers(pa.int64(), len(values), [None, pa.py_buffer(np.asarray(values, "<i8"))])
