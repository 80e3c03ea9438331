"""Workers that die, leases that run out, items that come back: infrastructure failures stay out of the results."""

from typing import Any

import pytest

from inorder.core.commands import Dispatch, Reclaimed, Stopping
from inorder.core.events import Loss, WorkerLost
from inorder.core.transitions import State
from inorder.errors import Category, InvariantViolation
from tests.core.driver import FAIL, Driver


def holding(seqs: int, *, count: int = 0, **limits: Any) -> Driver:
    """Worker 1 holds `seqs` items, 1 and up, in one batch; seq 0 is done."""
    driver = Driver.of(count or seqs + 1, **({"entries": 100} | limits))
    driver.pull(1)
    driver.finish(0)
    driver.ack()
    assert driver.pull(1, seqs) == list(range(1, seqs + 1))
    return driver


def suspected(driver: Driver) -> list[int]:
    return [record.seq for record in driver.told(Reclaimed) if record.suspected]


@pytest.mark.req("LED-7", "DEC-3")
def test_the_loss_of_a_worker_gives_back_everything_it_held() -> None:
    driver = holding(3)
    driver.lose(1, Loss.INFRASTRUCTURE)
    assert driver.told(Reclaimed) == [
        Reclaimed(seq, 1, 1, suspected=False, reason="worker 1 lost to infrastructure") for seq in (1, 2, 3)
    ]
    snapshot = driver.kernel.snapshot()
    assert (snapshot.in_flight_count, snapshot.dispatched_count, snapshot.buffered_bytes) == (0, 3, 0)
    assert [driver.pull(worker) for worker in (2, 3, 4)] == [[1], [2], [3]]
    assert driver.told(Dispatch)[-1].attempts == [2]


@pytest.mark.req("LED-7")
def test_lost_workers_do_not_spend_the_retries_of_an_item() -> None:
    driver = Driver.of(1, retries_max=1, infrastructure_budget=100)
    for worker in range(20):
        driver.pull(worker)
        driver.lose(worker, Loss.INFRASTRUCTURE)
    driver.pull(20)
    driver.fail(0, retryable=True)
    driver.drain()
    assert (driver.kernel.summary.succeeded, driver.kernel.summary.retries) == (1, 1)
    assert driver.told(Dispatch)[-1].attempts == [22]


@pytest.mark.req("LED-7")
def test_the_item_a_worker_died_on_is_suspected_and_the_rest_goes_back_unharmed() -> None:
    driver = holding(3)
    driver.finish(1)
    driver.lose(1, Loss.DIED)
    assert suspected(driver) == [2]
    assert [record.seq for record in driver.told(Reclaimed)] == [2, 3]
    assert driver.kernel.statistics().suspects == 1


@pytest.mark.req("LED-7")
def test_a_suspect_is_rerun_by_itself_before_anything_else() -> None:
    driver = holding(3, count=6)
    driver.lose(1, Loss.DIED)
    assert driver.pull(2, 10) == [1]
    assert driver.told(Dispatch)[-1].isolated
    assert driver.pull(3) == [2]
    assert not driver.told(Dispatch)[-1].isolated
    assert driver.kernel.statistics().isolated_dispatches == 1


@pytest.mark.req("LED-7")
def test_the_engine_may_know_better_which_item_the_worker_was_on() -> None:
    driver = holding(3)
    driver.lose(1, Loss.DIED, running_seq=3)
    assert suspected(driver) == [3]


@pytest.mark.req("LED-7")
def test_nobody_is_suspected_when_the_item_had_been_answered_for() -> None:
    driver = holding(2)
    driver.finish(1)
    driver.lose(1, Loss.DIED, running_seq=1)
    assert suspected(driver) == []
    assert driver.pull(2) == [2]
    assert not driver.told(Dispatch)[-1].isolated


@pytest.mark.req("LED-7")
def test_a_suspect_that_ends_its_second_worker_is_convicted() -> None:
    driver = Driver.of(1, retries_max=5)
    for worker in (1, 2):
        driver.pull(worker)
        driver.step(WorkerLost(worker, Loss.DIED, reason="killed by SIGSEGV"))
    [envelope] = driver.run.envelopes
    assert (envelope.outcome, envelope.failure.category) == (FAIL, Category.RUNTIME)
    assert (
        envelope.failure.message
        == "its worker died twice while running it, the second time in isolation: killed by SIGSEGV"
    )
    assert (envelope.attempt, driver.kernel.statistics().poison_items) == (2, 1)
    driver.ack()
    assert driver.kernel.summary.failed == 1


@pytest.mark.req("LED-7")
def test_a_suspect_that_behaves_is_a_success() -> None:
    driver = Driver.of(1)
    driver.pull(1)
    driver.lose(1, Loss.DIED)
    driver.pull(2)
    driver.drain()
    assert driver.kernel.summary.succeeded == 1


@pytest.mark.req("LED-7")
@pytest.mark.parametrize("cause", [Loss.INFRASTRUCTURE, Loss.RETIRED])
def test_a_suspect_is_not_failed_by_infrastructure_and_stays_alone(cause: Loss) -> None:
    driver = Driver.of(2)
    driver.pull(1)
    driver.lose(1, Loss.DIED)
    driver.pull(2)
    driver.lose(2, cause)
    assert driver.pull(3, 10) == [0]
    assert driver.told(Dispatch)[-1].isolated
    assert driver.kernel.statistics().poison_items == 0


@pytest.mark.req("LED-7")
def test_silence_makes_nobody_a_suspect() -> None:
    driver = Driver.of(1, lease_ms=100)
    for worker in range(10):
        driver.pull(worker)
        assert not driver.told(Dispatch)[-1].isolated
        for _ in range(4):
            driver.tick(25)
    driver.drain(worker=10)
    assert driver.kernel.statistics().expired_leases == 10
    assert (driver.kernel.summary.succeeded, driver.kernel.summary.retries) == (1, 0)


@pytest.mark.req("LED-7")
def test_silence_convicts_no_suspect_and_leaves_it_alone() -> None:
    driver = Driver.of(2, lease_ms=100)
    driver.pull(1)
    driver.lose(1, Loss.DIED)
    for worker in (2, 3):
        assert driver.pull(worker, 10) == [0]
        assert driver.told(Dispatch)[-1].isolated
        for _ in range(4):
            driver.tick(25)
    assert driver.kernel.statistics().poison_items == 0


@pytest.mark.req("LED-7")
def test_a_suspect_that_lived_to_answer_is_a_suspect_no_longer() -> None:
    driver = Driver.of(1, retries_max=1)
    driver.pull(1)
    driver.lose(1, Loss.DIED)
    driver.pull(2)
    driver.fail(0, retryable=True)
    for worker in (3, 4):
        driver.pull(worker)
        assert not driver.told(Dispatch)[-1].isolated
        driver.lose(worker, Loss.INFRASTRUCTURE)
    driver.pull(5)
    driver.lose(5, Loss.DIED)
    assert driver.kernel.statistics().poison_items == 0


@pytest.mark.req("LED-7")
def test_silent_workers_are_paid_from_the_infrastructure_budget() -> None:
    driver = Driver.of(2, lease_ms=100, infrastructure_budget=1)
    for worker in (1, 2):
        driver.pull(worker)
    for _ in range(4):
        driver.tick(25)
    assert [stop.reason for stop in driver.told(Stopping)] == [
        "infrastructure budget of 1 used up, last: worker 2 silent for 100 ms"
    ]


@pytest.mark.req("LED-7")
def test_a_suspect_found_with_company_is_an_invariant_broken() -> None:
    driver = holding(2)
    driver.kernel._state.leases.get(1).isolated = True
    with pytest.raises(InvariantViolation, match="worker 1 ran suspect 1 together with other items"):
        driver.lose(1, Loss.DIED)


def test_the_loss_of_an_unknown_worker_changes_nothing() -> None:
    driver = Driver.of(1)
    assert driver.lose(9, Loss.DIED) == []
    assert driver.kernel.statistics().lost_workers == 0


@pytest.mark.req("LED-7")
def test_a_lost_idle_worker_is_not_served_any_more() -> None:
    driver = Driver(total=1)
    driver.pull(1)
    driver.lose(1, Loss.RETIRED)
    driver.plan(1, ended=True)
    assert driver.told(Dispatch) == []


@pytest.mark.req("LED-7")
@pytest.mark.parametrize("cause", [Loss.DIED, Loss.INFRASTRUCTURE])
def test_the_infrastructure_budget_stops_the_run_resumably(cause: Loss) -> None:
    driver = Driver.of(5, entries=5, infrastructure_budget=2, cancel_grace_ms=1000)
    for worker in range(5):
        driver.pull(worker)
    driver.finish(0)
    driver.ack()
    driver.lose(2, cause)
    driver.lose(3, cause)
    assert driver.told(Stopping) == []
    driver.lose(4, cause)
    reason = f"infrastructure budget of 2 used up, last: worker 4 {cause}"
    assert driver.told(Stopping) == [Stopping(reason, driver.now_ms + 1000)]
    driver.finish(1)
    driver.ack()
    summary = driver.kernel.summary
    assert (summary.stop_kind, summary.cancel_reason, summary.stopped_at) == ("infrastructure", reason, 2)
    assert (summary.succeeded, summary.failed, summary.cancelled) == (2, 0, 3)


@pytest.mark.req("LED-7")
def test_idle_workers_that_die_are_paid_from_the_infrastructure_budget_too() -> None:
    driver = Driver.of(1, infrastructure_budget=0, entries=1)
    driver.pull(1)
    driver.pull(2)
    driver.lose(2, Loss.DIED)
    assert len(driver.told(Stopping)) == 1


@pytest.mark.req("LED-7")
def test_workers_retired_on_purpose_cost_nothing() -> None:
    driver = Driver.of(1, infrastructure_budget=0)
    for worker in range(50):
        driver.pull(worker)
        driver.lose(worker, Loss.RETIRED)
    driver.drain()
    assert driver.kernel.summary.succeeded == 1


@pytest.mark.req("LED-7")
def test_the_infrastructure_budget_is_full_again_when_a_window_closes() -> None:
    driver = Driver.of(10, entries=1, infrastructure_budget=1)
    for seq in range(10):
        driver.pull(100 + seq)
        driver.lose(100 + seq, Loss.INFRASTRUCTURE)
        assert driver.pull(seq) == [seq]
        driver.finish(seq)
        driver.ack()
    assert driver.kernel.summary.succeeded == 10
    assert driver.kernel.statistics().lost_workers == 10


@pytest.mark.req("LED-7")
def test_items_that_kill_do_not_stop_a_run_that_crashes_of_the_machine_would() -> None:
    driver = Driver.of(30, entries=30, infrastructure_budget=1)
    for seq in range(30):
        for worker in (2 * seq, 2 * seq + 1):
            assert driver.pull(worker) == [seq]
            driver.lose(worker, Loss.DIED)
    driver.drain()
    assert (driver.kernel.summary.failed, driver.kernel.summary.stop_kind) == (30, None)


def test_items_given_back_unstarted_can_be_given_to_another_worker() -> None:
    driver = holding(3)
    driver.give_back(1, 2, 3)
    assert [(record.seq, record.suspected, record.reason) for record in driver.told(Reclaimed)] == [
        (2, False, "returned before it was started"),
        (3, False, "returned before it was started"),
    ]
    assert [driver.pull(2), driver.pull(3)] == [[2], [3]]
    driver.finish(1)
    assert (driver.kernel.statistics().returns, driver.kernel.statistics().lost_workers) == (2, 0)


def test_a_worker_that_gives_everything_back_holds_no_lease() -> None:
    driver = holding(2)
    driver.give_back(1, 1, 2)
    assert len(driver.kernel._state.leases) == 0
    assert driver.pull(1) == [1]


def test_a_suspect_given_back_stays_a_suspect() -> None:
    driver = Driver.of(2)
    driver.pull(1)
    driver.lose(1, Loss.DIED)
    driver.pull(2)
    driver.give_back(2, 0)
    assert driver.pull(3, 10) == [0]
    assert driver.told(Dispatch)[-1].isolated


def test_giving_back_what_one_does_not_hold_changes_nothing() -> None:
    driver = holding(1, count=3)
    assert driver.give_back(9, 1) == []
    assert driver.give_back(1, 0, 2) == []
    assert driver.kernel._state.ledger.states[1] == State.IN_FLIGHT


def test_giving_an_item_back_twice_at_once_is_giving_it_back() -> None:
    driver = holding(2)
    driver.give_back(1, 2, 2)
    assert driver.pull(2) == [2]
