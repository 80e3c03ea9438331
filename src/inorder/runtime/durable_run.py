"""A run with a journal and sinks, from its opening to its end.

    job = Job(filesystem=..., path="run.journal", header=Header(...), sinks=[...], identify=...)
    summary = run_journaled(job, plan, engine, SystemClock(), KernelOptions())

Run again after any interruption, with the same plan and configuration, it goes on where it stopped, and what the sinks
hold in the end is the same, byte for byte, as if nothing had happened.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from inorder.core.commands import Summary
from inorder.core.options import KernelOptions
from inorder.core.state import StopKind
from inorder.core.windows.plan import PlanItem
from inorder.engines.base import Engine
from inorder.errors import SyncError
from inorder.host.clock import Clock
from inorder.host.filesystem import Filesystem
from inorder.journal.records import Header
from inorder.journal.writer import JournalOptions
from inorder.runtime.commit import CommitLane, Describe, Journal, ThreadedCommit, plain_entry
from inorder.runtime.identity import PlanDigest, identity_of
from inorder.runtime.loop import Observer, Runtime
from inorder.runtime.recovery import Opened, create, resume
from inorder.sinks.base import Entry, Sink


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept, and where."""

    filesystem: Filesystem
    path: str
    """Of the journal."""
    header: Header
    sinks: Sequence[Sink] = ()
    identify: Callable[[Any], bytes] = identity_of
    """An item as bytes that are the same in every process."""
    describe: Describe = plain_entry
    options: JournalOptions = msgspec.field(default_factory=JournalOptions)
    commit_thread: bool = False
    """Commit on a thread of its own, so that waiting for the disk keeps no worker waiting."""
    committed: Callable[[Sequence[Entry]], None] | None = None
    """Is shown every run of entries once it is committed."""

    def open(self, *, anew: bool = False, as_found: bool = False) -> Opened:
        """The journal of an interrupted run, or a new one. `as_found`: whatever plan and configuration it was of."""
        if anew or self.filesystem.stat(self.path) is None:
            return create(self.filesystem, self.path, self.header, self.sinks)
        return resume(self.filesystem, self.path, None if as_found else self.header, self.sinks)


class JournaledRun:
    """One run under way."""

    def __init__(
        self,
        job: Job,
        opened: Opened,
        plan: Iterable[tuple[PlanItem, Any] | None],
        engine: Engine,
        clock: Clock,
        options: KernelOptions,
        *,
        total: int | None = None,
        observer: Observer | None = None,
    ) -> None:
        journal = Journal(opened.writer, job.filesystem, job.path, job.options, clock)
        digest = PlanDigest(job.identify, end=opened.resume_point.end, expected=opened.digest)
        lane = CommitLane(journal, job.sinks, digest, job.describe, job.committed)
        self._lane: CommitLane | ThreadedCommit = ThreadedCommit(lane) if job.commit_thread else lane
        memory = self._lane.memory(opened.resume_point)
        self.runtime = Runtime(
            plan, engine, self._lane, clock, options=options, total=total, observer=observer, memory=memory
        )

    def run(self) -> Summary:
        """To the end. A run that was cancelled, or that the machine failed, can be resumed; any other is over."""
        try:
            summary = self.runtime.run()
            self._lane.finish(is_end=summary.stop_kind in (None, StopKind.ERROR_BUDGET.value))
        except SyncError:
            self._lane.distrust()
            raise
        finally:
            self._lane.close()
        return summary


def run_journaled(
    job: Job,
    plan: Iterable[tuple[PlanItem, Any] | None],
    engine: Engine,
    clock: Clock,
    options: KernelOptions,
    *,
    total: int | None = None,
) -> Summary:
    """Begin, or go on; to the end."""
    return JournaledRun(job, job.open(), plan, engine, clock, options, total=total).run()
