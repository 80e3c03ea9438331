"""The worker of stage `embed`: from the chunks of one document to its vectors; and the statistics of the corpus."""

import math
import os
from collections.abc import Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any

from inorder.stage.context import StageContext
from inorder.stage.contracts import StageError, WorkItem

from .counting.counts import count_corpus
from .lexical import count_terms
from .totals import summarize_norms

if TYPE_CHECKING:
    from .counting.counts import CorpusSummary
    from .groups import EmbeddedDocument

CORPUS = "__corpus__"
UPDATE_IMPORTS = ("inorder.documents.embed.corpus", "inorder.stage.store.compression")
"""What the statistics of the corpus need after few changes."""
IMPORTS = (*UPDATE_IMPORTS, "inorder.documents.embed.storage", "inorder.documents.embed.term_statistics")
"""What they need if all documents are counted."""
STORED = "inorder.documents.embed.stored"
"""What the vectors of a document need, besides their provider."""
OPENER = "opener"
"""The resource that opens the provider of a family with its first document."""
OPEN_ERROR = "open_error"
"""The resource that says why a provider cannot be opened."""
COUNTS = "counts"
"""The resource that has the address of the counting process."""
_FORMAT = {"vector_format": "store", "row_group_count": None, "parquet_bytes": None}
"""What a manifest row says of where the vectors are."""


def work(item: WorkItem, context: StageContext) -> dict[str, Any]:
    """Embed one document in one family, or compute the statistics of the corpus."""
    family = item.meta["family"]
    if family == CORPUS:
        return _summarize_corpus(item, context)
    if family == "lexical":
        return _count_lexical(item, context)
    from .groups import take_embedded

    embedded = take_embedded(item, context) or _embed_alone(item, context, _get_provider(context, family))
    return (_write_dense if family == "dense" else _write_sparse)(item, context, embedded)


def _embed_alone(item: WorkItem, context: StageContext, provider: Any) -> "EmbeddedDocument":
    from inorder.documents.chunk.storage import read_texts

    from .groups import EmbeddedDocument

    ids, texts = read_texts(item.inputs["chunks"])
    context.progress(0, len(texts), "vector")
    started_s = perf_counter()
    try:
        vectors = provider.embed(texts) if item.meta["family"] == "dense" else provider.encode(texts)
    except ValueError as error:
        raise StageError(f"{provider.name}: {error}", category="runtime") from None
    return EmbeddedDocument(ids, vectors, (perf_counter() - started_s) * 1000)


def _write_dense(item: WorkItem, context: StageContext, embedded: "EmbeddedDocument") -> dict[str, Any]:
    from .providers.base import measure_rows
    from .stored import pack_dense

    provider, ids, vectors = _get_provider(context, "dense"), embedded.ids, embedded.vectors
    norms = measure_rows(vectors).tolist()
    _report(context, item.meta["spec"], provider, norms, embedded.provider_ms)
    context.write_output("vectors", pack_dense(ids, vectors, provider.name, item.meta["spec"]))
    return {
        "vectors": len(ids),
        "dimensions": provider.dimensions,
        "provider": provider.name,
        "norms": summarize_norms(norms),
        **_FORMAT,
    }


def _write_sparse(item: WorkItem, context: StageContext, embedded: "EmbeddedDocument") -> dict[str, Any]:
    from .stored import pack_sparse

    provider, ids, vectors = _get_provider(context, "sparse"), embedded.ids, embedded.vectors
    norms = [math.hypot(*weights.tolist()) for _, weights in vectors]
    _report(context, item.meta["spec"], provider, norms, embedded.provider_ms)
    context.write_output("vectors", pack_sparse(ids, vectors, provider.name, provider.vocabulary_size))
    terms = sum(len(indices) for indices, _ in vectors)
    return {
        "vectors": len(ids),
        "provider": provider.name,
        "avg_nnz": round(terms / max(1, len(ids)), 3),
        "norms": summarize_norms(norms),
        **_FORMAT,
    }


def _count_lexical(item: WorkItem, context: StageContext) -> dict[str, Any]:
    from inorder.documents.chunk.storage import read_texts

    from .stored import pack_lexical

    ids, texts = read_texts(item.inputs["chunks"])
    context.progress(0, len(texts), "vector")
    counts = [count_terms(text) for text in texts]
    context.measure(vectors=len(ids))
    context.write_output("vectors", pack_lexical(ids, counts))
    return {
        "vectors": len(ids),
        "avg_nnz": round(sum(map(len, counts)) / max(1, len(ids)), 3),
        **_FORMAT,
    }


def _report(context: StageContext, spec: str, provider: Any, norms: Sequence[float], provider_ms: float) -> None:
    """Report to telemetry what a provider did for one document. A batch may have texts of several documents: it is
    reported by the first one that ends after it."""
    kind, _, detail = spec.partition(":")
    tally = getattr(provider, "batches", None)
    batches, texts = (1, len(norms)) if tally is None else tally.take()
    context.measure(
        provider=kind,
        model=getattr(provider, "model", "") or detail,
        device=getattr(provider, "device", "cpu"),
        vectors=len(norms),
        norms=sum(norms),
        batches=batches,
        provider_ms=round(provider_ms, 3),
    )
    if batches:
        context.measure(batch_size=str(round(texts / batches)))


def _get_provider(context: StageContext, family: str) -> Any:
    if family not in context.resources and OPENER in context.resources:
        context.resources[OPENER](family)
    provider = context.resources.get(family)
    if provider is None:
        reason = context.resources.get(OPEN_ERROR, "unknown reason")
        raise StageError(f"cannot open the {family} provider: {reason}", category="config")
    return provider


def _summarize_corpus(item: WorkItem, context: StageContext) -> dict[str, Any]:
    """Totals of every family, and the statistics of all terms."""
    from .corpus import count_chunks, keep_state

    data = os.fspath(context.data)
    found = _find_counted(item, context) or _count_all(data, item)
    context.write_output("statistics", found.statistics)
    keep_state(data, item.cfg_hash, found.totals, item.meta["identity"])
    chunks = count_chunks(found.totals)
    return {
        "documents": max(total.documents for total in found.totals.values()),
        "chunks": chunks,
        "terms": found.terms,
        "average_length": round(found.length / max(1, chunks), 3),
        "families": {family: total.summarize() for family, total in found.totals.items()},
    }


def _find_counted(item: WorkItem, context: StageContext) -> "CorpusSummary | None":
    """What the counting process of this run has counted."""
    address, documents = context.resources.get(COUNTS, ""), item.meta.get("documents")
    if not address or documents is None:
        return None
    from .counting.process import ask_for_counts

    return ask_for_counts(address, documents)


def _count_all(data: str, item: WorkItem) -> "CorpusSummary":
    from .corpus import update_corpus
    from .counting.counts import summarize_counts, summarize_statistics

    families, change = item.meta["families"], item.meta.get("change")
    updated = None if change is None else update_corpus(data, item.item_id, families, change)
    if updated is not None:
        return summarize_statistics(*updated)
    counts = count_corpus(data, families)
    return summarize_counts(counts.totals, counts.terms)
