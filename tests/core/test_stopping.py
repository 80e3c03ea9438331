"""How a run ends: by itself, or before its time and then always at one seq."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inorder.core.commands import CommitRun, Dispatch, Ended, NeedItems, ResultRefused, Stopping, StopWorker
from inorder.core.events import CancelRequested, Envelope, Loss
from inorder.core.transitions import State
from tests.core.driver import SUCCESS, Driver, Story, options


def busy(count: int, workers: int, **limits: Any) -> Driver:
    driver = Driver.of(count, **({"entries": 100, "cancel_grace_ms": 1000} | limits))
    for worker in range(workers):
        driver.pull(worker)
    return driver


@pytest.mark.req("CAN-1")
def test_a_cancel_stops_dispatch_at_once() -> None:
    driver = busy(4, 2)
    assert driver.cancel("enough") == [Stopping("enough", 1000)]
    assert driver.pull(5) == []
    driver.finish(0)
    assert driver.pull(0) == []
    assert len(driver.told(Dispatch)) == 2


@pytest.mark.req("CAN-1")
def test_a_stopping_run_asks_for_no_more_items_and_looks_at_none() -> None:
    driver = Driver(options(entries=100, plan_ahead=4), total=9)
    driver.plan(4)
    for worker in range(4):
        driver.pull(worker)
    assert driver.asked_count > 0
    driver.cancel()
    assert driver.plan(100) == []
    assert len(driver.told(NeedItems)) == 2
    assert driver.kernel.snapshot().planned_count == 4


@pytest.mark.req("CAN-1")
def test_what_work_in_flight_delivers_within_its_grace_counts() -> None:
    driver = busy(5, 3)
    driver.cancel()
    driver.tick(999)
    driver.finish(1, 0, 2)
    driver.ack()
    driver.ack()
    summary = driver.kernel.summary
    assert (summary.succeeded, summary.cancelled, summary.stopped_at) == (3, 2, 3)
    assert driver.told(StopWorker) == []


@pytest.mark.req("CAN-1")
def test_after_the_grace_every_lease_is_taken_back_and_the_run_is_cut_at_one_seq() -> None:
    driver = busy(6, 4)
    driver.finish(0)
    driver.ack()
    driver.finish(2)
    driver.cancel("enough")
    assert driver.kernel.wake_at_ms == 1000
    assert driver.tick(999) == []
    commands = driver.tick(1)
    assert commands[:2] == [StopWorker(1, "enough"), StopWorker(3, "enough")]
    assert isinstance(commands[-1], Ended)
    summary = driver.kernel.summary
    assert (summary.succeeded, summary.cancelled, summary.stopped_at) == (1, 5, 1)
    assert (summary.was_cancelled, summary.stop_kind, summary.cancel_reason) == (True, "cancelled", "enough")
    assert [envelope.seq for envelope in driver.committed] == [0]
    assert len(driver.kernel._state.leases) == 0


@pytest.mark.req("CAN-1", "DEC-1")
def test_undispatched_items_are_cancelled_with_no_attempt_and_no_owner() -> None:
    driver = busy(4, 1)
    driver.cancel(grace_ms=0)
    ledger = driver.kernel._state.ledger
    assert [ledger.attempt(seq) for seq in range(4)] == [1, 0, 0, 0]
    assert [ledger.owner(seq) for seq in range(4)] == [-1] * 4
    assert (ledger.terminal_count, ledger.committed_count) == (4, 4)
    assert list(ledger.states) == [State.COMMITTED] * 4


@pytest.mark.req("CAN-1")
def test_a_result_that_comes_after_the_grace_is_refused() -> None:
    driver = busy(4, 2)
    driver.finish(0)
    driver.cancel(grace_ms=0)
    assert driver.deliver(1, Envelope(1, 1, SUCCESS)) == [ResultRefused(1, 1, 1)]
    driver.ack()
    assert driver.kernel.summary.succeeded == 1


@pytest.mark.req("CAN-1")
def test_the_run_under_way_is_waited_for_and_what_is_computed_without_a_hole_still_drains() -> None:
    driver = busy(8, 6, entries=3)
    driver.finish(0)
    driver.finish(1, 2, 3, 5)
    driver.cancel(grace_ms=0)
    assert driver.kernel.summary is None
    driver.ack()
    driver.ack()
    assert [(run.start, run.end) for run in driver.told(CommitRun)] == [(0, 1), (1, 3), (3, 4)]
    driver.ack()
    assert (driver.kernel.summary.succeeded, driver.kernel.summary.stopped_at) == (4, 4)


@pytest.mark.req("CAN-1")
def test_a_second_cancel_can_only_shorten_the_grace() -> None:
    driver = busy(3, 1)
    driver.cancel("first", grace_ms=500)
    driver.cancel("longer", grace_ms=5000)
    assert driver.kernel.wake_at_ms == 500
    driver.cancel("now", grace_ms=0)
    assert (driver.kernel.summary.cancel_reason, driver.kernel.summary.cancelled) == ("first", 3)
    assert [stop.deadline_ms for stop in driver.told(Stopping)] == [500, 0]


@pytest.mark.req("CAN-1")
def test_a_worker_lost_within_the_grace_leaves_a_hole_where_the_run_is_cut() -> None:
    driver = busy(4, 3)
    driver.cancel()
    driver.finish(0, 2)
    driver.ack()
    driver.lose(1, Loss.INFRASTRUCTURE)
    assert (driver.kernel.summary.stopped_at, driver.kernel.summary.cancelled) == (1, 3)


@pytest.mark.req("CAN-1")
def test_a_failure_within_the_grace_is_not_tried_again() -> None:
    driver = busy(2, 2, retries_max=5)
    driver.cancel()
    driver.finish(1)
    driver.fail(0, retryable=True)
    assert (driver.kernel.summary.stopped_at, driver.kernel.summary.failed) == (0, 0)


@pytest.mark.req("CAN-1")
def test_a_cancel_before_anything_was_planned_ends_at_once() -> None:
    driver = Driver(total=7)
    driver.cancel("never mind")
    summary = driver.kernel.summary
    assert (summary.total, summary.cancelled, summary.stopped_at) == (7, 7, 0)
    assert summary.cancel_reason == "never mind"


@pytest.mark.req("CAN-1")
def test_a_cancel_that_comes_too_late_to_stop_anything_is_no_cancel() -> None:
    driver = busy(1, 1)
    driver.finish(0)
    driver.cancel()
    driver.ack()
    summary = driver.kernel.summary
    assert (summary.succeeded, summary.was_cancelled, summary.stop_kind, summary.stopped_at) == (1, False, None, None)


@pytest.mark.req("CAN-1")
def test_a_cancelled_run_whose_plan_announced_nothing_does_not_guess_its_total() -> None:
    driver = Driver()
    driver.plan(3)
    driver.cancel()
    summary = driver.kernel.summary
    assert (summary.total, summary.cancelled, summary.stopped_at) == (None, None, 0)


@pytest.mark.req("CAN-1")
def test_a_waiting_retry_does_not_survive_the_end() -> None:
    driver = busy(1, 1, retries_max=1, backoff_ms=1000)
    driver.fail(0, retryable=True)
    driver.pull(1)
    driver.cancel()
    assert driver.kernel.summary.cancelled == 1
    assert driver.kernel.wake_at_ms is None
    assert driver.kernel._state.retries_due == []


@pytest.mark.req("CAN-1")
def test_items_that_wait_for_a_window_do_not_survive_the_end() -> None:
    driver = Driver(options(entries=1))
    driver.plan(5)
    assert len(driver.kernel._state.cutter.carry) == 3
    driver.cancel()
    assert len(driver.kernel._state.cutter.carry) == 0


@pytest.mark.req("CAN-1")
def test_what_was_set_aside_for_work_taken_back_is_free_at_once() -> None:
    driver = busy(3, 3)
    driver.finish(0, size=5)
    driver.cancel(grace_ms=0)
    assert driver.kernel.snapshot().buffered_bytes == 5


@pytest.mark.slow
@pytest.mark.req("CAN-1", "INV-1")
@given(
    script=st.lists(st.sampled_from(["s", "k", "f", "rs"]), min_size=1, max_size=20),
    choices=st.lists(st.integers(0, 1000), min_size=1, max_size=40),
    workers=st.sampled_from([1, 2, 7]),
    moment=st.integers(0, 60),
    grace=st.sampled_from([None, 0, 3]),
)
def test_whenever_a_run_is_cancelled_no_lease_survives_and_everything_below_the_cut_is_committed(
    script: list[str], choices: list[int], workers: int, moment: int, grace: int | None
) -> None:
    driver = Driver(options(entries=4, retries_max=1, cancel_grace_ms=7), total=len(script))
    inner = driver.kernel.step
    steps = iter(range(10**9))

    def step(now_ms: int, event: object) -> list[object]:
        cancel = inner(now_ms, CancelRequested("enough", grace)) if next(steps) == moment else []
        driver.now_ms += 1
        return cancel + inner(driver.now_ms, event)

    driver.kernel.step = step
    Story(driver, script, choices, workers=workers).to_its_end()
    summary, ledger = driver.kernel.summary, driver.kernel._state.ledger
    done = summary.succeeded + summary.skipped + summary.failed
    assert [envelope.seq for envelope in driver.committed] == list(range(done))
    assert done + summary.cancelled == summary.total == len(script)
    assert summary.stopped_at == (done if summary.was_cancelled else None)
    assert ledger.terminal_count == ledger.committed_count == len(ledger)
    assert len(driver.kernel._state.leases) == ledger.in_flight_count == ledger.dispatched_count == 0
    assert driver.kernel._state.reorder_buffer == {}
