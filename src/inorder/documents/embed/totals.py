"""Totals of the vectors of one family over all documents, for the row `__corpus__`."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from inorder.documents.layout import Result
from inorder.documents.quantiles import find_quantile
from inorder.stage.store.inputs import Input

_DIGITS = 4
"""Digits of norms and averages. The last digits of a model's vectors may depend on the other texts of a batch."""


_UNITS = 10**_DIGITS
DENSE_FACTS = frozenset(("vectors", "dimensions", "provider", "norms"))
"""What the totals need of the fields that a worker returns for dense vectors."""


def summarize_norms(norms: Sequence[float]) -> dict[str, float]:
    """The smallest, the average and the largest length of vectors; empty without vectors."""
    if not norms:
        return {}
    return _round_norms(min(norms), sum(norms) / len(norms), max(norms))


def _round_norms(smallest: float, average: float, largest: float) -> dict[str, float]:
    return {"min": round(smallest, _DIGITS), "avg": round(average, _DIGITS), "max": round(largest, _DIGITS)}


class FileFacts(NamedTuple):
    """What the totals need to know of the vectors of one document."""

    vectors: int
    dimensions: int = 0
    provider: str = ""
    norms: tuple[int, int, int] | None = None
    """The smallest, the average and the largest length, in units of the last digit; None: they are not known."""


class FamilyTotals:
    """Sums over the vectors of a family. Documents can be removed again: the totals are those of the rest, to the last
    digit, in whatever order documents were added and removed."""

    def __init__(self) -> None:
        self.files: Counter[FileFacts] = Counter()
        """How many documents have the same facts."""
        self.nnz: Counter[int] = Counter()
        """The number of vectors by their number of terms."""

    @property
    def documents(self) -> int:
        """The number of documents."""
        return self.files.total()

    @property
    def vectors(self) -> int:
        """The number of vectors."""
        return sum(facts.vectors * count for facts, count in self.files.items())

    def add_file(
        self, vectors: int, norms: Mapping[str, float], dimensions: int = 0, provider: str = "", *, times: int = 1
    ) -> None:
        """Add the vectors of one document; with `times=-1`, remove them."""
        is_measured = bool(vectors and norms)
        low, average, high = (round(norms[name] * _UNITS) if is_measured else 0 for name in ("min", "avg", "max"))
        self.files[FileFacts(vectors, dimensions, provider, (low, average, high) if is_measured else None)] += times

    def add_terms(self, counts: Iterable[int], *, times: int = 1) -> None:
        """Add the number of terms of each vector of a document; with `times=-1`, remove them."""
        for count in counts:
            self.nnz[count] += times

    def summarize(self) -> dict[str, Any]:
        """The totals, as the manifest has them. Only what the family has is in it."""
        files, nnz = +self.files, +self.nnz
        found: dict[str, Any] = {"documents": self.documents, "vectors": self.vectors}
        if dimensions := max((facts.dimensions for facts in files), default=0):
            found["dimensions"] = dimensions
        if providers := {facts.provider for facts in files if facts.provider}:
            found["providers"] = sorted(providers)
        if nnz:
            total = sum(value * count for value, count in nnz.items())
            found["nnz"] = {
                "avg": round(total / nnz.total(), _DIGITS),
                "p95": find_quantile(nnz, 0.95),
                "p99": find_quantile(nnz, 0.99),
            }
        measured = [(facts.norms, facts.vectors * count) for facts, count in files.items() if facts.norms is not None]
        if measured:
            average = sum(norms[1] * count for norms, count in measured) / sum(count for _, count in measured)
            low, high = min(norms[0] for norms, _ in measured), max(norms[2] for norms, _ in measured)
            found["norms"] = _round_norms(low / _UNITS, average / _UNITS, high / _UNITS)
        return found


def add_dense_table(totals: FamilyTotals, table: Result) -> None:
    """Add dense vectors: from their row, or from the vectors if that does not say enough."""
    found = {} if table.stored is None else table.stored.extras
    if not found.keys() >= DENSE_FACTS:
        found = _measure_dense(table.source)
    totals.add_file(found["vectors"], found["norms"], found["dimensions"], found["provider"])


def add_sparse_table(totals: FamilyTotals, table: Result) -> None:
    """Add sparse vectors."""
    from .stored import load_sparse_sizes

    counts, norms, provider = load_sparse_sizes(table.source)
    totals.add_file(len(counts), summarize_norms(norms), provider=provider)
    totals.add_terms(counts)


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
