"""What there is in a DATA folder, described."""

import os
from typing import Any

from inorder.cli.builtin import ENTRIES
from inorder.cli.commands.inspect import contents, rows_in_words
from inorder.cli.commands.verify_strays import files_in
from inorder.cli.data_dir import Dataset
from inorder.cli.item_status import Standings
from inorder.cli.output import counted, table

_UNITS = ("bytes", "kB", "MB", "GB", "TB")


def described(dataset: Dataset, stage: str | None) -> dict[str, Any]:
    """All of it as plain data."""
    chosen = sorted(dataset.chosen(stage), key=lambda name: [*ENTRIES, name].index(name))
    stages = [_stage(dataset, name) for name in chosen]
    return {"data": dataset.root, "stages": stages, "sizes": _sizes(dataset.root)}


def _stage(dataset: Dataset, stage: str) -> dict[str, Any]:
    standings = Standings.of_manifest(dataset.places(stage).manifest)
    config, journal, holder = dataset.config(stage), dataset.journal(stage), dataset.holder(stage)
    unfinished_at = None if journal is None else journal.unfinished_at
    latest = None
    if config is not None:
        latest = {name: getattr(config, name) for name in ("run_id", "started_at", "version", "origin")}
        latest["state"] = "running" if holder else "ended" if unfinished_at is None else "interrupted"
        latest["unfinished_at"] = unfinished_at
    return {
        "stage": stage,
        "items": standings.counts(),
        "contents": contents(stage, dataset.places(stage).manifest, standings),
        "failures": standings.categories(),
        "latest_run": latest,
        "warnings": _warnings(dataset, stage, standings, holder),
    }


def _warnings(dataset: Dataset, stage: str, standings: Standings, holder: str) -> list[str]:
    journal = dataset.journal(stage)
    found = [holder] if holder else []
    if journal is None:
        found.append("its journal is missing")
    elif journal.trouble:
        found.append(f"its journal is {journal.trouble}")
    elif journal.unfinished_at is not None and not holder:
        after = counted(journal.unfinished_at, "item")
        found.append(f"its latest run was interrupted after {after}: run the same again to go on")
    if standings.counts()["failure"]:
        found.append(f"{counted(standings.counts()['failure'], 'item')} failed: see `inorder failures`")
    if standings.warned():
        found.append(f"{counted(standings.warned(), 'item')} came with warnings: see `inorder manifest --jsonl`")
    if standings.damaged:
        found.append(f"{counted(standings.damaged, 'line')} of its manifest cannot be read: see `inorder verify`")
    return found


def _sizes(root: str) -> dict[str, dict[str, int]]:
    """Files and bytes by folder of DATA."""
    found: dict[str, dict[str, int]] = {}
    for path in files_in(root, ""):
        folder = path.split("/")[0] if "/" in path else "."
        sums = found.setdefault(folder, {"files": 0, "bytes": 0})
        sums["files"] += 1
        sums["bytes"] += os.lstat(f"{root}/{path}").st_size
    return found


def in_words(description: dict[str, Any]) -> list[str]:
    """For people."""
    lines = [f"DATA {description['data']}"]
    for stage in description["stages"]:
        items = ", ".join(f"{count} {status}" for status, count in stage["items"].items())
        rows = [("items", items)]
        rows += rows_in_words(stage["stage"], stage["contents"])
        if stage["failures"]:
            rows.append(("failures", ", ".join(f"{count} {name}" for name, count in stage["failures"].items())))
        if (latest := stage["latest_run"]) is not None:
            rows.append(("latest run", f"{latest['run_id']} of {latest['started_at']}, {latest['state']}"))
        rows += [("attention", warning) for warning in stage["warnings"]]
        lines += ["", f"stage {stage['stage']}", *(f"  {line}" for line in table(rows))]
    sizes = [(name, size(sums["bytes"]), counted(sums["files"], "file")) for name, sums in description["sizes"].items()]
    return [*lines, "", "on the disk", *(f"  {line}" for line in table(sizes))]


def size(count: int) -> str:
    """Bytes, in words."""
    value = float(count)
    for unit in _UNITS:
        if value < 1000 or unit == _UNITS[-1]:
            break
        value /= 1000
    return f"{count} bytes" if unit == "bytes" else f"{value:.1f} {unit}"
