"""The error budget stops a run at one seq, whatever the timing."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inorder.core.commands import Ended, Stopping, StopWorker, Summary
from inorder.core.cursor import ErrorBudget
from inorder.core.transitions import State
from inorder.core.windows.plan import PlanItem
from tests.core.driver import FAIL, SUCCESS, Driver, Story, options

CREWS = (1, 2, 7, 32)
words = st.sampled_from(["s", "s", "s", "k", "f", "rs", "r"])
choice_lists = st.lists(st.integers(0, 1000), min_size=1, max_size=40)


@pytest.mark.slow
@pytest.mark.req("CAN-3")
@given(st.lists(st.lists(st.sampled_from([SUCCESS, FAIL]), max_size=6)), st.integers(0, 4))
def test_a_run_of_outcomes_is_cut_after_the_one_failure_too_many(handed: list[list[int]], limit: int) -> None:
    budget = ErrorBudget(limit)
    failed = 0
    for run in handed:
        expected = None
        for position, outcome in enumerate(run):
            failed += outcome == FAIL
            if failed > limit:
                expected = position + 1
                break
        assert budget.cut(bytes(run)) == expected
        assert budget.failed == failed
        if expected is not None:
            return


@pytest.mark.req("CAN-3")
def test_without_a_limit_any_number_may_fail() -> None:
    driver = Driver.of(5, error_budget=None)
    for seq in range(5):
        driver.pull()
        driver.fail(seq)
        driver.ack()
    assert (driver.kernel.summary.failed, driver.kernel.summary.stop_kind) == (5, None)


@pytest.mark.req("CAN-3")
def test_the_first_failure_beyond_the_budget_cuts_the_run_after_itself() -> None:
    driver = Driver.of(8, entries=8, error_budget=1)
    for worker in range(6):
        driver.pull(worker)
    driver.finish(5, 4)
    driver.fail(3)
    driver.fail(1)
    driver.finish(0, 2)
    driver.ack()
    assert [envelope.seq for envelope in driver.run.envelopes] == [2, 3]
    driver.ack()
    assert driver.kernel.summary == Summary(
        total=8,
        succeeded=2,
        skipped=0,
        failed=2,
        cancelled=4,
        retries=0,
        was_cancelled=True,
        stop_kind="error budget",
        cancel_reason="error budget of 1 exceeded at seq 3",
        stopped_at=4,
    )


@pytest.mark.req("CAN-3")
def test_what_was_computed_beyond_the_stop_is_cancelled() -> None:
    driver = Driver.of(4, error_budget=0)
    for worker in range(4):
        driver.pull(worker)
    driver.finish(1, 2, 3)
    ledger = driver.kernel._state.ledger
    outcomes: list[bytes] = []
    inner = ledger.commit
    ledger.commit = lambda end: (outcomes.append(bytes(ledger.states[ledger.next_commit_seq : end])), inner(end))
    driver.fail(0)
    driver.ack()
    assert outcomes == [bytes([FAIL]), bytes([State.TERMINAL_CANCEL] * 3)]
    assert [envelope.seq for envelope in driver.committed] == [0]
    assert driver.kernel.summary.cancelled == 3


@pytest.mark.req("CAN-3")
@pytest.mark.req("CAN-4")
def test_work_in_flight_has_the_grace_of_a_cancel_when_the_budget_runs_out() -> None:
    driver = Driver.of(4, error_budget=0, cancel_grace_ms=60_000)
    for worker in range(3):
        driver.pull(worker)
    reason = "error budget of 0 exceeded at seq 0"
    assert driver.fail(0)[0] == Stopping(reason, 60_000)
    driver.ack()
    assert driver.finish(1) == []
    assert driver.tick(59_999) == []
    assert driver.tick(1)[0] == StopWorker(2, reason)
    summary = driver.kernel.summary
    assert ([envelope.seq for envelope in driver.committed], summary.cancelled) == ([0], 3)


@pytest.mark.req("CAN-4")
def test_a_budget_that_runs_out_can_let_work_in_flight_end() -> None:
    driver = Driver.of(3, error_budget=0, cancel_grace_ms=0, on_budget="drain")
    driver.pull(1)
    driver.pull(2)
    driver.fail(0)
    driver.ack()
    for _ in range(100):
        driver.beat(2)
        assert driver.tick(1000) == []
    assert isinstance(driver.finish(1)[-1], Ended)
    assert driver.kernel.summary.stopped_at == 1


@pytest.mark.req("CAN-4")
def test_a_cancel_shortens_the_wait_for_work_in_flight() -> None:
    driver = Driver.of(3, error_budget=0, cancel_grace_ms=1000, on_budget="drain")
    driver.pull(1)
    driver.pull(2)
    driver.fail(0)
    driver.ack()
    driver.cancel(grace_ms=0)
    assert driver.kernel.summary.stop_kind == "error budget"


@pytest.mark.req("CAN-3")
def test_a_part_that_fails_does_not_count() -> None:
    driver = Driver(options(error_budget=1))
    driver.plan(
        [PlanItem("a/1", is_part=True), PlanItem("a/2", is_part=True), PlanItem("a"), PlanItem("b")], ended=True
    )
    for seq in range(4):
        driver.pull()
        driver.fail(seq)
        driver.ack()
    assert driver.kernel.summary.stopped_at == 4
    assert driver.kernel.summary.cancel_reason == "error budget of 1 exceeded at seq 3"


@pytest.mark.req("CAN-3")
def test_a_failure_that_is_retried_does_not_count() -> None:
    driver = Driver.of(2, error_budget=0, retries_max=1)
    driver.pull()
    driver.fail(0, retryable=True)
    driver.drain()
    assert driver.kernel.summary.succeeded == 2


@pytest.mark.req("CAN-3")
def test_a_budget_that_runs_out_at_the_last_seq_of_a_window_stops_there() -> None:
    driver = Driver.of(4, entries=2, error_budget=0, cancel_grace_ms=0)
    driver.pull(1)
    driver.pull(2)
    driver.pull(3)
    driver.finish(0)
    driver.fail(1)
    driver.ack()
    driver.ack()
    assert (driver.kernel.summary.stopped_at, driver.kernel.summary.cancelled) == (2, 2)


@pytest.mark.req("CAN-3")
def test_a_budget_that_runs_out_at_the_very_last_item_is_still_reported() -> None:
    driver = Driver.of(2, error_budget=0)
    driver.pull()
    driver.finish(0)
    driver.pull()
    driver.fail(1)
    driver.ack()
    driver.ack()
    summary = driver.kernel.summary
    assert (summary.stop_kind, summary.stopped_at, summary.cancelled) == ("error budget", 2, 0)


@pytest.mark.req("CAN-3")
def test_a_budget_that_runs_out_during_the_grace_of_a_cancel_cuts_earlier() -> None:
    driver = Driver.of(4, error_budget=0, cancel_grace_ms=1000)
    for worker in range(3):
        driver.pull(worker)
    driver.cancel()
    driver.finish(2)
    driver.fail(0)
    driver.ack()
    driver.finish(1)
    summary = driver.kernel.summary
    assert (summary.stop_kind, summary.stopped_at, summary.failed, summary.succeeded) == ("error budget", 1, 1, 0)


@pytest.mark.req("CAN-3")
def test_a_cancel_that_comes_too_late_does_not_hide_a_budget_that_ran_out() -> None:
    driver = Driver.of(1, error_budget=0)
    driver.pull()
    driver.cancel(grace_ms=1000)
    driver.fail(0)
    driver.ack()
    assert driver.kernel.summary.stop_kind == "error budget"


def ending(script: list[str], choices: list[int], workers: int, losses: int, **limits: Any) -> tuple[object, ...]:
    """How the run ended and what was committed."""
    driver = Driver(options(**limits), total=len(script))
    Story(driver, script, choices, workers=workers).to_its_end(losses=losses)
    return driver.kernel.summary, [(envelope.seq, envelope.outcome) for envelope in driver.committed]


@pytest.mark.slow
@pytest.mark.req("CAN-3")
@given(
    script=st.lists(words, max_size=24),
    choices=st.lists(choice_lists, min_size=len(CREWS), max_size=len(CREWS)),
    budget=st.none() | st.integers(0, 4),
    entries=st.integers(1, 9),
    losses=st.integers(0, 3),
)
def test_the_summary_is_the_same_for_any_number_of_workers_and_any_order_of_completion(
    script: list[str], choices: list[list[int]], budget: int | None, entries: int, losses: int
) -> None:
    limits = {"entries": entries, "error_budget": budget, "retries_max": 1, "plan_ahead": 6}
    first, *others = [
        ending(script, chosen, workers, losses, **limits) for workers, chosen in zip(CREWS, choices, strict=True)
    ]
    assert all(other == first for other in others)


@pytest.mark.slow
@pytest.mark.req("CAN-3")
@given(script=st.lists(words, max_size=24), choices=choice_lists, budget=st.integers(0, 4))
def test_the_run_ends_exactly_where_a_single_worker_in_order_would_have_ended(
    script: list[str], choices: list[int], budget: int
) -> None:
    letters = {"s": "succeeded", "rs": "succeeded", "k": "skipped", "f": "failed", "r": "failed"}
    counts = dict.fromkeys(letters.values(), 0)
    for word in script:
        counts[letters[word]] += 1
        if counts["failed"] > budget:
            break
    summary, _ = ending(script, choices, 7, 2, entries=5, error_budget=budget, retries_max=1)
    assert counts == {name: getattr(summary, name) for name in counts}
    assert summary.was_cancelled == (counts["failed"] > budget)
    assert summary.cancelled == len(script) - sum(counts.values())


@pytest.mark.req("CAN-3")
def test_the_summary_is_the_same_where_the_plan_announces_nothing() -> None:
    summaries = []
    for workers in (1, 8):
        driver = Driver(options(entries=64, plan_ahead=4, error_budget=0, cancel_grace_ms=0))
        driver.plan(driver.asked_count)
        for worker in range(workers):
            driver.pull(worker)
            if driver.asked_count:
                driver.plan(driver.asked_count)
        driver.fail(0)
        driver.ack()
        summaries.append(driver.kernel.summary)
    assert summaries[0] == summaries[1]
    assert (summaries[0].total, summaries[0].cancelled, summaries[0].stopped_at) == (None, None, 1)


@pytest.mark.slow
@pytest.mark.req("CAN-3")
@given(
    script=st.lists(words, max_size=24),
    choices=st.lists(choice_lists, min_size=len(CREWS), max_size=len(CREWS)),
    budget=st.none() | st.integers(0, 4),
)
def test_windows_that_adapt_to_the_timing_do_not_change_the_summary(
    script: list[str], choices: list[list[int]], budget: int | None
) -> None:
    limits = {"entries": 3, "entries_max": 8, "adaptive": True, "error_budget": budget, "retries_max": 1}
    first, *others = [
        ending(script, chosen, workers, 0, **limits) for workers, chosen in zip(CREWS, choices, strict=True)
    ]
    assert all(other == first for other in others)
