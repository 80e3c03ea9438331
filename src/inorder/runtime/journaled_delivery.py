"""An iteration that remembers how far it came.

Outcomes are written to the journal before anybody gets them, and the consumer's coming back when it happens. So after a
crash the iteration goes on with the first result that the consumer did not come back from.
"""

from collections.abc import Callable, Sequence
from typing import Any

from inorder.core.commands import CommitRun, RetryScheduled, WindowOpened
from inorder.errors import InfrastructureError, OperatorError, SyncError
from inorder.host.clock import Clock
from inorder.host.filesystem import SystemFilesystem
from inorder.host.lock import Lock
from inorder.journal.records import Header
from inorder.journal.writer import JournalOptions
from inorder.runtime.commit import Journal, noted, plain_entry, terminal_of
from inorder.runtime.delivery import Delivery
from inorder.runtime.identity import PlanDigest, identity_of, new_run_id
from inorder.runtime.loop import Memory, Runtime
from inorder.runtime.recovery import create, resume


class JournaledDelivery(Delivery):
    """Results that are ready, and a journal."""

    def __init__(
        self, path: str, config_hash: str, options: JournalOptions, key: Callable[[Any], Any] | None, clock: Clock
    ) -> None:
        super().__init__()
        filesystem = SystemFilesystem()
        self._lock = Lock(f"{path}.lock", f"the journal {path}")
        try:
            header = Header(new_run_id(), "", config_hash, [], clock.wall_ms())
            open_ = create if filesystem.stat(path) is None else resume
            opened = open_(filesystem, path, header, ())
        except BaseException:
            self._lock.release()
            raise
        self._journal = Journal(opened.writer, filesystem, path, options, clock)
        self._digest = PlanDigest(_identify(key), end=opened.resume_point.end, expected=opened.digest)
        self.memory = Memory(opened.resume_point, self._digest.add, self._note)

    def commit(self, runtime: Runtime, run: CommitRun, items: Sequence[Any]) -> None:
        """Write the outcomes down before anybody gets them."""
        retries = run.retries
        entries = [plain_entry(envelope, None, retries.get(envelope.seq, 0) + 1) for envelope in run.envelopes]
        self._journal.outcomes(terminal_of(run.start, entries))
        super().commit(runtime, run, items)

    def came_back(self, end: int, item: Any) -> None:
        """Write it down; now and then make everything safe."""
        self._digest.add(item)
        self._journal.committed(end, (), self._digest.value())
        if self._journal.is_due:
            self._journal.checkpoint()

    def close(self, *, is_end: bool) -> None:
        """Make everything safe, if that can still be done: whatever went wrong with it before has been told."""
        super().close(is_end=is_end)
        try:
            self._journal.checkpoint(is_end=is_end)
        except InfrastructureError as error:
            if isinstance(error, SyncError):
                self._journal.distrust()
            if is_end:
                raise
        finally:
            self._journal.close()
            self._lock.release()

    def _note(self, command: WindowOpened | RetryScheduled) -> None:
        self._journal.note(noted(command))


def _identify(key: Callable[[Any], Any] | None) -> Callable[[Any], bytes]:
    def identify(item: Any) -> bytes:
        known_by = item if key is None else key(item)
        try:
            return identity_of(known_by)
        except TypeError as error:
            raise OperatorError(
                f"a journal must recognise {item!r:.80} after a restart, and cannot: {error} is no plain data; "
                "give imap a key: a function from an item to a name or number of its own"
            ) from error

    return identify
