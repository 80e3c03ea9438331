"""Clocks, in milliseconds."""

from time import monotonic_ns, time
from typing import Protocol


class Clock(Protocol):
    """A source of time."""

    def now_ms(self) -> int:
        """Return milliseconds since a fixed moment. Should be monotonic; a step back is tolerated."""

    def wall_ms(self) -> int:
        """Return milliseconds since 1970, for messages and records."""


class SystemClock:
    """The monotonic clock of the machine, starting at 0."""

    def __init__(self) -> None:
        self._origin_ms = monotonic_ns() // 1_000_000

    def now_ms(self) -> int:
        """Return milliseconds since this object was created."""
        return monotonic_ns() // 1_000_000 - self._origin_ms

    def wall_ms(self) -> int:
        """Return milliseconds since 1970."""
        return int(time() * 1000)
