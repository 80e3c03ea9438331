"""The pool engine, whatever its workers are."""

from time import monotonic

import pytest

from inorder.core.events import Beat, Envelope, Event, Finished, Pulled, Returned
from inorder.core.transitions import State
from inorder.engines.base import Batch, Task
from inorder.engines.pool import Outbox, PoolEngine, RunningItem
from inorder.engines.progress import ItemProgress
from tests.support.gates import GUARD_S


class Nimble:
    """A worker that finishes its slow item, and pulls, at the moment when the rest of its batch is returned."""

    def __init__(self, number: int, outbox: Outbox) -> None:
        self.number = number
        self._outbox = outbox
        self._running: RunningItem | None = None

    def prepare(self, batch: Batch) -> None:
        """Do nothing."""

    def execute(self, batch: Batch) -> None:
        self._running = RunningItem(batch.tasks[0].seq, batch.tasks[0].attempt, 0.0)

    def running_item(self) -> RunningItem | None:
        return self._running

    def read_progress(self, running: RunningItem) -> ItemProgress | None:
        return None

    def find_last_beat(self) -> int | None:
        return None

    def flush(self) -> None:
        """Do nothing."""

    def return_unstarted(self, *, half: bool = False) -> None:
        if self._running is None:
            return
        self._running = None
        self._outbox.put(Returned(self.number, [1, 2]))
        self._outbox.put(Finished(self.number, [Envelope(0, 1, int(State.TERMINAL_SUCCESS), None, 0, None, 1.0)]))
        self._outbox.put(Pulled(self.number, 1))

    def is_alive(self) -> bool:
        return True

    def begin_stop(self) -> None:
        """Do nothing."""

    def stop(self) -> None:
        """Do nothing."""


def poll_for(engine: PoolEngine, count: int) -> list[Event]:
    """The first `count` events."""
    events: list[Event] = []
    end_s = monotonic() + GUARD_S
    while len(events) < count:
        assert monotonic() < end_s, f"only {events} came"
        events += [event for event in engine.poll(0.1) if not isinstance(event, Beat)]
    return events


@pytest.mark.req("CMP-5")
def test_returned_items_are_reported_before_their_worker_pulls_again() -> None:
    engine = PoolEngine(Nimble, 2, timeout_s=None, name="nimble")
    try:
        engine.start()
        poll_for(engine, 2)
        engine.dispatch(Batch(0, [Task(seq, 1, None) for seq in range(3)], isolated=False))
        assert [type(event) for event in poll_for(engine, 3)] == [Returned, Finished, Pulled]
    finally:
        engine.close()
