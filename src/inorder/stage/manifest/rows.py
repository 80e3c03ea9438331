"""Makes the rows of a manifest. Every stage has the base fields; what a worker returned comes after them.

Volatile fields may differ from run to run: `duration_s` and `traceback` of a row, and `run_id`, `started_at`, `host`,
`pid` and `argv` of the `__config__` row. Everything else is the same for the same inputs and configuration.
"""

import datetime
import os
import platform
import sys
from typing import Any

import msgspec

from inorder.core.transitions import State
from inorder.engines.attempt import escape_surrogates
from inorder.errors import Failure
from inorder.host.credentials import redact
from inorder.runtime.code_identity import qualified_name
from inorder.sinks.base import Entry
from inorder.stage.contracts import WorkItem
from inorder.stage.options import StageOptions
from inorder.version import __version__

from .entries import get_result, get_skip_reason

SCHEMA_VERSION = 1
CONFIG_ID = "__config__"
COUNTS_ID = "__run__"
"""Of the last row of a run of the pipeline, which has its counts in files."""
CORPUS_ID = "__corpus__"
"""Of the row with the totals of all vectors of a family."""
STATUSES = {
    int(State.TERMINAL_SUCCESS): "success",
    int(State.TERMINAL_SKIP): "skip",
    int(State.TERMINAL_FAIL): "failure",
}
BASE_FIELDS = {
    "stage": "name of the stage",
    "doc_id": "`item_id` of the item",
    "status": "`success`, `skip` or `failure`",
    "duration_s": "time of the final attempt in the worker",
    "input_path": "the first input; empty: the item has none",
    "output_paths": "every output, as the item declares it",
    "schema_version": "version of these fields",
    "seq": "position of the item in the plan",
    "attempts": "the first attempt and its retries; attempts that were lost with a worker are not counted",
    "cfg_hash": "`cfg_hash` of the item",
    "input_sha256": "hash of all inputs; empty: no inputs, not hashed, or failed",
    "reason": "why the item was skipped; empty: it was not",
    "error": "`category`, `message` and `retryable` of a failure, the `step` that the item was in if it has steps, and "
    "`stage` and `item_id` of a `StageError`; null: the item did not fail",
    "traceback": "the traceback of a failure in the worker, at most 8,192 characters of it; empty: there is none",
    "warnings": "warnings of the worker, `before_item` and `worker_setup`; a failed item has none",
}
"""The base fields of every row, in order, and their meaning."""
VOLATILE_FIELDS = ("duration_s", "traceback", "run_id", "started_at", "host", "pid", "argv")


def make_config_row(stage: str, run_id: str, options: StageOptions, origin: dict[str, Any]) -> dict[str, Any]:
    """Make the row that a run begins with: what ran, where, with which options. `origin` says how the plan was made;
    `inorder retry` and `inorder explain` make the same plan from it."""
    return {
        "stage": stage,
        "doc_id": CONFIG_ID,
        "status": "config",
        "schema_version": SCHEMA_VERSION,
        "run_id": run_id,
        "started_at": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "host": platform.node(),
        "pid": os.getpid(),
        "argv": [escape_surrogates(redact(argument)) for argument in sys.argv],
        "version": __version__,
        "options": msgspec.to_builtins(options, enc_hook=_name_option)
        | {"data": escape_surrogates(os.fspath(options.data))},
        "origin": origin,
    }


def _name_option(value: Any) -> str:
    """Return a value of an option that is not plain data: a function by its name, which is the same in every run."""
    return qualified_name(value) if callable(value) else str(value)


def _describe_failure(failure: Failure, stage: str, item_id: str) -> dict[str, Any]:
    described = {"category": failure.category.value, "message": failure.message, "retryable": failure.retryable}
    if failure.step:
        described["step"] = failure.step
    if not failure.stage and not failure.item_id:
        return described
    return {**described, "stage": failure.stage or stage, "item_id": failure.item_id or item_id}


def make_row(stage: str, entry: Entry) -> dict[str, Any]:
    """Make the row of one item."""
    item: WorkItem = entry.item
    result = get_result(entry)
    failure = entry.failure
    item_id = escape_surrogates(item.item_id)
    row = {
        "stage": stage,
        "doc_id": item_id,
        "status": STATUSES[entry.outcome],
        "duration_s": round(entry.exec_ms / 1000, 6),
        "input_path": escape_surrogates(os.fspath(next(iter(item.inputs.values()), ""))),
        "output_paths": [escape_surrogates(os.fspath(path)) for path in item.outputs.values()],
        "schema_version": SCHEMA_VERSION,
        "seq": entry.seq,
        "attempts": entry.attempts,
        "cfg_hash": item.cfg_hash,
        "input_sha256": result.input_sha256 if result is not None else "",
        "reason": escape_surrogates(get_skip_reason(entry)),
        "error": None if failure is None else _describe_failure(failure, stage, item_id),
        "traceback": "" if failure is None else failure.detail,
        "warnings": result.warnings if result is not None else [],
    }
    add_fields(row, result.extras if result is not None else {})
    return row


def add_fields(row: dict[str, Any], fields: dict[str, Any]) -> None:
    """Add fields to a row. A name that the row has already gets the prefix `extra_`."""
    for name, value in fields.items():
        while name in row:
            name = f"extra_{name}"
        row[name] = value
