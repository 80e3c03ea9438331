"""Embeds the chunks of many documents in one call, before the worker is called for each document.

A model and a server are fast with many texts at a time, and a small document has few. So a worker process passes the
texts of a group of documents to the provider at once, and keeps the vectors until their items are processed. An item
whose vectors are not there is embedded on its own: if the group fails, each document fails or succeeds for itself.
"""

from collections.abc import Collection, Sequence
from itertools import takewhile
from time import perf_counter
from typing import Any, NamedTuple

from inorder.documents.chunk.storage import read_texts
from inorder.stage.context import StageContext
from inorder.stage.contracts import WorkItem
from inorder.stage.store.inputs import StoredInput

from .step import count_together, embed_together

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
    family = items[0].meta["family"]
    if family not in families:
        return 1

    def is_alike(item: WorkItem) -> bool:
        return item.meta["family"] == family and isinstance(item.inputs.get("chunks"), StoredInput)

    return count_together(item.cost_hint for item in takewhile(is_alike, items))


def embed_group(items: Sequence[WorkItem], context: StageContext) -> None:
    """Embed the chunks of these items in one call. A document that cannot be read is left out."""
    context.resources[_RESOURCE] = {}
    family = items[0].meta["family"]
    provider = context.resources[family]
    read: dict[str, tuple[list[str], list[str]]] = {}
    for item in items:
        try:
            read[item.item_id] = read_texts(item.inputs["chunks"])
        except Exception:
            continue
    started_s = perf_counter()
    found = embed_together(family, [texts for _, texts in read.values()], provider)
    share_ms = (perf_counter() - started_s) * 1000 / max(1, sum(map(len, found)))
    context.resources[_RESOURCE] = {
        item_id: EmbeddedDocument(ids, vectors, share_ms * len(vectors))
        for (item_id, (ids, _)), vectors in zip(read.items(), found, strict=True)
    }


def take_embedded(item: WorkItem, context: StageContext) -> EmbeddedDocument | None:
    """The vectors of an item that was embedded with its group."""
    group: dict[str, EmbeddedDocument] = context.resources.get(_RESOURCE, {})
    return group.pop(item.item_id, None)
