"""Nodes that are lost, join or leave; actors that are killed or stopped from outside."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest
import ray

from inorder.engines.ray.engine import RayEngine
from tests.ray.jobs import Visit, run_on, seen_in, visit, wait_for_workers
from tests.ray.machines import Machine, Machines, supervisors_of
from tests.ray.meanwhile import Meanwhile
from tests.support.misbehaviour import Endings, wait_until


def engine_on(machines: Machines, workers: int | None, **options: Any) -> RayEngine:
    return RayEngine(visit, workers, timeout_s=None, options=machines.options(**options))


def visits(folder: Path, count: int, waiting: int) -> list[Visit]:
    """`count` items, the first of which wait until they are released."""
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
        lost = wait_for_workers(tmp_path, 3, lambda seen: seen.node == node.raylet)
        endings = Endings(seen.pid for seen in lost)
        if how == "preempted":
            machines.preempt(node)
        else:
            machines.lose(node, gracefully=how == "gracefully")
        numbers = {seen.number for seen in lost}
        assert endings.come(), "a worker outlived its node"
        let_go(tmp_path)
        wait_for_workers(tmp_path, 3, lambda seen: seen.node != node.raylet and seen.number in numbers)

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
            wait_for_workers(tmp_path, 1, lambda seen, node=node: seen.node == node.raylet)  # type: ignore[misc]
        for node in nodes:
            machines.lose(node)

    with Meanwhile(lose):
        run = run_on(engine_on(machines, 6), visits(tmp_path, 20, 6), infrastructure_budget=1, cancel_grace_ms=1)
    assert run.summary.stop_kind == "infrastructure"
    assert "infrastructure budget of 1 used up" in (run.summary.cancel_reason or "")


@pytest.mark.req("RTY-3", "LED-7")
def test_an_actor_killed_by_a_signal_is_replaced(machines: Machines, tmp_path: Path) -> None:
    def kill() -> None:
        seen = wait_for_workers(tmp_path, 2)[0]
        endings = Endings([seen.supervisor, seen.pid])
        os.kill(seen.supervisor, signal.SIGKILL)
        assert endings.come(), "the worker outlived its supervisor"
        wait_for_workers(tmp_path, 3)
        let_go(tmp_path)

    with Meanwhile(kill):
        run = run_on(engine_on(machines, 2), visits(tmp_path, 20, 2), infrastructure_budget=1)
    assert [number for number, _ in run.results] == list(range(20))
    assert run.counters.poison_items == 0


def test_an_actor_killed_through_ray_is_replaced(machines: Machines, tmp_path: Path) -> None:
    engine = engine_on(machines, 2)

    def kill() -> None:
        wait_for_workers(tmp_path, 2)
        ray.kill(next(iter(engine._actors)).actor)
        wait_for_workers(tmp_path, 3)
        let_go(tmp_path)

    with Meanwhile(kill):
        run = run_on(engine, visits(tmp_path, 20, 2), infrastructure_budget=1)
    assert [number for number, _ in run.results] == list(range(20))


def test_an_idle_actor_that_is_killed_is_replaced(machines: Machines, tmp_path: Path) -> None:
    """One item holds the run; the other worker is idle when it is killed, and is replaced."""

    def kill() -> None:
        busy = wait_for_workers(tmp_path, 1)[0]
        supervisors = wait_for_supervisors(machines, 2)
        [idle] = set(supervisors) - {busy.supervisor}
        os.kill(idle, signal.SIGKILL)
        wait_for_supervisors(machines, 2, without=idle)
        let_go(tmp_path)

    with Meanwhile(kill):
        run = run_on(engine_on(machines, 2), visits(tmp_path, 1, 1), infrastructure_budget=1)
    assert [number for number, _ in run.results] == [0]


def wait_for_supervisors(machines: Machines, count: int, without: int = 0) -> set[int]:
    """The pids of the supervisors, once there are `count`."""
    found: set[int] = set()

    def are_there() -> bool:
        found.clear()
        found.update(pid for pid in supervisors_of(machines.staying) if pid != without)
        return len(found) == count

    assert wait_until(are_there), f"there are {len(found)} supervisors, not {count}"
    return found


@pytest.mark.req("LED-7")
def test_a_supervisor_that_is_stopped_loses_its_lease_and_others_run_its_items(
    machines: Machines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Silence is charged to the infrastructure, makes no item a suspect, and ends the actor."""
    monkeypatch.setattr("inorder.engines.ray.engine.BEAT_S", 0.5)
    monkeypatch.setattr("inorder.engines.ray.channel.BEAT_S", 0.5)
    endings: list[Endings] = []

    def stop() -> None:
        seen = wait_for_workers(tmp_path, 2)[0]
        endings.append(Endings([seen.supervisor, seen.pid]))
        os.kill(seen.supervisor, signal.SIGSTOP)
        wait_for_workers(tmp_path, 1, lambda other: other.number == seen.number and other.supervisor != seen.supervisor)
        let_go(tmp_path)

    with Meanwhile(stop):
        run = run_on(engine_on(machines, 2), visits(tmp_path, 20, 2), lease_ms=3000, infrastructure_budget=1)
    assert [number for number, _ in run.results] == list(range(20))
    assert (run.counters.expired_leases, run.counters.suspects) == (1, 0)
    assert endings[0].come(), "the one that was stopped is still there"


# ---- as many workers as fit


def test_a_node_that_joins_gets_workers_and_one_that_leaves_loses_them(machines: Machines, tmp_path: Path) -> None:
    later: list[Machine] = []

    def join_and_leave() -> None:
        wait_for_workers(tmp_path, 4)
        later.append(machines.add(2))
        joined = later[0].raylet
        lost = wait_for_workers(tmp_path, 2, lambda seen: seen.node == joined)
        endings = Endings(seen.pid for seen in lost)
        machines.lose(later[0])
        assert endings.come(), "a worker outlived its node"
        numbers = {seen.number for seen in lost}
        let_go(tmp_path)
        wait_for_workers(tmp_path, 2, lambda seen: seen.number in numbers and seen.node != joined)

    with Meanwhile(join_and_leave):
        run = run_on(engine_on(machines, None), visits(tmp_path, 40, 40))
    assert [number for number, _ in run.results] == list(range(40))
    assert {node for _, node in run.results} == {node.raylet for node in machines.staying}
    assert run.counters.suspects == 0


def test_of_too_many_workers_those_that_fit_do_the_work(machines: Machines, tmp_path: Path) -> None:
    def look() -> None:
        wait_for_workers(tmp_path, 4)
        let_go(tmp_path)

    with Meanwhile(look):
        run = run_on(engine_on(machines, 9), visits(tmp_path, 30, 4))
    assert [number for number, _ in run.results] == list(range(30))
    assert len({seen.supervisor for seen in seen_in(tmp_path)}) == 4
