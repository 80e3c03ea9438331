"""Which idle worker of a lane is woken, and which one leaves."""

import threading

from inorder.lanes import Lane, LaneConfig
from tests.support.gates import GUARD_S, Gate
from tests.support.misbehaviour import wait_until


def test_the_worker_that_became_idle_last_gets_the_next_task() -> None:
    """Its caches are warmest, and the others can leave."""
    lane = Lane(LaneConfig(name="parking", max_concurrency=3))
    gates = [Gate() for _ in range(3)]
    names: list[str] = []

    def work(gate: Gate) -> str:
        gate.hold()
        return threading.current_thread().name

    tickets = [lane.submit(work, gate) for gate in gates]
    for gate in gates:
        gate.await_arrivals()
    for gate, ticket in zip(gates, tickets, strict=True):
        gate.open()
        names.append(ticket.result(GUARD_S))
        _await_parked(lane, len(names))
    last = lane.submit(lambda: threading.current_thread().name).result(GUARD_S)
    lane.close()
    assert last == names[-1]


def _await_parked(lane: Lane, count: int) -> None:
    """Go on once so many workers are idle. A worker parks right after its task, under the lane's lock."""
    assert wait_until(lambda: len(lane._locked._workers._parked) == count), "the workers never became idle"
