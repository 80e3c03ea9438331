"""`inorder explain`: what a run would do with one input, and why."""

import os
from collections.abc import Iterator
from typing import Annotated, Any

import msgspec

from inorder.cli.data_dir import DataDirectory, open_data
from inorder.cli.dry_run import (
    DEPENDS,
    FAIL,
    PROCESS,
    REMOVE,
    SKIP,
    DryRun,
    Forecast,
    WrittenFiles,
    compare_fingerprint,
)
from inorder.cli.output import indent_lines, pluralize, print_json, print_out, to_one_line
from inorder.cli.parameters import DataOption, JsonOption, StageOption, make_argument
from inorder.cli.pipeline import read_recorded_request
from inorder.cli.settings import SettingsReader
from inorder.cli.stage_loader import load_recorded_jobs
from inorder.engines.attempt import escape_surrogates
from inorder.pipeline.names import is_chosen
from inorder.pipeline.questions.explanation import FileExplanation, LatestResult, StepExplanation, explain_file
from inorder.sinks.packed_lines import open_lines
from inorder.stage.manifest.item_status import ItemStatuses
from inorder.stage.manifest.reader import ManifestRow, read_line

ABSENT = "absent"
_NOT_FOUND = "not found in the plan of this stage"
_VERBS = {
    PROCESS: "would be processed",
    SKIP: "would be skipped",
    DEPENDS: "may be processed",
    REMOVE: "would be removed",
    FAIL: "would fail",
}
_STEP_VERBS = {PROCESS: "runs", SKIP: "does not run", DEPENDS: "may run"}
_PARTS = {"cfg_hash": "configuration", "input_sha256": "input"}
_HASH_SHOWN = 12


def explain(
    path: Annotated[str, make_argument("PATH", "An input or output file, or the id of an item.")],
    stage: StageOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Explain what a run would do with one file: for each step whether it would run and why, and what it did last.

    PATH is a file, a member of an archive (`box.zip/letter.md`), an address, or an id. The settings are those of the
    last run; settings in the environment or in inorder.toml come first. If a step would run because its settings have
    changed, the part that changed is named. A file that is ignored names the rule.

    Items of your own stages in DATA are explained, too. Run it in the directory where they were run.
    """
    directory = open_data(data)
    reader = SettingsReader({} if data is None else {"data": data})
    has_library, names = directory.select(stage)
    file = None
    if has_library:
        file = explain_file(path, read_recorded_request(reader, ()).settings, directory.root)
        steps = [step for step in file.steps if stage is None or is_chosen(step.step, stage)]
        file = msgspec.structs.replace(file, steps=steps)
    found: list[dict[str, Any]] = []
    derived: set[str] = set()
    written: WrittenFiles = {}
    for job in load_recorded_jobs(directory, names) if names else ():
        options = reader.for_stage(job.stage.name).with_defaults(job.stage.options).to_options()
        found += _explain_stage(directory, DryRun(job, options, written), job.stage.name, path, derived)
    if as_json:
        print_json({"path": os.path.abspath(path), "file": file, "stages": found})
        return
    if file is not None:
        print_out(*_format_file(file, path))
    for one in found:
        if file is None or one["verdict"] != ABSENT:
            print_out(*_format(one, path))


# ---- Files


def _format_file(file: FileExplanation, path: str) -> list[str]:
    reason = f"of {file.copy_of}" if file.copy_of else file.reason
    lines = [f"{file.item_id or path}: {file.file_class}{f': {reason}' if reason else ''}"]
    if file.parts:
        lines.append(f"  {pluralize(file.parts, 'part')} of it were read by a run that was interrupted")
    for step in file.steps:
        lines += _format_step(step)
    return lines


def _format_step(step: StepExplanation) -> list[str]:
    lines = [f"  {step.step} {_STEP_VERBS[step.verdict]}: {step.reason}"]
    lines += [
        f"    {name}: was {each.was or '(none)'}, is {each.now or '(none)'}" for name, each in step.changed.items()
    ]
    lines.append(f"    last: {_format_result(step.latest)}")
    if step.latest is not None and step.latest.traceback:
        lines += [f"  {line}" for line in indent_lines(step.latest.traceback)]
    return lines


def _format_result(latest: LatestResult | None) -> str:
    if latest is None:
        return "it has not run"
    when = f", {latest.at}" if latest.at else ""
    if latest.status == "made":
        return f"made in {latest.duration_ms:.0f} ms{when}"
    tries = pluralize(latest.attempts, "attempt")
    return f"failed ({latest.category}, {tries}{when}): {to_one_line(latest.message)}"


# ---- Items of stages


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
    with open_lines(data.layout(stage).manifest) as file:
        return read_line(file, status.latest).row


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
