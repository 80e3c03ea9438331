"""A run that goes on where an earlier one was interrupted: what was done passes by, windows are cut as they were."""

import msgspec
import pytest

from inorder.core.commands import Ended, NeedItems, PressureChanged, Summary, WindowOpened, WindowSealed
from inorder.core.kernel import Kernel
from inorder.core.resume_point import ResumePoint, ResumeWindow
from inorder.core.windows.placement import SKIP_AHEAD_MAX
from inorder.core.windows.plan import PlanItem
from inorder.core.windows.window import SizingSnapshot
from inorder.errors import OperatorError
from tests.core.driver import Driver, options
from tests.core.resume.resumed import done_up_to, resumed, summary_of, windows

SIZING = SizingSnapshot(
    target_entries=4, commit_lag=0, used_bytes=0, bytes_soft=1, retries=2, entries=4, starved_steps=0
)


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
    driver = resumed(ResumePoint(), 3)
    assert driver.pull() == [0]
    assert driver.told(WindowOpened) == [WindowOpened(0, 0, 4, None)]


@pytest.mark.req("JRN-3")
def test_a_plan_shorter_than_what_is_committed_is_refused() -> None:
    with pytest.raises(
        OperatorError, match=r"^the plan has 3 items, but 5 are already committed; resume with the same plan$"
    ):
        resumed(done_up_to(5), 3, ended=False).plan(0, ended=True)


@pytest.mark.req("JRN-3")
def test_the_plan_may_come_in_any_number_of_pieces() -> None:
    driver = Driver(options(), total=11, resume_point=done_up_to(9))
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
    ledger = driver.kernel._state.ledger
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
    driver = Driver(options(), resume_point=done_up_to(5))
    with pytest.raises(OperatorError, match="plan item 5 \\('b'\\) repeats an earlier id"):
        driver.plan([PlanItem(name) for name in "abcdeb"])


# ---- the plan is asked for what passes by in large pieces


@pytest.mark.req("WIN-7")
def test_what_passes_by_is_asked_for_in_large_pieces_and_the_rest_in_small_ones() -> None:
    end = 2 * SKIP_AHEAD_MAX + 5
    driver = Driver(options(plan_ahead=2), resume_point=done_up_to(end))
    assert driver.told(NeedItems)[-1] == NeedItems(SKIP_AHEAD_MAX)
    driver.plan(SKIP_AHEAD_MAX)
    driver.plan(SKIP_AHEAD_MAX)
    driver.plan(6)
    assert driver.told(NeedItems)[-1].count <= SKIP_AHEAD_MAX
    driver.pull()
    assert driver.told(NeedItems)[-1] == NeedItems(2)


@pytest.mark.req("WIN-7")
def test_no_more_is_asked_for_than_passes_by_and_the_workers_want() -> None:
    driver = Driver(options(plan_ahead=6), resume_point=done_up_to(2))
    assert driver.asked_count <= 2 + 6


@pytest.mark.req("BPR-1")
def test_what_is_committed_is_no_lag() -> None:
    driver = resumed(done_up_to(100), 102, commit_lag_soft=10, commit_lag_hard=20)
    driver.drain()
    assert driver.told(PressureChanged) == []


# ---- windows


@pytest.mark.req("JRN-3", "WIN-6")
def test_the_windows_that_were_open_are_cut_as_they_were() -> None:
    known = (ResumeWindow(5, 30, 3, SIZING), ResumeWindow(6, 33, 9))
    driver = resumed(done_up_to(31, windows=known), 60, entries=5, entries_max=20)
    assert driver.told(WindowOpened) == [WindowOpened(5, 30, 3, SIZING), WindowOpened(6, 33, 9, None)]
    bounds = [(sealed.record.id, sealed.record.start, sealed.record.end) for sealed in driver.told(WindowSealed)]
    assert bounds == [(5, 30, 32), (6, 33, 41)]


@pytest.mark.req("JRN-3", "WIN-6")
def test_an_adaptive_window_after_them_has_the_size_of_the_last_and_the_next_number() -> None:
    driver = resumed(done_up_to(31, windows=(ResumeWindow(5, 30, 3),)), 60, entries=5, adaptive=True)
    assert driver.told(WindowOpened)[1] == WindowOpened(6, 33, 3, None)


@pytest.mark.req("JRN-3", "REA-1")
def test_the_window_after_them_has_the_size_of_the_options_unless_sizes_are_adaptive() -> None:
    driver = resumed(done_up_to(31, windows=(ResumeWindow(5, 30, 3),)), 60, entries=5)
    assert driver.told(WindowOpened)[1] == WindowOpened(6, 33, 5, None)


@pytest.mark.req("JRN-3", "WIN-6")
def test_a_window_that_was_all_committed_and_not_yet_followed_by_another_closes_at_once() -> None:
    driver = resumed(done_up_to(4, windows=windows(0)), 9)
    assert [opened.start for opened in driver.told(WindowOpened)] == [0, 4, 8]
    assert driver.pull() == [4]


@pytest.mark.req("JRN-3", "WIN-6")
def test_adaptive_sizes_go_on_from_the_size_that_was_restored() -> None:
    driver = resumed(
        done_up_to(7, windows=(ResumeWindow(1, 6, 6, SIZING),), retries_granted={6: 2}),
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
    assert [(window.id, window.start, window.target_entries) for window in opened] == [
        (1, 6, 6),
        (2, 12, 6),
        (3, 18, 3),
    ]
    assert opened[2].sizing is not None
    assert (opened[2].sizing.retries, opened[2].sizing.entries) == (2, 6)


@pytest.mark.req("JRN-3", "WIN-6")
def test_a_resumed_run_remembers_the_size_with_which_workers_were_idle_before() -> None:
    sizing = msgspec.structs.replace(SIZING, target_entries=5, starved_steps=1, retries=0)
    driver = resumed(
        done_up_to(7, windows=(ResumeWindow(1, 6, 6, sizing),)), 40, adaptive=True, entries=3, entries_max=20
    )
    driver.now_ms = 10**9
    while len(driver.told(WindowOpened)) < 3:
        driver.finish(*driver.pull())
        driver.ack()
    assert driver.told(WindowOpened)[2].sizing.starved_entries == 5
    assert driver.told(WindowOpened)[2].sizing.elapsed_ms == 10**9


@pytest.mark.req("JRN-3", "WIN-3")
def test_a_window_has_the_same_hash_as_in_a_run_that_was_not_interrupted() -> None:
    items = [PlanItem(f"item {seq}") for seq in range(12)]
    sealed = []
    for resume_point in (None, ResumePoint(end=5, succeeded=5, windows=windows(4, 8))):
        driver = Driver(options(), total=12, resume_point=resume_point)
        driver.plan(items[:7])
        driver.plan(items[7:], ended=True)
        driver.drain()
        sealed.append([command.record for command in driver.told(WindowSealed)])
    assert sealed[0][1:] == sealed[1]


@pytest.mark.req("JRN-3", "WIN-2")
def test_an_item_too_large_for_any_window_has_its_own_again() -> None:
    items = [PlanItem(cost=cost) for cost in (1, 1, 9, 1, 1)]
    driver = Driver(options(cost_max=3), total=5, resume_point=done_up_to(3, windows=(ResumeWindow(1, 2, 4),)))
    driver.plan(items, ended=True)
    records = [sealed.record for sealed in driver.told(WindowSealed)]
    assert [(record.id, record.start, record.end, record.oversize) for record in records] == [
        (1, 2, 2, True),
        (2, 3, 4, False),
    ]
    driver.drain()
    assert summary_of(driver).succeeded == 5


def test_a_kernel_that_is_told_of_no_run_before_begins_anew() -> None:
    assert Kernel(options()).snapshot() == Kernel(options(), resume_point=ResumePoint()).snapshot()
