"""Embeds the chunks of many documents in one call, before the worker is called for each document.

A model and a server are fast with many texts at a time, and a small document has few. So a worker process passes the
texts of a group of documents to the provider at once, and keeps the vectors until their items are processed. An item
whose vectors are not there is embedded on its own: if the group fails, each document fails or succeeds for itself.
"""

from collections.abc import Collection, Sequence
from itertools import pairwise
from time import perf_counter
from typing import Any, NamedTuple

from inorder.documents.chunk.storage import read_texts
from inorder.stage.context import StageContext
from inorder.stage.contracts import WorkItem
from inorder.stage.store.inputs import StoredInput

CHUNKS_MAX = 512
"""Chunks of one group: with a group in every worker, enough for some batches of a large GPU. The results of a group
come at once, so those of the last groups of all workers are committed after the model has ended."""
_RESOURCE = "group"


class EmbeddedDocument(NamedTuple):
    """The vectors of one document of a group."""

    ids: list[str]
    vectors: Any
    """A matrix, or a list of sparse vectors."""
    provider_ms: float
    """Its share of the call."""


def count_group(families: Collection[str], items: Sequence[WorkItem]) -> int:
    """How many of these items are embedded together: of one family with a shared provider, in the store. A file may
    change between being read for the group and being processed, a row does not."""
    family, chunks = items[0].meta["family"], 0.0
    if family not in families:
        return 1
    for number, item in enumerate(items):
        chunks += item.cost_hint
        is_stored = isinstance(item.inputs.get("chunks"), StoredInput)
        if item.meta["family"] != family or not is_stored or (number and chunks > CHUNKS_MAX):
            return number
    return len(items)


def embed_group(items: Sequence[WorkItem], context: StageContext) -> None:
    """Embed the chunks of these items in one call. A document that cannot be read is left out."""
    context.resources[_RESOURCE] = {}
    family = items[0].meta["family"]
    provider = context.resources[family]
    read: dict[str, list[str]] = {}
    texts: list[str] = []
    ends = [0]
    for item in items:
        try:
            ids, found = read_texts(item.inputs["chunks"])
        except Exception:
            continue
        read[item.item_id] = ids
        texts += found
        ends.append(len(texts))
    started_s = perf_counter()
    vectors = provider.embed(texts) if family == "dense" else provider.encode(texts)
    share_ms = (perf_counter() - started_s) * 1000 / max(1, len(texts))
    context.resources[_RESOURCE] = {
        item_id: EmbeddedDocument(ids, _copy(vectors[start:end]), share_ms * (end - start))
        for (item_id, ids), (start, end) in zip(read.items(), pairwise(ends), strict=True)
    }


def take_embedded(item: WorkItem, context: StageContext) -> EmbeddedDocument | None:
    """The vectors of an item that was embedded with its group."""
    group: dict[str, EmbeddedDocument] = context.resources.get(_RESOURCE, {})
    return group.pop(item.item_id, None)


def _copy(vectors: Any) -> Any:
    """A part of the vectors that does not keep all of them in memory."""
    import numpy as np  # slow to import, and not needed by a run in which nothing has changed

    return vectors.copy() if isinstance(vectors, np.ndarray) else vectors
