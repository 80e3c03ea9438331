"""Turns the results of workers into entries for the sinks of a stage."""

from typing import Any

import msgspec

from inorder.core.events import Envelope
from inorder.core.transitions import State
from inorder.sinks.base import Entry, Output
from inorder.stage.contracts import StagePlan
from inorder.stage.fingerprints import list_published
from inorder.stage.partial_results import decode_value
from inorder.stage.worker import StageResult, StageTask

from .rows import get_result

_HAS_RESULT = (int(State.TERMINAL_SUCCESS), int(State.TERMINAL_SKIP))


def describe_entry(data: str, plan: StagePlan, envelope: Envelope, task: StageTask, attempts: int) -> Entry:
    """Turn an envelope into an entry. If the plan retires items, a failed one loses the outputs of earlier runs in
    `data`."""
    payload: Any = None
    if envelope.outcome in _HAS_RESULT:
        payload = envelope.payload
    elif envelope.partial is not None:
        payload = StageResult.of_partial(decode_value(envelope.partial))
    entry = Entry(
        envelope.seq,
        envelope.outcome,
        attempts,
        task,
        payload,
        envelope.failure,
        exec_ms=envelope.exec_ms,
        began_ms=envelope.began_ms,
    )
    result = get_result(entry)
    if result is not None:
        outputs = [Output(*output) for output in result.outputs]
        return msgspec.structs.replace(entry, outputs=outputs, staged=result.staged, removals=result.removals)
    if plan.retires is None:
        return entry
    return msgspec.structs.replace(entry, removals=list_published(data, task.item.outputs))
