"""Turns the results of workers into entries for the sinks of a stage."""

from typing import Any

import msgspec

from inorder.core.events import Envelope
from inorder.runtime.commit import describe_plain
from inorder.sinks.base import Entry, Output
from inorder.stage.contracts import StagePlan
from inorder.stage.fingerprints import list_published
from inorder.stage.partial_results import decode_value
from inorder.stage.worker import StageResult, StageTask

from .rows import get_result


def describe_entry(data: str, plan: StagePlan, envelope: Envelope, task: StageTask, attempts: int) -> Entry:
    """Turn an envelope into an entry. If the plan retires items, a failed one loses the outputs of earlier runs in
    `data`."""
    fields: dict[str, Any]
    result = get_result(envelope)
    if result is not None:
        fields = {
            "payload": envelope.payload,
            "outputs": [Output(*output) for output in result.outputs],
            "staged": result.staged,
            "removals": result.removals,
        }
    else:
        partial = envelope.partial
        fields = {} if partial is None else {"payload": StageResult.of_partial(decode_value(partial))}
        if plan.retires is not None:
            fields["removals"] = list_published(data, task.item.outputs)
    return msgspec.structs.replace(describe_plain(envelope, task, attempts), **fields)
