"""Delivery with a journal: what was delivered is not computed again after a crash.

Without keys, a resumed iteration reads the same input again and skips what is committed. A digest in each commit record
shows whether the input is the same. With keys, the journal has a sink, `CommittedKeys`: the input may have changed, and
its items whose keys are committed are left out. Such an iteration is not resumed: it begins a new journal, and the keys
stay.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from typing import Any

from inorder.core.commands import CommitRun
from inorder.core.events import Envelope
from inorder.errors import InfrastructureError, IntegrityError, OperatorError, SyncError, require
from inorder.host.caller import warn_caller
from inorder.host.clock import Clock
from inorder.host.filesystem import Filesystem, SystemFilesystem
from inorder.host.lock import Lock
from inorder.journal.records import Header
from inorder.journal.replay import Replay
from inorder.journal.writer import FsyncPolicy, JournalOptions
from inorder.runtime.commit import CommitJournal
from inorder.runtime.function_identity import choose_header, make_header
from inorder.runtime.identity import PlanDigest, encode_identity
from inorder.runtime.loop import ResumeState
from inorder.runtime.plan_items import Planned, ask
from inorder.runtime.recovery import (
    OpenedJournal,
    create_journal,
    read_journal,
    replace_header,
    resume_journal,
    settle_journal,
)
from inorder.runtime.result_log import FORMAT_VERSION, LogHeader, PlainCodec, ResultLog
from inorder.sinks.base import Position
from inorder.sinks.committed_keys import KEY_BYTES, CommittedKeys

from .delivery import Delivery
from .feed import NotYet

RESULTS_SUFFIX = ".results"
"""Suffix of the folder beside the journal with the results that are not delivered yet."""
KEYS_SUFFIX = ".keys"
"""Suffix of the file beside the journal with the keys of the items whose results were delivered."""


class DurableDelivery(Delivery):
    """Delivery with a journal. With `results`, what is computed and not delivered survives a crash, too."""

    def __init__(
        self,
        lock: Lock,
        journal: CommitJournal,
        opened: OpenedJournal,
        digest: PlanDigest,
        results: ResultLog | None,
        keys: CommittedKeys | None,
        identify: Callable[[Any], bytes],
        path: str,
        *,
        was_complete: bool,
    ) -> None:
        super().__init__()
        self.results = results
        self._lock = lock
        self._journal = journal
        self._digest = digest
        self._keys = keys
        self._identify = identify
        self._path = path
        self._was_complete = was_complete
        self._planned: dict[int, bytes] = {}
        """The hash of each item that was read from the input, by seq."""
        self._has_delivered = False
        self.resume = ResumeState(opened.resume_point, digest.add, journal.note)
        if keys is not None:
            self.base = keys.position().offset // KEY_BYTES

    def order_plan(self, plan: Iterable[Planned]) -> Iterable[Planned]:
        """Leave out the items whose keys are committed."""
        return plan if self._keys is None else self._leave_out_committed(plan, self._keys.count_hashes())

    def _leave_out_committed(self, plan: Iterable[Planned], committed: Counter[bytes]) -> Iterable[Planned]:
        seq = 0
        for planned in plan:
            if not isinstance(planned, NotYet):
                identity = self._identify(planned[1])
                if committed.get(identity, 0) > 0:
                    committed[identity] -= 1
                    continue
                self._planned[seq] = identity
                seq += 1
            yield planned

    def commit(self, run: CommitRun, items: Sequence[Any]) -> int | None:
        """Journal the outcomes, then make them ready for delivery."""
        self._journal.write_plain_outcomes(run)
        return super().commit(run, items)

    def acknowledge(self, envelope: Envelope, item: Any) -> None:
        """Journal the commit, and write a checkpoint if one is due."""
        self._has_delivered = True
        if self._keys is None:
            self._digest.add(item)
            self._journal.write_commit(envelope.seq + 1, (), self._digest.value())
        else:
            position = self._keys.add(self._find_identity(envelope.seq, item))
            self._journal.write_commit(envelope.seq + 1, (position,), b"")
        if self._journal.is_checkpoint_due:
            self._checkpoint(is_end=False)
        super().acknowledge(envelope, item)

    def _find_identity(self, seq: int, item: Any) -> bytes:
        identity = self._planned.pop(seq)
        if self._identify(item) != identity:
            raise OperatorError(
                f"key returned another value than before for the item {item!r:.80}; "
                "it must depend only on what the function does not change"
            )
        return identity

    def _checkpoint(self, *, is_end: bool) -> None:
        if self._keys is not None:
            self._keys.sync()
        self._journal.checkpoint(is_end=is_end)

    def close(self, *, is_end: bool) -> None:
        """Write a last checkpoint if possible, then close the journal. An earlier error was already reported."""
        super().close(is_end=is_end)
        try:
            self._checkpoint(is_end=is_end)
        except InfrastructureError as error:
            if isinstance(error, SyncError):
                self._journal.mark_distrusted()
            if is_end:
                raise
        finally:
            self._journal.close()
            if self._keys is not None:
                self._keys.close()
            if self.results is not None:
                self.results.clear() if is_end else self.results.close()
            self._lock.release()
        if is_end and self._was_complete and not self._has_delivered:
            message = f"the journal {self._path} is complete: every result was delivered; remove it to start over"
            warn_caller(message)


def open_delivery(
    path: str,
    function: Callable[..., Any],
    fsync: FsyncPolicy,
    key: Callable[[Any], Any] | None,
    version: str,
    clock: Clock,
    *,
    is_spooled: bool = False,
) -> DurableDelivery:
    """Open the journal of `function` at `path`, or create it, and lock it until the delivery is closed. `is_spooled`:
    results that are not delivered yet are kept beside it."""
    folder = os.path.dirname(path) or "."
    require(os.path.isdir(folder), f"there is no directory {folder} for the journal {path}; create it")
    lock = Lock(f"{path}.lock", f"the journal {path}")
    try:
        return _open_locked(lock, path, function, fsync, key, version, clock, is_spooled=is_spooled)
    except BaseException:
        lock.release()
        raise


def _open_locked(
    lock: Lock,
    path: str,
    function: Callable[..., Any],
    fsync: FsyncPolicy,
    key: Callable[[Any], Any] | None,
    version: str,
    clock: Clock,
    *,
    is_spooled: bool,
) -> DurableDelivery:
    options = JournalOptions(fsync=fsync)
    filesystem = SystemFilesystem()
    header = make_header(function, key, version, clock.wall_ms())
    found = None if filesystem.stat(path) is None else read_journal(filesystem, path)[1]
    was_complete = found is not None and found.is_end
    if found is not None and found.header is not None:
        header = choose_header(path, function, header, found.header)
    identify = _make_identify(key, is_hashed=bool(header.sinks))
    keys = _open_keys(filesystem, path, found) if header.sinks else None
    if found is None or keys is not None:
        opened = create_journal(filesystem, path, header, _list(keys))
    else:
        opened = resume_journal(filesystem, path, None, ())
        if found.header is not None and header.config_hash != found.header.config_hash:
            replace_header(filesystem, path, opened.writer, header)
    results = _open_results(filesystem, path, opened, header, identify, keys) if is_spooled else None
    digest = PlanDigest(identify, end=opened.resume_point.end, expected=opened.digest)
    journal = CommitJournal(opened.writer, filesystem, path, options, clock)
    return DurableDelivery(lock, journal, opened, digest, results, keys, identify, path, was_complete=was_complete)


def _open_keys(filesystem: Filesystem, path: str, found: Replay | None) -> CommittedKeys:
    """Open the keys of a journal, and bring both to one position. Raises IntegrityError if the keys are lost."""
    name = f"{path}{KEYS_SUFFIX}"
    if found is None:
        keys = CommittedKeys(filesystem, name)
        keys.roll_back(Position(), ())
        return keys
    recorded = Position(*found.newest_candidate.marks[CommittedKeys.name])
    remedy = "restore the file from a backup, or remove the journal to have every item delivered again"
    if recorded.offset and filesystem.stat(name) is None:
        raise IntegrityError(f"the file {name} is missing, which says what was delivered; {remedy}")
    keys = CommittedKeys(filesystem, name)
    try:
        settle_journal(filesystem, path, [keys])
    except IntegrityError as error:
        raise IntegrityError(f"the file {name}, which says what was delivered, was damaged or cut; {remedy}") from error
    lost = (recorded.offset - keys.position().offset) // KEY_BYTES
    if lost > 0:
        warn_caller(f"the end of {name} was lost: {lost} results are delivered again")
    return keys


def _list(keys: CommittedKeys | None) -> list[CommittedKeys]:
    return [] if keys is None else [keys]


def _open_results(
    filesystem: Filesystem,
    path: str,
    opened: OpenedJournal,
    header: Header,
    identify: Callable[[Any], bytes],
    keys: CommittedKeys | None,
) -> ResultLog:
    """Open the folder with the results that are not delivered, and read those of the interrupted run."""
    folder = f"{path}{RESULTS_SUFFIX}"
    filesystem.make_directory(folder)
    log_header = LogHeader(FORMAT_VERSION, header.run_id, header.plan_hash, header.config_hash)
    results = ResultLog(filesystem, folder, log_header, PlainCodec(identify), by_identity=keys is not None)
    results.read()
    is_resumed = opened.is_resumed or (keys is not None and keys.position().offset > 0)
    results.start(opened.resume_point.end if is_resumed else None)
    return results


def _make_identify(key: Callable[[Any], Any] | None, *, is_hashed: bool) -> Callable[[Any], bytes]:
    def identify(item: Any) -> bytes:
        value = item if key is None else ask("key", key, item)
        try:
            encoded = encode_identity(value)
        except TypeError as error:
            raise OperatorError(
                f"a journal cannot identify the item {item!r:.80} after a restart: {error} is not plain data; "
                "pass key= to imap, a function that returns a unique name or number for an item"
            ) from error
        return blake2b(encoded, digest_size=KEY_BYTES).digest() if is_hashed else encoded

    return identify
