"""The pass of models and servers: vectors for what lacks them, fed across documents.

What a worker can compute by itself is the first pass. A provider that is a model on a GPU, or behind a server, is
opened once for all workers of a machine, in a process of its own (see `documents.embed.shared`), and is fast with many
texts at a time. So its vectors are a second pass over the files whose chunks are committed: a worker passes the chunks
of a group of files in one call. The unit of commit stays the file, and words are found before their vectors are there.
"""

from collections.abc import Sequence
from functools import partial

import msgspec

from inorder.documents.embed.providers.registry import policy
from inorder.documents.embed.shared.opening import OpenProviders
from inorder.documents.embed.step import count_together, embed_together
from inorder.engines.base import count_cpus
from inorder.stage.context import StageContext
from inorder.stage.contracts import StageError, StageHooks, StageOutcome, WorkItem

from .resources import VisitResources
from .steps import EMBED, PipelineSettings
from .visit import RESOURCES, decode_order

NAME = "models"
"""The name of the pass in DATA: of its journal and its telemetry."""


def list_shared(settings: PipelineSettings) -> dict[str, str]:
    """Return the families whose provider is opened once for all workers, and the provider of each."""
    return {family: spec for family, spec in settings.families.items() if policy(spec) != "cpu"}


def needs_device(settings: PipelineSettings) -> bool:
    """Whether one of the providers uses a GPU."""
    return any(policy(spec) == "gpu" for spec in settings.families.values())


def split_passes(settings: PipelineSettings) -> tuple[PipelineSettings, PipelineSettings | None]:
    """Return the settings of the first pass, and of that of the models; None: no provider needs one."""
    shared = list_shared(settings)
    if not shared or EMBED not in settings.commands:
        return settings, None
    steps = {family: f"{EMBED}:{family}" for family in settings.families}
    first = tuple(step for family, step in steps.items() if family in shared)
    second = tuple(step for family, step in steps.items() if family not in shared)
    return (
        msgspec.structs.replace(settings, skipped=first),
        msgspec.structs.replace(settings, commands=(EMBED,), skipped=second),
    )


class SharedProviders:
    """The providers of the pass. Sent to every worker process, without what is open in the driver."""

    def __init__(self, settings: PipelineSettings, staging: str) -> None:
        self._settings = settings
        self._staging = staging
        self._opened = OpenProviders(list_shared(settings), settings.server)

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
        resources = VisitResources(self._settings, str(context.data), self._staging, workers)
        resources.shared = {
            family: context.resources[family] for family in list_shared(self._settings) if family in context.resources
        }
        context.resources[RESOURCES] = resources

    def _close(self, outcome: StageOutcome) -> None:
        self._opened.close(outcome)


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
                    texts[item.item_id] = resources.read_chunk_texts(item.item_id, order.outputs)
                except StageError:  # its visit says what is wrong
                    continue
        provider, _ = resources.open_provider(family)
        found = embed_together(family, list(texts.values()), provider)
        resources.embedded.update({(item_id, family): each for item_id, each in zip(texts, found, strict=True)})
