"""Every limit of the kernel, with its reason.

Options are frozen value objects, validated once when they are made: a kernel never meets a bad one. Durations are
whole milliseconds and sizes whole bytes, so that no decision depends on floating-point rounding.
"""

import math

import msgspec

from inorder.errors import require


def _require_between(name: str, value: int, low: int, high: int) -> None:
    require(type(value) is int, f"option {name} must be a whole number, got {value!r}")
    require(low <= value <= high, f"option {name} must be between {low} and {high}, got {value}")


ENTRIES_PER_WORKER = 64
"""Seqs of a window for each worker: an item may take 64 times as long as others before the workers run dry."""
ENTRIES_MAX = 65_536
PLAN_AHEAD_PER_WORKER = 8
"""Items read from the plan for each worker: each is given its fair share of what waits, and no more."""


def entries_for(workers: int) -> int:
    """The size of a window that keeps this many workers busy behind a straggler."""
    return max(1024, min(ENTRIES_MAX, ENTRIES_PER_WORKER * workers))


class WindowOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How the plan is cut into windows. Caps are hard; `entries` is the starting size that adaptive sizing moves."""

    entries: int = 1024
    """Items in a window before any adaptation: enough to hide a straggler, few enough to reorder cheaply."""
    entries_min: int = 64
    """Adaptive sizing never goes below: smaller windows starve workers at every boundary."""
    entries_max: int = 8192
    """Adaptive sizing never goes above: two windows bound what a crash recomputes."""
    span_max: int = 65_536
    """Seqs from a window's first to its last: bounds the ledger's heavy columns."""
    cost_max: float = math.inf
    """Predicted cost of a window: keeps one window from holding hours of work."""
    bytes_max: int = 2**40
    """Predicted bytes of a window: keeps one window from holding more results than memory."""
    adaptive: bool = False
    """Resize windows at boundaries from recorded snapshots."""
    plan_ahead: int = 1024
    """Items asked from the plan before workers need them: schedules order within what they can see."""
    plan_by_demand: bool = False
    """Ask for no more than twice what the workers want at once: for plans whose items are large or slow to come by."""

    def __post_init__(self) -> None:
        _require_between("windows.entries_min", self.entries_min, 1, 2**20)
        _require_between("windows.entries_max", self.entries_max, self.entries_min, 2**20)
        _require_between("windows.entries", self.entries, self.entries_min, self.entries_max)
        _require_between("windows.span_max", self.span_max, 1, 2**24)
        _require_between("windows.bytes_max", self.bytes_max, 1, 2**62)
        _require_between("windows.plan_ahead", self.plan_ahead, 1, 2**20)
        require(self.cost_max > 0, f"option windows.cost_max must be above 0, got {self.cost_max}")


class PressureOptions(msgspec.Struct, frozen=True, kw_only=True):
    """When dispatch slows (soft) and pauses (hard), and how far things must fall before it goes on."""

    buffered_bytes_soft: int = 192 * 2**20
    """Results computed or promised but not committed, all windows: above this dispatch slows."""
    buffered_bytes_hard: int = 256 * 2**20
    """The budget itself: nothing is dispatched that would go beyond it, but for the item the cursor waits for."""
    window_bytes_soft: int = 128 * 2**20
    """The same for one window; the second window stops being served here, long before the first is touched."""
    window_bytes_hard: int = 224 * 2**20
    """The hard mark of one window, below the global one so that a window never uses the whole budget."""
    commit_lag_soft: int = 2**20
    """Seqs between the cursor and the furthest computed one; two windows of the default size never reach it."""
    commit_lag_hard: int = 2**21
    """Beyond this the commit lane has fallen so far behind that computing more is only memory."""
    memory_bytes_soft: int = 2**60
    """Resident memory of the process, sampled by the runtime; off unless the operator sets it."""
    memory_bytes_hard: int = 2**61
    """The hard mark of the same."""
    release_ratio_percent: int = 80
    """Dispatch resumes when every signal is at or below this share of the mark that tripped."""

    def __post_init__(self) -> None:
        for name in ("buffered_bytes", "window_bytes", "commit_lag", "memory_bytes"):
            soft, hard = getattr(self, f"{name}_soft"), getattr(self, f"{name}_hard")
            _require_between(f"pressure.{name}_hard", hard, 1, 2**62)
            _require_between(f"pressure.{name}_soft", soft, 1, hard)
        _require_between("pressure.release_ratio_percent", self.release_ratio_percent, 1, 99)


class RetryOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How often an item's own failures are tried again, and how long that waits."""

    retries_max: int = 0
    """Further attempts after an item's own retryable failure."""
    window_retries_max: int | None = None
    """Retries of all items of one window together, granted in seq order; None: only the bound per item."""
    backoff_ms: int = 100
    """Wait before the first retry; doubles with each."""
    backoff_ms_max: int = 30_000
    """No wait is longer."""
    seed: int = 0
    """Of the jitter, which is derived from (seed, seq, attempt) and so the same on every run."""

    def __post_init__(self) -> None:
        _require_between("retry.retries_max", self.retries_max, 0, 1000)
        if self.window_retries_max is not None:
            _require_between("retry.window_retries_max", self.window_retries_max, 0, 2**30)
        _require_between("retry.backoff_ms_max", self.backoff_ms_max, 0, 86_400_000)
        _require_between("retry.backoff_ms", self.backoff_ms, 0, self.backoff_ms_max)
        _require_between("retry.seed", self.seed, 0, 2**64 - 1)


SCHEDULES = ("fifo", "sjf")


class KernelOptions(msgspec.Struct, frozen=True, kw_only=True):
    """All of it. The defaults suit items between a microsecond and a minute."""

    windows: WindowOptions = msgspec.field(default_factory=WindowOptions)
    pressure: PressureOptions = msgspec.field(default_factory=PressureOptions)
    retry: RetryOptions = msgspec.field(default_factory=RetryOptions)
    schedule: str = "fifo"
    """`fifo` dispatches in seq order, `sjf` the cheapest first; both inside the active windows only."""
    aged_ms: int = 60_000
    """A window open for longer than this is dispatched oldest first whatever the schedule."""
    batch_max: int = 1024
    """Items in one dispatch: bounds what a lost worker sends back."""
    commit_run_max: int = 4096
    """Seqs in one commit: bounds a transaction."""
    lease_ms: int = 30_000
    """A worker silent for this long, on watched time, has lost its lease."""
    infrastructure_budget: int = 32
    """Lost workers and leases tolerated between two window closings; beyond it the run stops, resumable."""
    error_budget: int | None = None
    """Final failures tolerated; None: any number; 0: stop at the first."""
    cancel_grace_ms: int = 5_000
    """How long work in flight may go on after a cancel."""

    def __post_init__(self) -> None:
        require(
            not self.windows.adaptive or self.retry.window_retries_max is None,
            "options windows.adaptive and retry.window_retries_max cannot be combined: "
            "which items share a bound on retries would depend on timing",
        )
        require(
            self.schedule in SCHEDULES,
            f"option schedule must be one of {', '.join(SCHEDULES)}, got {self.schedule!r}",
        )
        _require_between("aged_ms", self.aged_ms, 0, 2**40)
        _require_between("batch_max", self.batch_max, 1, 2**16)
        _require_between("commit_run_max", self.commit_run_max, 1, 2**20)
        _require_between("lease_ms", self.lease_ms, 4, 2**40)
        _require_between("infrastructure_budget", self.infrastructure_budget, 0, 2**30)
        _require_between("cancel_grace_ms", self.cancel_grace_ms, 0, 2**40)
        if self.error_budget is not None:
            _require_between("error_budget", self.error_budget, 0, 2**62)
