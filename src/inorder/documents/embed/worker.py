"""The worker of stage `embed`: from the chunks of one document to its vectors; and the totals of the corpus."""

import os
from collections.abc import Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any

from inorder.stage.context import StageContext
from inorder.stage.contracts import StageError, WorkItem

from .corpus import CORPUS, CorpusState, count_corpus, decode_state, encode_state
from .step import embed, measure, summarize

if TYPE_CHECKING:
    from .groups import EmbeddedDocument

IMPORTS = ("inorder.stage.store.compression",)
"""What the totals of the corpus need."""
STORED = "inorder.documents.embed.stored"
"""What the vectors of a document need, besides their provider."""
OPENER = "opener"
"""The resource that opens the provider of a family with its first document."""
OPEN_ERROR = "open_error"
"""The resource that says why a provider cannot be opened."""
_FORMAT = {"vector_format": "store", "row_group_count": None, "parquet_bytes": None}
"""What a manifest row says of where the vectors are."""


def work(item: WorkItem, context: StageContext) -> dict[str, Any]:
    """Embed one document in one family, or sum up the corpus."""
    family = item.meta["family"]
    if family == CORPUS:
        return _summarize_corpus(item, context)
    from .groups import take_embedded

    embedded = take_embedded(item, context) or _embed_alone(item, context, _get_provider(context, family))
    return (_write_dense if family == "dense" else _write_sparse)(item, context, embedded)


def _embed_alone(item: WorkItem, context: StageContext, provider: Any) -> "EmbeddedDocument":
    from inorder.documents.chunk.storage import read_texts

    from .groups import EmbeddedDocument

    ids, texts = read_texts(item.inputs["chunks"])
    context.progress(0, len(texts), "vector")
    started_s = perf_counter()
    vectors = embed(item.meta["family"], texts, provider)
    return EmbeddedDocument(ids, vectors, (perf_counter() - started_s) * 1000)


def _write_dense(item: WorkItem, context: StageContext, embedded: "EmbeddedDocument") -> dict[str, Any]:
    from .stored import pack_dense

    provider, ids, vectors = _get_provider(context, "dense"), embedded.ids, embedded.vectors
    norms = measure("dense", vectors)
    _report(context, item.meta["spec"], provider, norms, embedded.provider_ms)
    context.write_output("vectors", pack_dense(ids, vectors, provider.name, item.meta["spec"]))
    return {**summarize("dense", vectors, provider, norms), **_FORMAT}


def _write_sparse(item: WorkItem, context: StageContext, embedded: "EmbeddedDocument") -> dict[str, Any]:
    from .stored import pack_sparse

    provider, ids, vectors = _get_provider(context, "sparse"), embedded.ids, embedded.vectors
    norms = measure("sparse", vectors)
    _report(context, item.meta["spec"], provider, norms, embedded.provider_ms)
    context.write_output("vectors", pack_sparse(ids, vectors, provider.name, provider.vocabulary_size))
    return {**summarize("sparse", vectors, provider, norms), **_FORMAT}


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
    """Totals of every family. If few documents have changed, the plan has them."""
    known, families = item.meta["state"], item.meta["families"]
    totals = decode_state(known).families if known else count_corpus(os.fspath(context.data), families)
    context.write_output("totals", encode_state(CorpusState(item.meta["identity"], totals)))
    return {
        "documents": max((total.documents for total in totals.values()), default=0),
        "chunks": max((total.vectors for total in totals.values()), default=0),
        "families": {family: total.summarize() for family, total in totals.items()},
    }
