"""The export to a target: a pass of its own, which makes the target equal to the index.

The plan is the difference between both: see `difference`. An item is one document, or one source file, that is written
or removed. A worker reads it from the library and encodes it for the target. The sink writes in the order of the plan.

An export reads one generation. What a run publishes meanwhile is not seen. A document that is replaced meanwhile may be
gone before it was read: then the export is repeated with the present generation, and has little left to do.
"""

import os
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from typing import Any

import msgspec

from inorder.engines.attempt import Skip
from inorder.errors import InfrastructureError, require
from inorder.extensions.trust import carry_trust
from inorder.host.credentials import hide_credentials
from inorder.library.connection import require_whole_library
from inorder.stage.context import StageContext
from inorder.stage.contracts import PassPlan, StageHooks, StageOutcome, WorkItem
from inorder.stage.options import StageOptions
from inorder.stage.run import run_pass

from .base import Target, TargetLayout, TargetOptions
from .difference import compare, list_all
from .index_reader import IndexReader
from .registry import find_encode, make_target
from .sink import ExportDelivery, TargetSink

NAME = "export"
"""The name of the pass in DATA: of its journal, its manifest and its telemetry."""
OPTIONS = StageOptions(policy="cpu", timeout_s=60.0, memory_bytes_max=4 * 2**30)
"""The defaults of its options."""
REMOVE, WRITE = "remove", "write"
_ATTEMPTS = 5
"""How often an export is repeated because a run has replaced what it was to read."""


class ExportSettings(TargetOptions, frozen=True, kw_only=True):
    """Where to export to, and how."""

    to: str = ""
    """The address of the target, without secrets; empty: nothing is exported."""


def export_index(
    settings: ExportSettings, options: StageOptions = OPTIONS, origin: dict[str, Any] | None = None
) -> StageOutcome:
    """Make a target equal to the index of DATA. Documents that cannot be written do not raise.

    Workers run on this machine: nobody else opens the library. `origin` is recorded in the manifest.

    Raises:
        OperatorError: The target is unknown or cannot be used as it is, or DATA has no library.
        BusyError: Another export holds the target or DATA.
        IntegrityError: The library is damaged. Nothing is written or removed.
        InfrastructureError: The target failed, or the index does not stay the same long enough; repeat the call.
    """
    address = hide_credentials(settings.to)
    require(bool(address), "an export needs a target; name it with --to")
    find_encode(address)  # fails early if the target is unknown, or its extra is missing
    data = os.path.abspath(options.data)
    require_whole_library(data)
    chosen = msgspec.structs.replace(options, data=data, engine="local")
    done = None
    for _ in range(_ATTEMPTS):
        with closing(IndexReader(data)) as index:
            count = index.count()
            carry_trust(data, address, "dense", index.layout.provider)
            with closing(_open_target(address, settings, index.layout)) as target:
                found = _run(address, index, target, chosen, origin or {})
            done = found if done is None else _add(done, found)
            if found.stop_kind is not None or index.count() == count:
                return done
        settings = msgspec.structs.replace(settings, recreate=False)
    raise InfrastructureError(f"{data} changes while it is exported; export it again when no run is active")


def _open_target(address: str, options: TargetOptions, layout: TargetLayout) -> Target:
    target = make_target(address, options)
    try:
        target.open(layout)
    except BaseException:
        target.close()
        raise
    return target


def _run(
    address: str, index: IndexReader, target: Target, options: StageOptions, origin: dict[str, Any]
) -> StageOutcome:
    """Write the difference between one generation and the target."""
    readers = WorkerReaders(index)
    return run_pass(
        PassPlan(NAME, ExportItems(index, target), is_remainder=True),
        partial(work, address),
        options,
        StageHooks(worker_setup=readers.open, before_stage=readers.open, after_stage=readers.close),
        origin=origin,
        sinks=[TargetSink(target)],
    )


def _add(done: StageOutcome, further: StageOutcome) -> StageOutcome:
    """Return the outcome of a repeated export: what all attempts have written."""
    names = ("scheduled", "skipped", "succeeded", "wall_ms")
    return msgspec.structs.replace(further, **{name: getattr(done, name) + getattr(further, name) for name in names})


class ExportItems:
    """The items of a plan: the documents in which the index and the target differ, in the order of their ids."""

    def __init__(self, index: IndexReader, target: Target) -> None:
        self._index = index
        self._target = target

    def __iter__(self) -> Iterator[WorkItem]:
        for found in compare(list_all(self._index.list_documents), list_all(self._target.list_documents)):
            task = REMOVE if found.is_removal else WRITE
            yield WorkItem(item_id=found.doc_id, cfg_hash=found.hash, meta={"task": task}, batch_key=task)


class WorkerReaders:
    """Gives every worker a reader of the same generation, and closes that of the driver at the end. Sent to every
    worker process, without what is open in the driver."""

    def __init__(self, index: IndexReader) -> None:
        self._epoch = index.epoch
        self._layout = index.layout
        self._opened: IndexReader | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_opened": None}

    def open(self, context: StageContext) -> None:
        """Give a worker its reader."""
        self._opened = context.resources[NAME] = IndexReader(os.fspath(context.data), self._epoch, self._layout)

    def close(self, outcome: StageOutcome) -> None:
        """Close the reader of the driver, whose threads may have been workers."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None


def work(address: str, item: WorkItem, context: StageContext) -> dict[str, object] | Skip:
    """Read one document from the index, or remove one that the index no longer has."""
    if item.meta["task"] == REMOVE:
        context.deliver(ExportDelivery(item.item_id, None))
        return {"removed": True}
    reader: IndexReader = context.resources[NAME]
    document = reader.read(item.item_id)
    if document is None:
        return Skip("a later generation has replaced it")
    context.deliver(ExportDelivery(item.item_id, find_encode(address)(document)))
    context.measure(chunks=len(document.chunks))
    return {"kind": document.kind, "chunks": len(document.chunks)}
