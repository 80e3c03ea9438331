"""What the engine makes of what becomes of its actors, without any."""

from typing import Any

import pytest

from inorder.engines.exchange import Lost
from inorder.engines.ray import RayEngine
from inorder.engines.station import Station
from inorder.errors import InfrastructureError
from tests.engines.misbehaviour import serve


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> RayEngine:
    """Of six workers, none of which is up."""
    engine = RayEngine(serve, 6, timeout_s=None)
    monkeypatch.setattr(engine, "_fill", lambda: None)
    engine._stations = {Station(number, None) for number in range(30)}
    return engine


def lose(engine: RayEngine, count: int) -> None:
    for station in list(engine._stations)[:count]:
        assert engine._lost(Lost(station, "its node has died", has_died=True, is_node_alive=False)) == []


def test_a_node_that_is_lost_while_workers_start_there_does_not_end_the_run(engine: RayEngine) -> None:
    lose(engine, 6)


def test_workers_that_never_start_end_the_run(engine: RayEngine) -> None:
    lose(engine, 18)
    with pytest.raises(InfrastructureError, match="no worker can be started on the cluster: its node has died"):
        lose(engine, 1)


class Unreachable:
    """An actor to whom nothing can be sent."""

    @property
    def listen(self) -> "Unreachable":
        return self

    def remote(self, *_: Any) -> Any:
        raise OSError("the store is full")


def test_a_question_that_cannot_be_sent_is_a_lost_worker_and_not_silence(engine: RayEngine) -> None:
    station = Station(0, Unreachable())
    engine._exchange.ask(station)
    arrived = engine._outbox.get_nowait()
    assert isinstance(arrived, Lost)
    assert (arrived.station, arrived.has_died) == (station, False)
