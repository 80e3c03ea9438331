"""The stage `export`: makes a target equal to the published index.

The plan is the difference between both: see `difference`. An item is one document, or one source file, that is written
or removed. A worker reads it from the index and encodes it for the target. The sink writes in the order of the plan.
"""

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import msgspec

from inorder.errors import require
from inorder.stage.context import StageContext
from inorder.stage.contracts import Configurable, PredictionRules, Stage, StagePlan, WorkItem
from inorder.stage.options import StageOptions

from .address import hide_secrets
from .base import Target, TargetOptions
from .difference import compare, list_all
from .index_reader import IndexReader
from .registry import find_encode, make_target
from .sink import ExportDelivery, TargetSink

NAME = "export"
_TIMEOUT_S = 60.0
_MEMORY_BYTES = 4 * 2**30
REMOVE, WRITE = "remove", "write"


class ExportSettings(msgspec.Struct, frozen=True):
    """Where to export to, and how."""

    to: str = ""
    """The address of the target, without secrets; empty: nothing is exported."""
    collection: str = "inorder"
    hnsw: bool = False
    recreate: bool = False


class Export:
    """One run of the stage: a target that is opened once and used by the plan and by the sink."""

    def __init__(self, settings: ExportSettings) -> None:
        self._address = hide_secrets(settings.to)
        if self._address:
            find_encode(self._address)  # fails early if the target is unknown, or its extra is missing
        self._options = TargetOptions(collection=settings.collection, hnsw=settings.hnsw, recreate=settings.recreate)
        self._target: Target | None = None

    def plan(self, sources: list[Path], data: Path) -> StagePlan:
        """Plan the difference between the index of DATA and the target."""
        require(bool(self._address), "stage export needs a target; name it with --to")
        return StagePlan(NAME, ExportItems(self, os.fspath(data)), is_remainder=True)

    def open(self, data: str) -> Target:
        """The target, which is connected at the first call."""
        if self._target is None:
            reader = IndexReader(data)
            try:
                layout = reader.read_layout()
            finally:
                reader.close()
            target = make_target(self._address, self._options)
            try:
                target.open(layout)
            except BaseException:
                target.close()
                raise
            self._target = target
        return self._target

    def make_sinks(self, data: Path) -> list[TargetSink]:
        """The sink of the stage."""
        return [TargetSink(self.open(os.fspath(data)))]


class ExportItems:
    """The items of a plan: the documents in which the index and the target differ, in the order of their ids."""

    def __init__(self, export: Export, data: str) -> None:
        self._export = export
        self._data = data

    def __iter__(self) -> Iterator[WorkItem]:
        target, index = self._export.open(self._data), IndexReader(self._data)
        try:
            for found in compare(list_all(index.list_documents), list_all(target.list_documents)):
                task = REMOVE if found.is_removal else WRITE
                yield WorkItem(item_id=found.doc_id, cfg_hash=found.hash, meta={"task": task}, batch_key=task)
        finally:
            index.close()


def work(address: str, item: WorkItem, context: StageContext) -> dict[str, object]:
    """Read one document from the index, or remove one that the index no longer has."""
    document = None
    if item.meta["task"] == WRITE:
        document = _find_reader(context).read(item.item_id)
    if document is None:
        context.deliver(ExportDelivery(item.item_id, None))
        return {"removed": True}
    context.deliver(ExportDelivery(item.item_id, find_encode(address)(document)))
    context.measure(chunks=len(document.chunks))
    return {"kind": document.kind, "chunks": len(document.chunks)}


def _find_reader(context: StageContext) -> IndexReader:
    """The index of DATA, which the items of a process share."""
    reader = context.resources.get(NAME)
    if not isinstance(reader, IndexReader):
        reader = context.resources[NAME] = IndexReader(os.fspath(context.data))
    return reader


def make_stage(settings: ExportSettings) -> Stage:
    """The stage that exports to a target."""
    export = Export(settings)
    return Stage(
        name=NAME,
        plan=export.plan,
        worker=partial(work, hide_secrets(settings.to)),
        sinks=export.make_sinks,
        options=StageOptions(policy="cpu", timeout_s=_TIMEOUT_S, memory_bytes_max=_MEMORY_BYTES),
        prediction=PredictionRules(is_removal=lambda item: item.meta["task"] == REMOVE),
    )


stage = Configurable(settings=ExportSettings, make=make_stage)
