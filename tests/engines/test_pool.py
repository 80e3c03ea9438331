"""What the engine around the workers owes the kernel, whatever its workers are."""

from time import monotonic

import pytest

from inorder.core.events import Beat, Envelope, Event, Finished, Pulled, Returned
from inorder.core.transitions import State
from inorder.engines.base import Batch, Task
from inorder.engines.pool import Outbox, PoolEngine, RunningItem
from tests.support.gates import GUARD_S


class Nimble:
    """A worker that ends its slow item, and pulls, in the very moment in which the rest of its batch is taken back."""

    def __init__(self, number: int, outbox: Outbox) -> None:
        self.number = number
        self._outbox = outbox
        self._running: RunningItem | None = None

    def prepare(self, batch: Batch) -> None:
        """It is."""

    def execute(self, batch: Batch) -> None:
        self._running = RunningItem(batch.tasks[0].seq, batch.tasks[0].attempt, 0.0)

    def running_item(self) -> RunningItem | None:
        return self._running

    def flush(self) -> None:
        """Nothing yet."""

    def return_unstarted(self, *, half: bool = False) -> None:
        if self._running is None:
            return
        self._running = None
        self._outbox.put(Returned(self.number, [1, 2]))
        self._outbox.put(Finished(self.number, [Envelope(0, 1, int(State.TERMINAL_SUCCESS), None, 0, None, 1.0)]))
        self._outbox.put(Pulled(self.number, 1))

    def is_alive(self) -> bool:
        return True

    def stop(self) -> None:
        """It holds nothing."""


def poll_for(engine: PoolEngine, count: int) -> list[Event]:
    """The first so many events."""
    events: list[Event] = []
    end_s = monotonic() + GUARD_S
    while len(events) < count:
        assert monotonic() < end_s, f"only {events} came"
        events += [event for event in engine.poll(0.1) if not isinstance(event, Beat)]
    return events


@pytest.mark.req("CMP-5")
def test_what_is_taken_from_a_worker_is_told_before_the_worker_pulls_again() -> None:
    engine = PoolEngine(Nimble, 2, timeout_s=None, name="nimble")
    try:
        engine.start()
        poll_for(engine, 2)
        engine.dispatch(Batch(0, [Task(seq, 1, None) for seq in range(3)], isolated=False))
        assert [type(event) for event in poll_for(engine, 3)] == [Returned, Finished, Pulled]
    finally:
        engine.close()
