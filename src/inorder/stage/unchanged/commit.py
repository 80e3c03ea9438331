"""Commits a run in which every item is up to date, without a kernel and without workers.

The journal has the same records as that of any run, with one commit for all items: outcomes, then the sinks, then the
commit. A run that dies before the commit is rolled back as any other, and done again. Rows of the manifest are made
from those of the last run, block by block.
"""

from inorder.core.commands import Summary
from inorder.core.events import Event
from inorder.core.options import KernelOptions
from inorder.engines.base import Batch, Task
from inorder.engines.progress import WorkerActivity
from inorder.errors import SyncError
from inorder.host.clock import Clock
from inorder.runtime.commit import CommitJournal, CommitLane
from inorder.runtime.durable_run import DurableJob
from inorder.runtime.identity import PlanDigest
from inorder.runtime.loop import Runtime
from inorder.runtime.recovery import OpenedJournal
from inorder.stage.contracts import StagePlan

from .receipt import Receipt
from .spliced_manifest import splice_manifest


class NoWorkers:
    """The engine of a run without items."""

    def start(self) -> None:
        """Nothing is started."""

    def dispatch(self, batch: Batch) -> None:
        """Never called."""

    def stop_worker(self, worker: int, reason: str) -> None:
        """There is no worker."""

    def poll(self, timeout_s: float | None) -> list[Event]:
        """No event can come."""
        return []

    def wake(self) -> None:
        """Nothing waits."""

    def drain(self) -> None:
        """There is nothing to return."""

    def close(self, grace_s: float = 0.0) -> list[Task]:
        """Nothing runs."""
        return []

    def list_activity(self) -> list[WorkerActivity]:
        """Nothing runs."""
        return []

    def resize(self, count: int) -> None:
        """There are no workers."""


def make_idle_runtime(engine: NoWorkers, clock: Clock) -> Runtime:
    """A runtime that does nothing, for the monitor of the run."""
    return Runtime([], engine, lambda run, items: run.end, clock, options=KernelOptions())


def commit_unchanged(
    plan: StagePlan, job: DurableJob, opened: OpenedJournal, receipt: Receipt, clock: Clock
) -> Summary:
    """Commit every item as skipped."""
    journal = CommitJournal(opened.writer, job.filesystem, job.path, job.options, clock)
    sinks, _ = splice_manifest(job.sinks, receipt, stage=plan.stage_name, keeps_results=plan.is_stored)
    lane = CommitLane(journal, sinks, PlanDigest(job.identify))
    count = receipt.kept_count
    try:
        lane.commit_skipped(0, count, receipt.digest)
        lane.finish(is_end=True, is_complete=True)
    except SyncError:
        lane.mark_distrusted()
        raise
    finally:
        lane.close()
        if job.results is not None:
            job.results.close()
    return Summary(
        total=count,
        succeeded=0,
        skipped=count,
        failed=0,
        cancelled=0,
        retries=0,
        was_cancelled=False,
        stop_kind=None,
        cancel_reason=None,
        stopped_at=None,
    )
