"""Commands: the only output of the kernel, to be performed in the order given.

The docstring of a command states its ordering obligations.
"""

import msgspec

from inorder.errors import Failure

from .events import Envelope
from .windows.window import SealedWindow, SizingSnapshot


class NeedItems(msgspec.Struct, frozen=True):
    """Read up to `count` items from the plan and reply with one `Planned`, which may hold fewer."""

    count: int


class Dispatch(msgspec.Struct, frozen=True):
    """Make `worker` run these items in this order, each with the attempt number given.

    `isolated`: a single item, to run in a fresh worker that runs nothing else afterwards.
    """

    worker: int
    seqs: list[int]
    attempts: list[int]
    batch_key: str
    isolated: bool
    share_bytes: int
    """Bytes reserved for the result of each item while it runs."""
    partials: dict[int, bytes] = {}
    """By seq, what earlier attempts at these items handed over."""


class StopWorker(msgspec.Struct, frozen=True):
    """Stop this worker, by force if the engine can, and reply with `WorkerLost` (retired) once it cannot pull any more.
    Its lease is already revoked: results that it still sends are refused."""

    worker: int
    reason: str


class RetryScheduled(msgspec.Struct, frozen=True):
    """An attempt failed and the item will be retried. Not a terminal event."""

    seq: int
    attempt: int
    due_ms: int
    failure: Failure
    retries: int = 0
    """Retries of this item so far, including this one. Must be journaled, so that a resumed run counts them too."""


class Reclaimed(msgspec.Struct, frozen=True):
    """An attempt ended because its worker or lease was lost. It does not count as a retry of the item."""

    seq: int
    attempt: int
    worker: int
    suspected: bool
    reason: str


class ResultRefused(msgspec.Struct, frozen=True):
    """A result, or a partial one, is from an attempt that is no longer current. It must be dropped."""

    worker: int
    seq: int
    attempt: int


class WindowOpened(msgspec.Struct, frozen=True):
    """A window was opened. Its target and snapshot must be journaled before any item of the window is journaled as
    terminal, so that a resumed run cuts the same windows."""

    id: int
    start: int
    target_entries: int
    sizing: SizingSnapshot | None


class WindowSealed(msgspec.Struct, frozen=True):
    """The bounds of a window are final."""

    record: SealedWindow


class WindowClosed(msgspec.Struct, frozen=True):
    """Every seq of the window is committed. Anything kept for it can be freed."""

    id: int
    end: int


class Announce(msgspec.Struct, frozen=True):
    """Deliver these final results before their turn, and report each with `Delivered`. Only with
    `KernelOptions.announces`."""

    envelopes: list[Envelope]


class CommitRun(msgspec.Struct, frozen=True):
    """Commit the contiguous run that begins at `start`, in this order:

    1. journal the terminal records and make them durable, *before* any sink changes;
    2. apply the successes, and what failed items handed over, to every sink, one batch per sink;
    3. journal the commit record with the position of each sink;
    4. free the payloads and reply with `Committed(end)`.

    At most one commit run is outstanding, and none extends beyond the first active window. Of results that were
    announced nothing is left to do: the kernel waits for `Delivered`.
    """

    start: int
    envelopes: list[Envelope]
    retries: dict[int, int] = {}
    """Number of retries by seq, for the items that had any."""

    @property
    def end(self) -> int:
        """One past the last seq of the run."""
        return self.start + len(self.envelopes)


class PressureChanged(msgspec.Struct, frozen=True):
    """Dispatch was slowed, paused or resumed."""

    state: str
    reason: str
    at_ms: int
    paused_ms: int
    """Total time paused so far."""
    resumes: int
    """Number of times that dispatch resumed after a pause."""


class OutageChanged(msgspec.Struct, frozen=True):
    """The run waits for a server, has tried it in vain, or goes on."""

    server: str
    reason: str
    is_over: bool
    probes: int
    """How many items were tried in vain since the outage began."""
    waited_ms: int
    """How long it has lasted."""
    wait_ms: int
    """When the next item is tried; 0 at the end of the outage."""


class Stopping(msgspec.Struct, frozen=True):
    """Dispatch has ended. Items in flight may finish until `deadline_ms`."""

    reason: str
    deadline_ms: int


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """How a run ended. Unless it was cancelled, no field depends on the number of workers or on timing."""

    total: int | None
    """Items of the plan. None: the plan announced no number and the run stopped before reaching its end."""
    succeeded: int
    skipped: int
    failed: int
    cancelled: int | None
    """All other items. None if `total` is None."""
    retries: int
    """Retries of the committed items."""
    was_cancelled: bool
    stop_kind: str | None
    """`cancelled`, `error budget` or `infrastructure`. None: the run is complete."""
    cancel_reason: str | None
    stopped_at: int | None
    """The first cancelled seq. None: the run is complete."""


class Ended(msgspec.Struct, frozen=True):
    """The run is over: no lease is held and the kernel takes no more events. Payloads that were computed and not
    committed must be dropped."""

    summary: Summary


Command = (
    NeedItems
    | Dispatch
    | StopWorker
    | RetryScheduled
    | Reclaimed
    | ResultRefused
    | WindowOpened
    | WindowSealed
    | WindowClosed
    | Announce
    | CommitRun
    | PressureChanged
    | OutageChanged
    | Stopping
    | Ended
)
