"""Lanes by name: validated registration, totals that never decrease, and use by many threads at once."""

import random
import threading
from collections.abc import Iterator

import pytest

from inorder.errors import OperatorError
from inorder.lanes import LaneConfig, LaneManager, LaneStatistics, Outcome, Reason
from inorder.lanes import lane as lane_module
from tests.lanes.doubles import Caller, WatchedWaker, check_books, lane_config, lane_threads, start_waiting
from tests.support.gates import GUARD_S, Gate, ManualTime, wait_for_end

pytestmark = pytest.mark.req("LAN-8")


@pytest.fixture
def manager(time: ManualTime, gate: Gate) -> Iterator[LaneManager]:
    manager = LaneManager(clock=time)
    yield manager
    gate.open()
    assert manager.close(drain=False)
    check_books(manager.aggregate())


def test_a_registered_lane_is_found_used_and_listed(manager: LaneManager) -> None:
    manager.register(lane_config("a"), lane_config("b"))
    assert list(manager.statistics()) == ["a", "b"]
    assert manager.lane("b").name == "b"
    assert manager.find("a") is manager.lane("a")
    assert manager.submit("a", int, "7").result(GUARD_S) == 7
    assert manager.submit("b", int, "8").result(GUARD_S) == 8
    assert {name: counted.accepted for name, counted in manager.statistics().items()} == {"a": 1, "b": 1}


def test_an_unknown_name_is_refused_by_name(manager: LaneManager) -> None:
    assert manager.find("nobody") is None
    for use in (manager.lane, manager.unregister, lambda name: manager.submit(name, int)):
        with pytest.raises(OperatorError, match="no lane is named 'nobody'"):
            use("nobody")


def test_a_name_can_be_registered_once(manager: LaneManager) -> None:
    manager.register(lane_config("a"))
    with pytest.raises(OperatorError, match="'a' is already registered"):
        manager.register(lane_config("a"))
    with pytest.raises(OperatorError, match="must be unique"):
        manager.register(lane_config("b"), lane_config("b"))
    assert list(manager.statistics()) == ["a"]


def redirecting(name: str, target: str, **options: int) -> LaneConfig:
    return lane_config(name, strategy="redirect", redirect_to=target, **options)


@pytest.mark.req("LAN-4")
def test_a_redirect_to_nowhere_is_refused_at_registration(manager: LaneManager) -> None:
    with pytest.raises(OperatorError, match="redirects to 'b', which is not registered"):
        manager.register(redirecting("a", "b"))
    assert manager.statistics() == {}


@pytest.mark.req("LAN-4")
def test_a_redirect_cycle_is_refused_at_registration(manager: LaneManager) -> None:
    with pytest.raises(OperatorError, match="redirect cycle: a -> b -> a"):
        manager.register(redirecting("a", "b"), redirecting("b", "a"))
    assert manager.statistics() == {}


@pytest.mark.req("LAN-4")
def test_a_redirect_cycle_by_way_of_an_old_name_is_refused(manager: LaneManager) -> None:
    manager.register(redirecting("a", "b"), lane_config("b"))
    manager.unregister("b")
    with pytest.raises(OperatorError, match="redirect cycle: b -> a -> b"):
        manager.register(redirecting("b", "a"))


def test_overflow_goes_to_the_other_lane_of_the_manager(manager: LaneManager, gate: Gate) -> None:
    manager.register(redirecting("a", "b", max_concurrency=1, capacity=0), lane_config("b"))
    manager.submit("a", gate.hold)
    ticket = manager.submit("a", int)
    assert (ticket.outcome, ticket.lane) == (Outcome.REDIRECTED, "b")


def test_overflow_to_a_lane_that_was_taken_out_is_dropped_and_to_its_successor_redirected(
    manager: LaneManager, gate: Gate
) -> None:
    manager.register(redirecting("a", "b", max_concurrency=1, capacity=0), lane_config("b"))
    manager.submit("a", gate.hold)
    manager.unregister("b")
    dropped = manager.submit("a", int)
    assert (dropped.outcome, dropped.reason) == (Outcome.DROPPED, Reason.NO_TARGET)
    manager.register(lane_config("b"))
    assert manager.submit("a", int).outcome is Outcome.REDIRECTED


def test_a_lane_taken_out_is_closed_and_its_name_is_free(manager: LaneManager) -> None:
    manager.register(lane_config("a"))
    lane = manager.lane("a")
    ticket = lane.submit(int)
    last = manager.unregister("a")
    assert (lane.closed, ticket.done, last.completed) == (True, True, 1)
    manager.register(lane_config("a"))
    assert manager.lane("a") is not lane


def test_a_lane_slow_to_close_holds_up_nobody_else(manager: LaneManager, gate: Gate) -> None:
    manager.register(lane_config("slow"), lane_config("other"))
    manager.submit("slow", gate.hold)
    gate.await_arrivals()
    leaving = Caller(manager.unregister, "slow")
    assert manager.submit("other", int).result(GUARD_S) == 0
    manager.register(lane_config("new"))
    assert manager.submit("new", int).result(GUARD_S) == 0
    gate.open()
    assert leaving.answer().completed == 1


def test_the_aggregate_adds_up_all_lanes_also_those_taken_out(manager: LaneManager) -> None:
    manager.register(*(lane_config(name, max_concurrency=2) for name in ("a", "b", "c")))
    for name, count in (("a", 3), ("b", 4), ("c", 5)):
        for _ in range(count):
            manager.submit(name, int).result(GUARD_S)
    before = manager.aggregate()
    assert (before.submitted, before.completed, before.concurrency) == (12, 12, 6)
    assert (before.wait_s.count, before.run_s.count) == (12, 12)
    manager.unregister("b")
    after = manager.aggregate()
    assert (after.submitted, after.completed, after.concurrency) == (12, 12, 4)
    assert (after.wait_s.count, after.run_s.count) == (12, 12)
    assert after.workers == sum(counted.workers for counted in manager.statistics().values())


def test_redirects_are_counted_twice_and_the_aggregate_says_how_often(manager: LaneManager, gate: Gate) -> None:
    manager.register(redirecting("a", "b", max_concurrency=1, capacity=0), lane_config("b"))
    manager.submit("a", gate.hold)
    for _ in range(3):
        manager.submit("a", int)
    total = manager.aggregate()
    assert (total.submitted, total.received, total.redirected, total.accepted) == (7, 3, 3, 4)


def test_an_empty_manager_has_counted_nothing(manager: LaneManager) -> None:
    assert manager.aggregate() == LaneStatistics()
    assert manager.statistics() == {}


def test_closing_ends_every_lane_and_refuses_new_ones(manager: LaneManager, gate: Gate) -> None:
    manager.register(lane_config("a"), lane_config("b"))
    tickets = [manager.submit(name, gate.hold, name) for name in ("a", "b")]
    closing = Caller(manager.close)
    gate.open()
    assert closing.answer() is True
    assert [ticket.result(0) for ticket in tickets] == ["a", "b"]
    assert manager.close() is True
    with pytest.raises(OperatorError, match="closed"):
        manager.register(lane_config("c"))
    assert manager.submit("a", int).reason is Reason.CLOSED
    assert wait_for_end(lane_threads("a") + lane_threads("b"))


def test_all_lanes_stop_taking_tasks_before_the_first_is_waited_for(
    manager: LaneManager, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager.register(lane_config("slow"), lane_config("other", max_concurrency=1, capacity=0))
    for name in ("slow", "other"):
        manager.submit(name, gate.hold)
    gate.await_arrivals(2)
    monkeypatch.setattr(lane_module, "ThreadWaker", WatchedWaker)
    turned_away = start_waiting(manager.submit, "other", int)
    closing = Caller(manager.close)
    assert turned_away.answer().reason is Reason.CLOSED
    assert closing.is_waiting
    gate.open()
    assert closing.answer()


def test_out_of_patience_all_lanes_give_up_together(manager: LaneManager, gate: Gate) -> None:
    manager.register(lane_config("a"), lane_config("b"))
    for name in ("a", "b"):
        manager.submit(name, gate.hold)
    gate.await_arrivals(2)
    assert manager.close(timeout_s=0)
    assert manager.aggregate().cancelled == 2


def test_tasks_of_several_lanes_may_close_the_manager_at_once(manager: LaneManager) -> None:
    manager.register(*(lane_config(name) for name in ("a", "b", "c")))
    together = threading.Barrier(3)

    def close() -> bool:
        together.wait(GUARD_S)
        return manager.close()

    tickets = [manager.submit(name, close) for name in ("a", "b", "c")]
    assert [ticket.result(GUARD_S) for ticket in tickets] == [False] * 3


def test_a_task_may_take_its_own_lane_out_and_the_counts_stay(manager: LaneManager) -> None:
    def leave() -> tuple[LaneStatistics, LaneStatistics]:
        return manager.unregister("a"), manager.aggregate()

    manager.register(lane_config("a"))
    lane = manager.lane("a")
    last, total = manager.submit("a", leave).result(GUARD_S)
    assert (last.running, total.running, total.accepted) == (1, 1, 1)
    lane.close()
    assert (manager.aggregate().completed, manager._unregistered) == (1, [])


def test_leaving_the_block_closes_and_an_exception_cancels_what_waits() -> None:
    with LaneManager(lane_config("a")) as manager:
        ticket = manager.submit("a", int)
    assert ticket.result(0) == 0
    with pytest.raises(LookupError), LaneManager(lane_config("a")) as manager:
        raise LookupError
    assert manager.lane("a").closed


def test_many_threads_register_look_up_submit_and_take_out_at_once(manager: LaneManager) -> None:
    names = [f"lane-{number}" for number in range(4)]
    together = threading.Barrier(16)
    troubles: list[BaseException] = []

    def work(seed: int) -> None:
        dice = random.Random(seed)
        together.wait(GUARD_S)
        for _ in range(60):
            name = dice.choice(names)
            try:
                match dice.randrange(6):
                    case 0:
                        target = dice.choice(names)
                        strategy = {} if target == name else {"strategy": "redirect", "redirect_to": target}
                        manager.register(lane_config(name, max_concurrency=1, capacity=1, **strategy))
                    case 1:
                        manager.unregister(name, drain=dice.random() < 0.5)
                    case 2:
                        check_books(manager.aggregate(), at_rest=False)
                    case _:
                        manager.submit(name, int)
            except OperatorError:
                pass
            except BaseException as error:
                troubles.append(error)

    threads = [threading.Thread(target=work, args=(seed,), daemon=True) for seed in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(GUARD_S)
    assert not any(thread.is_alive() for thread in threads)
    assert troubles == []
