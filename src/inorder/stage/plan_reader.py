"""Reads the plan of a stage, and checks each item before it is given to the kernel."""

from collections.abc import Iterator

import msgspec

from inorder.core.windows.plan import IdSet, PlanItem
from inorder.engines.attempt import escape_surrogates
from inorder.errors import OperatorError
from inorder.runtime.identity import PlanChanged

from .contracts import Barrier, StagePlan, WorkItem
from .data_layout import DataLayout
from .fingerprints import list_published
from .freshness import REMOVED_FROM_PLAN, check_planned
from .hash_cache import HashCache
from .options import StageOptions
from .stale_items import find_run_start, find_stale_items
from .worker import StageTask


def read_plan(
    plan: StagePlan, options: StageOptions, layout: DataLayout, cache: HashCache, resumed_end: int
) -> Iterator[tuple[PlanItem, StageTask] | None]:
    """Yield the items of the plan, then the stale ones; None for a barrier. Items below the seq `resumed_end` are
    committed, and not checked again. Raises PlanChanged if the plan has fewer items than that."""
    run_start = find_run_start(layout.manifest, is_resumed=resumed_end > 0)
    planned = IdSet()
    seq = 0
    for item in plan.items:
        if isinstance(item, Barrier):
            yield None
            continue
        if not isinstance(item, WorkItem):
            raise OperatorError(f"item {seq} of the plan is a {type(item).__name__}, not a WorkItem")
        if plan.retires is not None:
            planned.add(escape_surrogates(item.item_id))
        task = StageTask(item) if seq < resumed_end else _make_task(item, plan, options, layout, cache)
        yield PlanItem(item_id=item.item_id, cost=item.cost_hint, batch_key=item.batch_key), task
        seq += 1
    if plan.retires is not None:
        for item in find_stale_items(layout.manifest, run_start, planned, plan.retires):
            removals = tuple(list_published(layout.data, item.outputs))
            yield PlanItem(item_id=item.item_id), StageTask(item, REMOVED_FROM_PLAN, removals=removals)
            seq += 1
    if seq < resumed_end:
        raise PlanChanged(f"the plan ends after {seq} items, and {resumed_end} are committed")


def _make_task(
    item: WorkItem, plan: StagePlan, options: StageOptions, layout: DataLayout, cache: HashCache
) -> StageTask:
    """Make the task of an item: to run it, or to skip it if it is up to date."""
    if options.force or not options.resume:
        return StageTask(item)
    found = check_planned(item, plan, layout.data, fingerprinting=options.fingerprinting, cache=cache)
    if not found.is_satisfied:
        return StageTask(item)
    digest = found.fingerprint.input_sha256 if found.fingerprint is not None else ""
    return StageTask(item, found.reason, found.extras, digest)


def fill_total(plan: StagePlan) -> StagePlan:
    """Return the plan with the number of its items, if they are a list or tuple. With `retires` the number is only
    expected: stale items are added to it."""
    total = plan.total_items
    if total is None and isinstance(plan.items, list | tuple):
        total = sum(not isinstance(item, Barrier) for item in plan.items)
    if plan.retires is None:
        return msgspec.structs.replace(plan, total_items=total)
    return msgspec.structs.replace(plan, total_items=None, expected_items=plan.expected_items or total)
