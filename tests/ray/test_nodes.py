"""Nodes that are lost, that join, that leave; actors that are killed or stopped by somebody else."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest
import ray

from inorder.engines.ray.engine import RayEngine
from tests.ray.jobs import Visit, run_on, seen_in, those_at_work, visit
from tests.ray.machines import Machine, Machines, foremen_of
from tests.ray.meanwhile import Meanwhile
from tests.support.misbehaviour import Endings, wait_until


def engine_on(machines: Machines, workers: int | None, **options: Any) -> RayEngine:
    return RayEngine(visit, workers, timeout_s=None, options=machines.options(**options))


def visits(folder: Path, count: int, waiting: int) -> list[Visit]:
    """So many items, the first of which stay until they are let go."""
    return [Visit(str(folder), number, "go" if number < waiting else "") for number in range(count)]


def let_go(folder: Path) -> None:
    (folder / "go").touch()


@pytest.mark.req("LED-7", "CMP-1")
@pytest.mark.parametrize("how", ["at once", "gracefully", "preempted"])
def test_a_lost_node_costs_the_budget_one_however_many_workers_it_had(
    machines: Machines, tmp_path: Path, how: str
) -> None:
    node = machines.add(3)

    def lose() -> None:
        lost = those_at_work(tmp_path, 3, lambda seen: seen.node == node.raylet)
        endings = Endings(seen.pid for seen in lost)
        if how == "preempted":
            machines.preempt(node)
        else:
            machines.lose(node, gracefully=how == "gracefully")
        numbers = {seen.number for seen in lost}
        assert endings.come(), "a worker outlived its node"
        let_go(tmp_path)
        those_at_work(tmp_path, 3, lambda seen: seen.node != node.raylet and seen.number in numbers)

    with Meanwhile(lose):
        run = run_on(engine_on(machines, 7), visits(tmp_path, 30, 7), infrastructure_budget=1)
    assert run.summary.stop_kind is None, run.summary.cancel_reason
    assert [number for number, _ in run.results] == list(range(30))
    assert node.raylet not in {node for _, node in run.results}
    assert run.counters.suspects == run.counters.poison_items == 0


@pytest.mark.req("LED-7")
def test_two_nodes_lost_one_after_the_other_cost_two(machines: Machines, tmp_path: Path) -> None:
    nodes = [machines.add(1), machines.add(1)]

    def lose() -> None:
        for node in nodes:
            those_at_work(tmp_path, 1, lambda seen, node=node: seen.node == node.raylet)  # type: ignore[misc]
        for node in nodes:
            machines.lose(node)

    with Meanwhile(lose):
        run = run_on(engine_on(machines, 6), visits(tmp_path, 20, 6), infrastructure_budget=1, cancel_grace_ms=1)
    assert run.summary.stop_kind == "infrastructure"
    assert "infrastructure budget of 1 used up" in (run.summary.cancel_reason or "")


@pytest.mark.req("RTY-3", "LED-7")
def test_an_actor_killed_by_somebody_else_is_replaced(machines: Machines, tmp_path: Path) -> None:
    def kill() -> None:
        seen = those_at_work(tmp_path, 2)[0]
        endings = Endings([seen.foreman, seen.pid])
        os.kill(seen.foreman, signal.SIGKILL)
        assert endings.come(), "the worker outlived its foreman"
        those_at_work(tmp_path, 3)
        let_go(tmp_path)

    with Meanwhile(kill):
        run = run_on(engine_on(machines, 2), visits(tmp_path, 20, 2), infrastructure_budget=1)
    assert [number for number, _ in run.results] == list(range(20))
    assert run.counters.poison_items == 0


def test_an_actor_killed_by_way_of_ray_is_replaced(machines: Machines, tmp_path: Path) -> None:
    engine = engine_on(machines, 2)

    def kill() -> None:
        those_at_work(tmp_path, 2)
        ray.kill(next(iter(engine._stations)).actor)
        those_at_work(tmp_path, 3)
        let_go(tmp_path)

    with Meanwhile(kill):
        run = run_on(engine, visits(tmp_path, 20, 2), infrastructure_budget=1)
    assert [number for number, _ in run.results] == list(range(20))


def test_an_idle_actor_that_is_killed_is_replaced(machines: Machines, tmp_path: Path) -> None:
    """One item holds the run; the other worker has nothing to do when it goes, and another takes its place."""

    def kill() -> None:
        busy = those_at_work(tmp_path, 1)[0]
        foremen = foremen_when(machines, 2)
        [idle] = set(foremen) - {busy.foreman}
        os.kill(idle, signal.SIGKILL)
        foremen_when(machines, 2, without=idle)
        let_go(tmp_path)

    with Meanwhile(kill):
        run = run_on(engine_on(machines, 2), visits(tmp_path, 1, 1), infrastructure_budget=1)
    assert [number for number, _ in run.results] == [0]


def foremen_when(machines: Machines, count: int, without: int = 0) -> set[int]:
    """The foremen, once there are so many."""
    found: set[int] = set()

    def are_there() -> bool:
        found.clear()
        found.update(pid for pid in foremen_of(machines.staying) if pid != without)
        return len(found) == count

    assert wait_until(are_there), f"there are {len(found)} foremen, not {count}"
    return found


@pytest.mark.req("LED-7")
def test_a_foreman_that_is_stopped_loses_its_lease_and_its_items_are_done_by_others(
    machines: Machines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Silence is charged, makes nobody a suspect, and ends the silent one."""
    monkeypatch.setattr("inorder.engines.ray.engine.BEAT_S", 0.5)
    monkeypatch.setattr("inorder.engines.ray.channel.BEAT_S", 0.5)
    endings: list[Endings] = []

    def stop() -> None:
        seen = those_at_work(tmp_path, 2)[0]
        endings.append(Endings([seen.foreman, seen.pid]))
        os.kill(seen.foreman, signal.SIGSTOP)
        those_at_work(tmp_path, 1, lambda other: other.number == seen.number and other.foreman != seen.foreman)
        let_go(tmp_path)

    with Meanwhile(stop):
        run = run_on(engine_on(machines, 2), visits(tmp_path, 20, 2), lease_ms=3000, infrastructure_budget=1)
    assert [number for number, _ in run.results] == list(range(20))
    assert (run.counters.expired_leases, run.counters.suspects) == (1, 0)
    assert endings[0].come(), "the one that was stopped is still there"


# ---- as many as there is room for


def test_a_node_that_joins_gets_workers_and_one_that_leaves_takes_them_along(
    machines: Machines, tmp_path: Path
) -> None:
    later: list[Machine] = []

    def join_and_leave() -> None:
        those_at_work(tmp_path, 4)
        later.append(machines.add(2))
        joined = later[0].raylet
        lost = those_at_work(tmp_path, 2, lambda seen: seen.node == joined)
        endings = Endings(seen.pid for seen in lost)
        machines.lose(later[0])
        assert endings.come(), "a worker outlived its node"
        numbers = {seen.number for seen in lost}
        let_go(tmp_path)
        those_at_work(tmp_path, 2, lambda seen: seen.number in numbers and seen.node != joined)

    with Meanwhile(join_and_leave):
        run = run_on(engine_on(machines, None), visits(tmp_path, 40, 40))
    assert [number for number, _ in run.results] == list(range(40))
    assert {node for _, node in run.results} == {node.raylet for node in machines.staying}
    assert run.counters.suspects == 0


def test_more_workers_than_there_is_room_for_work_as_far_as_they_fit(machines: Machines, tmp_path: Path) -> None:
    def look() -> None:
        those_at_work(tmp_path, 4)
        let_go(tmp_path)

    with Meanwhile(look):
        run = run_on(engine_on(machines, 9), visits(tmp_path, 30, 4))
    assert [number for number, _ in run.results] == list(range(30))
    assert len({seen.foreman for seen in seen_in(tmp_path)}) == 4
