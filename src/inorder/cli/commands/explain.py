"""`inorder explain`: what a run would do with one input, and why."""

import os
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from inorder.cli.builtin import ENTRIES
from inorder.cli.data_dir import DataDirectory, open_data
from inorder.cli.dry_run import DryRun, Forecast, compare_fingerprint
from inorder.cli.item_status import ItemStatuses
from inorder.cli.option_spec import Section
from inorder.cli.output import pluralize, print_json, print_out, to_one_line
from inorder.cli.parameters import DataOption, JsonOption, StageOption
from inorder.cli.settings import resolve
from inorder.cli.stage_loader import StageJob, load_recorded_jobs
from inorder.engines.attempt import escape_surrogates
from inorder.stage.contracts import WorkItem
from inorder.stage.manifest.reader import read_line_at

ABSENT = "absent"
_NOT_FOUND = "not found in the plan of this stage"
_VERBS = {"process": "would be processed", "skip": "would be skipped", "missing": "would fail"}
_PARTS = {"cfg_hash": "configuration", "input_sha256": "input"}
_HASH_SHOWN = 12


def explain(
    path: Annotated[
        str,
        typer.Argument(
            metavar="PATH", help="An input or output file, or the id of an item.", rich_help_panel=Section.INPUT
        ),
    ],
    stage: StageOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Explain for each stage whether a run would process or skip this input, and what is made from it.

    The stages are those in DATA, with the sources of their latest runs. Run it in the directory where they were run.
    """
    directory = open_data(data)
    found: list[dict[str, Any]] = []
    derived: set[str] = set()
    order = list(ENTRIES)
    stages = sorted(
        directory.select_stages(stage), key=lambda name: (name in order, order.index(name) if name in order else 0)
    )
    for job in load_recorded_jobs(directory, stages):
        found += _explain_stage(directory, job, path, derived)
    if as_json:
        print_json({"path": os.path.abspath(path), "stages": found})
        return
    for one in found:
        print_out(*_format(one, path))


def _explain_stage(data: DataDirectory, job: StageJob, path: str, derived: set[str]) -> list[dict[str, Any]]:
    """Explain every item of a stage that this path belongs to, or that reads one of the files in `derived`: the outputs
    that other stages make from it. The outputs of the items found here are added to `derived`."""
    stage = job.stage.name
    dry_run = DryRun(job, resolve({"data": data.root}, job.stage).to_options(), uses_cache=False)
    try:
        wanted = derived | {os.path.abspath(path), os.path.realpath(path)}
        items = [
            (seq, item)
            for seq, item in dry_run.items()
            if path in (item.item_id, escape_surrogates(item.item_id))
            or not wanted.isdisjoint(_list_files(item, data.root))
        ]
        found = [dry_run.predict(seq, item) for seq, item in items]
    finally:
        dry_run.close()
    for _, item in items:
        derived.update(os.path.abspath(os.path.join(data.root, output)) for output in item.outputs.values())
    if found:
        statuses = ItemStatuses.read(data.layout(stage).manifest)
        return [_describe(data, stage, one, statuses) for one in found]
    return [{"stage": stage, "item_id": None, "verdict": ABSENT, "reason": _NOT_FOUND, "changed": {}, "latest": None}]


def _list_files(item: WorkItem, data: str) -> Iterator[str]:
    yield from (os.path.abspath(found) for found in item.inputs.values())
    yield from (os.path.abspath(os.path.join(data, found)) for found in item.outputs.values())


def _describe(data: DataDirectory, stage: str, found: Forecast, statuses: ItemStatuses) -> dict[str, Any]:
    item_id = escape_surrogates(found.item.item_id)
    return {
        "stage": stage,
        "item_id": item_id,
        "verdict": found.verdict,
        "reason": found.reason,
        "changed": {part: {"was": old, "is": new} for part, (old, new) in compare_fingerprint(found).items()},
        "latest": _describe_latest(data, stage, item_id, statuses),
    }


def _describe_latest(data: DataDirectory, stage: str, item_id: str, statuses: ItemStatuses) -> dict[str, Any] | None:
    """What the manifest says about the item; None: no run has reached it."""
    status = statuses.get(item_id)
    if status is None:
        return None
    row = read_line_at(data.layout(stage).manifest, status.latest).row
    if row is None:
        return None
    error = None if row.error is None else {"category": row.error.category, "message": row.error.message}
    return {"status": status.status, "attempts": row.attempts, "reason": row.reason, "error": error}


def _format(described: dict[str, Any], path: str) -> list[str]:
    stage, item_id = described["stage"], described["item_id"]
    if described["verdict"] == ABSENT:
        return [f"{stage}: {path}: {described['reason']}"]
    lines = [f"{stage}: {item_id} {_VERBS[described['verdict']]}: {described['reason']}"]
    for part, change in described["changed"].items():
        old, new = (value[:_HASH_SHOWN] or "(none)" for value in (change["was"], change["is"]))
        lines.append(f"  {_PARTS[part]}: was {old}, is {new}")
    return [*lines, f"  latest run: {_format_latest(described['latest'])}"]


def _format_latest(latest: dict[str, Any] | None) -> str:
    if latest is None:
        return "not reached yet"
    error = latest["error"]
    if error is None:
        return str(latest["status"]) + (f", {latest['reason']}" if latest["reason"] else "")
    tries = pluralize(latest["attempts"], "attempt")
    return f"failure ({error['category']}, {tries}): {to_one_line(error['message'])}"
