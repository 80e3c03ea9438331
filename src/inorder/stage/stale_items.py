"""Items that the plan does not have any more.

What an earlier run has made is known from the manifest, and not from the files: an item whose files were removed just
before a crash is found again, and has its row in the end. Only what was there when the run began counts. So a run that
is taken up again finds the same items as before it was interrupted, in the same order.
"""

import os
from collections.abc import Callable

from inorder.core.windows.plan import IdSet

from .contracts import WorkItem
from .manifest.reader import find_last_run, read_rows


def find_run_start(manifest: str, *, is_resumed: bool) -> int:
    """Where the rows of this run begin in the manifest, or will."""
    if is_resumed:
        found = find_last_run(manifest)
        return found[0] if found is not None else 0
    return os.path.getsize(manifest) if os.path.exists(manifest) else 0


def find_stale_items(manifest: str, end: int, planned: IdSet, is_retired: Callable[[str, str], bool]) -> list[WorkItem]:
    """Items with outputs, of runs whose rows lie below `end`, that are not planned now and that nobody wants to keep;
    in the order of their ids."""
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
        if outputs and is_retired(item_id, input_path)
    ]
