"""Every limit of the kernel, with its reason.

Options are frozen value objects and validated when they are created. Durations are whole milliseconds and sizes whole
bytes, so that no decision depends on floating-point rounding.
"""

import math

import msgspec

from inorder.errors import require


def _require_between(name: str, value: int, low: int, high: int) -> None:
    require(type(value) is int, f"option {name} must be a whole number, got {value!r}")
    require(low <= value <= high, f"option {name} must be between {low} and {high}, got {value}")


ENTRIES_PER_WORKER = 64
"""Window size per worker: an item may take 64 times as long as the others before workers become idle."""
ENTRIES_MAX = 65_536
PLAN_AHEAD_PER_WORKER = 8
"""Items read ahead from the plan per worker: a worker gets its fair share of the ready items and no more."""


def entries_for(workers: int) -> int:
    """Return the window size that keeps this many workers busy behind a straggler."""
    return max(1024, min(ENTRIES_MAX, ENTRIES_PER_WORKER * workers))


class WindowOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How the plan is cut into windows. The caps are hard; `entries` is the initial size that adaptive sizing
    changes."""

    entries: int = 1024
    """Items in a window before any adaptation: enough to hide a straggler, few enough to reorder cheaply."""
    entries_min: int = 64
    """Lower limit of adaptive sizing: smaller windows leave workers idle at every boundary."""
    entries_max: int = 8192
    """Upper limit of adaptive sizing: two windows bound what a crash recomputes."""
    span_max: int = 65_536
    """Seqs of one window: bounds the memory of attempt numbers and owners."""
    cost_max: float = math.inf
    """Predicted cost of a window: keeps one window from holding hours of work."""
    bytes_max: int = 2**40
    """Predicted bytes of a window: keeps one window from holding more results than memory."""
    adaptive: bool = False
    """Resize windows at boundaries from recorded snapshots."""
    lag_entries: int = 1024
    """Commit lag above which adaptive sizing makes windows smaller if no worker is idle. It does not depend on their
    present size: the second window is computed while the first commits, so the lag is always a good part of it."""
    plan_ahead: int = 1024
    """Items read from the plan before workers need them: a schedule orders only the items it can see."""
    plan_by_demand: bool = False
    """Read no more than twice what the workers can take at once: for plans whose items are large or slow to produce."""

    def __post_init__(self) -> None:
        _require_between("windows.entries_min", self.entries_min, 1, 2**20)
        _require_between("windows.entries_max", self.entries_max, self.entries_min, 2**20)
        _require_between("windows.entries", self.entries, self.entries_min, self.entries_max)
        _require_between("windows.span_max", self.span_max, 1, 2**24)
        _require_between("windows.bytes_max", self.bytes_max, 1, 2**62)
        _require_between("windows.lag_entries", self.lag_entries, 1, 2**24)
        _require_between("windows.plan_ahead", self.plan_ahead, 1, 2**20)
        require(self.cost_max > 0, f"option windows.cost_max must be above 0, got {self.cost_max}")


class PressureOptions(msgspec.Struct, frozen=True, kw_only=True):
    """When dispatch slows (soft) and pauses (hard), and how far the signals must fall before it resumes."""

    buffered_bytes_soft: int = 192 * 2**20
    """Bytes of results that are computed or reserved and not committed, of all windows: above this dispatch slows."""
    buffered_bytes_hard: int = 256 * 2**20
    """The byte budget: no item that might exceed it is dispatched, except the one that the cursor waits for."""
    window_bytes_soft: int = 128 * 2**20
    """The same for one window."""
    window_bytes_hard: int = 224 * 2**20
    """The hard mark of one window, below the global one, so that one window cannot use the whole budget."""
    prefetch_bytes_max: int = 128 * 2**20
    """Above this, or above the soft mark of a window, the second window is not served: prefetch stops first, and the
    rest of the budget is left to the first window."""
    commit_lag_soft: int = 2**20
    """Seqs between the cursor and the highest computed one. Two windows of the default size never reach it."""
    commit_lag_hard: int = 2**21
    """Above this the commit lane is so far behind that computing more would only use memory."""
    resident_bytes_soft: int = 2**60
    """Resident memory of the driver and its worker processes, sampled by the runtime. Off by default."""
    resident_bytes_hard: int = 2**61
    """The hard mark of the resident memory. Off by default."""
    release_ratio_percent: int = 80
    """Dispatch resumes when every signal is at or below this share of its mark."""

    def __post_init__(self) -> None:
        for name in ("buffered_bytes", "window_bytes", "commit_lag", "resident_bytes"):
            soft, hard = getattr(self, f"{name}_soft"), getattr(self, f"{name}_hard")
            _require_between(f"pressure.{name}_hard", hard, 1, 2**62)
            _require_between(f"pressure.{name}_soft", soft, 1, hard)
        _require_between("pressure.prefetch_bytes_max", self.prefetch_bytes_max, 1, 2**62)
        _require_between("pressure.release_ratio_percent", self.release_ratio_percent, 1, 99)


class RetryOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How often a failed item is retried, and how long it waits before."""

    retries_max: int = 0
    """Retries per item, for its own retryable failures."""
    window_retries_max: int | None = None
    """Retries per window, granted in seq order. None: no limit but the one per item."""
    backoff_ms: int = 100
    """Wait before the first retry. It doubles with each further retry."""
    backoff_ms_max: int = 30_000
    """Longest wait before a retry."""
    seed: int = 0
    """Seed of the jitter, which is derived from (seed, seq, attempt) and so the same in every run."""

    def __post_init__(self) -> None:
        _require_between("retry.retries_max", self.retries_max, 0, 1000)
        if self.window_retries_max is not None:
            _require_between("retry.window_retries_max", self.window_retries_max, 0, 2**30)
        _require_between("retry.backoff_ms_max", self.backoff_ms_max, 0, 86_400_000)
        _require_between("retry.backoff_ms", self.backoff_ms, 0, self.backoff_ms_max)
        _require_between("retry.seed", self.seed, 0, 2**64 - 1)


SCHEDULES = ("fifo", "sjf")
ON_BUDGET = ("stop", "drain")
DRAIN_MS = 2**41
"""The grace period of a run that lets running items end, however long they take. More than any that can be set."""


class KernelOptions(msgspec.Struct, frozen=True, kw_only=True):
    """All options of the kernel. The defaults suit items that take between a microsecond and a minute."""

    windows: WindowOptions = msgspec.field(default_factory=WindowOptions)
    pressure: PressureOptions = msgspec.field(default_factory=PressureOptions)
    retry: RetryOptions = msgspec.field(default_factory=RetryOptions)
    schedule: str = "fifo"
    """`fifo` dispatches in seq order, `sjf` the cheapest item first, both within the active windows."""
    aged_ms: int = 60_000
    """A window that is open for longer than this is dispatched in seq order, whatever the schedule."""
    batch_max: int = 1024
    """Items per dispatch: bounds what is recomputed after the loss of a worker."""
    commit_run_max: int = 4096
    """Seqs per commit run: bounds a transaction of a sink."""
    lease_ms: int = 30_000
    """A worker that is silent for this long, in watched time, loses its lease."""
    infrastructure_budget: int = 32
    """Lost workers and expired leases tolerated until a window closes. Beyond it the run stops and can be resumed."""
    outage_ms_max: int = 900_000
    """How long a run waits for a server that is down. Then it stops and can be resumed."""
    error_budget: int | None = None
    """Final failures tolerated. None: any number. 0: stop at the first."""
    on_budget: str = "stop"
    """When the error budget is exceeded: `stop` ends running items after `cancel_grace_ms`, `drain` lets them end."""
    announces: bool = False
    """Announce every final result at once, for a consumer that takes results out of order. It is committed in order as
    any other, once it is delivered and its turn has come."""
    expected_bytes: int = -1
    """Expected size of a result before there is one. -1: unknown, so that every worker begins with one item."""
    cancel_grace_ms: int = 5_000
    """How long items in flight may continue after a cancel, or after the error budget is exceeded."""

    def __post_init__(self) -> None:
        require(
            not self.windows.adaptive or self.retry.window_retries_max is None,
            "options windows.adaptive and retry.window_retries_max cannot be combined: "
            "which items share a limit on retries would depend on timing",
        )
        require(
            self.schedule in SCHEDULES,
            f"option schedule must be one of {', '.join(SCHEDULES)}, got {self.schedule!r}",
        )
        require(
            self.on_budget in ON_BUDGET,
            f"option on_budget must be one of {', '.join(ON_BUDGET)}, got {self.on_budget!r}",
        )
        _require_between("aged_ms", self.aged_ms, 0, 2**40)
        _require_between("batch_max", self.batch_max, 1, 2**16)
        _require_between("commit_run_max", self.commit_run_max, 1, 2**20)
        _require_between("lease_ms", self.lease_ms, 4, 2**40)
        _require_between("infrastructure_budget", self.infrastructure_budget, 0, 2**30)
        _require_between("expected_bytes", self.expected_bytes, -1, 2**40)
        _require_between("outage_ms_max", self.outage_ms_max, 0, 2**40)
        _require_between("cancel_grace_ms", self.cancel_grace_ms, 0, 2**40)
        if self.error_budget is not None:
            _require_between("error_budget", self.error_budget, 0, 2**62)
