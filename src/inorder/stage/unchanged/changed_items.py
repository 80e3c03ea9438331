"""A run in which only the items that may have changed are checked: its plan, its manifest, and its totals.

The kernel sees these items only, with seqs of their own. When they are done, all others are committed at once.

A run that dies is recovered as any other. What it has committed is not the beginning of the whole plan, so the next run
starts over, and finds the results that were committed up to date.
"""

from collections.abc import Callable, Iterable, Iterator

import msgspec

from inorder.core.commands import Summary
from inorder.core.windows.plan import PlanItem
from inorder.runtime.durable_run import DurableJob
from inorder.stage.contracts import Barrier, PlanEdits, StagePlan, WorkItem
from inorder.stage.data_layout import DataLayout
from inorder.stage.fingerprints import list_published
from inorder.stage.freshness import REMOVED_FROM_PLAN
from inorder.stage.hash_cache import HashCache
from inorder.stage.options import StageOptions
from inorder.stage.plan_reader import PlanPosition, TaskMaker, describe_item
from inorder.stage.store.database import open_store
from inorder.stage.worker import StageTask

from .receipt import Receipt
from .spliced_manifest import splice_manifest

_BLOCK_ITEMS, _BLOCK_ITEMS_MAX = 8, 256
"""Items that are looked up at once: at first few, so that workers begin soon, and then twice as many each time."""


class ChangedItems:
    """The items of a plan that may have changed since the last run."""

    def __init__(self, plan: StagePlan, job: DurableJob, receipt: Receipt, edits: PlanEdits) -> None:
        self._plan = plan
        self._edits = edits
        self._rest_count = receipt.kept_count - len(edits.dropped)
        """Items of the last run whose rows are repeated."""
        sinks, self._manifest = splice_manifest(
            job.sinks, receipt, edits.dropped, stage=plan.stage_name, keeps_results=plan.is_stored
        )
        self.job = msgspec.structs.replace(job, sinks=sinks, skipped_count=self._rest_count)
        """The job, with a manifest that repeats the rows of all other items."""
        self._end = receipt.kept_count

    def read(
        self,
        options: StageOptions,
        layout: DataLayout,
        cache: HashCache,
        position: PlanPosition,
        is_prepared: Callable[[str, WorkItem], bool] | None,
    ) -> Iterator[tuple[PlanItem, StageTask] | None]:
        """Yield the items, then those that are no longer in the plan; None for a barrier."""
        tasks = TaskMaker(self._plan, options, layout, cache)
        for block in _read_blocks(self._edits.items):
            if isinstance(block, Barrier):
                yield None
                continue
            tasks.read_ahead(item for _, item in block)
            for place, item in block:
                position.count += 1
                task = tasks.make_unchecked(item) if position.is_counting else tasks.make(item)
                if is_prepared is not None and not task.skip and is_prepared(self._plan.stage_name, item):
                    task = task._replace(is_prepared=True)
                self._manifest.places.append(place)
                yield describe_item(item), task
        for task in self._list_stale(layout.data):
            position.count += 1
            self._manifest.places.append(self._end)
            yield PlanItem(item_id=task.item.item_id), task
        position.is_complete = True

    def add_rest(self, summary: Summary) -> Summary:
        """Add the items whose rows are repeated. Those after a stop are not done."""
        repeated, rest = self._manifest.repeated_count, self._rest_count
        return msgspec.structs.replace(
            summary,
            total=None if summary.total is None else summary.total + rest,
            skipped=summary.skipped + repeated,
            cancelled=None if summary.cancelled is None else summary.cancelled + rest - repeated,
        )

    def _list_stale(self, data: str) -> Iterator[StageTask]:
        """The removal of each item that is no longer in the plan and has a result."""
        store, retires = open_store(data, self._plan.stage_name), self._plan.retires
        if store is None or retires is None or not self._plan.is_stored:
            return
        for item_id in sorted(self._edits.gone):
            found = store.get(item_id)
            if found is not None and retires(item_id, found.input_path):
                item = WorkItem(item_id=item_id, outputs={"result": f"{found.folder}/{item_id}"})
                yield StageTask(item, REMOVED_FROM_PLAN, removals=tuple(list_published(data, item.outputs)))


def _read_blocks(
    items: Iterable[tuple[int, WorkItem] | Barrier],
) -> Iterator[list[tuple[int, WorkItem]] | Barrier]:
    """Yield items in blocks that end at a barrier, and barriers. No item after a barrier is made before it."""
    block: list[tuple[int, WorkItem]] = []
    size = _BLOCK_ITEMS
    for each in items:
        if not isinstance(each, Barrier):
            block.append(each)
            if len(block) < size:
                continue
        if block:
            yield block
            block, size = [], min(2 * size, _BLOCK_ITEMS_MAX)
        if isinstance(each, Barrier):
            yield each
    if block:
        yield block
