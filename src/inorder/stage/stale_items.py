"""Stale items: items of earlier runs that are no longer in the plan.

Those of a stage with a store are found in the store. All others are found in the manifest, not among the files: an item
whose files were removed just before a crash is found again, and gets its row. Only rows from before the run count, so a
resumed run finds the same items, in the same order, as before its interruption.
"""

from collections.abc import Callable, Sequence
from itertools import chain

from inorder.core.windows.id_set import IdSet
from inorder.engines.attempt import escape_surrogates
from inorder.sinks.packed_lines import measure_lines

from .contracts import StagePlan, WorkItem
from .data_layout import DataLayout
from .manifest.reader import find_last_run, read_rows
from .store.database import open_store
from .store.rows import StoredItem


def find_run_start(manifest: str, *, is_resumed: bool) -> int:
    """Return the offset in the manifest at which the rows of this run start."""
    if is_resumed:
        found = find_last_run(manifest)
        return found[0] if found is not None else 0
    return measure_lines(manifest)


def find_stale(
    plan: StagePlan,
    layout: DataLayout,
    planned: IdSet,
    run_start: int,
    *,
    is_begun: bool,
    others: Sequence[StoredItem] | None = None,
) -> list[WorkItem]:
    """Return the items of earlier runs that are not in the plan and that it wants removed; sorted by item_id. `others`
    are those of them that the store has; None: they are all that are not in `planned`. `run_start` is the offset in the
    manifest at which the rows of this run start. `is_begun`: the latest run of the store is this one."""
    if plan.retires is None:
        return []
    if not plan.is_stored:
        return find_stale_items(layout.manifest, run_start, planned, plan.retires)
    found = (
        _find_others(layout.data, plan.stage_name, planned, is_begun=is_begun)
        if others is None
        else {item.item_id: (item.folder, item.input_path) for item in others}
    )
    return [
        WorkItem(item_id=item_id, outputs={"result": f"{folder}/{item_id}"})
        for item_id, (folder, input_path) in sorted(found.items())
        if plan.retires(item_id, input_path)
    ]


def _find_others(data: str, stage: str, planned: IdSet, *, is_begun: bool) -> dict[str, tuple[str, str]]:
    """The folder and the input path of every item that is not planned and that the store has, or had before its latest
    run was interrupted."""
    store = open_store(data, stage)
    if store is None:
        return {}
    known = ((item.item_id, item.folder, item.input_path) for item in store.iterate())
    removed = store.list_removed() if is_begun else []
    return {
        item_id: (folder, path)
        for item_id, folder, path in chain(known, removed)
        if escape_surrogates(item_id) not in planned
    }


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
