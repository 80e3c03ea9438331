"""Delivery of results to the consumer of an iterator.

A result is delivered when the consumer receives it, and committed when the consumer asks for the next one. With a
journal, outcomes are written before they are delivered, and each commit when it happens. So after a crash the iteration
resumes with the first result for which the consumer did not return.
"""

import os
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from inorder.core.commands import CommitRun
from inorder.core.events import Envelope
from inorder.errors import InfrastructureError, OperatorError, SyncError, require
from inorder.host.clock import Clock
from inorder.runtime.identity import PlanDigest, encode_identity, hash_strings, new_run_id, qualified_name
from inorder.runtime.loop import ResumeState

if TYPE_CHECKING:
    from inorder.host.filesystem import Filesystem
    from inorder.host.lock import Lock
    from inorder.journal.records import Header
    from inorder.journal.writer import FsyncPolicy
    from inorder.runtime.commit import CommitJournal
    from inorder.runtime.recovery import OpenedJournal
    from inorder.runtime.result_log import ResultLog

RESULTS_SUFFIX = ".results"
"""Suffix of the folder beside the journal with the results that are not delivered yet."""


SPOOLS = ("memory", "disk")


class Delivery:
    """Results that are ready for the consumer. The commit step of an iteration without a journal."""

    is_durable = False
    """Whether `acknowledge` must be called for every result. Otherwise setting `committed_end` is enough."""

    def __init__(self) -> None:
        self.ready: deque[tuple[Envelope, Any]] = deque()
        self.resume = ResumeState()
        self.results: ResultLog | None = None
        """Keeps the results that are not delivered yet."""
        self.committed_end: int | None = None
        """The end of the results that the consumer has finished with, if that has changed since the last poll."""

    def commit(self, run: CommitRun, items: Sequence[Any]) -> None:
        """Make a run ready for delivery. The consumer commits it, one result at a time."""
        self.ready.extend(zip(run.envelopes, items, strict=True))

    def acknowledge(self, end: int, item: Any) -> None:
        """Commit the result of `item`, the last one below `end`."""
        self.committed_end = end

    def poll_committed(self) -> int | None:
        """Return the end of what was acknowledged since the last call, if anything was."""
        end, self.committed_end = self.committed_end, None
        return end

    def close(self, *, is_end: bool) -> None:
        """End the iteration. `is_end`: every result was delivered."""
        self.ready.clear()


class DurableDelivery(Delivery):
    """Delivery with a journal. With `results`, what is computed and not delivered survives a crash, too."""

    is_durable = True

    def __init__(
        self,
        lock: "Lock",
        journal: "CommitJournal",
        opened: "OpenedJournal",
        digest: PlanDigest,
        results: "ResultLog | None" = None,
    ) -> None:
        super().__init__()
        self.results = results
        self._lock = lock
        self._journal = journal
        self._digest = digest
        self.resume = ResumeState(opened.resume_point, digest.add, journal.note)

    def commit(self, run: CommitRun, items: Sequence[Any]) -> None:
        """Journal the outcomes, then make them ready for delivery."""
        self._journal.write_plain_outcomes(run)
        super().commit(run, items)

    def acknowledge(self, end: int, item: Any) -> None:
        """Journal the commit, and write a checkpoint if one is due."""
        self._digest.add(item)
        self._journal.write_commit(end, (), self._digest.value())
        if self._journal.is_checkpoint_due:
            self._journal.checkpoint()
        self.committed_end = end  # not through super(): this is called for every item

    def close(self, *, is_end: bool) -> None:
        """Write a last checkpoint if possible, then close the journal. An earlier error was already reported."""
        super().close(is_end=is_end)
        try:
            self._journal.checkpoint(is_end=is_end)
        except InfrastructureError as error:
            if isinstance(error, SyncError):
                self._journal.mark_distrusted()
            if is_end:
                raise
        finally:
            self._journal.close()
            if self.results is not None:
                self.results.clear() if is_end else self.results.close()
            self._lock.release()


def make_delivery(
    journal: str | os.PathLike[str] | None,
    function: Callable[..., Any],
    fsync: Any,
    key: Callable[[Any], Any] | None,
    spool: str,
    clock: Clock,
) -> Delivery:
    """Make the delivery of an iteration: with a journal if there is a path for one."""
    require(spool in SPOOLS, f"spool must be one of {', '.join(SPOOLS)}, got {spool!r}")
    if journal is None:
        is_plain = fsync == "batch" and key is None and spool == "memory"
        require(is_plain, "fsync, key and spool need journal=PATH")
        return Delivery()
    return open_delivery(os.fspath(journal), function, fsync, key, clock, is_spooled=spool == "disk")


def open_delivery(
    path: str,
    function: Callable[..., Any],
    fsync: "FsyncPolicy",
    key: Callable[[Any], Any] | None,
    clock: Clock,
    *,
    is_spooled: bool = False,
) -> DurableDelivery:
    """Open the journal of `function` at `path`, or create it, and lock it until the delivery is closed. `is_spooled`:
    results that are not delivered yet are kept beside it."""
    # Imported here because an iteration without a journal needs none of it, and it doubles the time of its start.
    from inorder.host.filesystem import SystemFilesystem
    from inorder.host.lock import Lock
    from inorder.journal.records import Header
    from inorder.journal.writer import JournalOptions
    from inorder.runtime.commit import CommitJournal
    from inorder.runtime.recovery import HeaderMismatch, create_journal, resume_journal

    options = JournalOptions(fsync=fsync)
    filesystem = SystemFilesystem()
    folder = os.path.dirname(path) or "."
    require(os.path.isdir(folder), f"there is no directory {folder} for the journal {path}; create it")
    name = qualified_name(function)
    lock = Lock(f"{path}.lock", f"the journal {path}")
    try:
        header = Header(new_run_id(), "", hash_strings("imap", name), [], clock.wall_ms())
        open_ = create_journal if filesystem.stat(path) is None else resume_journal
        opened = open_(filesystem, path, header, ())
    except BaseException as error:
        lock.release()
        if isinstance(error, HeaderMismatch):
            raise OperatorError(
                f"the journal {path} was not created by imap with the function {name:.80}; "
                "pass the function that it was created with, or another journal to start over"
            ) from error
        raise
    identify = _make_identify(key)
    results = _open_results(filesystem, path, opened, header, identify) if is_spooled else None
    digest = PlanDigest(identify, end=opened.resume_point.end, expected=opened.digest)
    journal = CommitJournal(opened.writer, filesystem, path, options, clock)
    return DurableDelivery(lock, journal, opened, digest, results)


def _open_results(
    filesystem: "Filesystem", path: str, opened: "OpenedJournal", header: "Header", identify: Callable[[Any], bytes]
) -> "ResultLog":
    """Open the folder with the results that are not delivered, and read those of the interrupted run."""
    from inorder.runtime.result_log import FORMAT_VERSION, LogHeader, PlainCodec, ResultLog

    folder = f"{path}{RESULTS_SUFFIX}"
    filesystem.make_directory(folder)
    log_header = LogHeader(FORMAT_VERSION, header.run_id, header.plan_hash, header.config_hash)
    results = ResultLog(filesystem, folder, log_header, PlainCodec(identify))
    results.read()
    results.start(opened.resume_point.end if opened.is_resumed else None)
    return results


def _make_identify(key: Callable[[Any], Any] | None) -> Callable[[Any], bytes]:
    def identify(item: Any) -> bytes:
        value = item if key is None else key(item)
        try:
            return encode_identity(value)
        except TypeError as error:
            raise OperatorError(
                f"a journal cannot identify the item {item!r:.80} after a restart: {error} is not plain data; "
                "pass key= to imap, a function that returns a unique name or number for an item"
            ) from error

    return identify
