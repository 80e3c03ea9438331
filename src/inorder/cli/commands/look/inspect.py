"""`inorder inspect`: the contents of DATA at a glance."""

from typing import Annotated, Any

import msgspec
import typer

from inorder.cli.data_dir import DataDirectory, open_data
from inorder.cli.output import format_table, pluralize, print_json, print_out
from inorder.cli.parameters import DataOption, JsonOption, StageOption
from inorder.errors import require
from inorder.report.dataset import measure_folders
from inorder.report.page.text import format_bytes
from inorder.stage.manifest.item_status import ItemStatuses
from inorder.stage.monitor.live import read_live_state

from .inspect_library import describe_library, format_library, format_live, list_run_warnings

DuplicatesOption = Annotated[
    bool, typer.Option("--duplicates", help="List documents with the same text, or with nearly the same, instead.")
]


def inspect(
    stage: StageOption = None,
    duplicates: DuplicatesOption = False,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what DATA holds: files, what can be searched, what each step has made, warnings and sizes on disk.

    Files are counted as a run counts them. Your own stages follow, with the status of their items.
    """
    if duplicates:
        require(stage is None, "--duplicates compares documents and takes no --stage")
        _show_duplicates(open_data(data).root, as_json)
        return
    description = describe(open_data(data), stage)
    if as_json:
        print_json(description)
    else:
        print_out(*_format(description))


def _show_duplicates(root: str, as_json: bool) -> None:
    from inorder.dataset.dataset import open as open_dataset
    from inorder.dataset.duplicates import find_duplicates
    from inorder.dataset.reader import open_data

    with open_dataset(root) as dataset, open_data(root) as reader:
        texts = ((chunk.doc_id, chunk.text) for chunk in dataset.chunks())
        groups = find_duplicates(texts, reader.list_copies())
    if as_json:
        print_json({"data": root, "duplicates": msgspec.to_builtins(groups)})
        return
    for group in groups:
        print_out("the same text" if group.similarity == 1 else f"similar ({group.similarity:.2f})")
        print_out(*(f"  {document}" for document in group.documents))
    print_out(pluralize(len(groups), "group") + " of duplicates")


_RUN_FIELDS = ("run_id", "started_at", "version", "origin")


def describe(data: DataDirectory, stage: str | None) -> dict[str, Any]:
    """The contents of DATA for `--json`."""
    has_library, chosen = data.select(stage)
    return {
        "data": data.root,
        "library": describe_library(data, stage) if has_library else None,
        "stages": [_describe_stage(data, name) for name in chosen],
        "sizes": measure_folders(data.root),
    }


def _describe_stage(data: DataDirectory, stage: str) -> dict[str, Any]:
    statuses = ItemStatuses.read(data.layout(stage).manifest)
    config, journal, holder = data.config(stage), data.read_journal(stage), data.describe_holder(stage)
    unfinished_at = None if journal is None else journal.unfinished_at
    live = read_live_state(data.layout(stage).live) if holder else None
    latest: dict[str, Any] | None = None
    if live is not None and (config is None or config.run_id != live["run_id"]):  # nothing is committed yet
        latest = dict.fromkeys(_RUN_FIELDS) | {"run_id": live["run_id"]}
    elif config is not None:
        latest = {name: getattr(config, name) for name in _RUN_FIELDS}
    if latest is not None:
        latest["state"] = "running" if holder else "ended" if unfinished_at is None else "interrupted"
        latest["unfinished_at"] = unfinished_at
        latest["live"] = live
    return {
        "stage": stage,
        "items": statuses.count_by_status(),
        "failures": statuses.count_by_category(),
        "latest_run": latest,
        "warnings": _list_warnings(data, stage, statuses, holder),
    }


def _list_warnings(data: DataDirectory, stage: str, statuses: ItemStatuses, holder: str) -> list[str]:
    found = list_run_warnings(data.read_journal(stage), holder)
    if failed := statuses.count_by_status()["failure"]:
        found.append(f"{pluralize(failed, 'item')} failed: see `inorder failures{data.option}`")
    if warned := statuses.count_items_with_warnings():
        found.append(f"{pluralize(warned, 'item')} have warnings: see `inorder manifest --jsonl{data.option}`")
    if statuses.damaged:
        lines = pluralize(statuses.damaged, "line")
        found.append(f"{lines} of the manifest cannot be read: see `inorder verify{data.option}`")
    return found


def _format(description: dict[str, Any]) -> list[str]:
    lines = [f"DATA {description['data']}"]
    if description["library"] is not None:
        lines += format_library(description["library"])
    for stage in description["stages"]:
        items = ", ".join(f"{count} {status}" for status, count in stage["items"].items())
        rows = [("items", items)]
        if stage["failures"]:
            rows.append(("failures", ", ".join(f"{count} {name}" for name, count in stage["failures"].items())))
        if (latest := stage["latest_run"]) is not None:
            started = f" of {latest['started_at']}" if latest["started_at"] else ""
            rows.append(("latest run", f"{latest['run_id']}{started}, {latest['state']}"))
            rows += format_live(latest["live"])
        rows += [("warning", warning) for warning in stage["warnings"]]
        lines += ["", f"stage {stage['stage']}", *(f"  {line}" for line in format_table(rows))]
    top = "library" if description["library"] is not None else "other files"
    sizes = [
        (top if name == "." else name, format_bytes(sums["bytes"]), pluralize(sums["files"], "file"))
        for name, sums in description["sizes"].items()
    ]
    return [*lines, "", "on disk", *(f"  {line}" for line in format_table(sizes))]
