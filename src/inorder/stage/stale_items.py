"""Stale items: items of earlier runs that are no longer in the plan.

They are found in the manifest, not among the files: an item whose files were removed just before a crash is found
again, and gets its row. Only rows from before the run count, so a resumed run finds the same items, in the same order,
as before its interruption.
"""

import os

from inorder.core.windows.id_set import IdSet

from .contracts import StagePlan, WorkItem
from .data_layout import DataLayout
from .manifest.reader import find_last_run, read_rows


def find_run_start(manifest: str, *, is_resumed: bool) -> int:
    """Return the offset in the manifest at which the rows of this run start."""
    if is_resumed:
        found = find_last_run(manifest)
        return found[0] if found is not None else 0
    return os.path.getsize(manifest) if os.path.exists(manifest) else 0


def find_stale(plan: StagePlan, layout: DataLayout, planned: IdSet, run_start: int) -> list[WorkItem]:
    """Return the items of earlier runs with outputs that are not in the plan and that it wants removed, by item_id.
    `run_start` is the offset in the manifest at which the rows of this run start."""
    if plan.retires is None:
        return []
    found: dict[str, tuple[str, list[str]]] = {}
    for line, row in read_rows(layout.manifest):
        if line.offset >= run_start:
            break
        if not row.is_item or row.doc_id in planned:
            continue
        if row.status == "success" or row.is_satisfied:
            found[row.doc_id] = row.input_path, row.output_paths
        else:
            found.pop(row.doc_id, None)
    return [
        WorkItem(item_id=item_id, outputs={str(number): path for number, path in enumerate(outputs)})
        for item_id, (input_path, outputs) in sorted(found.items())
        if outputs and plan.retires(item_id, input_path)
    ]
