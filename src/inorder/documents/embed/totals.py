"""Totals of the vectors of one family, for the row `__corpus__`.

They are counts, so documents can be added and removed again: the totals are those of the rest, in whatever order that
was done.
"""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import msgspec

from inorder.documents.layout import Result
from inorder.documents.quantiles import find_quantile

_DIGITS = 4
"""Digits of norms and averages. The last digits of a model's vectors may depend on the other texts of a batch."""
_NORM_DIGITS = 3
"""Digits of the norms that are counted: so there are few different ones."""
_NORM_UNITS = 10**_NORM_DIGITS
_FENCE = 1.5
"""An outlier is this many times the distance between the quartiles below the first or above the third."""
_DENSE_FACTS = frozenset(("vectors", "dimensions", "provider", "norms"))
"""What the totals need of the fields that a worker returns for dense vectors."""
K = TypeVar("K", int, str)


class FamilyTotals(msgspec.Struct, kw_only=True):
    """The vectors of one document or of many."""

    documents: int = 0
    vectors: int = 0
    dimensions: dict[int, int] = {}
    """The number of documents by the dimensions of their vectors, if these are dense."""
    providers: dict[str, int] = {}
    """The number of documents by provider."""
    norms: dict[int, int] = {}
    """The number of vectors by their length, in thousandths."""
    nnz: dict[int, int] = {}
    """The number of vectors by their number of terms, if they are sparse."""

    def add(self, other: "FamilyTotals", times: int = 1) -> None:
        """Add totals; with `times=-1`, remove them."""
        self.documents += times * other.documents
        self.vectors += times * other.vectors
        _add(self.dimensions, other.dimensions, times)
        _add(self.providers, other.providers, times)
        _add(self.norms, other.norms, times)
        _add(self.nnz, other.nnz, times)

    def summarize(self) -> dict[str, Any]:
        """The totals, as the manifest has them. Only what the family has is in it."""
        found: dict[str, Any] = {"documents": self.documents, "vectors": self.vectors}
        if self.dimensions:
            found["dimensions"] = max(self.dimensions)
        if self.providers:
            found["providers"] = sorted(self.providers)
        if self.nnz:
            found["nnz"] = {
                "avg": _average(self.nnz, _DIGITS),
                "p95": find_quantile(self.nnz, 0.95),
                "p99": find_quantile(self.nnz, 0.99),
            }
        if self.norms:
            found["norms"] = _summarize_counted(self.norms)
        return found


def _add(counts: dict[K, int], others: Mapping[K, int], times: int) -> None:
    for each, count in others.items():
        found = counts.get(each, 0) + times * count
        if found:
            counts[each] = found
        else:
            del counts[each]


def _average(counts: Mapping[int, int], digits: int) -> float:
    return round(sum(value * count for value, count in counts.items()) / sum(counts.values()), digits)


def _summarize_counted(norms: Mapping[int, int]) -> dict[str, float]:
    low, high = find_quantile(norms, 0.25), find_quantile(norms, 0.75)
    reach = _FENCE * (high - low)
    found = {
        "min": min(norms),
        "avg": _average(norms, _DIGITS),
        "max": max(norms),
        "p95": find_quantile(norms, 0.95),
        "p99": find_quantile(norms, 0.99),
    }
    outliers = sum(count for norm, count in norms.items() if not low - reach <= norm <= high + reach)
    return {name: round(value / _NORM_UNITS, _DIGITS) for name, value in found.items()} | {"outliers": outliers}


def measure_table(family: str, table: Result) -> FamilyTotals:
    """The totals of the vectors of one document."""
    return (_measure_dense if family == "dense" else _measure_sparse)(table)


def _measure_dense(table: Result) -> FamilyTotals:
    """From the row of the vectors, or from the vectors if it does not say enough."""
    facts: Mapping[str, Any] = {} if table.stored is None else table.stored.extras
    norms = facts.get("norms", {})
    if not facts.keys() >= _DENSE_FACTS or (norms and norms["min"] != norms["max"]):
        from .providers.base import measure_rows
        from .stored import load_dense

        ids, matrix, provider, _ = load_dense(table.source)
        return _make_totals(len(ids), provider, measure_rows(matrix).tolist(), dimensions=matrix.shape[1])
    lengths = [norms["min"]] * facts["vectors"] if norms else []
    return _make_totals(facts["vectors"], facts["provider"], lengths, dimensions=facts["dimensions"])


def _measure_sparse(table: Result) -> FamilyTotals:
    from .stored import load_sparse_sizes

    counts, norms, provider = load_sparse_sizes(table.source)
    return _make_totals(len(counts), provider, norms, counts)


def _make_totals(
    vectors: int, provider: str, norms: Iterable[float], nnz: Iterable[int] = (), dimensions: int = 0
) -> FamilyTotals:
    return FamilyTotals(
        documents=1,
        vectors=vectors,
        dimensions={dimensions: 1} if dimensions else {},
        providers={provider: 1} if provider else {},
        norms=_count(round(norm * _NORM_UNITS) for norm in norms),
        nnz=_count(nnz),
    )


def _count(values: Iterable[int]) -> dict[int, int]:
    found: dict[int, int] = {}
    for value in values:
        found[value] = found.get(value, 0) + 1
    return found
