"""The worker of stage `embed`: from the chunks of one document to its vectors; and the statistics of the corpus."""

import math
import os
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Any

from inorder.documents.layout import list_current_vectors
from inorder.errors import OperatorError
from inorder.stage.context import StageContext
from inorder.stage.contracts import StageError, WorkItem
from inorder.stage.store.inputs import Input

from .lexical import count_terms
from .providers.registry import open_dense, open_sparse
from .providers.server.limits import ServerLimits
from .totals import FamilyTotals, add_dense_table, add_sparse_table, summarize_norms

CORPUS = "__corpus__"
_OPEN_ERROR = "open_error"
_FORMAT = "parquet"


def open_providers(
    providers: Mapping[str, str], limits: ServerLimits, open_now: list[Any], context: StageContext
) -> None:
    """Open the providers, once for all items of this process, and add them to `open_now`. `limits` are those of a
    provider behind a server."""
    for family, spec in providers.items():
        try:
            provider = open_dense(spec, limits) if family == "dense" else open_sparse(spec)
        except OperatorError as error:
            context.resources[_OPEN_ERROR] = str(error)
            continue
        context.resources[family] = provider
        open_now.append(provider)


def open_shared(open_all: Callable[[StageContext], None], context: StageContext) -> None:
    """Open the providers for all threads. Worker processes open their own."""
    if context.options.policy != "cpu" and context.options.engine == "local":
        open_all(context)


def close_providers(open_now: list[Any], _: StageContext) -> None:
    """Close the providers that this process opened."""
    while open_now:
        open_now.pop().close()


def work(item: WorkItem, context: StageContext) -> dict[str, Any]:
    """Embed one document in one family, or compute the statistics of the corpus."""
    family = item.meta["family"]
    if family == CORPUS:
        return _summarize_corpus(item.meta["families"], context)
    from inorder.documents.chunk.storage import read_texts

    ids, texts = read_texts(item.inputs["chunks"])
    context.progress(0, len(texts), "vector")
    return _FAMILIES[family](item, context, ids, texts)


def _embed_dense(item: WorkItem, context: StageContext, ids: list[str], texts: list[str]) -> dict[str, Any]:
    from .providers.base import measure_rows
    from .stored import pack_dense

    provider = _get_provider(context, "dense")
    started_s = perf_counter()
    try:
        vectors = provider.embed(texts)
    except ValueError as error:
        raise StageError(f"{provider.name}: {error}", category="runtime") from None
    norms = measure_rows(vectors).tolist()
    _report(context, item.meta["spec"], provider, norms, started_s)
    spec = item.meta["spec"]
    if context.is_stored:
        written = _store(context, pack_dense(ids, vectors, provider.name, spec))
    else:
        from .storage import write_dense

        path = context.output("vectors")
        written = write_dense(path, ids, vectors, provider.name, spec, item.cfg_hash)._asdict()
    return {
        "vectors": len(ids),
        "dimensions": provider.dimensions,
        "provider": provider.name,
        "norms": summarize_norms(norms),
        "vector_format": _name_format(context),
        **written,
    }


def _embed_sparse(item: WorkItem, context: StageContext, ids: list[str], texts: list[str]) -> dict[str, Any]:
    from .stored import pack_sparse

    provider = _get_provider(context, "sparse")
    started_s = perf_counter()
    vectors = provider.encode(texts)
    norms = [math.hypot(*weights.tolist()) for _, weights in vectors]
    _report(context, item.meta["spec"], provider, norms, started_s)
    if context.is_stored:
        written = _store(context, pack_sparse(ids, vectors, provider.name, provider.vocabulary_size))
    else:
        from .storage import write_sparse

        path, vocabulary = context.output("vectors"), provider.vocabulary_size
        written = write_sparse(path, ids, vectors, provider.name, vocabulary, item.cfg_hash)._asdict()
    terms = sum(len(indices) for indices, _ in vectors)
    return {
        "vectors": len(ids),
        "provider": provider.name,
        "avg_nnz": round(terms / max(1, len(ids)), 3),
        "norms": summarize_norms(norms),
        "vector_format": _name_format(context),
        **written,
    }


def _embed_lexical(item: WorkItem, context: StageContext, ids: list[str], texts: list[str]) -> dict[str, Any]:
    from .stored import pack_lexical

    counts = [count_terms(text) for text in texts]
    context.measure(vectors=len(ids))
    if context.is_stored:
        written = _store(context, pack_lexical(ids, counts))
    else:
        from .storage import write_lexical

        written = write_lexical(context.output("vectors"), ids, counts, item.cfg_hash)._asdict()
    return {
        "vectors": len(ids),
        "avg_nnz": round(sum(map(len, counts)) / max(1, len(ids)), 3),
        "vector_format": _name_format(context),
        **written,
    }


def _store(context: StageContext, content: bytes) -> dict[str, Any]:
    """Write vectors to the store. Returns what the manifest says of their file: there is none."""
    context.write_output("vectors", content)
    return {"row_group_count": None, "parquet_bytes": None}


def _name_format(context: StageContext) -> str:
    return "store" if context.is_stored else _FORMAT


_FAMILIES = {"dense": _embed_dense, "sparse": _embed_sparse, "lexical": _embed_lexical}


def _report(context: StageContext, spec: str, provider: Any, norms: Sequence[float], started_s: float) -> None:
    """Report to telemetry what a provider did for one document. A batch may have texts of several documents: it is
    reported by the first one that ends after it."""
    kind, _, detail = spec.partition(":")
    tally = getattr(provider, "batches", None)
    batches, texts = (1, len(norms)) if tally is None else tally.take()
    context.measure(
        provider=kind,
        model=getattr(provider, "model", detail),
        device=getattr(provider, "device", "cpu"),
        vectors=len(norms),
        norms=sum(norms),
        batches=batches,
        provider_ms=round((perf_counter() - started_s) * 1000, 3),
    )
    if batches:
        context.measure(batch_size=str(round(texts / batches)))


def _get_provider(context: StageContext, family: str) -> Any:
    provider = context.resources.get(family)
    if provider is None:
        reason = context.resources.get(_OPEN_ERROR, "unknown reason")
        raise StageError(f"cannot open the {family} provider: {reason}", category="config")
    return provider


def _summarize_corpus(families: Sequence[str], context: StageContext) -> dict[str, Any]:
    """Totals of every family, and the statistics of all terms. Memory grows with the vocabulary only."""
    from .storage import make_statistics, write_statistics

    data = os.fspath(context.data)
    totals = {family: FamilyTotals() for family in families}
    frequencies: dict[str, tuple[int, int]] = {}
    length = 0
    for family, total in totals.items():
        for table in list_current_vectors(data, family):
            if family == "dense":
                add_dense_table(total, table)
            elif family == "sparse":
                add_sparse_table(total, table)
            else:
                length += _add_terms(total, table.source, frequencies)
    documents = max(total.documents for total in totals.values())
    chunks = max(total.vectors for total in totals.values())
    statistics = make_statistics(chunks, length, frequencies)
    context.write_output("statistics", write_statistics(statistics))
    return {
        "documents": documents,
        "chunks": chunks,
        "terms": len(frequencies),
        "average_length": round(length / max(1, chunks), 3),
        "families": {family: total.summarize() for family, total in totals.items()},
    }


def _add_terms(total: FamilyTotals, source: Input, frequencies: dict[str, tuple[int, int]]) -> int:
    """Add a table of terms. Returns the number of words in it."""
    from .stored import load_terms

    chunks = load_terms(source)
    total.add_file(len(chunks), {})
    total.add_terms(map(len, chunks))
    for terms in chunks:
        for term, count in terms.items():
            known = frequencies.get(term, (0, 0))
            frequencies[term] = known[0] + 1, known[1] + count
    return sum(sum(terms.values()) for terms in chunks)
