"""How the engine reacts to lost actors, without a cluster."""

from typing import Any

import pytest

from inorder.core.events import Beat, Loss, Pulled, WorkerLost
from inorder.core.options import KernelOptions
from inorder.engines.ray.actor_handle import ActorHandle
from inorder.engines.ray.channel import ActorLost
from inorder.engines.ray.engine import SILENT_S, RayEngine
from inorder.engines.ray.protocol import Hello
from inorder.errors import InfrastructureError
from tests.support.misbehaviour import serve


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> RayEngine:
    """An engine of six workers, none of which has started."""
    engine = RayEngine(serve, 6, timeout_s=None)
    monkeypatch.setattr(engine, "_add_missing_actors", lambda: None)
    engine._actors = {ActorHandle(number, None) for number in range(30)}
    return engine


def lose(engine: RayEngine, count: int) -> None:
    for actor in list(engine._actors)[:count]:
        assert engine._on_actor_lost(ActorLost(actor, "its node has died", has_died=True, is_node_alive=False)) == []


def test_a_node_that_is_lost_while_workers_start_there_does_not_end_the_run(engine: RayEngine) -> None:
    lose(engine, 6)


def test_workers_that_never_start_end_the_run(engine: RayEngine) -> None:
    lose(engine, 18)
    with pytest.raises(InfrastructureError, match="no worker can be started on the cluster: its node has died"):
        lose(engine, 1)


class Unreachable:
    """An actor that cannot be called."""

    @property
    def poll(self) -> "Unreachable":
        return self

    def remote(self, *_: Any) -> Any:
        raise OSError("the store is full")


def test_a_poll_that_cannot_be_sent_is_a_lost_worker_and_not_silence(engine: RayEngine) -> None:
    actor = ActorHandle(0, Unreachable())
    engine._channel.poll(actor)
    arrived = engine._outbox.get_nowait()
    assert isinstance(arrived, ActorLost)
    assert (arrived.actor, arrived.has_died) == (actor, False)


def add_actors(engine: RayEngine, nodes: str) -> list[ActorHandle]:
    """Actors with a busy worker, one on each of these nodes; a worker has the number of its actor."""
    actors = []
    for number, node in enumerate(nodes):
        actor = ActorHandle(number, None)
        actor.on_hello(Hello(f"host-{node}", 1, node, sees_files=True), "auto")
        actor.track(Pulled(number))
        actor.held_seqs = {number}
        engine._actor_of_worker[number] = actor
        actors.append(actor)
    engine._actors = set(actors)
    return actors


def losses(events: Any) -> dict[int, Loss]:
    return {event.worker: event.cause for event in events if isinstance(event, WorkerLost)}


@pytest.mark.req("LED-7")
def test_a_silent_node_is_lost_once_and_before_its_leases_run_out(engine: RayEngine) -> None:
    actors = add_actors(engine, "aaab")
    engine._watch_s = SILENT_S + 1
    actors[3].last_report_s = SILENT_S
    events = engine._beat()
    found = losses(events)
    assert sorted(found) == [0, 1, 2]
    assert sorted(found.values()) == [Loss.INFRASTRUCTURE, Loss.RETIRED, Loss.RETIRED]
    assert events[-1] == Beat([3])
    assert engine._actors == {actors[3]}
    assert KernelOptions().lease_ms > SILENT_S * 1000


@pytest.mark.req("LED-7")
def test_a_node_that_is_lost_again_much_later_is_charged_again(engine: RayEngine) -> None:
    for actor in add_actors(engine, "aa"):
        found = losses(engine._on_actor_lost(ActorLost(actor, "gone", has_died=True, is_node_alive=False)))
        assert list(found.values()) == [Loss.INFRASTRUCTURE]
        engine._watch_s += 3600


@pytest.mark.req("LED-7")
def test_an_actor_that_dies_alone_is_suspected_and_one_out_of_reach_is_not(engine: RayEngine) -> None:
    first, second = add_actors(engine, "aa")
    assert losses(engine._on_actor_lost(ActorLost(first, "gone", has_died=True, is_node_alive=True))) == {0: Loss.DIED}
    assert losses(engine._on_actor_lost(ActorLost(second, "gone", has_died=False, is_node_alive=True))) == {
        1: Loss.INFRASTRUCTURE
    }


def test_after_a_suspended_hour_the_driver_takes_no_actor_for_lost(engine: RayEngine) -> None:
    actors = add_actors(engine, "ab")
    engine._polled_s -= 3600
    engine._last_beat_s -= 3600
    events = engine.poll(0)
    assert losses(events) == {}
    assert engine._actors == set(actors)
    assert events == [Beat([0, 1])] or events == [Beat([1, 0])]
