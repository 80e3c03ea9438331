"""What a worker of `embed` does with one item, and what its items share."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from inorder.documents.layout import list_chunk_files, list_outputs
from inorder.errors import OperatorError
from inorder.stage.contracts import StageError, WorkItem

from .lexical import frequencies
from .providers.registry import open_dense, open_sparse

_TROUBLE = "trouble"


def open_providers(providers: Mapping[str, str], opened: list[Any], context: Any) -> None:
    """Open what is needed, once for all items of this process."""
    for family, spec in providers.items():
        try:
            provider = open_dense(spec) if family == "dense" else open_sparse(spec)
        except OperatorError as error:
            context.resources[_TROUBLE] = str(error)
            continue
        context.resources[family] = provider
        opened.append(provider)


def open_shared(opening: Callable[[Any], None], context: Any) -> None:
    """Open it for all threads. Processes each open their own."""
    if context.options.policy != "cpu" and context.options.engine == "local":
        opening(context)


def close_providers(opened: list[Any], _: Any) -> None:
    """Let go of it."""
    while opened:
        opened.pop().close()


def work(item: WorkItem, context: Any) -> dict[str, Any]:
    """One document in one family, or the statistics of all."""
    family = item.meta["family"]
    if family == "__corpus__":
        return _corpus(context)
    from inorder.documents.chunk.storage import read_texts

    ids, texts = read_texts(item.inputs["chunks"])
    return _FAMILIES[family](item, context, ids, texts)


def _dense(item: WorkItem, context: Any, ids: list[str], texts: list[str]) -> dict[str, Any]:
    from .storage import write_dense

    provider = _provider(context, "dense")
    try:
        vectors = provider.embed(texts)
    except ValueError as error:
        raise StageError(f"{provider.name}: {error}", category="runtime") from None
    write_dense(context.output("vectors"), ids, vectors, provider.name, item.meta["spec"], item.cfg_hash)
    return {"vectors": len(ids), "dimensions": provider.dimensions, "provider": provider.name}


def _sparse(item: WorkItem, context: Any, ids: list[str], texts: list[str]) -> dict[str, Any]:
    from .storage import write_sparse

    provider = _provider(context, "sparse")
    vectors = provider.encode(texts)
    write_sparse(context.output("vectors"), ids, vectors, provider.name, provider.vocabulary_size, item.cfg_hash)
    terms = sum(len(indices) for indices, _ in vectors)
    return {"vectors": len(ids), "provider": provider.name, "avg_nnz": round(terms / max(1, len(ids)), 3)}


def _lexical(item: WorkItem, context: Any, ids: list[str], texts: list[str]) -> dict[str, Any]:
    from .storage import write_lexical

    counts = [frequencies(text) for text in texts]
    write_lexical(context.output("vectors"), ids, counts, item.cfg_hash)
    return {"vectors": len(ids), "avg_nnz": round(sum(map(len, counts)) / max(1, len(ids)), 3)}


_FAMILIES = {"dense": _dense, "sparse": _sparse, "lexical": _lexical}


def _provider(context: Any, family: str) -> Any:
    provider = context.resources.get(family)
    if provider is None:
        why = context.resources.get(_TROUBLE, "it could not be opened")
        raise StageError(f"the {family} provider: {why}", category="config")
    return provider


def _corpus(context: Any) -> dict[str, Any]:
    """Statistics over every table of terms. What grows is the vocabulary, and nothing else."""
    from .storage import read_lexical, write_statistics

    found: dict[str, tuple[int, int]] = {}
    documents = chunks = length = 0
    wanted = {each.doc_id for each in list_chunk_files(os.fspath(context.data))}
    for table in list_outputs(os.fspath(context.data), "vectors/lexical", ".parquet"):
        if table.doc_id not in wanted:  # it is gone, and its terms are about to go
            continue
        documents += 1
        for size, terms, counts in read_lexical(table.path):
            chunks += 1
            length += size
            for term, count in zip(terms, counts, strict=True):
                known = found.get(term, (0, 0))
                found[term] = known[0] + 1, known[1] + count
    write_statistics(Path(context.output("statistics")), chunks, length, found)
    return {
        "documents": documents,
        "chunks": chunks,
        "terms": len(found),
        "average_length": round(length / max(1, chunks), 3),
    }
