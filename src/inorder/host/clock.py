"""Time, as a number of milliseconds that only the runtime asks for."""

import time
from typing import Protocol


class Clock(Protocol):
    """A source of time."""

    def now_ms(self) -> int:
        """Milliseconds since some moment; should never go back, and nothing breaks if it does."""
        ...

    def wall_ms(self) -> int:
        """Milliseconds since 1970, for people."""
        ...


class SystemClock:
    """The machine's monotonic clock, from the moment this object was made."""

    def __init__(self) -> None:
        self._origin_s = time.monotonic()

    def now_ms(self) -> int:
        """Milliseconds since this clock was made."""
        return int((time.monotonic() - self._origin_s) * 1000)

    def wall_ms(self) -> int:
        """Milliseconds since 1970."""
        return int(time.time() * 1000)
