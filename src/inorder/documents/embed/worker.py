"""The worker of stage `embed`: from the chunks of one document to its vectors; and the statistics of the corpus."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from inorder.documents.layout import VECTORS, list_chunk_files, list_outputs
from inorder.errors import OperatorError
from inorder.stage.context import StageContext
from inorder.stage.contracts import StageError, WorkItem

from .lexical import count_terms
from .providers.registry import open_dense, open_sparse

CORPUS = "__corpus__"
_OPEN_ERROR = "open_error"


def open_providers(providers: Mapping[str, str], open_now: list[Any], context: StageContext) -> None:
    """Open the providers, once for all items of this process, and add them to `open_now`."""
    for family, spec in providers.items():
        try:
            provider = open_dense(spec) if family == "dense" else open_sparse(spec)
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
        return _compute_statistics(context)
    from inorder.documents.chunk.storage import read_texts

    ids, texts = read_texts(item.inputs["chunks"])
    return _FAMILIES[family](item, context, ids, texts)


def _embed_dense(item: WorkItem, context: StageContext, ids: list[str], texts: list[str]) -> dict[str, Any]:
    from .storage import write_dense

    provider = _get_provider(context, "dense")
    try:
        vectors = provider.embed(texts)
    except ValueError as error:
        raise StageError(f"{provider.name}: {error}", category="runtime") from None
    write_dense(context.output("vectors"), ids, vectors, provider.name, item.meta["spec"], item.cfg_hash)
    return {"vectors": len(ids), "dimensions": provider.dimensions, "provider": provider.name}


def _embed_sparse(item: WorkItem, context: StageContext, ids: list[str], texts: list[str]) -> dict[str, Any]:
    from .storage import write_sparse

    provider = _get_provider(context, "sparse")
    vectors = provider.encode(texts)
    write_sparse(context.output("vectors"), ids, vectors, provider.name, provider.vocabulary_size, item.cfg_hash)
    terms = sum(len(indices) for indices, _ in vectors)
    return {"vectors": len(ids), "provider": provider.name, "avg_nnz": round(terms / max(1, len(ids)), 3)}


def _embed_lexical(item: WorkItem, context: StageContext, ids: list[str], texts: list[str]) -> dict[str, Any]:
    from .storage import write_lexical

    counts = [count_terms(text) for text in texts]
    write_lexical(context.output("vectors"), ids, counts, item.cfg_hash)
    return {"vectors": len(ids), "avg_nnz": round(sum(map(len, counts)) / max(1, len(ids)), 3)}


_FAMILIES = {"dense": _embed_dense, "sparse": _embed_sparse, "lexical": _embed_lexical}


def _get_provider(context: StageContext, family: str) -> Any:
    provider = context.resources.get(family)
    if provider is None:
        reason = context.resources.get(_OPEN_ERROR, "unknown reason")
        raise StageError(f"cannot open the {family} provider: {reason}", category="config")
    return provider


def _compute_statistics(context: StageContext) -> dict[str, Any]:
    """Statistics over all term tables. Memory grows with the vocabulary only."""
    from .storage import read_lexical, write_statistics

    frequencies: dict[str, tuple[int, int]] = {}
    documents = chunks = length = 0
    current = {each.doc_id for each in list_chunk_files(os.fspath(context.data))}
    for table in list_outputs(os.fspath(context.data), f"{VECTORS}/lexical", ".parquet"):
        if table.doc_id not in current:  # removed, and its table is about to be
            continue
        documents += 1
        for size, terms, counts in read_lexical(table.path):
            chunks += 1
            length += size
            for term, count in zip(terms, counts, strict=True):
                known = frequencies.get(term, (0, 0))
                frequencies[term] = known[0] + 1, known[1] + count
    write_statistics(Path(context.output("statistics")), chunks, length, frequencies)
    return {
        "documents": documents,
        "chunks": chunks,
        "terms": len(frequencies),
        "average_length": round(length / max(1, chunks), 3),
    }
