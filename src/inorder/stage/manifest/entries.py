"""Turns the results of workers into entries for the sinks of a stage."""

from typing import Any

from inorder.core.events import Envelope
from inorder.core.transitions import State
from inorder.engines.attempt import Skip
from inorder.sinks.base import Entry, Output
from inorder.stage.contracts import ItemResult, StagePlan
from inorder.stage.fingerprints import list_published
from inorder.stage.partial_results import decode_value
from inorder.stage.worker import StageResult, StageTask

_FAIL = int(State.TERMINAL_FAIL)


class StageEntry(Entry, frozen=True):
    """An entry with what the runner keeps of the item: for its own sinks, the monitor and the cache of hashes."""

    kept: StageResult | Skip | None = None
    """A skip has the result as its value. None: the item failed."""


def describe_entry(data: str, plan: StagePlan, envelope: Envelope, task: StageTask, attempts: int) -> StageEntry:
    """Turn an envelope into an entry. If the plan retires items, a failed one loses the outputs of earlier runs in
    `data`."""
    item = task.item
    if envelope.outcome == _FAIL:
        partial = envelope.partial
        return StageEntry(
            envelope.seq,
            envelope.outcome,
            attempts,
            item,
            None if partial is None else decode_value(partial),
            envelope.failure,
            removals=() if plan.retires is None else list_published(data, item.outputs),
            exec_ms=envelope.exec_ms,
            began_ms=envelope.began_ms,
        )
    kept: StageResult | Skip = envelope.payload
    result: StageResult = kept.value if isinstance(kept, Skip) else kept
    return StageEntry(
        envelope.seq,
        envelope.outcome,
        attempts,
        item,
        result.delivery,
        None,
        [Output(*output) for output in result.outputs],
        staged=result.staged,
        removals=result.removals,
        exec_ms=envelope.exec_ms,
        began_ms=envelope.began_ms,
        kept=kept,
    )


def get_result(entry: Entry) -> StageResult | None:
    """Return what the runner keeps of an item; None: it failed."""
    kept = entry.kept if isinstance(entry, StageEntry) else None
    return kept.value if isinstance(kept, Skip) else kept


def get_skip_reason(entry: Entry) -> str:
    """Return why an item was skipped; empty: it was not."""
    kept = entry.kept if isinstance(entry, StageEntry) else None
    return kept.reason if isinstance(kept, Skip) else ""


def to_item_result(entry: Entry) -> ItemResult:
    """Return the result of an item as `after_item` gets it."""
    if entry.failure is not None:
        return entry.failure
    result = get_result(entry)
    value: dict[str, Any] | None = None if result is None else result.value
    kept = entry.kept if isinstance(entry, StageEntry) else None
    return Skip(kept.reason, value) if isinstance(kept, Skip) else value
