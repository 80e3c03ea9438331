"""Every limit of a lane, with its reason.

A configuration is a frozen value that is validated when it is created. An option that has no effect with the others is
an error rather than ignored, because the caller expected an effect.
"""

import math

import msgspec

from inorder.errors import require

STRATEGIES = ("block", "drop", "redirect", "reject")
WHEN_LIMITED = ("wait", "reject")


class LaneConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of a lane: what it admits, how much runs at once, and what happens to the rest.

    Raises `OperatorError` for a value out of range, and for an option that has no effect with the others.

    >>> from inorder.lanes import LaneConfig
    >>> config = LaneConfig(name="api", max_concurrency=8, rate_per_s=50.0, burst=10)
    >>> LaneConfig(name="api", burst=10)
    Traceback (most recent call last):
    inorder.errors.OperatorError: option burst has no effect without rate_per_s
    """

    name: str
    """Shown in statistics and thread names; other lanes redirect to this name."""
    max_concurrency: int = 4
    """Tasks that may run at the same time."""
    min_concurrency: int | None = None
    """Lower bound of dynamic scaling; None: the concurrency is fixed at the maximum."""
    capacity: int = 1024
    """Accepted tasks that may be queued beyond those that run. Bounds memory, and how late a task can start."""
    waiting_max: int = 65_536
    """Submissions that may wait for a slot or a token. One more is rejected, because each holds memory."""
    strategy: str = "block"
    """When full: `block` waits for a slot, `drop` and `reject` refuse, `redirect` tries another lane."""
    redirect_to: str | None = None
    """The lane that gets the overflow; only for the strategy `redirect`."""
    rate_per_s: float | None = None
    """Admissions per second in the long run; None: no limit."""
    burst: int = 1
    """Admissions at once after a pause: tokens that may accumulate."""
    when_limited: str = "wait"
    """Without a token: `wait` for the next one, or `reject`."""
    scale_up_after_s: float = 0.01
    """Double the concurrency after there were more tasks than may run for this long. A full lane grows at once."""
    scale_down_after_s: float = 10.0
    """Remove one worker after it was idle for this long. Much longer than scaling up, so that it cannot oscillate."""

    def __post_init__(self) -> None:
        require(isinstance(self.name, str) and self.name != "", f"option name must not be empty, got {self.name!r}")
        _require_int("max_concurrency", self.max_concurrency, 1, 10_000)
        if self.min_concurrency is not None:
            _require_int("min_concurrency", self.min_concurrency, 1, self.max_concurrency)
        _require_int("capacity", self.capacity, 0, 2**30)
        _require_int("waiting_max", self.waiting_max, 0, 2**30)
        _require_one_of("strategy", self.strategy, STRATEGIES)
        _require_one_of("when_limited", self.when_limited, WHEN_LIMITED)
        _require_number("scale_up_after_s", self.scale_up_after_s, 0.0, 86_400.0)
        _require_number("scale_down_after_s", self.scale_down_after_s, 0.0, 86_400.0)
        self._check_redirect()
        self._check_rate()

    @property
    def is_dynamic(self) -> bool:
        """Whether the concurrency changes between two bounds."""
        return self.min_concurrency is not None and self.min_concurrency < self.max_concurrency

    def _check_redirect(self) -> None:
        if self.strategy == "redirect":
            require(bool(self.redirect_to), "option redirect_to must name a lane with the strategy 'redirect'")
            require(self.redirect_to != self.name, f"option redirect_to: lane {self.name!r} cannot redirect to itself")
        else:
            require(self.redirect_to is None, f"option redirect_to has no effect with the strategy {self.strategy!r}")

    def _check_rate(self) -> None:
        _require_int("burst", self.burst, 1, 2**30)
        if self.rate_per_s is not None:
            _require_number("rate_per_s", self.rate_per_s, 1e-6, 1e9)
        else:
            require(self.burst == 1, "option burst has no effect without rate_per_s")
            require(self.when_limited == "wait", "option when_limited has no effect without rate_per_s")


def change_config(
    config: LaneConfig,
    max_concurrency: int | None,
    min_concurrency: int | None,
    rate_per_s: float | None,
    burst: int | None,
) -> LaneConfig:
    """Return a copy with other bounds and another rate. None: as before. A rate of infinity: no limit.

    Raises `OperatorError` as `LaneConfig` does."""
    changes: dict[str, object] = {
        "max_concurrency": max_concurrency,
        "min_concurrency": min_concurrency,
        "rate_per_s": rate_per_s,
        "burst": burst,
    }
    changes = {name: value for name, value in changes.items() if value is not None}
    if rate_per_s == math.inf:
        changes = {"burst": 1, "when_limited": "wait"} | changes | {"rate_per_s": None}
    return msgspec.structs.replace(config, **changes)


def _require_number(name: str, value: object, low: float, high: float) -> None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    within = isinstance(value, int | float) and low <= value <= high
    require(is_number and within, f"option {name} must be between {low} and {high}, got {value!r}")


def _require_int(name: str, value: object, low: int, high: int) -> None:
    require(isinstance(value, int), f"option {name} must be an integer, got {value!r}")
    _require_number(name, value, low, high)


def _require_one_of(name: str, value: object, allowed: tuple[str, ...]) -> None:
    require(value in allowed, f"option {name} must be one of {', '.join(allowed)}, got {value!r}")
