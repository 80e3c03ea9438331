"""Statistics of all terms of a corpus: in how many chunks each occurs, and how often.

The terms of a document are text in one piece, which is split and counted by Arrow, many documents at a time: a corpus
has hundreds of times as many terms as documents. Memory grows with the vocabulary only.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from .stored import StoredTerms

_TERMS_PENDING = 2_000_000
"""Terms that are counted together."""


class TermStatistics:
    """Adds up the terms of documents."""

    def __init__(self) -> None:
        self.length = 0
        """Number of words."""
        self._texts: list[bytes] = []
        self._counts: list[npt.NDArray[np.int64]] = []
        self._pending = 0
        self._known: pa.Table | None = None

    def add(self, document: StoredTerms) -> None:
        """Add the terms of a document."""
        if not document.counts:
            return
        counts = document.unpack_counts().astype(np.int64)
        self.length += int(counts.sum())
        self._texts.append(document.text.encode())
        self._counts.append(counts)
        self._pending += len(counts)
        if self._pending >= _TERMS_PENDING:
            self._count_pending()

    def finish(self) -> pa.Table:
        """The columns `term`, `chunks` and `count`, in the order of the terms."""
        self._count_pending()
        if self._known is None:
            self._known = _make_table(_make_texts([]).cast(pa.string()), _make_integers([]), _make_integers([]))
        return self._known.sort_by("term")

    def _count_pending(self) -> None:
        if not self._texts:
            return
        terms = pc.split_pattern(_make_texts(self._texts), "\n").flatten().cast(pa.string())
        counts = np.concatenate(self._counts)
        new = _make_table(terms, _make_integers(np.ones(len(counts), np.int64)), _make_integers(counts))
        everything = new if self._known is None else pa.concat_tables([self._known, new])
        summed = everything.group_by("term", use_threads=False).aggregate([("chunks", "sum"), ("count", "sum")])
        self._known = _make_table(summed["term"], summed["chunks_sum"], summed["count_sum"])
        self._texts, self._counts, self._pending = [], [], 0


def _make_table(*columns: Any) -> pa.Table:
    return pa.Table.from_arrays([*columns], names=["term", "chunks", "count"])


def _make_texts(texts: Sequence[bytes]) -> pa.Array:
    """An array of texts. `pyarrow.array` imports Pandas where it is installed, which takes half a second."""
    ends = np.cumsum([0, *map(len, texts)], dtype="<i8")
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(texts))]
    return pa.Array.from_buffers(pa.large_string(), len(texts), buffers)


def _make_integers(values: Sequence[int] | npt.NDArray[np.int64]) -> pa.Array:
    return pa.Array.from_buffers(pa.int64(), len(values), [None, pa.py_buffer(np.asarray(values, "<i8"))])
