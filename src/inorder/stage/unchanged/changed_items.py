"""A run in which only the items that may have changed are checked: its plan, its manifest, and its totals.

The kernel sees these items only, with seqs of their own. When they are done, all others are committed at once.

A run that dies is recovered as any other. What it has committed is not the beginning of the whole plan, so the next run
starts over, and finds the results that were committed up to date.
"""

from collections.abc import Callable, Iterator

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
        for each in self._edits.items:
            if isinstance(each, Barrier):
                yield None
                continue
            place, item = each
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
