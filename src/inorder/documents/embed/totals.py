"""Totals of the vectors of one family over all documents, for the row `__corpus__`."""

import math
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from inorder.documents.layout import Result
from inorder.documents.quantiles import find_quantile
from inorder.stage.data_layout import FINGERPRINT_SUFFIX
from inorder.stage.fingerprints import decode_fingerprint
from inorder.stage.store.inputs import Input

_DIGITS = 4
"""Digits of norms and averages. The last digits of a model's vectors may depend on the other texts of a batch."""


def summarize_norms(norms: Sequence[float]) -> dict[str, float]:
    """The smallest, the average and the largest length of vectors; empty without vectors."""
    if not norms:
        return {}
    return _round_norms(min(norms), sum(norms) / len(norms), max(norms))


def _round_norms(smallest: float, average: float, largest: float) -> dict[str, float]:
    return {"min": round(smallest, _DIGITS), "avg": round(average, _DIGITS), "max": round(largest, _DIGITS)}


class FamilyTotals:
    """Sums over the vector files of a family."""

    def __init__(self) -> None:
        self.documents = 0
        self.vectors = 0
        self._dimensions = 0
        self._providers: set[str] = set()
        self._nnz: Counter[int] = Counter()
        self._measured = 0
        """Vectors of which the norm is known."""
        self._norms_sum = self._norm_max = 0.0
        self._norm_min = math.inf

    def add_file(self, vectors: int, norms: Mapping[str, float], dimensions: int = 0, provider: str = "") -> None:
        """Add the vectors of one document."""
        self.documents += 1
        self.vectors += vectors
        self._dimensions = max(self._dimensions, dimensions)
        self._providers |= {provider} if provider else set()
        if vectors and norms:
            self._measured += vectors
            self._norms_sum += vectors * norms["avg"]
            self._norm_min = min(self._norm_min, norms["min"])
            self._norm_max = max(self._norm_max, norms["max"])

    def add_terms(self, counts: Iterable[int]) -> None:
        """Add the number of terms of each vector of a document."""
        self._nnz.update(counts)

    def summarize(self) -> dict[str, Any]:
        """The totals, as the manifest has them. Only what the family has is in it."""
        found: dict[str, Any] = {"documents": self.documents, "vectors": self.vectors}
        if self._dimensions:
            found["dimensions"] = self._dimensions
        if self._providers:
            found["providers"] = sorted(self._providers)
        if self._nnz:
            total = sum(value * count for value, count in self._nnz.items())
            found["nnz"] = {
                "avg": round(total / self._nnz.total(), _DIGITS),
                "p95": find_quantile(self._nnz, 0.95),
                "p99": find_quantile(self._nnz, 0.99),
            }
        if self._measured:
            found["norms"] = _round_norms(self._norm_min, self._norms_sum / self._measured, self._norm_max)
        return found


def add_dense_table(totals: FamilyTotals, table: Result) -> None:
    """Add dense vectors: from their fingerprint, or from the vectors if that does not say enough."""
    path = f"{os.fspath(table.source)}{FINGERPRINT_SUFFIX}"
    found = _read_extras(path) if table.stored is None else table.stored.extras
    if not {"vectors", "dimensions", "provider", "norms"} <= found.keys():
        found = _measure_dense(table.source)
    totals.add_file(found["vectors"], found["norms"], found["dimensions"], found["provider"])


def add_sparse_table(totals: FamilyTotals, table: Result) -> None:
    """Add sparse vectors."""
    from .stored import load_sparse_sizes

    counts, norms, provider = load_sparse_sizes(table.source)
    totals.add_file(len(counts), summarize_norms(norms), provider=provider)
    totals.add_terms(counts)


def _read_extras(path: str) -> dict[str, Any]:
    if not os.path.exists(path):
        return {}
    fingerprint = decode_fingerprint(Path(path).read_bytes())
    return {} if fingerprint is None else fingerprint.extras


def _measure_dense(source: Input) -> dict[str, Any]:
    from .providers.base import measure_rows
    from .stored import load_dense

    ids, matrix, provider, _ = load_dense(source)
    return {
        "vectors": len(ids),
        "dimensions": matrix.shape[1],
        "provider": provider,
        "norms": summarize_norms(measure_rows(matrix).tolist()),
    }
