"""The pending events of a simulation, in one heap of (time, order). Waiting for an event makes time pass."""

from collections.abc import Callable
from heapq import heappop, heappush

from inorder.core.events import Event

from .clock import VirtualClock

Action = Callable[[], list[Event]]


class EventQueue:
    """Scheduled actions. Those of the same time run in the order in which they were scheduled."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self._heap: list[tuple[int, int, Action]] = []
        self._order = 0

    def __len__(self) -> int:
        return len(self._heap)

    def schedule(self, delay_ms: int, action: Action) -> None:
        """Run an action later. The events it returns are delivered to the runtime."""
        self._order += 1
        heappush(self._heap, (self._clock.true_ms + delay_ms, self._order, action))

    def poll(self, timeout_s: float | None) -> list[Event]:
        """Let time pass until an action returns events, or until the timeout."""
        until_ms = None if timeout_s is None else self._clock.true_ms + round(timeout_s * 1000)
        while self._heap and (until_ms is None or self._heap[0][0] <= until_ms):
            at_ms, _, action = heappop(self._heap)
            self._clock.advance_to(at_ms)
            events = action()
            if events:
                return events
        if until_ms is not None:
            self._clock.advance_to(until_ms)
        return []

    def clear(self) -> None:
        """Drop all scheduled actions."""
        self._heap.clear()
