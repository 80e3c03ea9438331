"""Finding an item in the plan of a stage, and saying what would become of it."""

import os
from collections.abc import Iterator
from typing import Any

from inorder.cli.data_dir import Dataset
from inorder.cli.dry_run import Forecast, Foresight, differences
from inorder.cli.item_status import Standings
from inorder.cli.output import counted, in_one_line
from inorder.cli.settings import resolve
from inorder.cli.stage_loader import Job
from inorder.stage.contracts import WorkItem
from inorder.stage.manifest.reader import read_line_at
from inorder.stage.manifest.rows import to_printable

ABSENT = "absent"
_VERBS = {"process": "would be processed", "skip": "would be skipped", "missing": "would fail"}
_PARTS = {"cfg_hash": "configuration", "input_sha256": "input"}
_SHORT = 12


def explained(dataset: Dataset, job: Job, path: str, made: set[str]) -> list[dict[str, Any]]:
    """What would become of every item of a stage that this path belongs to, or that is made of what other stages make
    of it: `made`, which grows by the outputs of the items found here."""
    stage = job.stage.name
    foresight = Foresight(job, resolve({"data": dataset.root}, job.stage).options())
    try:
        wanted = made | {os.path.abspath(path), os.path.realpath(path)}
        known = [
            (seq, item)
            for seq, item in foresight.items()
            if path in (item.item_id, to_printable(item.item_id))
            or not wanted.isdisjoint(_files_of(item, dataset.root))
        ]
        found = [foresight.of(seq, item) for seq, item in known]
    finally:
        foresight.close()
    for _, item in known:
        made.update(os.path.abspath(os.path.join(dataset.root, output)) for output in item.outputs.values())
    if found:
        standings = Standings.of_manifest(dataset.places(stage).manifest)
        return [_described(dataset, stage, one, standings) for one in found]
    sources = ", ".join(map(str, job.sources)) or "no source"
    reason = f"it is no input, no output and no item of the plan made of {sources}"
    return [{"stage": stage, "item_id": None, "verdict": ABSENT, "reason": reason, "changed": {}, "latest": None}]


def _files_of(item: WorkItem, data: str) -> Iterator[str]:
    yield from (os.path.abspath(found) for found in item.inputs.values())
    yield from (os.path.abspath(os.path.join(data, found)) for found in item.outputs.values())


def _described(dataset: Dataset, stage: str, found: Forecast, standings: Standings) -> dict[str, Any]:
    item_id = to_printable(found.item.item_id)
    return {
        "stage": stage,
        "item_id": item_id,
        "verdict": found.verdict,
        "reason": found.reason,
        "changed": {part: {"was": was, "is": now} for part, (was, now) in differences(found).items()},
        "latest": _latest(dataset, stage, item_id, standings),
    }


def _latest(dataset: Dataset, stage: str, item_id: str, standings: Standings) -> dict[str, Any] | None:
    """What the manifest says of the item; None: no run has come to it."""
    standing = standings.of(item_id)
    if standing is None:
        return None
    row = read_line_at(dataset.places(stage).manifest, standing.latest).row
    if row is None:
        return None
    error = None if row.error is None else {"category": row.error.category, "message": row.error.message}
    return {"status": standing.status, "attempts": row.attempts, "reason": row.reason, "error": error}


def in_words(described: dict[str, Any], path: str) -> list[str]:
    """For people."""
    stage, item_id = described["stage"], described["item_id"]
    if described["verdict"] == ABSENT:
        return [f"{stage}: does not know {path}: {described['reason']}"]
    lines = [f"{stage}: {item_id} {_VERBS[described['verdict']]}: {described['reason']}"]
    for part, change in described["changed"].items():
        was, now = (value[:_SHORT] or "(none)" for value in (change["was"], change["is"]))
        lines.append(f"  {_PARTS[part]}: was {was}, is {now}")
    return [*lines, f"  last time: {_in_words(described['latest'])}"]


def _in_words(latest: dict[str, Any] | None) -> str:
    if latest is None:
        return "no run has come to it"
    error = latest["error"]
    if error is None:
        return str(latest["status"]) + (f", {latest['reason']}" if latest["reason"] else "")
    tries = counted(latest["attempts"], "attempt")
    return f"failure ({error['category']}, {tries}): {in_one_line(error['message'])}"
