"""The one worker that is this thread: work happens in `poll` and nowhere else, a slice at a time."""

from collections.abc import Callable
from time import monotonic
from typing import Any

import pytest

from inorder.core.events import Event, Finished, Pulled
from inorder.engines import inline
from inorder.engines.base import Batch, Task
from inorder.engines.inline import InlineEngine
from tests.support.gates import ManualTime


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> ManualTime:
    time = ManualTime()
    monkeypatch.setattr(inline, "perf_counter", time)
    return time


def engine_with(function: Callable[[Any], Any], *items: Any) -> InlineEngine:
    """An engine whose worker has pulled and been given these items."""
    engine = InlineEngine(function)
    engine.start()
    assert engine.poll(0) == [Pulled(0, 1)]
    engine.dispatch(Batch(0, [Task(seq, 1, item) for seq, item in enumerate(items)], isolated=False))
    return engine


def seqs_in(events: list[Event]) -> list[int]:
    return [envelope.seq for event in events if isinstance(event, Finished) for envelope in event.envelopes]


def test_nothing_runs_until_the_engine_is_polled(time: ManualTime) -> None:
    done: list[str] = []
    engine = engine_with(done.append, "a", "b")
    assert done == []
    engine.poll(0)
    assert done == ["a", "b"]


def test_a_batch_longer_than_a_slice_is_answered_in_pieces_and_pulls_after_the_last(time: ManualTime) -> None:
    engine = engine_with(time.advance, 0.003, 0.003, 0.003)
    first, second = engine.poll(0), engine.poll(0)
    assert (seqs_in(first), seqs_in(second)) == ([0, 1], [2])
    assert not any(isinstance(event, Pulled) for event in first)
    assert isinstance(second[-1], Pulled)


def test_fast_items_make_the_worker_ask_for_more(time: ManualTime) -> None:
    engine = engine_with(str, "a")
    assert engine.poll(0)[-1] == Pulled(0, 2)


def test_an_interrupt_gets_through(time: ManualTime) -> None:
    def interrupt(item: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        engine_with(interrupt, "a").poll(0)


def test_at_least_one_task_runs_however_late_the_clock_is(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = engine_with(str, "a")
    readings = iter(range(1000, 2000))
    monkeypatch.setattr(inline, "perf_counter", lambda: float(next(readings)))
    assert seqs_in(engine.poll(0)) == [0]


def test_with_nothing_to_do_it_waits_as_it_was_told() -> None:
    engine = InlineEngine(str)
    engine.start()
    engine.poll(0)
    began_s = monotonic()
    assert engine.poll(0.02) == []
    assert monotonic() - began_s >= 0.019
