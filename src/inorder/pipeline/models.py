"""The pass of models and servers: vectors for what lacks them, fed across documents.

What a worker can compute by itself is the first pass. A provider that is a model on a GPU, or behind a server, is
opened once for all workers of a machine, in a process of its own (see `documents.embed.shared`), and is fast with many
texts at a time. So its vectors are a second pass over the files whose chunks are committed: a worker passes the chunks
of a group of files in one call. The unit of commit stays the file, and words are found before their vectors are there.
"""

import time
from collections.abc import Sequence
from functools import partial
from typing import Any

from inorder.documents.embed.shared.keeping import ProviderKeeper
from inorder.documents.embed.shared.opening import OpenProviders
from inorder.documents.embed.step import count_together, embed_together
from inorder.engines.base import count_cpus
from inorder.stage.context import StageContext
from inorder.stage.contracts import StageError, StageHooks, StageOutcome, WorkItem

from .names import CHUNK, EMBED
from .resources import VisitResources
from .steps import PipelineSettings, list_shared
from .visit import RESOURCES, decode_order, read_result


class SharedProviders:
    """The providers of the pass. Sent to every worker process, without what is open in the driver."""

    def __init__(self, settings: PipelineSettings, keeper: ProviderKeeper | None = None) -> None:
        """`keeper` has the process of the providers of an earlier run, and keeps that of this one."""
        self._settings = settings
        self._opened = OpenProviders(list_shared(settings), settings.server, keeper)
        self._resources: VisitResources | None = None
        """Those of the driver, whose threads may be workers."""

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_resources": None}

    def make_hooks(self) -> StageHooks:
        """Return the hooks that open and close the providers, and feed them."""
        return StageHooks(
            worker_setup=self._set_up,
            before_stage=self._open,
            after_stage=self._close,
            group_size=_count_group,
            before_group=partial(_embed_group, tuple(list_shared(self._settings))),
        )

    def _open(self, context: StageContext) -> None:
        self._opened.open_in_driver(context)
        self._give_resources(context)

    def _set_up(self, context: StageContext) -> None:
        self._opened.open_in_worker(context)
        self._give_resources(context)

    def _give_resources(self, context: StageContext) -> None:
        workers = context.options.workers or count_cpus()
        resources = VisitResources(self._settings, workers)
        resources.shared = {
            family: context.resources[family] for family in list_shared(self._settings) if family in context.resources
        }
        self._resources = context.resources[RESOURCES] = resources

    def _close(self, outcome: StageOutcome) -> None:
        self._opened.close(outcome)
        if self._resources is not None:
            self._resources.close()
            self._resources = None


def _count_group(items: Sequence[WorkItem]) -> int:
    """How many of these items are embedded together."""
    return count_together(item.cost_hint for item in items)


def _embed_group(families: Sequence[str], items: Sequence[WorkItem], context: StageContext) -> None:
    """Embed the chunks of these items in one call for each family. A file of which nothing is found here is embedded on
    its own: if the group fails, each file fails or succeeds for itself."""
    resources: VisitResources = context.resources[RESOURCES]
    resources.embedded.clear()
    for family in families:
        step = f"{EMBED}:{family}"
        texts: dict[str, Sequence[str]] = {}
        for item in items:
            order = decode_order(item)
            if any(each.name == step for each in order.steps):
                try:
                    texts[item.item_id] = read_result(item, item.item_id, CHUNK, resources)[1]
                except StageError:  # its visit says what is wrong
                    continue
        provider, _ = resources.open_provider(family)
        began_s = time.perf_counter()
        found = embed_together(family, list(texts.values()), provider)
        text_ms = (time.perf_counter() - began_s) * 1000 / max(1, sum(map(len, texts.values())))
        for item_id, vectors in zip(texts, found, strict=True):
            resources.embedded[item_id, family] = vectors, text_ms * len(texts[item_id])
