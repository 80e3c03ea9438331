"""A run that goes on where an earlier one was interrupted: what was done passes by, what was spent stays spent."""

from typing import Any

import pytest

from inorder.core.commands import Ended, NeedItems, PressureChanged, Stopping, Summary, WindowOpened, WindowSealed
from inorder.core.kernel import Kernel
from inorder.core.ledger import Ledger
from inorder.core.options import OperatorError
from inorder.core.plan import PlanItem
from inorder.core.planning import PASS_BY_MAX
from inorder.core.restored import Restored, RestoredWindow
from inorder.core.windows import SizingSnapshot
from tests.core.driver import Driver, options

SIZING = SizingSnapshot(
    target_entries=4, commit_lag=0, used_bytes=0, bytes_soft=1, retries=2, entries=4, starved_steps=0
)


def windows(*starts: int, entries: int = 4) -> tuple[RestoredWindow, ...]:
    """Open windows of four, each with the number that its place gives it."""
    return tuple(RestoredWindow(start // entries, start, entries) for start in starts)


def resumed(restored: Restored, count: int, *, ended: bool = True, **limits: Any) -> Driver:
    """A driver that goes on from there, with its plan of `count` plain items planned."""
    driver = Driver(options(**limits), total=count if ended else None, restored=restored)
    driver.plan(count, ended=ended)
    return driver


def summary_of(driver: Driver) -> Summary:
    assert driver.kernel.summary is not None
    return driver.kernel.summary


def done_up_to(end: int, **known: Any) -> Restored:
    """Everything below `end` has succeeded, unless told otherwise."""
    return Restored(**({"end": end, "succeeded": end, "windows": windows(end - end % 4)} | known))


# ---- what was done passes by


@pytest.mark.req("JRN-3")
def test_what_is_committed_is_not_dispatched_again() -> None:
    driver = resumed(done_up_to(2), 6)
    assert driver.pull(1, limit=9) == [2]
    driver.finish(2)
    assert driver.pull(2, limit=9) == [3]


@pytest.mark.req("JRN-3")
def test_the_summary_counts_what_the_run_before_has_done() -> None:
    driver = resumed(done_up_to(6, succeeded=3, skipped=2, failed=1, retries=5), 9, retries_max=1)
    driver.pull()
    driver.fail(6, retryable=True)
    driver.drain()
    assert summary_of(driver) == Summary(
        total=9,
        succeeded=6,
        skipped=2,
        failed=1,
        cancelled=0,
        retries=6,
        was_cancelled=False,
        stop_kind=None,
        cancel_reason=None,
        stopped_at=None,
    )


@pytest.mark.req("JRN-3")
def test_only_what_this_run_has_done_is_committed_by_it() -> None:
    driver = resumed(done_up_to(5), 9)
    driver.drain()
    assert [envelope.seq for envelope in driver.committed] == [5, 6, 7, 8]


@pytest.mark.req("JRN-3")
def test_a_plan_that_is_all_done_ends_at_once() -> None:
    driver = resumed(done_up_to(4), 4)
    assert driver.told(Ended) == [Ended(summary_of(driver))]
    assert (summary_of(driver).total, summary_of(driver).succeeded, driver.committed) == (4, 4, [])


@pytest.mark.req("JRN-3")
def test_a_run_that_had_done_nothing_begins_at_the_beginning() -> None:
    driver = resumed(Restored(), 3)
    assert driver.pull() == [0]
    assert driver.told(WindowOpened) == [WindowOpened(0, 0, 4, None)]


@pytest.mark.req("JRN-3")
def test_a_plan_shorter_than_what_is_committed_is_refused() -> None:
    with pytest.raises(OperatorError, match="^the plan ended after 3 items, but 5 are already committed$"):
        resumed(done_up_to(5), 3, ended=False).plan(0, ended=True)


@pytest.mark.req("JRN-3")
def test_the_plan_may_come_in_any_number_of_pieces() -> None:
    driver = Driver(options(), total=11, restored=done_up_to(9))
    for count in (1, 3, 1, 2, 3):
        driver.plan(count)
        assert driver.told(WindowSealed) == []
    driver.plan(1, ended=True)
    assert driver.pull(1, 3) == [9]
    driver.drain()
    assert (summary_of(driver).total, summary_of(driver).succeeded) == (11, 11)


@pytest.mark.req("JRN-3", "LED-5")
def test_what_passes_by_is_committed_in_the_ledger_and_saying_it_again_changes_nothing() -> None:
    driver = resumed(done_up_to(6), 9)
    ledger = driver.kernel._board.ledger
    counts = (ledger.terminal_count, ledger.committed_count, ledger.next_commit_seq, ledger.in_flight_count)
    assert counts == (6, 6, 6, 0)
    states = bytes(ledger.states)
    ledger.replay_commit(6)
    assert bytes(ledger.states) == states
    assert ledger.committed_count == 6


@pytest.mark.req("JRN-3")
def test_a_snapshot_shows_where_the_run_stands() -> None:
    snapshot = resumed(done_up_to(6), 9).kernel.snapshot()
    assert (snapshot.next_commit_seq, snapshot.max_seen_seq, snapshot.commit_lag) == (6, 5, 0)
    assert (snapshot.oldest_blocked_seq, snapshot.committed_count) == (6, 6)


@pytest.mark.req("JRN-3")
def test_an_id_that_was_passed_by_may_not_come_again() -> None:
    driver = Driver(options(), restored=done_up_to(5))
    with pytest.raises(OperatorError, match="plan item 5 \\('b'\\) repeats an earlier id"):
        driver.plan([PlanItem(name) for name in "abcdeb"])


# ---- the plan is asked for what passes by in large pieces


@pytest.mark.req("WIN-7")
def test_what_passes_by_is_asked_for_in_large_pieces_and_the_rest_in_small_ones() -> None:
    end = 2 * PASS_BY_MAX + 5
    driver = Driver(options(plan_ahead=2), restored=done_up_to(end))
    assert driver.told(NeedItems)[-1] == NeedItems(PASS_BY_MAX)
    driver.plan(PASS_BY_MAX)
    driver.plan(PASS_BY_MAX)
    driver.plan(6)
    assert driver.told(NeedItems)[-1].count <= PASS_BY_MAX
    driver.pull()
    assert driver.told(NeedItems)[-1] == NeedItems(2)


@pytest.mark.xfail(strict=True, reason="a resumed run asks for 8192 items at once, however few of them pass by")
@pytest.mark.req("WIN-7")
def test_no_more_is_asked_for_than_passes_by_and_the_workers_want() -> None:
    driver = Driver(options(plan_ahead=6), restored=done_up_to(2))
    assert driver.asked_count <= 2 + 6


@pytest.mark.xfail(strict=True, reason="until the plan has come by, all that was committed counts as a lag")
@pytest.mark.req("BPR-1")
def test_what_is_committed_is_no_lag() -> None:
    driver = resumed(done_up_to(100), 102, commit_lag_soft=10, commit_lag_hard=20)
    driver.drain()
    assert driver.told(PressureChanged) == []


# ---- windows


@pytest.mark.req("JRN-3", "WIN-6")
def test_the_windows_that_were_open_are_cut_as_they_were() -> None:
    known = (RestoredWindow(5, 30, 3, SIZING), RestoredWindow(6, 33, 9))
    driver = resumed(done_up_to(31, windows=known), 60, entries=5, entries_max=20)
    assert driver.told(WindowOpened) == [WindowOpened(5, 30, 3, SIZING), WindowOpened(6, 33, 9, None)]
    bounds = [(sealed.record.id, sealed.record.start, sealed.record.end) for sealed in driver.told(WindowSealed)]
    assert bounds == [(5, 30, 32), (6, 33, 41)]


@pytest.mark.req("JRN-3", "WIN-6")
def test_the_window_after_them_has_the_size_of_the_last_and_the_next_number() -> None:
    driver = resumed(done_up_to(31, windows=(RestoredWindow(5, 30, 3),)), 60, entries=5)
    assert driver.told(WindowOpened)[1] == WindowOpened(6, 33, 3, None)


@pytest.mark.req("JRN-3", "WIN-6")
def test_a_window_that_was_all_committed_and_not_yet_followed_by_another_closes_at_once() -> None:
    driver = resumed(done_up_to(4, windows=windows(0)), 9)
    assert [opened.start for opened in driver.told(WindowOpened)] == [0, 4, 8]
    assert driver.pull() == [4]


@pytest.mark.req("JRN-3", "WIN-6")
def test_adaptive_sizes_go_on_from_the_size_that_was_restored() -> None:
    driver = resumed(
        done_up_to(7, windows=(RestoredWindow(1, 6, 6, SIZING),), granted={6: 2}),
        30,
        adaptive=True,
        entries=3,
        entries_max=20,
        retries_max=2,
    )
    for _ in range(5):
        driver.finish(*driver.pull())
        driver.ack()
    opened = driver.told(WindowOpened)
    assert [(window.id, window.start, window.target_entries) for window in opened] == [(1, 6, 6), (2, 12, 6), (3, 18, 3)]
    assert opened[2].sizing is not None
    assert (opened[2].sizing.retries, opened[2].sizing.entries) == (2, 6)


@pytest.mark.req("JRN-3", "WIN-3")
def test_a_window_has_the_same_hash_as_in_a_run_that_was_not_interrupted() -> None:
    items = [PlanItem(f"item {seq}") for seq in range(12)]
    sealed = []
    for restored in (None, Restored(end=5, succeeded=5, windows=windows(4, 8))):
        driver = Driver(options(), total=12, restored=restored)
        driver.plan(items[:7])
        driver.plan(items[7:], ended=True)
        driver.drain()
        sealed.append([command.record for command in driver.told(WindowSealed)])
    assert sealed[0][1:] == sealed[1]


@pytest.mark.req("JRN-3", "WIN-2")
def test_an_item_too_large_for_any_window_has_its_own_again() -> None:
    items = [PlanItem(cost=cost) for cost in (1, 1, 9, 1, 1)]
    driver = Driver(options(cost_max=3), total=5, restored=done_up_to(3, windows=(RestoredWindow(1, 2, 4),)))
    driver.plan(items, ended=True)
    records = [sealed.record for sealed in driver.told(WindowSealed)]
    assert [(record.id, record.start, record.end, record.oversize) for record in records] == [
        (1, 2, 2, True),
        (2, 3, 4, False),
    ]
    driver.drain()
    assert summary_of(driver).succeeded == 5


# ---- retries


@pytest.mark.req("JRN-3", "RTY-2")
def test_retries_that_were_spent_are_not_granted_again() -> None:
    driver = resumed(done_up_to(1, granted={1: 2, 2: 1}), 4, retries_max=2)
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
    driver = resumed(done_up_to(2, granted={0: spent}), 4, retries_max=3, window_retries_max=2)
    driver.pull()
    driver.fail(2, retryable=True)
    assert (driver.run is not None) is is_final


@pytest.mark.req("JRN-3", "RTY-2")
def test_what_was_spent_in_the_next_window_is_not_held_against_this_one() -> None:
    restored = Restored(end=2, succeeded=2, granted={5: 2}, windows=windows(0, 4))
    driver = resumed(restored, 8, retries_max=3, window_retries_max=2)
    driver.pull()
    driver.fail(2, retryable=True)
    assert driver.run is None
    assert restored.granted_from(0) == {}
    assert restored.granted_from(4) == {5: 2}


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
    driver = Driver(options(error_budget=1), total=9, restored=done_up_to(4, succeeded=2, failed=2, retries=3))
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
    assert driver.commands == [Stopping(reason, 0), Ended(summary)]


@pytest.mark.req("JRN-3", "CAN-3")
@pytest.mark.parametrize("budget", [None, 2])
def test_an_error_budget_that_was_not_exceeded_stops_nothing(budget: int | None) -> None:
    driver = resumed(done_up_to(4, succeeded=2, failed=2), 6, error_budget=budget)
    driver.drain()
    assert summary_of(driver).stop_kind is None


@pytest.mark.req("JRN-3", "CAN-1")
@pytest.mark.parametrize("passed", [0, 2, 5])
def test_a_run_that_is_cancelled_while_items_pass_by_is_cut_where_it_had_stopped_before(passed: int) -> None:
    driver = Driver(options(), total=9, restored=done_up_to(6))
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
    assert not driver.kernel.is_committing
    driver.finish(*driver.pull())
    assert driver.kernel.is_committing
    driver.ack()
    assert not driver.kernel.is_committing


def test_a_kernel_that_is_told_of_no_run_before_begins_anew() -> None:
    assert Kernel(options()).snapshot() == Kernel(options(), restored=Restored()).snapshot()
