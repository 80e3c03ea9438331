"""The step `embed`: from texts to vectors of one family. A provider is opened and closed by the caller.

A model and a server are fast with many texts at a time, and a small document has few. So the texts of several documents
go to the provider in one call; `count_together` says of how many.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, cast

from inorder.errors import OperatorError, StageError

from .providers.registry import identity

if TYPE_CHECKING:
    from .providers.base import DenseProvider, Matrix, SparseProvider, SparseVector

    Provider = DenseProvider | SparseProvider
    Vectors = Matrix | list[SparseVector]

NAME = "embed"
VERSION = 1
"""To be raised whenever the format of stored vectors changes."""
CHUNKS_MAX = 512
"""Chunks of one call: with a call from every worker, enough for some batches of a large GPU. The results of a call come
at once, so those of the last calls of all workers are committed after the model has ended."""

_NORM_DIGITS = 4
"""The last digits of a model's vectors may depend on the other texts of a batch."""


def settings_of(family: str, spec: str) -> dict[str, str]:
    """Return what the vectors of a family depend on besides the chunks: the version of each part. Loads no model and
    calls no server. Raises `OperatorError` for a provider that does not exist."""
    return {"family": family, "provider": identity(spec)}


def embed(family: str, texts: Sequence[str], provider: "Provider") -> "Vectors":
    """Return one vector per text, in order: a matrix for `dense`, a list for `sparse`. Raises `StageError` if the
    provider fails; its category tells whether the texts are the cause."""
    try:
        call: Any = getattr(provider, "embed" if family == "dense" else "encode")
        vectors: Vectors = call(texts)
    except OperatorError:
        raise
    except ValueError as error:
        raise StageError(f"{provider.name}: {error}", category="runtime") from None
    return vectors


def embed_together(family: str, documents: Sequence[Sequence[str]], provider: "Provider") -> "list[Vectors]":
    """Return the vectors of each of these documents, given as their texts, from one call of the provider. Raises as
    `embed` does, for all of them."""
    vectors = embed(family, [text for texts in documents for text in texts], provider)
    ends = pairwise(accumulate(map(len, documents), initial=0))
    return [_copy(vectors[start:end]) for start, end in ends]


def count_together(chunks: Iterable[float]) -> int:
    """Return how many documents go to the provider in one call, from their numbers of chunks: at least one, if there is
    one."""
    total, count = 0.0, 0
    for size in chunks:
        total += size
        if count and total > CHUNKS_MAX:
            break
        count += 1
    return count


def measure(family: str, vectors: "Vectors") -> list[float]:
    """Return the length of each vector."""
    if family == "sparse":
        return [math.hypot(*weights.tolist()) for _, weights in vectors]
    from .providers.base import measure_rows

    norms: list[float] = measure_rows(cast("Matrix", vectors)).tolist()
    return norms


def summarize(family: str, vectors: "Vectors", provider: "Provider", norms: Sequence[float]) -> dict[str, Any]:
    """Return the columns of a document's row in the manifest. `norms` are those of `measure`."""
    found: dict[str, Any] = {"vectors": len(vectors), "provider": provider.name, "norms": summarize_norms(norms)}
    if family == "dense":
        return found | {"dimensions": cast("DenseProvider", provider).dimensions}
    terms = sum(len(indices) for indices, _ in vectors)
    return found | {"avg_nnz": round(terms / max(1, len(vectors)), 3)}


def describe_call(
    spec: str, provider: "Provider", vectors: int, norms: Mapping[str, float], provider_ms: float
) -> dict[str, float | str]:
    """Return what telemetry is told of the vectors of one document. `norms` are those of `summarize_norms`. A batch may
    have texts of several documents: it is counted by the first one that ends after it."""
    kind, _, detail = spec.partition(":")
    tally = getattr(provider, "batches", None)
    batches, texts = (1, vectors) if tally is None else tally.take()
    found: dict[str, float | str] = {
        "provider": kind,
        "model": getattr(provider, "model", "") or detail,
        "device": getattr(provider, "device", "cpu"),
        "vectors": vectors,
        "norms": round(vectors * norms.get("avg", 0.0), _NORM_DIGITS),
        "batches": batches,
        "provider_ms": round(provider_ms, 3),
    }
    if tally is not None and (retries := tally.take_retries()):
        found["requests_retried"] = retries
    return found | {"batch_size": str(round(texts / batches))} if batches else found


def summarize_norms(norms: Sequence[float]) -> dict[str, float]:
    """Return the smallest, the average and the largest length of vectors; empty without vectors."""
    if not norms:
        return {}
    found = {"min": min(norms), "avg": sum(norms) / len(norms), "max": max(norms)}
    return {name: round(value, _NORM_DIGITS) for name, value in found.items()}


def _copy(vectors: Any) -> Any:
    """A part of the vectors that does not keep all of them in memory."""
    import numpy as np  # slow to import, and not needed by a run in which nothing has changed

    return vectors.copy() if isinstance(vectors, np.ndarray) else vectors
