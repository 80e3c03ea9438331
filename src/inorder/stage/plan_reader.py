"""Reads the plan of a stage, and checks each item before it is given to the kernel."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from inorder.core.commands import Summary
from inorder.core.windows.id_set import IdSet
from inorder.core.windows.plan import PlanItem
from inorder.engines.attempt import escape_surrogates
from inorder.errors import OperatorError
from inorder.runtime.feed import NotYet
from inorder.runtime.identity import PlanChanged

from .contracts import Barrier, PassPlan, WorkItem, get_whole
from .data_layout import DataLayout
from .files.hash_cache import HashCache
from .fingerprints import list_published
from .freshness import REMOVED_FROM_PLAN, check_planned
from .inputs import AddressedInput, Input
from .options import StageOptions
from .stale_items import find_run_start, find_stale
from .worker import StageTask

_COUNT_S_MAX = 2.0
"""How long the rest of a plan is counted after a stop."""


class PlanPosition:
    """How far a plan was read. With `is_counting`, further items are not checked."""

    def __init__(self) -> None:
        self.count = 0
        self.part_count = 0
        """How many of the items are parts of others."""
        self.is_complete = False
        self.is_counting = False


def count_rest(rest: Iterator[Any], position: PlanPosition, is_interrupted: Callable[[], bool]) -> str:
    """Read a plan on to its end without checking its items. Returns why that failed; empty: the count is exact."""
    position.is_counting = True
    until_s = time.monotonic() + _COUNT_S_MAX
    try:
        for item in rest:
            if isinstance(item, NotYet):
                return ""
            if is_interrupted():
                return "interrupted"
            if time.monotonic() > until_s:
                return f"it has more items than can be read in {_COUNT_S_MAX:g} s"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "" if position.is_complete else "it raised an error"


def count_plan(
    summary: Summary,
    expected: int | None,
    rest: Iterator[Any],
    position: PlanPosition,
    signals: Sequence[int],
    warn: Callable[[str], None],
) -> Summary:
    """Complete the summary of a run that was stopped before the number of its items was known. `expected` is an
    estimate of it."""
    if summary.total is not None:
        return summary
    known = len(signals)
    problem = count_rest(rest, position, lambda: len(signals) > known)
    total = position.count if not problem else max(position.count, expected or 0)
    if problem:
        warn(f"the plan was not read to its end ({problem}); it has at least {total} items")
    done = summary.succeeded + summary.skipped + summary.failed
    return msgspec.structs.replace(summary, total=total, cancelled=total - done)


def read_plan(
    plan: PassPlan,
    options: StageOptions,
    layout: DataLayout,
    cache: HashCache,
    resumed_end: int,
    position: PlanPosition,
) -> Iterator[tuple[PlanItem, StageTask] | NotYet | None]:
    """Yield the items of the plan, then the stale ones; None for a barrier. Items below the seq `resumed_end` are
    committed, and not checked again. Raises PlanChanged if the plan has fewer items than that."""
    run_start = find_run_start(layout.manifest, is_resumed=resumed_end > 0)
    planned = IdSet()
    seq = 0
    for item in plan.items:
        if isinstance(item, Barrier):
            yield None
            continue
        if isinstance(item, NotYet):
            yield item
            continue
        if not isinstance(item, WorkItem):
            raise OperatorError(f"item {seq} of the plan is a {type(item).__name__}, not a WorkItem")
        if plan.retires is not None:
            item_id = item.item_id
            planned.add(item_id if item_id.isascii() else escape_surrogates(item_id))
        position.count += 1
        if get_whole(item):
            if not plan.is_remainder:
                raise OperatorError(f"item {item.item_id!r} has part_of, and the plan has not is_remainder")
            position.part_count += 1
        is_unchecked = seq < resumed_end or position.is_counting
        task = StageTask(item) if is_unchecked else _make_task(item, options, layout.data, cache)
        yield describe_item(item), task
        seq += 1
    for item in find_stale(plan, layout, planned, run_start):
        position.count += 1
        removals = tuple(list_published(layout.data, item.outputs))
        yield PlanItem(item_id=item.item_id), StageTask(item, REMOVED_FROM_PLAN, removals=removals)
        seq += 1
    if seq < resumed_end:
        raise PlanChanged(f"the plan ends after {seq} items, and {resumed_end} are committed")
    position.is_complete = True


def describe_item(item: WorkItem) -> PlanItem:
    """Return what the kernel needs to know about an item."""
    input_bytes = 0 if item.size_hint else sum(map(_get_size, item.inputs.values()))
    return PlanItem(item.item_id, item.cost_hint, item.size_hint, item.batch_key, input_bytes, bool(get_whole(item)))


def _get_size(source: Input) -> int:
    """The size of an input; 0 if it cannot be read, which is a matter of its item."""
    if isinstance(source, AddressedInput):
        return source.size
    try:
        return os.stat(source).st_size
    except (OSError, ValueError):
        return 0


def _make_task(item: WorkItem, options: StageOptions, data: str, cache: HashCache) -> StageTask:
    """Make the task of an item: to run it, or to skip it if it is up to date."""
    if options.force or not options.resume:
        return StageTask(item)
    found = check_planned(item, data, fingerprinting=options.fingerprinting, cache=cache)
    if not found.is_satisfied:
        return StageTask(item)
    digest = found.fingerprint.input_sha256 if found.fingerprint is not None else ""
    return StageTask(item, found.reason, found.extras, digest)


def fill_total(plan: PassPlan) -> PassPlan:
    """Return the plan with the number of its items, if they are a list or tuple. With `retires` the number is only
    expected: stale items are added to it."""
    total = plan.total_items
    if total is None and isinstance(plan.items, list | tuple):
        total = sum(not isinstance(item, Barrier) for item in plan.items)
    if plan.retires is None:
        return msgspec.structs.replace(plan, total_items=total)
    return msgspec.structs.replace(plan, total_items=None, expected_items=plan.expected_items or total)
