"""`inorder explain`: what a run would do with one input, and why."""

import os
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from inorder.cli.builtin import sort_stages
from inorder.cli.data_dir import DataDirectory, open_data
from inorder.cli.dry_run import DEPENDS, FAIL, PROCESS, REMOVE, SKIP, DryRun, Forecast, compare_fingerprint
from inorder.cli.option_spec import Section
from inorder.cli.output import indent_lines, pluralize, print_json, print_out, to_one_line
from inorder.cli.parameters import DataOption, JsonOption, StageOption
from inorder.cli.settings import SettingsReader
from inorder.cli.stage_loader import load_recorded_jobs
from inorder.engines.attempt import escape_surrogates
from inorder.files.listing import share_listings
from inorder.files.predicted import predict_files
from inorder.stage.manifest.item_status import ItemStatuses
from inorder.stage.manifest.reader import ManifestRow, decode_row, read_line_at
from inorder.stage.manifest.rows import repeat_row

ABSENT = "absent"
_NOT_FOUND = "not found in the plan of this stage"
_VERBS = {
    PROCESS: "would be processed",
    SKIP: "would be skipped",
    DEPENDS: "may be processed",
    REMOVE: "would be removed",
    FAIL: "would fail",
}
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

    The stages are those in DATA, with the sources and settings of their latest runs; settings in the environment or in
    inorder.toml come first. Run it in the directory where they were run. The words are those of `inorder plan`.
    """
    directory = open_data(data)
    reader = SettingsReader({} if data is None else {"data": data})
    names = sort_stages(directory.select_stages(stage))
    found: list[dict[str, Any]] = []
    derived: set[str] = set()
    with share_listings(), predict_files() as files:
        for job in load_recorded_jobs(directory, names, lambda name: reader.for_stage(name).own_fields(name)):
            options = reader.for_stage(job.stage.name).with_defaults(job.stage.options).to_options()
            found += _explain_stage(directory, DryRun(job, options, files), job.stage.name, path, derived)
    if as_json:
        print_json({"path": os.path.abspath(path), "stages": found})
        return
    for one in found:
        print_out(*_format(one, path))


def _explain_stage(
    data: DataDirectory, dry_run: DryRun, stage: str, path: str, derived: set[str]
) -> list[dict[str, Any]]:
    """Explain every item of a stage that this path belongs to, or that reads one of the files in `derived`: the outputs
    that other stages make from it. The outputs of the items found here are added to `derived`. The other items are
    predicted, too: items of later stages may depend on them."""
    statuses = ItemStatuses.read(data.layout(stage).manifest)
    wanted = derived | {os.path.abspath(path), os.path.realpath(path)}
    matching = []
    for found in dry_run.predict():
        item = found.item
        if path not in (item.item_id, escape_surrogates(item.item_id)) and wanted.isdisjoint(
            _list_files(found, data, stage, statuses)
        ):
            continue
        matching.append(_describe(data, stage, dry_run.check_without_cache(found), statuses))
        derived.update(os.path.abspath(os.path.join(data.root, output)) for output in item.outputs.values())
    dry_run.close()
    absent: dict[str, Any] = {"item_id": None, "verdict": ABSENT, "reason": _NOT_FOUND, "changed": {}, "latest": None}
    return matching or [{"stage": stage, **absent}]


def _list_files(found: Forecast, data: DataDirectory, stage: str, statuses: ItemStatuses) -> Iterator[str]:
    """The inputs and outputs of an item, and the former input of one that is removed."""
    yield from (os.path.abspath(path) for path in found.item.inputs.values())
    yield from (os.path.abspath(os.path.join(data.root, path)) for path in found.item.outputs.values())
    if found.verdict == REMOVE and (row := _read_latest(data, stage, found.item.item_id, statuses)) is not None:
        yield row.input_path


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
    status, row = statuses.get(item_id), _read_latest(data, stage, item_id, statuses)
    if status is None or row is None:
        return None
    error = None
    if row.error is not None:
        error = {"category": row.error.category, "message": row.error.message, "traceback": row.traceback}
    return {"status": status.status, "attempts": row.attempts, "reason": row.reason, "error": error}


def _read_latest(data: DataDirectory, stage: str, item_id: str, statuses: ItemStatuses) -> ManifestRow | None:
    status = statuses.get(escape_surrogates(item_id))
    if status is None:
        return None
    line = read_line_at(data.layout(stage).manifest, status.latest)
    if line.row is None or line.row.is_satisfied == status.is_satisfied:
        return line.row
    return decode_row(repeat_row(line.raw, line.row.seq, keeps_result=True))  # a row of an earlier run stands for it


def _format(described: dict[str, Any], path: str) -> list[str]:
    stage, item_id = described["stage"], described["item_id"]
    if described["verdict"] == ABSENT:
        return [f"{stage}: {path}: {described['reason']}"]
    lines = [f"{stage}: {item_id} {_VERBS[described['verdict']]}: {described['reason']}"]
    for part, change in described["changed"].items():
        old, new = (value[:_HASH_SHOWN] or "(none)" for value in (change["was"], change["is"]))
        lines.append(f"  {_PARTS[part]}: was {old}, is {new}")
    latest = described["latest"]
    error = latest["error"] if latest is not None else None
    trace = indent_lines(error["traceback"]) if error is not None else []
    return [*lines, f"  latest run: {_format_latest(latest)}", *trace]


def _format_latest(latest: dict[str, Any] | None) -> str:
    if latest is None:
        return "not reached yet"
    error = latest["error"]
    if error is None:
        return str(latest["status"]) + (f", {latest['reason']}" if latest["reason"] else "")
    tries = pluralize(latest["attempts"], "attempt")
    return f"failure ({error['category']}, {tries}): {to_one_line(error['message'])}"
