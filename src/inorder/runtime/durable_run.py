"""A run with a journal and sinks.

    job = DurableJob(filesystem=..., path="run.journal", header=Header(...), sinks=[...], identify=...)
    summary = DurableRun(job, job.open(), plan, engine, SystemClock(), KernelOptions()).run()

After an interruption, the same call with the same plan and configuration resumes the run. In the end the sinks hold the
same bytes as after a run without an interruption.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from inorder.core.commands import Summary
from inorder.core.options import KernelOptions
from inorder.core.state import StopKind
from inorder.core.windows.plan import PlanItem
from inorder.engines.answering import Answer, Offer, offer_nothing
from inorder.engines.base import Engine
from inorder.errors import SyncError
from inorder.host.clock import Clock
from inorder.host.filesystem import Filesystem
from inorder.journal.records import Header
from inorder.journal.writer import JournalOptions
from inorder.lanes import Lane
from inorder.runtime.commit import CommitJournal, CommitLane, Describe, ThreadedCommit, describe_plain
from inorder.runtime.feed import NotYet
from inorder.runtime.identity import PlanDigest, encode_identity
from inorder.runtime.loop import Observer, Runtime
from inorder.runtime.memory_probe import MemoryProbe
from inorder.runtime.recovery import OpenedJournal, create_journal, resume_journal, settle_journal
from inorder.runtime.result_log import ResultLog
from inorder.sinks.base import Entry, Sink


class DurableJob(msgspec.Struct, frozen=True, kw_only=True):
    """The journal and the sinks of a run."""

    filesystem: Filesystem
    path: str
    """Path of the journal."""
    header: Header
    sinks: Sequence[Sink] = ()
    identify: Callable[[Any], bytes] = encode_identity
    """Encodes an item as bytes that are the same in every process."""
    describe: Describe = describe_plain
    options: JournalOptions = msgspec.field(default_factory=JournalOptions)
    commit_thread: bool = False
    """Commit on a separate thread, so that waiting for the disk does not delay workers."""
    results: ResultLog | None = None
    """Keeps the results that are not committed yet, and has those of the interrupted run."""
    answer: Answer | None = None
    """Returns the results of items that need no worker."""
    offer: Offer = offer_nothing
    """Passes a partial result on to the next attempt at its item."""
    on_commit: Callable[[Sequence[Entry]], None] | None = None
    """Called with the entries of every run after it is committed."""

    def open(self, *, start_over: bool = False, accept_any_header: bool = False) -> OpenedJournal:
        """Open the journal of an interrupted run, or create one. `start_over`: replace an existing journal.
        `accept_any_header`: also resume the journal of another plan or configuration."""
        if start_over or self.filesystem.stat(self.path) is None:
            return create_journal(self.filesystem, self.path, self.header, self.sinks)
        return resume_journal(self.filesystem, self.path, None if accept_any_header else self.header, self.sinks)

    def open_remainder(self) -> OpenedJournal:
        """Create the journal of a plan that is a remainder. Before it replaces that of an interrupted run, the sinks
        are brought to the newest position that all of them hold (`settle_journal`)."""
        warning = ""
        if self.filesystem.stat(self.path) is not None:
            warning = settle_journal(self.filesystem, self.path, self.sinks)
        return create_journal(self.filesystem, self.path, self.header, self.sinks)._replace(warning=warning)


class DurableRun:
    """One run of a job."""

    def __init__(
        self,
        job: DurableJob,
        opened: OpenedJournal,
        plan: Iterable[tuple[PlanItem, Any] | NotYet | None],
        engine: Engine,
        clock: Clock,
        options: KernelOptions,
        *,
        total: int | None = None,
        observer: Observer | None = None,
        memory: MemoryProbe | None = None,
    ) -> None:
        journal = CommitJournal(opened.writer, job.filesystem, job.path, job.options, clock)
        digest = PlanDigest(job.identify, end=opened.resume_point.end, expected=opened.digest)
        lane = CommitLane(journal, job.sinks, digest, job.describe, job.on_commit)
        threaded = ThreadedCommit(lane, engine.wake) if job.commit_thread else None
        self._lane: CommitLane | ThreadedCommit = threaded or lane
        self._results = job.results
        self.runtime = Runtime(
            plan,
            engine,
            self._lane.commit,
            clock,
            options=options,
            total=total,
            observer=observer,
            resume=lane.resume_state(opened.resume_point),
            poll_committed=None if threaded is None else threaded.poll_committed,
            results=job.results,
            memory=memory,
            answer=job.answer,
            offer=job.offer,
        )

    @property
    def lanes(self) -> list[Lane]:
        """The lane of the commit thread, if there is one."""
        return [self._lane.lane] if isinstance(self._lane, ThreadedCommit) else []

    def run(self) -> Summary:
        """Run to the end. A run that was cancelled or stopped by an infrastructure failure can be resumed."""
        try:
            summary = self.runtime.run()
            self._lane.finish(
                is_end=summary.stop_kind in (None, StopKind.ERROR_BUDGET.value), is_complete=summary.stop_kind is None
            )
        except SyncError:
            self._lane.mark_distrusted()
            raise
        finally:
            self._lane.close()
            if self._results is not None:
                self._results.close()
        return summary
