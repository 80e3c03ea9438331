"""Events: the only input of the kernel.

An event is something that the runtime or an engine observed; the kernel decides what follows from it. Frequent events
carry batches (`Planned`, `Finished`, `Beat`), so that 64 items cost little more than one. No event carries a time: the
runtime passes the time with the event, so that there is only one clock.
"""

from enum import StrEnum
from typing import Any

import msgspec

from inorder.errors import Failure

from .windows.plan import PlanItem


class Envelope(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """The result of one attempt. The kernel reads the metadata and never the payload."""

    seq: int
    attempt: int
    outcome: int
    """TERMINAL_SUCCESS, TERMINAL_SKIP or TERMINAL_FAIL."""
    payload: Any = None
    payload_bytes: int = 0
    failure: Failure | None = None
    exec_ms: float = 0.0
    """Execution time. Volatile: differs from run to run."""
    began_ms: float = 0.0
    """When the execution began, in milliseconds since 1970 by the clock of the worker's machine. 0: it did not run.
    Volatile."""
    partial: bytes | None = None
    """What the item handed over before it failed; only in the final failure of an item, and set by the kernel. Its
    length is part of `payload_bytes`."""


class Planned(msgspec.Struct, frozen=True):
    """The next items of the plan, in plan order. `ended`: there are no more."""

    items: list[PlanItem]
    ended: bool = False


class Pulled(msgspec.Struct, frozen=True):
    """An idle worker asks for up to `limit` items. A worker joins the run with its first pull."""

    worker: int
    limit: int = 1


class Finished(msgspec.Struct, frozen=True):
    """Results from one worker, in the order in which it computed them."""

    worker: int
    envelopes: list[Envelope]


class HandedOver(msgspec.Struct, frozen=True):
    """What an attempt has made so far. It replaces what the item handed over before, in this attempt or an earlier one.
    If the item fails in the end, it is committed with the failure; otherwise it is dropped."""

    worker: int
    seq: int
    attempt: int
    partial: bytes


class Overran(msgspec.Struct, frozen=True):
    """An attempt exceeded the time limit of an item, or of the step that the item was in."""

    worker: int
    seq: int
    attempt: int
    limit_ms: int
    exec_ms: float = 0.0
    began_ms: float = 0.0
    """See `Envelope`."""
    step: str = ""
    """The step that the item was in; empty: it has none."""


class Loss(StrEnum):
    """Why a worker was lost."""

    DIED = "died"
    """It died while running an item, possibly because of that item."""
    INFRASTRUCTURE = "lost to infrastructure"
    """Its machine or node failed. No item is suspected."""
    RETIRED = "retired"
    """Stopped on purpose: recycled, scaled down, or stopped by `StopWorker`."""


class WorkerLost(msgspec.Struct, frozen=True):
    """A worker is gone, with all items it held, and will not pull again. Also the reply to `StopWorker`."""

    worker: int
    cause: Loss
    running_seq: int | None = None
    """The item that it was running. None: unknown."""
    reason: str = ""
    """How it ended: the same in every run, because the failure of an item may quote it."""
    detail: str = ""
    """Volatile: which process or actor it was."""
    exec_ms: float = 0.0
    began_ms: float = 0.0
    """Of the item that it was running; see `Envelope`."""
    step: str = ""
    """The step that this item was in; empty: it has none."""


class Returned(msgspec.Struct, frozen=True):
    """A worker gives back items that it has not started."""

    worker: int
    seqs: list[int]


class Beat(msgspec.Struct, frozen=True):
    """These workers are alive."""

    workers: list[int]


class Committed(msgspec.Struct, frozen=True):
    """Every seq below `end` is applied and durable. Cumulative: a late or repeated event has no effect."""

    end: int


class Delivered(msgspec.Struct, frozen=True):
    """The consumer is done with these results, which were announced. Their payloads are freed at once, and each is
    committed when its turn has come."""

    seqs: list[int]


class CancelRequested(msgspec.Struct, frozen=True):
    """A request to stop the run. A later request can shorten the grace period."""

    reason: str
    grace_ms: int | None = None
    """None: the grace period of the options. 0: stop at once."""


class MemorySampled(msgspec.Struct, frozen=True):
    """The resident memory of the driver and its worker processes."""

    bytes: int


class Tick(msgspec.Struct, frozen=True):
    """Only time has passed."""


Event = (
    Planned
    | Pulled
    | Finished
    | HandedOver
    | Overran
    | WorkerLost
    | Returned
    | Beat
    | Committed
    | Delivered
    | CancelRequested
    | MemorySampled
    | Tick
)
