"""Stale items: items of earlier runs that are no longer in the plan.

They are found in the manifest, not among the files: an item whose files were removed just before a crash is found
again, and gets its row. Only rows from before the run count, so a resumed run finds the same items, in the same order,
as before its interruption.
"""

import os
from collections.abc import Callable

from inorder.core.windows.plan import IdSet

from .contracts import WorkItem
from .manifest.reader import find_last_run, read_rows


def find_run_start(manifest: str, *, is_resumed: bool) -> int:
    """Return the offset in the manifest at which the rows of this run start."""
    if is_resumed:
        found = find_last_run(manifest)
        return found[0] if found is not None else 0
    return os.path.getsize(manifest) if os.path.exists(manifest) else 0


def find_stale_items(manifest: str, end: int, planned: IdSet, retires: Callable[[str, str], bool]) -> list[WorkItem]:
    """Return the items with outputs that have rows below the offset `end`, are not in `planned`, and that `retires`
    wants removed; sorted by item_id."""
    found: dict[str, tuple[str, list[str]]] = {}
    for line, row in read_rows(manifest):
        if line.offset >= end:
            break
        if row.is_config or row.doc_id in planned:
            continue
        if row.status == "success" or row.is_satisfied:
            found[row.doc_id] = row.input_path, row.output_paths
        else:
            found.pop(row.doc_id, None)
    return [
        WorkItem(item_id=item_id, outputs={str(number): path for number, path in enumerate(outputs)})
        for item_id, (input_path, outputs) in sorted(found.items())
        if outputs and retires(item_id, input_path)
    ]
