"""`inorder inspect`: the contents of DATA at a glance."""

import os
from collections.abc import Iterator
from typing import Annotated, Any

import msgspec
import typer

from inorder.cli.builtin import sort_stages
from inorder.cli.data_dir import DataDirectory, list_files, open_data
from inorder.cli.output import format_table, pluralize, print_json, print_out
from inorder.cli.parameters import DataOption, JsonOption, StageOption
from inorder.errors import require
from inorder.index.drafts.publishing import published_path
from inorder.library.connection import library_path
from inorder.report.contents import StageTotals, is_library_step, summarize_stage
from inorder.stage.manifest.item_status import ItemStatuses
from inorder.stage.monitor.live import read_live_state
from inorder.stage.monitor.stall import HeadReport, describe_running

_UNITS = ("bytes", "kB", "MB", "GB", "TB")
_BAR_WIDTH = 40
_RUN = "run"
"""The name of the run of the pipeline, which has the steps of a library."""


DuplicatesOption = Annotated[
    bool, typer.Option("--duplicates", help="List documents with the same text, or with nearly the same, instead.")
]


def inspect(
    stage: StageOption = None,
    duplicates: DuplicatesOption = False,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the stages in DATA: the status of their items, their latest runs, warnings and sizes on disk."""
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
    from inorder.dataset.results import open_data

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
    chosen = sort_stages(data.select_stages(stage))
    if stage is None and any(is_library_step(data.root, name) for name in chosen):
        chosen = [name for name in chosen if name != _RUN]  # each step shows it
    stages = [_describe_stage(data, name) for name in chosen]
    return {"data": data.root, "stages": stages, "sizes": _measure(data.root)}


def _describe_stage(data: DataDirectory, stage: str) -> dict[str, Any]:
    statuses = ItemStatuses.read(data.layout(stage).manifest)
    totals = summarize_stage(data.root, stage, statuses)
    run = _RUN if is_library_step(data.root, stage) else stage
    config, journal, holder = data.config(stage), data.read_journal(run), data.describe_holder(run)
    unfinished_at = None if journal is None else journal.unfinished_at
    live = read_live_state(data.layout(run).live) if holder else None
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
        "items": totals.items,
        "contents": totals.contents,
        "failures": totals.failures,
        "latest_run": latest,
        "warnings": _list_warnings(data, run, statuses, totals, holder),
    }


def _list_warnings(
    data: DataDirectory, run: str, statuses: ItemStatuses, totals: StageTotals, holder: str
) -> list[str]:
    journal = data.read_journal(run)
    found = [holder] if holder else []
    if journal is None:
        found.append("the journal is missing")
    elif journal.damage:
        found.append(f"the journal is {journal.damage}")
    elif journal.unfinished_at is not None and not holder:
        after = pluralize(journal.unfinished_at, "item")
        found.append(f"the latest run was interrupted after {after}: run the same command again to resume")
    if failed := totals.items["failure"]:
        found.append(f"{pluralize(failed, 'item')} failed: see `inorder failures{data.option}`")
    if warned := statuses.count_items_with_warnings():
        found.append(f"{pluralize(warned, 'item')} have warnings: see `inorder manifest --jsonl{data.option}`")
    if statuses.damaged:
        lines = pluralize(statuses.damaged, "line")
        found.append(f"{lines} of the manifest cannot be read: see `inorder verify{data.option}`")
    return found


def _measure(root: str) -> dict[str, dict[str, int]]:
    """Files and bytes per top-level directory."""
    found: dict[str, dict[str, int]] = {}
    for path in list_files(root):
        folder = path.split("/")[0] if "/" in path else "."
        sums = found.setdefault(folder, {"files": 0, "bytes": 0})
        sums["files"] += 1
        sums["bytes"] += os.lstat(f"{root}/{path}").st_size
    return found


def _format(description: dict[str, Any]) -> list[str]:
    lines = [f"DATA {description['data']}"]
    for stage in description["stages"]:
        items = ", ".join(f"{count} {status}" for status, count in stage["items"].items())
        rows = [("items", items)]
        rows += _format_contents(stage["stage"], stage["contents"])
        if stage["failures"]:
            rows.append(("failures", ", ".join(f"{count} {name}" for name, count in stage["failures"].items())))
        if (latest := stage["latest_run"]) is not None:
            started = f" of {latest['started_at']}" if latest["started_at"] else ""
            rows.append(("latest run", f"{latest['run_id']}{started}, {latest['state']}"))
            rows += _format_live(latest["live"])
        rows += [("warning", warning) for warning in stage["warnings"]]
        lines += ["", f"stage {stage['stage']}", *(f"  {line}" for line in format_table(rows))]
    indexes = (library_path(description["data"]), published_path(description["data"]))
    index = next(filter(os.path.exists, indexes), None)
    top = f"{os.path.basename(index)}, vectors" if index else "other files"
    sizes = [
        (top if name == "." else name, _format_size(sums["bytes"]), pluralize(sums["files"], "file"))
        for name, sums in description["sizes"].items()
    ]
    return [*lines, "", "on disk", *(f"  {line}" for line in format_table(sizes))]


def _format_live(live: dict[str, Any] | None) -> list[tuple[str, str]]:
    """What a run that is under way waits for, and which items report their progress."""
    if live is None or live["head"] is None:
        return []
    head = msgspec.convert(live["head"], HeadReport)
    rows = [("waiting for", f"{head.describe()}; no commit for {live['waited_s']:.0f} s")]
    running = [item for item in live["running"] if item["seq"] != head.seq]
    others = [(item["item_id"], describe_running(item)) for item in running]
    return rows + [("running", f"{item_id}: {said}") for item_id, said in others if said]


def _format_size(count: int) -> str:
    value = float(count)
    for unit in _UNITS:
        if value < 1000 or unit == _UNITS[-1]:
            break
        value /= 1000
    return f"{count} bytes" if unit == "bytes" else f"{value:.1f} {unit}"


def _format_contents(stage: str, found: dict[str, Any]) -> list[tuple[str, str]]:
    if not found:
        return []
    if stage == "doctags":
        kinds = ", ".join(f"{count} {kind}" for kind, count in found["kinds"].items())
        pages = pluralize(found["pages"], "page")
        if found["pages_without_text"]:
            pages += f", {found['pages_without_text']} of them without text (scanned?)"
        if found["pages_ocr"]:
            pages += f", {found['pages_ocr']} read by OCR"
        inside = ", ".join(pluralize(found[name], name[:-1]) for name in ("blocks", "tables", "figures"))
        documents = f"{found['documents']} ({kinds})" if kinds else str(found["documents"])
        return [("documents", documents), ("pages", pages), ("inside", inside)]
    if stage == "chunk":
        head = [
            ("chunks", f"{found['chunks']} of {pluralize(found['documents'], 'document')}, {found['tokens']} tokens")
        ]
        return head + [
            ("tokens" if not place else "", bar) for place, bar in enumerate(_format_histogram(found["histogram"]))
        ]
    if stage == "index":
        languages = ", ".join(f"{count} {language}" for language, count in found["languages"].items())
        inside = ", ".join(pluralize(found[name], name[:-1]) for name in ("lines", "symbols", "calls"))
        searchable = f"{pluralize(found['chunks'], 'chunk')} of {pluralize(found['documents'], 'document')}"
        rows = [("searchable", f"{searchable} and {pluralize(found['files'], 'file')} of code")]
        rows += [("code", f"{languages}; {inside}")] if found["files"] else []
        return [*rows, *_format_families(found["families"])]
    return _format_families(found["families"])


def _format_families(families: dict[str, Any]) -> list[tuple[str, str]]:
    rows = []
    for family, sums in families.items():
        details = [sums["provider"]] if "provider" in sums else []
        details += [f"{sums['dimensions']} dimensions"] if "dimensions" in sums else []
        details += [pluralize(sums["terms"], "term")] if "terms" in sums else []
        if nnz := sums.get("nnz"):
            details.append(f"{nnz['avg']:.1f} per vector, 99 % up to {nnz['p99']}")
        if outliers := sums.get("norms", {}).get("outliers"):
            details.append(f"{outliers} of unusual length")
        counts = f"{pluralize(sums['vectors'], 'vector')} of {pluralize(sums['documents'], 'document')}"
        rows.append((family, f"{counts} ({', '.join(details)})" if details else counts))
    return rows


def _format_histogram(histogram: list[dict[str, Any]]) -> Iterator[str]:
    most = max(each["chunks"] for each in histogram)
    low = 0
    for each in histogram:
        bound = each["tokens_max"]
        name = f"{low + 1} to {bound}" if bound is not None else f"over {low}"
        low = bound or low
        length = -(-each["chunks"] * _BAR_WIDTH // most) if most else 0
        yield f"{name:12} {'#' * length}{' ' if length else ''}{each['chunks']}"
