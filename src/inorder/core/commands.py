"""Everything the kernel can ask for. Its only output, to be performed in the order given.

The ordering obligations of a command stand on the command.
"""

import msgspec

from inorder.errors import Failure

from .events import Envelope
from .windows.window import SizingSnapshot, WindowRecord


class NeedItems(msgspec.Struct, frozen=True):
    """Take up to `count` items from the plan and answer with one `Planned`, which may hold fewer."""

    count: int


class Dispatch(msgspec.Struct, frozen=True):
    """Have `worker` run these items in this order, each as the attempt given.

    `isolated`: one item, in a worker that has run nothing before and runs nothing after it.
    """

    worker: int
    seqs: list[int]
    attempts: list[int]
    batch_key: str
    isolated: bool
    share_bytes: int
    """Bytes set aside for the result of each item while it runs."""


class StopWorker(msgspec.Struct, frozen=True):
    """End this worker, by force where the engine can, and answer with `WorkerLost` (retired) once it can pull no more.
    Its lease is already gone: whatever it still sends is refused."""

    worker: int
    reason: str


class RetryScheduled(msgspec.Struct, frozen=True):
    """The attempt record of a failed attempt that will be tried again. Not a terminal event."""

    seq: int
    attempt: int
    due_ms: int
    failure: Failure
    retries: int = 0
    """Spent on this item, this one included. To be journaled, so that a resumed run does not grant them again."""


class Reclaimed(msgspec.Struct, frozen=True):
    """The attempt record of an attempt that ended with its worker or lease. The item's retries are untouched."""

    seq: int
    attempt: int
    worker: int
    suspected: bool
    reason: str


class Refused(msgspec.Struct, frozen=True):
    """A result of an attempt that is no longer current. Its payload must be dropped."""

    worker: int
    seq: int
    attempt: int


class WindowOpened(msgspec.Struct, frozen=True):
    """A window takes items. Its target and the snapshot behind it are to be journaled before any item of the window is
    journaled as terminal, so that a resumed run cuts the same windows."""

    id: int
    start: int
    target_entries: int
    sizing: SizingSnapshot | None


class WindowSealed(msgspec.Struct, frozen=True):
    """A window's bounds are final."""

    record: WindowRecord


class WindowClosed(msgspec.Struct, frozen=True):
    """Every seq of the window is committed; what was kept for it can go."""

    id: int
    end: int


class CommitRun(msgspec.Struct, frozen=True):
    """Commit the contiguous run that begins at `start`, in this order:

    1. journal the terminal records and make them durable, *before* any sink changes;
    2. apply the successes to every sink, one batch a sink;
    3. journal the commit record with each sink's position;
    4. free the payloads and answer with `Committed(end)`.

    There is never a second one outstanding, and none ever reaches beyond the first active window.
    """

    start: int
    envelopes: list[Envelope]
    retries: dict[int, int] = {}
    """Retries spent, by seq, for those that had any."""

    @property
    def end(self) -> int:
        """One past the last seq of the run."""
        return self.start + len(self.envelopes)


class PressureChanged(msgspec.Struct, frozen=True):
    """Dispatch slowed, paused or resumed."""

    state: str
    reason: str
    at_ms: int
    paused_ms: int
    """Total time at `hard` so far."""
    resumes: int
    """Times dispatch went on after a pause."""


class Stopping(msgspec.Struct, frozen=True):
    """No more dispatch. Work in flight has until `deadline_ms`."""

    reason: str
    deadline_ms: int


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """How a run ended. Every field is the same for any number of workers and any timing, unless it was cancelled."""

    total: int | None
    """Items of the plan; None: it announced no number, and the run stopped before it was read to its end."""
    succeeded: int
    skipped: int
    failed: int
    cancelled: int | None
    """Everything else; None where `total` is."""
    retries: int
    """Retries spent by the items that were committed."""
    was_cancelled: bool
    stop_kind: str | None
    """`cancelled`, `error budget` or `infrastructure`; None when the run went to its end."""
    cancel_reason: str | None
    stopped_at: int | None
    """First seq that was not committed as done; None when the run went to its end."""


class Ended(msgspec.Struct, frozen=True):
    """The run is over; no lease is held and the kernel takes no more events. Payloads of results that were computed and
    not committed are to be dropped."""

    summary: Summary


Command = (
    NeedItems
    | Dispatch
    | StopWorker
    | RetryScheduled
    | Reclaimed
    | Refused
    | WindowOpened
    | WindowSealed
    | WindowClosed
    | CommitRun
    | PressureChanged
    | Stopping
    | Ended
)
