"""The rows of a manifest. The first fields are the same for every stage; what a worker returned comes after them.

Volatile, that is, other in every run: `duration_s` of a row, and `run_id`, `started_at`, `host`, `pid` and `argv` of
the `__config__` row. Everything else is the same for the same inputs and configuration.
"""

import os
from typing import Any

from inorder.core.transitions import State
from inorder.sinks.base import Entry
from inorder.stage.worker import Result, StageTask

SCHEMA_VERSION = 1
CONFIG_ID = "__config__"
STATUSES = {
    int(State.TERMINAL_SUCCESS): "success",
    int(State.TERMINAL_SKIP): "skip",
    int(State.TERMINAL_FAIL): "failure",
}
BASE_FIELDS = {
    "stage": "its name",
    "doc_id": "the item's `item_id`",
    "status": "`success`, `skip` or `failure`",
    "duration_s": "in the worker, the final attempt",
    "input_path": "the first input; empty: there is none",
    "output_paths": "every output, as the item declares it",
    "schema_version": "of these fields",
    "seq": "the item's place in the plan",
    "attempts": "the first one and its retries; what a lost worker took along is not counted",
    "cfg_hash": "the item's",
    "input_sha256": "of all inputs; empty: none, not hashed, or failed",
    "reason": "why it was skipped; empty: it was not",
    "error": "`category`, `message` and `retryable` of a failure; null: there was none",
    "warnings": "what the worker, `before_item` or `worker_setup` warned of; of a failure none are kept",
}
"""What every row begins with, and what it means."""
VOLATILE_FIELDS = ("duration_s", "run_id", "started_at", "host", "pid", "argv")


def result_of(entry: Entry) -> Result | None:
    """What the worker of an item has come to; None: it failed."""
    payload = entry.payload
    value = getattr(payload, "value", None) if not isinstance(payload, Result) else payload
    return value if isinstance(value, Result) else None


def row_of(stage: str, entry: Entry) -> dict[str, Any]:
    """The row of one item."""
    task: StageTask = entry.item
    result = result_of(entry)
    failure = entry.failure
    row = {
        "stage": stage,
        "doc_id": printable(task.item.item_id),
        "status": STATUSES[entry.outcome],
        "duration_s": round(entry.exec_ms / 1000, 6),
        "input_path": printable(os.fspath(next(iter(task.item.inputs.values()), ""))),
        "output_paths": [printable(os.fspath(path)) for path in task.item.outputs.values()],
        "schema_version": SCHEMA_VERSION,
        "seq": entry.seq,
        "attempts": entry.attempts,
        "cfg_hash": task.item.cfg_hash,
        "input_sha256": result.input_sha256 if result is not None else "",
        "reason": printable(entry.payload.reason) if STATUSES[entry.outcome] == "skip" else "",
        "error": None
        if failure is None
        else {"category": failure.category.value, "message": failure.message, "retryable": failure.retryable},
        "warnings": [printable(warning) for warning in result.warnings] if result is not None else [],
    }
    extras = result.extras if result is not None else {}
    for name, value in extras.items():
        while name in row:
            name = f"extra_{name}"
        row[name] = value
    return row


def printable(text: str) -> str:
    """Text that can be written as JSON: a file name that is no text has its odd bytes shown."""
    return text.encode("utf-8", "backslashreplace").decode()
