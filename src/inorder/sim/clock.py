"""A clock that moves when told to, and jumps when told to."""


class VirtualClock:
    """Implements `host.clock.Clock`. `true_ms` is the time of the world; what `now_ms` shows may be off from it."""

    def __init__(self) -> None:
        self.true_ms = 0
        self._offset_ms = 0

    def now_ms(self) -> int:
        """The time as the run sees it."""
        return self.true_ms + self._offset_ms

    def wall_ms(self) -> int:
        """The run's idea of the wall clock: 2000-01-01 plus the time shown."""
        return 946_684_800_000 + self.now_ms()

    def advance_to(self, true_ms: int) -> None:
        """Let time pass up to here."""
        self.true_ms = max(self.true_ms, true_ms)

    def jump(self, by_ms: int) -> None:
        """Show another time from now on, without any having passed."""
        self._offset_ms += by_ms
