"""The limits of a run in the words of its user, and the options of the kernel that follow from them."""

import math
from typing import Any

import msgspec

from inorder.core.options import ENTRIES_MAX, PressureOptions, RetryOptions, WindowOptions
from inorder.errors import require

_BYTES_MAX = 2**62
_ENTRIES_MIN = WindowOptions().entries_min
_ENTRIES_GROWN = WindowOptions().entries_max
_OFF = _BYTES_MAX
"""A mark that nothing exceeds."""
_BACKOFF_MS_MAX = RetryOptions().backoff_ms_max
_BACKOFF_S_MAX = 86_400
_AGED_S_MAX = 10**9
_PAIRS = ("window_bytes", "commit_lag", "resident_bytes")


def _require_whole(part: str, name: str, value: Any, low: int, high: int) -> None:
    require(type(value) is int, f"{part}.{name} must be an integer, got {value!r}")
    require(low <= value <= high, f"{part}.{name} must be between {low} and {high}, got {value}")


class Windows(msgspec.Struct, frozen=True, kw_only=True):
    """How the items of a run are cut into windows. Two windows are open at a time: the first commits, the second
    computes ahead. They bound how far a run goes ahead of a slow item, and what a crash repeats. Results do not depend
    on them, except that `retries_max` may let an item fail.

    >>> Windows(entries=256, bytes_max=64 * 2**20).entries
    256

    Raises:
        OperatorError: A value is out of range, or two of them exclude each other. The message names the option.
    """

    entries: int | None = None
    """Items per window; the first size, if `adaptive`. None: 1024 for a stage, 16384 for one with groups, 8192
    for `imap`; on a cluster, at least 64 per worker."""
    adaptive: bool = False
    """Choose the size of each window from the run so far: more items after idle workers; half as many after too many
    bytes, retries or commit lag."""
    entries_min: int | None = None
    """Fewest items per window, for `adaptive`. None: 64, or `entries` or `entries_max` if that is less."""
    entries_max: int | None = None
    """Most items per window, for `adaptive`. None: 8192, or `entries` or `entries_min` if that is more."""
    cost_max: float | None = None
    """Most predicted cost per window: the sum of `cost_hint` or `cost(item)`. An item above it has its own window.
    None: no limit."""
    bytes_max: int | None = None
    """Most predicted bytes per window: the sum of `size_hint` or `size(item)`; for an item of a stage without a hint,
    the size of its inputs. An item above it has its own window. None: no limit."""
    retries_max: int | None = None
    """Most retries per window, granted in the order of items; further failures are final. None: no limit but the one
    per item. Not together with `adaptive`."""
    aged_s: float = 60.0
    """In a window that has been open for longer, the first waiting item starts first, whatever `schedule` and
    `batch_key` say: none waits forever."""

    def __post_init__(self) -> None:
        for name, low, high in (
            ("entries", 1, ENTRIES_MAX),
            ("entries_min", 1, ENTRIES_MAX),
            ("entries_max", 1, ENTRIES_MAX),
            ("bytes_max", 1, _BYTES_MAX),
            ("retries_max", 0, 2**30),
        ):
            value = getattr(self, name)
            if value is not None:
                _require_whole("windows", name, value, low, high)
        adaptive: Any = self.adaptive
        require(type(adaptive) is bool, f"windows.adaptive must be True or False, got {adaptive!r}")
        cost: Any = self.cost_max
        is_cost = type(cost) in (int, float) and 0 < cost < math.inf
        require(cost is None or is_cost, f"windows.cost_max must be a number greater than 0, got {cost!r}")
        aged: Any = self.aged_s
        is_age = type(aged) in (int, float) and 0 <= aged <= _AGED_S_MAX
        require(is_age, f"windows.aged_s must be between 0 and {_AGED_S_MAX} seconds, got {aged!r}")
        low_name, high_name = "entries_min", "entries_max"
        for small, large in ((low_name, "entries"), ("entries", high_name), (low_name, high_name)):
            least, most = getattr(self, small), getattr(self, large)
            is_ordered = least is None or most is None or least <= most
            require(is_ordered, f"windows.{small} must not be above windows.{large}, got {least} and {most}")
        require(
            not self.adaptive or self.retries_max is None,
            "windows.adaptive and windows.retries_max cannot be combined: which items share a limit on retries would "
            "depend on timing",
        )

    @property
    def aged_ms(self) -> int:
        """The age in the unit of the kernel."""
        return int(self.aged_s * 1000)

    def to_window_options(self, entries: int, plan_ahead: int, *, plan_by_demand: bool = False) -> WindowOptions:
        """Return the options of the kernel. `entries` is the size of windows if the user gave none."""
        size = self.entries if self.entries is not None else entries
        least = self.entries_min or min(_ENTRIES_MIN, size, self.entries_max or size)
        most = self.entries_max or max(_ENTRIES_GROWN, size, least)
        defaults = WindowOptions()
        return WindowOptions(
            entries=max(least, min(size, most)),
            entries_min=least,
            entries_max=most,
            cost_max=defaults.cost_max if self.cost_max is None else float(self.cost_max),
            bytes_max=defaults.bytes_max if self.bytes_max is None else self.bytes_max,
            adaptive=self.adaptive,
            plan_ahead=plan_ahead,
            plan_by_demand=plan_by_demand,
        )


class Budgets(msgspec.Struct, frozen=True, kw_only=True):
    """When a run slows down (soft) and starts nothing new (hard), besides `buffered_bytes_max`. The item that the next
    commit waits for is always started. Results do not depend on any of these.

    >>> Budgets(resident_bytes_hard=8 * 2**30, commit_lag_hard=5000).resident_bytes_hard
    8589934592

    Raises:
        OperatorError: A value is out of range, or a soft limit is above its hard one. The message names the option.
    """

    buffered_bytes_soft: int | None = None
    """Bytes of results that wait to be committed, above which the run slows down. None: three quarters of
    `buffered_bytes_max`."""
    window_bytes_soft: int | None = None
    """The same for the first window. None: three quarters of `window_bytes_hard`."""
    window_bytes_hard: int | None = None
    """Bytes of the first window above which nothing new is started. None: `buffered_bytes_max`."""
    prefetch_bytes_max: int | None = None
    """Bytes of the second window above which nothing of it is started, so that the rest of the budget is left to the
    first. None: half of `buffered_bytes_max`, or `window_bytes_soft` if that is less."""
    commit_lag_soft: int | None = None
    """Items between the next commit and the furthest computed one, above which the run slows down. None: three quarters
    of `commit_lag_hard`."""
    commit_lag_hard: int | None = None
    """The same, above which nothing new is started. None: no limit but the two windows."""
    resident_bytes_soft: int | None = None
    """Resident memory of this process and its worker processes, above which the run slows down. None: three quarters of
    `resident_bytes_hard`."""
    resident_bytes_hard: int | None = None
    """The same, above which nothing new is started. None: no limit."""
    release_percent: int = 80
    """A run that was slowed down or held continues when everything is at or below this share of its limit."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__[:-1]:
            value = getattr(self, name)
            if value is not None:
                _require_whole("budgets", name, value, 1, _BYTES_MAX)
        _require_whole("budgets", "release_percent", self.release_percent, 1, 99)
        for name in _PAIRS:
            soft, hard = getattr(self, f"{name}_soft"), getattr(self, f"{name}_hard")
            is_ordered = soft is None or hard is None or soft <= hard
            require(is_ordered, f"budgets.{name}_soft must not be above budgets.{name}_hard, got {soft} and {hard}")

    @property
    def has_resident_limit(self) -> bool:
        """Whether the resident memory must be known during the run."""
        return self.resident_bytes_soft is not None or self.resident_bytes_hard is not None

    def check(self, buffered_bytes_max: int) -> None:
        """Raise OperatorError if these budgets do not go with that limit."""
        soft = self.buffered_bytes_soft
        require(
            soft is None or soft <= buffered_bytes_max,
            f"budgets.buffered_bytes_soft must not be above buffered_bytes_max, got {soft} and {buffered_bytes_max}",
        )

    def to_pressure_options(self, buffered_bytes_max: int) -> PressureOptions:
        """Return the options of the kernel."""
        self.check(buffered_bytes_max)
        window_hard = self.window_bytes_hard or max(self.window_bytes_soft or 1, buffered_bytes_max)
        lag_soft, lag_hard = _complete(self.commit_lag_soft, self.commit_lag_hard)
        resident_soft, resident_hard = _complete(self.resident_bytes_soft, self.resident_bytes_hard)
        return PressureOptions(
            buffered_bytes_soft=self.buffered_bytes_soft or _three_quarters(buffered_bytes_max),
            buffered_bytes_hard=buffered_bytes_max,
            window_bytes_soft=self.window_bytes_soft or _three_quarters(window_hard),
            window_bytes_hard=window_hard,
            prefetch_bytes_max=self.prefetch_bytes_max or max(1, buffered_bytes_max // 2),
            commit_lag_soft=lag_soft,
            commit_lag_hard=lag_hard,
            resident_bytes_soft=resident_soft,
            resident_bytes_hard=resident_hard,
            release_ratio_percent=self.release_percent,
        )


def _three_quarters(mark: int) -> int:
    return max(1, mark * 3 // 4)


def _complete(soft: int | None, hard: int | None) -> tuple[int, int]:
    """The soft and the hard mark, of which the user may have given one, both or none."""
    if hard is None:
        return soft or _OFF, _OFF
    return soft or _three_quarters(hard), hard


def make_retry_options(retries: int, backoff_s: float, window_retries_max: int | None) -> RetryOptions:
    """Make the options for retries. The longest wait is the usual one, or the first wait if that is longer."""
    is_valid = type(backoff_s) in (int, float) and 0 <= backoff_s <= _BACKOFF_S_MAX
    require(is_valid, f"retry_backoff_s must be between 0 and {_BACKOFF_S_MAX}, got {backoff_s!r}")
    backoff_ms = int(backoff_s * 1000)
    return RetryOptions(
        retries_max=retries,
        window_retries_max=window_retries_max,
        backoff_ms=backoff_ms,
        backoff_ms_max=max(_BACKOFF_MS_MAX, backoff_ms),
    )
