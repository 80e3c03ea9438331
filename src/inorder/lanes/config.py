"""Every limit of a lane, with its reason.

A configuration is a frozen value, validated once when it is made: a lane never meets a bad one. An option that nothing
would read is refused rather than ignored, because whoever set it expected something of it.
"""

import msgspec

from inorder.errors import require

STRATEGIES = ("block", "drop", "redirect", "reject")
WHEN_LIMITED = ("wait", "reject")


class LaneConfig(msgspec.Struct, frozen=True, kw_only=True):
    """What a lane admits, how much of it runs at once, and what happens to the rest."""

    name: str
    """Shown in statistics and thread names, and what other lanes redirect to."""
    max_concurrency: int = 4
    """Tasks that run at the same time: never more."""
    min_concurrency: int | None = None
    """The lower bound of dynamic scaling; None: the concurrency is fixed at the maximum."""
    capacity: int = 1024
    """Accepted tasks that may wait beyond those that run: bounds memory, and how late a task can be."""
    waiting_max: int = 65_536
    """Submissions that may wait for a place or a token; one more is rejected, because each holds memory."""
    strategy: str = "block"
    """When full: `block` waits for a place, `drop` and `reject` refuse, `redirect` tries another lane."""
    redirect_to: str | None = None
    """The lane that gets the overflow; for the strategy `redirect` only."""
    rate_per_s: float | None = None
    """Admissions per second in the long run; None: no limit."""
    burst: int = 1
    """Admissions at once after a pause: tokens that may be saved up."""
    when_limited: str = "wait"
    """Without a token: `wait` for the next one, or `reject`."""
    scale_up_after_s: float = 0.05
    """All workers busy and tasks waiting for this long: one worker more. A full lane grows at once."""
    scale_down_after_s: float = 10.0
    """A worker too many for this long: one worker less. Much longer than the way up, so that it cannot flap."""

    def __post_init__(self) -> None:
        require(isinstance(self.name, str) and self.name != "", f"option name must be a name, got {self.name!r}")
        _whole("max_concurrency", self.max_concurrency, 1, 10_000)
        if self.min_concurrency is not None:
            _whole("min_concurrency", self.min_concurrency, 1, self.max_concurrency)
        _whole("capacity", self.capacity, 0, 2**30)
        _whole("waiting_max", self.waiting_max, 0, 2**30)
        _one_of("strategy", self.strategy, STRATEGIES)
        _one_of("when_limited", self.when_limited, WHEN_LIMITED)
        _number("scale_up_after_s", self.scale_up_after_s, 0.0, 86_400.0)
        _number("scale_down_after_s", self.scale_down_after_s, 0.0, 86_400.0)
        self._check_redirect()
        self._check_rate()

    @property
    def dynamic(self) -> bool:
        """Whether the concurrency moves between two bounds."""
        return self.min_concurrency is not None and self.min_concurrency < self.max_concurrency

    def _check_redirect(self) -> None:
        if self.strategy == "redirect":
            require(bool(self.redirect_to), "option redirect_to must name a lane with the strategy 'redirect'")
            require(self.redirect_to != self.name, f"option redirect_to: lane {self.name!r} cannot redirect to itself")
        else:
            require(self.redirect_to is None, f"option redirect_to is not read with the strategy {self.strategy!r}")

    def _check_rate(self) -> None:
        _whole("burst", self.burst, 1, 2**30)
        if self.rate_per_s is not None:
            _number("rate_per_s", self.rate_per_s, 1e-6, 1e9)
        else:
            require(self.burst == 1, "option burst is not read without rate_per_s")
            require(self.when_limited == "wait", "option when_limited is not read without rate_per_s")


def _number(name: str, value: object, low: float, high: float) -> None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    within = isinstance(value, int | float) and low <= value <= high
    require(is_number and within, f"option {name} must be between {low} and {high}, got {value!r}")


def _whole(name: str, value: object, low: int, high: int) -> None:
    require(isinstance(value, int), f"option {name} must be a whole number, got {value!r}")
    _number(name, value, low, high)


def _one_of(name: str, value: object, allowed: tuple[str, ...]) -> None:
    require(value in allowed, f"option {name} must be one of {', '.join(allowed)}, got {value!r}")
