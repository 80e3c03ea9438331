"""Everything that can happen to a run. The only input of the kernel.

Events are facts, seen by the runtime or an engine; what follows from them is the kernel's to decide. They come in
batches where there can be many (`Planned`, `Finished`, `Beat`), so that 64 items cost little more than one. None
carries a time: the runtime hands the time in with the event, and one clock serves all.
"""

from enum import StrEnum
from typing import Any

import msgspec

from inorder.errors import Failure

from .windows.plan import PlanItem


class Envelope(msgspec.Struct, frozen=True, gc=False):
    """What one finished attempt brought back. The kernel reads the metadata and never looks into the payload."""

    seq: int
    attempt: int
    outcome: int
    """TERMINAL_SUCCESS, TERMINAL_SKIP or TERMINAL_FAIL."""
    payload: Any = None
    payload_bytes: int = 0
    failure: Failure | None = None
    exec_ms: float = 0.0
    """Volatile: differs from run to run."""


class Planned(msgspec.Struct, frozen=True):
    """The next items of the plan, in plan order; `ended` when there are no more."""

    items: list[PlanItem]
    ended: bool = False


class Pulled(msgspec.Struct, frozen=True):
    """A worker holds nothing and asks for up to `limit` items. The first pull is how a worker joins."""

    worker: int
    limit: int = 1


class Finished(msgspec.Struct, frozen=True):
    """Envelopes from one worker."""

    worker: int
    envelopes: list[Envelope]


class Overran(msgspec.Struct, frozen=True):
    """An attempt was seen running past the time limit of an item."""

    worker: int
    seq: int
    attempt: int
    limit_ms: int


class Loss(StrEnum):
    """Why a worker is gone."""

    DIED = "died"
    """It died at work, perhaps of its item."""
    INFRASTRUCTURE = "lost to infrastructure"
    """The machine or node under it went away: no item is suspected."""
    RETIRED = "retired"
    """Taken away on purpose: recycled, scaled down, or killed by our own command."""


class WorkerLost(msgspec.Struct, frozen=True):
    """A worker is gone with whatever it held, and will not pull again. Also the answer to a `StopWorker`."""

    worker: int
    cause: Loss
    running_seq: int | None = None
    """The item it was on; None: not known."""
    reason: str = ""


class Returned(msgspec.Struct, frozen=True):
    """A worker gives back items it has not started."""

    worker: int
    seqs: list[int]


class Beat(msgspec.Struct, frozen=True):
    """These workers are alive."""

    workers: list[int]


class Committed(msgspec.Struct, frozen=True):
    """Everything below `end` is applied and durable. Cumulative: a late or repeated one says nothing new."""

    end: int


class CancelRequested(msgspec.Struct, frozen=True):
    """Somebody wants the run to stop. A second one with less grace shortens the first."""

    reason: str
    grace_ms: int | None = None
    """None: the grace of the options; 0: at once."""


class MemorySampled(msgspec.Struct, frozen=True):
    """Resident memory of the process."""

    bytes: int


class Tick(msgspec.Struct, frozen=True):
    """Only time has passed."""


Event = (
    Planned
    | Pulled
    | Finished
    | Overran
    | WorkerLost
    | Returned
    | Beat
    | Committed
    | CancelRequested
    | MemorySampled
    | Tick
)
