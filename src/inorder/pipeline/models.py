"""The pass of models and servers: vectors for what lacks them, fed across documents.

What a worker can compute by itself is the first pass. A provider that is a model on a GPU, or behind a server, is
opened once for all workers of a machine, in a process of its own (see `documents.embed.shared`), and is fast with many
texts at a time. So its vectors are a second pass over the files whose chunks are committed: a worker passes the chunks
of a group of files in one call. The unit of commit stays the file, and words are found before their vectors are there.

engine  policy      where the provider is
local   cpu, gpu    in the process of the providers, which all worker processes call
local   io          in the driver, shared by its threads
ray     any         in every worker, which has its own GPU

In the last two cases, who computes vectors opens the provider with the first texts.
"""

import time
from collections.abc import Sequence
from functools import partial
from typing import Any

from inorder.documents.embed.shared.process import ProviderKeeper
from inorder.documents.embed.step import count_together, embed_together
from inorder.engines.base import count_callers
from inorder.stage.context import StageContext
from inorder.stage.contracts import PassHooks, StageError, StageOutcome, WorkItem

from .names import CHUNK, EMBED
from .resources import ResourceHooks, VisitResources
from .steps import PipelineSettings, list_shared
from .visit import RESOURCES, decode_order, read_result


class SharedProviders(ResourceHooks):
    """The providers of the pass, beside the resources of every worker."""

    def __init__(self, settings: PipelineSettings, keeper: ProviderKeeper | None = None) -> None:
        """`keeper` has the process of the providers of an earlier run, and keeps that of this one."""
        super().__init__(settings)
        self._specs = list_shared(settings)
        self._keeps = keeper is not None
        self._keeper: Any = keeper or ProviderKeeper()
        self._address = ""

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_keeper": None}

    def make_hooks(self) -> PassHooks:
        """Return the hooks that open and close the providers, and feed them."""
        return PassHooks(
            worker_setup=self._set_up,
            before_stage=self._prepare,
            after_stage=self.close,
            group_size=_count_group,
            before_group=partial(_embed_group, tuple(self._specs)),
        )

    def _prepare(self, context: StageContext) -> None:
        """Prepare the process of the providers in the driver, if there is to be one."""
        if context.options.engine == "local" and context.options.policy != "io":
            self._address = "unavailable"  # should the next line fail, no worker opens a model of its own
            self._address = self._keeper.open(self._specs, self._settings.limit_server()).address
        self.open(context)

    def _set_up(self, context: StageContext) -> None:
        """Connect a worker process to the process of the providers, if there is one."""
        self.open(context)
        if self._address:
            from inorder.documents.embed.shared.client import RemoteDense, RemoteSparse, ServiceConnection

            connection = ServiceConnection(self._address, count_callers(context.options.workers))
            context.resources[RESOURCES].shared = {
                family: (RemoteDense if family == "dense" else RemoteSparse)(connection, family)
                for family in self._specs
            }

    def close(self, outcome: StageOutcome) -> None:
        """End the process of the providers, or keep it: one whose providers cannot be opened is not worth keeping."""
        self._address = ""
        self._keeper.release(keeps=self._keeps and outcome.stop_kind is None and not outcome.failed)
        super().close(outcome)

    def end(self) -> None:
        """End the process of the providers if a run that raised has not closed it. Idempotent."""
        self._keeper.release(keeps=False)


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
