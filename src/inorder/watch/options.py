"""Options of a watch."""

import msgspec

from inorder.errors import require

SETTLE_S, SETTLE_S_MAX, POLL_S, KEEP_RUNS = 0.5, 10.0, 60.0, 100
_SECONDS_MAX = 7 * 24 * 3600.0


class WatchOptions(msgspec.Struct, frozen=True, kw_only=True):
    """When a change is followed by a run."""

    settle_s: float = SETTLE_S
    """A run starts when no source has changed for this time."""
    settle_s_max: float = SETTLE_S_MAX
    """A run starts at the latest this long after the first change."""
    poll_s: float = POLL_S
    """Interval between two listings of a source that sends no events."""
    keep_runs: int = KEEP_RUNS
    """Runs whose telemetry is kept."""

    def __post_init__(self) -> None:
        for name, least in (("settle_s", 0.0), ("settle_s_max", 0.0), ("poll_s", 0.1)):
            value = getattr(self, name)
            flag = f"--{name.replace('_s_max', '_max').removesuffix('_s').replace('_', '-')}"
            require(least <= value <= _SECONDS_MAX, f"{flag} must be between {least:g} and {_SECONDS_MAX:.0f} seconds")
        require(self.settle_s <= self.settle_s_max, "--settle-max must not be less than --settle")
