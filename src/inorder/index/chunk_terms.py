"""The terms of the chunks of a published index: how often each occurs, and totals of them."""

from collections import Counter
from contextlib import closing
from typing import Any

from inorder.documents.quantiles import find_quantile

from .lexical.weights import TermCounts, count_terms
from .place import IndexConnection, IndexPlace

_DIGITS = 4


def count_index_terms(place: IndexPlace) -> TermCounts:
    """Count the terms of all chunks. Raises OperatorError if there is no index."""
    with closing(IndexConnection(place)) as index, index.snapshot() as connection:
        return count_terms(connection)


def summarize_terms(place: IndexPlace) -> dict[str, Any]:
    """Return the totals of the family `lexical`: of documents and source files alike. Raises as `count_index_terms`
    does."""
    with closing(IndexConnection(place)) as index, index.snapshot() as connection:
        [files] = connection.execute("SELECT COUNT(DISTINCT file) FROM chunks").fetchone()
        found = count_terms(connection)
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
