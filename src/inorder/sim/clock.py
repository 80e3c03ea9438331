"""A virtual clock, which moves only when it is set."""


class VirtualClock:
    """A clock for tests; implements `host.clock.Clock`. It starts at 0 ms and stands still.

    `true_ms` is the simulated time. `now_ms` differs from it after a `jump`, as a system clock that was adjusted.

    >>> from inorder.testing import VirtualClock
    >>> clock = VirtualClock()
    >>> clock.advance_to(1500)
    >>> clock.now_ms()
    1500
    """

    def __init__(self) -> None:
        self.true_ms = 0
        self._offset_ms = 0

    def now_ms(self) -> int:
        """Return the time as the program sees it."""
        return self.true_ms + self._offset_ms

    def wall_ms(self) -> int:
        """Return the wall clock as the program sees it: 2000-01-01 plus `now_ms`."""
        return 946_684_800_000 + self.now_ms()

    def advance_to(self, true_ms: int) -> None:
        """Advance to this simulated time. Never goes back."""
        self.true_ms = max(self.true_ms, true_ms)

    def jump(self, by_ms: int) -> None:
        """Shift the time that the program sees, without simulated time passing."""
        self._offset_ms += by_ms
