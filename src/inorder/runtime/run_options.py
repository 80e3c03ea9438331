"""The options that `imap` and `run_stage` share: what few programs set."""

from typing import Any, Literal

import msgspec

from inorder.core.options import SCHEDULES
from inorder.engines.error_table import Classify
from inorder.engines.ray.options import RayOptions
from inorder.errors import require

from .limits import Budgets, Windows

FSYNCS = ("always", "batch", "interval", "off")
_BYTES_MAX = 2**62
_WHOLE = (
    ("infrastructure_budget", 0, 2**30),
    ("buffered_bytes_max", 1, _BYTES_MAX),
    ("memory_bytes_max", 1, _BYTES_MAX),
    ("recycle_tasks", 1, _BYTES_MAX),
    ("recycle_resident_bytes", 1, _BYTES_MAX),
)
_OPTIONAL = ("memory_bytes_max", "recycle_tasks", "recycle_resident_bytes")
_SECONDS = ("retry_backoff_s", "lease_s", "cancel_grace_s", "stall_warning_s", "outage_s_max")
SECONDS_MAX = 10**9
_BACKOFF_S_MAX = 86_400


class RunOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How `imap` runs, beyond its parameters. `StageOptions` has the same options and more. Results do not depend on
    any of them.

    >>> RunOptions(recycle_tasks=1000, memory_bytes_max=2 * 2**30).lease_s
    300.0

    Raises:
        OperatorError: A value is out of range. The message names the option.
    """

    schedule: Literal["fifo", "sjf"] = "fifo"
    """Which item starts first: the next one, or the one with the lowest expected cost (`cost` of `imap`, `cost_hint` of
    a `WorkItem`)."""
    retry_backoff_s: float = 0.1
    """Wait before the first retry; doubles with each further one, up to 30 s or this value, whichever is more."""
    classify: Classify | None = None
    """Maps an exception to `(category, retryable)`, or to None if the table of exceptions shall decide. Called in the
    worker."""
    infrastructure_budget: int = 32
    """Lost workers that are tolerated until a window of items is committed; one more stops the run, which can be
    resumed. An item that kills its workers does not count: it fails."""
    outage_s_max: float = 900.0
    """How long the run waits for a server that is down or throttles (`StageError(outage=)`). No item fails for it. Then
    the run stops, and can be resumed."""
    fsync: Literal["always", "batch", "interval", "off"] = "batch"
    """When the journal waits for the disk. With any value a killed process repeats at most one result of `imap`."""
    buffered_bytes_max: int = 256 * 2**20
    """Upper bound on results that wait for their turn, also behind a slow first item. Staged outputs count, and what
    running items are expected to return."""
    windows: Windows = Windows()
    """How far a run goes ahead of a slow item."""
    budgets: Budgets = Budgets()
    """When a run slows down or pauses, by bytes, lag and memory."""
    memory_bytes_max: int | None = None
    """Address space of a worker process. An item that needs more fails with a MemoryError. None: no limit."""
    recycle_tasks: int | None = None
    """Replace a worker process after this many items: for libraries that leak; None: never."""
    recycle_resident_bytes: int | None = None
    """Replace a worker process between two items when its resident memory is above this; None: never. Linux only."""
    lease_s: float = 300.0
    """A worker process that gives no heartbeat for this long is replaced, and its item is run again. A process that was
    stopped gives none, nor does one whose item keeps the interpreter lock in a C library. Items with a time limit are
    left to it."""
    cancel_grace_s: float = 5.0
    """How long running items may continue when a run is cancelled or closed early. Then processes are killed, and items
    that still run in threads are named in a warning. `imap` kills processes at once."""
    stall_warning_s: float = 0.0
    """Warn after waiting this long for a result, by name of the item; 0: never."""
    ray: RayOptions = RayOptions()
    """Which Ray cluster, and what one worker needs there."""

    def __post_init__(self) -> None:
        for name, words in (("schedule", SCHEDULES), ("fsync", FSYNCS)):
            require_word(name, getattr(self, name), words)
        for name, low, high in _WHOLE:
            require_whole(name, getattr(self, name), low, high, is_optional=name in _OPTIONAL)
        for name in _SECONDS:
            require_seconds(name, getattr(self, name), _BACKOFF_S_MAX if name == "retry_backoff_s" else SECONDS_MAX)
        require(self.lease_s > 0, "lease_s must be greater than 0")
        require(self.classify is None or callable(self.classify), f"classify must be callable, got {self.classify!r}")
        for name, kind in (("ray", RayOptions), ("windows", Windows), ("budgets", Budgets)):
            found = type(getattr(self, name))
            require(found is kind, f"{name} must be a {kind.__name__}, got {found.__name__}")
        self.budgets.check(self.buffered_bytes_max)


def require_word(name: str, value: Any, words: tuple[str, ...]) -> None:
    """Raise OperatorError unless an option has one of these values."""
    require(value in words, f"{name} must be one of {', '.join(words)}, got {value!r}")


def require_flag(name: str, value: Any) -> None:
    """Raise OperatorError unless an option is True or False."""
    require(type(value) is bool, f"{name} must be True or False, got {value!r}")


def require_whole(name: str, value: Any, low: int, high: int, *, is_optional: bool = False) -> None:
    """Raise OperatorError unless an option is an integer in this range, or None if it is optional."""
    if value is not None or not is_optional:
        require(type(value) is int, f"{name} must be an integer, got {value!r}")
        require(low <= value <= high, f"{name} must be between {low} and {high}, got {value}")


def require_seconds(name: str, value: Any, high: float = SECONDS_MAX) -> None:
    """Raise OperatorError unless an option is a number of seconds up to `high`."""
    require(type(value) in (int, float), f"{name} must be a number of seconds, got {value!r}")
    require(0 <= value <= high, f"{name} must be between 0 and {high}, got {value}")
