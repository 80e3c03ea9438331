"""Items that are answered without a worker, before an engine that runs the others."""

import pytest

from inorder.core.events import Envelope, Event, Finished, Loss, Pulled, Returned, WorkerLost
from inorder.core.transitions import State
from inorder.engines.answering import AnsweringEngine
from inorder.engines.base import Batch, Task

pytestmark = pytest.mark.req("STL-1")


class Workers:
    """Records what it is given, and reports the events that a test adds."""

    def __init__(self) -> None:
        self.given: list[Batch] = []
        self.events: list[Event] = []
        self.waits: list[float | None] = []

    def start(self) -> None:
        self.events.append(Pulled(0, 2))

    def dispatch(self, batch: Batch) -> None:
        self.given.append(batch)

    def stop_worker(self, worker: int, reason: str) -> None:
        self.events.append(WorkerLost(worker, Loss.RETIRED))

    def poll(self, timeout_s: float | None) -> list[Event]:
        self.waits.append(timeout_s)
        found, self.events = self.events, []
        return found

    def wake(self) -> None: ...

    def drain(self) -> None: ...

    def close(self, grace_s: float = 0.0) -> list[Task]:
        return []


def answer_even(task: Task) -> Envelope | None:
    """The result of an even number."""
    return Envelope(task.seq, task.attempt, State.TERMINAL_SKIP) if task.item % 2 == 0 else None


@pytest.fixture
def workers() -> Workers:
    return Workers()


@pytest.fixture
def engine(workers: Workers) -> AnsweringEngine:
    engine = AnsweringEngine(workers, answer_even)
    engine.start()
    assert engine.poll(None) == [Pulled(0, 2)]
    return engine


def give(engine: AnsweringEngine, *items: int) -> None:
    engine.dispatch(Batch(0, [Task(item, 1, item) for item in items], isolated=False))


def list_finished(events: list[Event]) -> list[int]:
    return [envelope.seq for event in events if isinstance(event, Finished) for envelope in event.envelopes]


def test_the_worker_gets_what_is_not_answered_and_pulls_when_it_is_done(
    engine: AnsweringEngine, workers: Workers
) -> None:
    give(engine, 0, 1, 2, 3)
    assert [task.seq for batch in workers.given for task in batch.tasks] == [1, 3]
    events = engine.poll(5.0)
    assert list_finished(events) == [0, 2]
    assert len(events) == 1
    assert workers.waits[-1] == 0.0


def test_a_batch_that_is_answered_as_a_whole_reaches_no_worker_and_the_next_one_may_be_longer(
    engine: AnsweringEngine, workers: Workers
) -> None:
    limits = []
    for first in range(0, 40, 4):
        give(engine, first, first + 2)
        events = engine.poll(None)
        assert list_finished(events) == [first, first + 2]
        limits += [event.limit for event in events if isinstance(event, Pulled)]
    assert limits[:2] == [8, 32]
    assert max(limits) == limits[-1] == 256
    assert workers.given == []


def test_the_limit_of_the_worker_holds_again_after_its_own_pull(engine: AnsweringEngine, workers: Workers) -> None:
    give(engine, 0)
    engine.poll(None)
    workers.events.append(Pulled(0, 1))
    assert engine.poll(None) == [Pulled(0, 1)]
    give(engine, 2)
    assert engine.poll(None)[-1] == Pulled(0, 4)


def test_a_worker_gets_no_more_than_it_asked_for_itself(engine: AnsweringEngine, workers: Workers) -> None:
    give(engine, 0, 2)
    assert engine.poll(None)[-1] == Pulled(0, 8)
    give(engine, 4, 5, 7, 9, 10)
    assert [task.seq for batch in workers.given for task in batch.tasks] == [5, 7]
    events = engine.poll(None)
    assert list_finished(events) == [4]
    assert events[-1] == Returned(0, [9, 10])


def test_nothing_is_answered_in_the_name_of_a_worker_that_is_lost(engine: AnsweringEngine, workers: Workers) -> None:
    workers.events.append(WorkerLost(0, Loss.DIED))
    engine.poll(None)
    give(engine, 0)
    assert list_finished(engine.poll(None)) == []
    assert len(workers.given) == 1
