"""`inorder manifest`: rows of the manifests, filtered; or the current state of every file and step."""

from collections.abc import Iterator
from contextlib import closing
from typing import Annotated, Any

import msgspec
import typer

from inorder.cli.data_dir import DataDirectory, open_data
from inorder.cli.option_spec import Section
from inorder.cli.output import encode_json, encode_text, stream_json, stream_lines, to_one_line
from inorder.cli.parameters import DataOption, JsonOption, StageOption, make_choice, make_option
from inorder.engines.attempt import escape_surrogates
from inorder.errors import require
from inorder.library.reader import LibraryReader
from inorder.library.states import FileState, list_states
from inorder.pipeline.names import is_chosen
from inorder.pipeline.outcome import FileCounts, describe_counts
from inorder.sinks.packed_lines import open_lines
from inorder.stage.manifest.item_status import ItemStatuses
from inorder.stage.manifest.reader import (
    ManifestLine,
    ManifestRow,
    decode_config,
    find_last_run,
    read_line,
    read_rows,
)

_STATUSES = ("success", "skip", "failure", "config", "counts", "copy", "not read")


def manifest(
    stage: StageOption = None,
    status: Annotated[
        str | None,
        make_choice(
            Section.INPUT,
            "--status",
            _STATUSES,
            "Only rows with this status. A config row begins a run, and a counts row ends one of the pipeline. "
            "copy and not read are for --state. Default: all.",
        ),
    ] = None,
    last_run: Annotated[
        bool, make_option(Section.INPUT, "", "Only the latest run in each manifest.", "--last-run")
    ] = False,
    state: Annotated[
        bool,
        make_option(
            Section.INPUT,
            "",
            "The current state of every file and step instead, with copies and files that are not read.",
            "--state",
        ),
    ] = False,
    data: DataOption = None,
    as_json: JsonOption = False,
    as_jsonl: Annotated[bool, typer.Option("--jsonl", help="Print one JSON object per line.")] = False,
) -> None:
    """Print the rows of the manifests: what each run did, in the order of its commits.

    The pipeline has a manifest per step, with a row for each file that the step worked on; unchanged files have none.
    Your own stages have one each, with a row per item and run. Columns: stage, number in the plan, status, attempts,
    seconds, file or item, and the reason or error, if any.
    """
    require(status is None or status in _STATUSES, f"--status must be one of {', '.join(_STATUSES)}; got {status!r}")
    require(not (state and last_run), "--state is about all runs; omit --last-run")
    directory = open_data(data)
    found = _list_states(directory, stage) if state else _list_rows(directory, stage, last_run=last_run)
    rows = ((raw, text) for raw, text, found_status in found if status is None or found_status == status)
    if as_json:
        stream_json("rows", (raw for raw, _ in rows), dict)
    else:
        stream_lines(raw if as_jsonl else encode_text(text) for raw, text in rows)


def _list_rows(directory: DataDirectory, stage: str | None, *, last_run: bool) -> Iterator[tuple[bytes, str, str]]:
    """Each row as JSON and as text, and its status."""
    for name in directory.select_manifests(stage):
        path = directory.layout(name).manifest
        latest = find_last_run(path) if last_run else None
        for line, row in read_rows(path, 0 if latest is None else latest[0]):
            yield line.raw, _format(line, row), row.status


def _format(line: ManifestLine, row: ManifestRow) -> str:
    config = decode_config(line) if row.is_config else None
    if config is not None:
        return f"{row.stage}  run {config.run_id} of {config.started_at}, inorder {config.version}"
    if row.status == "counts":
        return f"{row.stage}  {_describe_counts(line.raw)}"
    reason = row.reason if row.error is None else f"{row.error.category}: {to_one_line(row.error.message)}"
    measures = f"{row.attempts}  {row.duration_s:8.3f}"
    return f"{row.stage}  {row.seq:>7}  {row.status:7}  {measures}  {row.doc_id}  {reason}".rstrip()


def _describe_counts(raw: bytes) -> str:
    """The counts of a run in words."""
    found = msgspec.json.decode(raw)
    return f"run {found['run_id']}: {describe_counts(msgspec.convert(found['counts'], FileCounts))}"


# ---- The current state


def _list_states(directory: DataDirectory, stage: str | None) -> Iterator[tuple[bytes, str, str]]:
    has_library, stages = directory.select(stage)
    if has_library:
        with closing(LibraryReader(directory.root)) as library:
            for found in list_states(library):
                if stage is None or is_chosen(found.step, stage):
                    row = _describe_state(found)
                    yield encode_json(row), _format_state(row), row["status"]
    for name in stages:
        path = directory.layout(name).manifest
        statuses = ItemStatuses.read(path)
        with open_lines(path) as file:
            for item in statuses.list_all():
                line = read_line(file, item.latest)
                if line.row is not None:
                    yield line.raw, _format(line, line.row), item.status


def _describe_state(found: FileState) -> dict[str, Any]:
    status = "failure" if found.category else "success"
    if not found.step:
        status = "copy" if found.copy_of else "not read" if found.reason else "success"
    return {
        "stage": found.step.partition(":")[0],
        "step": found.step,
        "doc_id": escape_surrogates(found.item_id),
        "status": status,
        "duration_s": round(found.duration_ms / 1000, 6),
        "input_path": escape_surrogates(found.path),
        "attempts": found.attempts,
        "cfg_hash": found.settings,
        "input_sha256": found.sha256.hex(),
        "reason": found.reason or (f"the same content as {found.copy_of}" if found.copy_of else ""),
        "error": {"category": found.category, "message": found.message} if found.category else None,
        "traceback": found.detail,
        "warnings": found.warnings,
        "run_id": found.run_id,
    }


def _format_state(row: dict[str, Any]) -> str:
    error = row["error"]
    reason = row["reason"] if error is None else f"{error['category']}: {to_one_line(error['message'])}"
    measures = f"{row['attempts']}  {row['duration_s']:8.3f}"
    return f"{row['step'] or '-':12}  {row['status']:8}  {measures}  {row['doc_id']}  {reason}".rstrip()
