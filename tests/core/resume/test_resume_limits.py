"""A run that goes on where an earlier one was interrupted: what was spent stays spent, and it ends as it should."""

import pytest

from inorder.core.commands import Ended, RetryScheduled, Stopping, Summary
from inorder.core.ledger import Ledger
from inorder.core.resume_point import ResumePoint
from tests.core.driver import Driver, options
from tests.core.resume.resumed import done_up_to, resumed, summary_of, windows

# ---- retries


@pytest.mark.req("JRN-3", "RTY-2")
def test_retries_that_were_spent_are_not_granted_again() -> None:
    driver = resumed(done_up_to(1, retries_granted={1: 2, 2: 1}), 4, retries_max=2)
    for worker in (1, 2, 3):
        driver.pull(worker)
    assert driver.holdings == {1: {1: 3}, 2: {2: 2}, 3: {3: 1}}
    driver.fail(1, retryable=True)
    driver.fail(2, retryable=True)
    assert driver.run is not None
    assert [(envelope.seq, envelope.attempt) for envelope in driver.run.envelopes] == [(1, 3)]
    assert driver.run.retries == {1: 2}
    driver.ack()
    driver.pull(1)
    assert driver.holdings[1] == {2: 3}
    driver.drain()
    assert (summary_of(driver).failed, summary_of(driver).retries) == (1, 4)


@pytest.mark.req("JRN-3", "RTY-2")
@pytest.mark.parametrize(("spent", "is_final"), [(2, True), (1, False)])
def test_the_bound_of_a_window_counts_what_its_committed_items_have_spent(spent: int, is_final: bool) -> None:
    driver = resumed(done_up_to(2, retries_granted={0: spent}), 4, retries_max=3, window_retries_max=2)
    driver.pull()
    driver.fail(2, retryable=True)
    assert (driver.run is not None) is is_final


@pytest.mark.req("JRN-3", "RTY-2")
def test_what_is_committed_asks_for_no_more_retries_so_the_others_need_not_wait_for_theirs() -> None:
    driver = resumed(done_up_to(2), 4, retries_max=1, window_retries_max=2)
    driver.pull(1)
    driver.pull(2)
    driver.fail(3, retryable=True)
    assert [command.seq for command in driver.told(RetryScheduled)] == [3]


@pytest.mark.req("JRN-3", "RTY-2")
@pytest.mark.parametrize("known", [(0, 4), ()])
def test_what_was_spent_in_the_next_window_is_not_held_against_this_one(known: tuple[int, ...]) -> None:
    """Also if no window was journaled: a result log can have retries that the journal does not."""
    end = 2 if known else 0
    resume_point = ResumePoint(end=end, succeeded=end, retries_granted={5: 2}, windows=windows(*known))
    driver = resumed(resume_point, 8, retries_max=3, window_retries_max=2)
    driver.pull()
    driver.fail(end, retryable=True)
    assert driver.run is None
    assert resume_point.select_retries(0, 4) == {}
    assert resume_point.select_retries(4, 8) == {5: 2}


@pytest.mark.req("JRN-3")
def test_attempts_go_on_only_for_seqs_that_are_there() -> None:
    ledger = Ledger()
    ledger.extend(4)
    ledger.forget(2)
    start = ledger.extend(3)
    ledger.restore_attempts(start, {1: 9, 3: 9, 4: 2, 6: 1, 7: 5})
    assert [ledger.attempt(seq) for seq in range(2, 7)] == [0, 0, 2, 0, 1]
    assert ledger.lease([4, 5], 1) == [3, 1]


# ---- the error budget, and other ends


@pytest.mark.req("JRN-3", "CAN-3")
def test_the_error_budget_goes_on_where_it_stood() -> None:
    driver = resumed(done_up_to(3, succeeded=1, failed=2), 6, error_budget=2)
    driver.pull(1)
    driver.pull(2)
    driver.finish(4)
    driver.fail(3)
    driver.ack()
    summary = summary_of(driver)
    assert (summary.failed, summary.stopped_at, summary.cancelled) == (3, 4, 2)
    assert summary.cancel_reason == "error budget of 2 exceeded at seq 3"


@pytest.mark.req("JRN-3", "CAN-3")
def test_an_error_budget_that_was_exceeded_stops_the_run_at_once_with_the_same_words() -> None:
    driver = Driver(options(error_budget=1), total=9, resume_point=done_up_to(4, succeeded=2, failed=2, retries=3))
    reason = "error budget of 1 exceeded at seq 3"
    summary = Summary(
        total=9,
        succeeded=2,
        skipped=0,
        failed=2,
        cancelled=5,
        retries=3,
        was_cancelled=True,
        stop_kind="error budget",
        cancel_reason=reason,
        stopped_at=4,
    )
    assert driver.commands == [Stopping(reason, driver.kernel._state.options.cancel_grace_ms), Ended(summary)]


@pytest.mark.req("JRN-3", "CAN-3")
@pytest.mark.parametrize("budget", [None, 2])
def test_an_error_budget_that_was_not_exceeded_stops_nothing(budget: int | None) -> None:
    driver = resumed(done_up_to(4, succeeded=2, failed=2), 6, error_budget=budget)
    driver.drain()
    assert summary_of(driver).stop_kind is None


@pytest.mark.req("JRN-3", "CAN-1")
@pytest.mark.parametrize("passed", [0, 2, 5])
def test_a_run_that_is_cancelled_while_items_pass_by_is_cut_where_it_had_stopped_before(passed: int) -> None:
    driver = Driver(options(), total=9, resume_point=done_up_to(6))
    if passed:
        driver.plan(passed)
    driver.cancel(grace_ms=0)
    summary = summary_of(driver)
    assert (summary.succeeded, summary.cancelled, summary.stopped_at) == (6, 3, 6)


@pytest.mark.req("JRN-3", "CAN-1")
def test_a_run_that_is_cancelled_later_is_cut_where_it_stands() -> None:
    driver = resumed(done_up_to(6), 9)
    driver.pull()
    driver.finish(6)
    driver.ack()
    driver.cancel(grace_ms=0)
    assert (summary_of(driver).succeeded, summary_of(driver).stopped_at) == (7, 7)


@pytest.mark.req("COM-3")
def test_whether_a_run_is_with_the_commit_lane_can_be_asked() -> None:
    driver = Driver.of(2)
    asked = [driver.kernel.is_committing]
    driver.finish(*driver.pull())
    asked.append(driver.kernel.is_committing)
    driver.ack()
    asked.append(driver.kernel.is_committing)
    assert asked == [False, True, False]
