"""What is going to happen: appointments in one heap of (true time, order). Waiting is what makes time pass."""

from collections.abc import Callable
from heapq import heappop, heappush

from inorder.core.events import Event

from .clock import VirtualClock

Appointment = Callable[[], list[Event]]


class Agenda:
    """The appointments of a world. Those of one moment are kept in the order they were made."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self._heap: list[tuple[int, int, Appointment]] = []
        self._order = 0

    def __len__(self) -> int:
        return len(self._heap)

    def at(self, delay_ms: int, appointment: Appointment) -> None:
        """Make an appointment; the events it returns are what the run is told."""
        self._order += 1
        heappush(self._heap, (self._clock.true_ms + delay_ms, self._order, appointment))

    def poll(self, timeout_s: float | None) -> list[Event]:
        """Let time pass until something happens."""
        until_ms = None if timeout_s is None else self._clock.true_ms + round(timeout_s * 1000)
        while self._heap and (until_ms is None or self._heap[0][0] <= until_ms):
            at_ms, _, appointment = heappop(self._heap)
            self._clock.advance_to(at_ms)
            events = appointment()
            if events:
                return events
        if until_ms is not None:
            self._clock.advance_to(until_ms)
        return []

    def clear(self) -> None:
        """Nothing more happens."""
        self._heap.clear()
