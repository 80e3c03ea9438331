"""Backpressure in a whole run: what it holds back, and what it never does."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inorder.core.commands import CommitRun, Dispatch, PressureChanged
from inorder.core.events import Loss, MemorySampled
from inorder.core.windows.plan import PlanItem
from tests.core.driver import Driver, Story, options

TIGHT = {"buffered_bytes_soft": 10, "buffered_bytes_hard": 10}


def sized(count: int, size: int, **limits: Any) -> Driver:
    """A run of `count` items, each announced with this size."""
    driver = Driver(options(**limits), total=count)
    driver.plan([PlanItem(size_bytes=size)] * count, ended=True)
    return driver


def levels(driver: Driver) -> list[str]:
    return [change.state for change in driver.told(PressureChanged)]


@pytest.mark.req("BPR-1", "BPR-4")
def test_dispatch_pauses_before_the_next_result_would_not_fit() -> None:
    driver = sized(6, 4, entries=8, **TIGHT)
    assert [driver.pull(worker) for worker in (1, 2, 3)] == [[0], [1], []]
    assert driver.told(PressureChanged) == [
        PressureChanged("hard", "buffered bytes 12 above buffered_bytes_max 10", at_ms=0, paused_ms=0, resumes=0)
    ]
    assert driver.kernel.snapshot().buffered_bytes == 8


@pytest.mark.req("BPR-1")
def test_what_is_set_aside_is_exchanged_for_what_has_come() -> None:
    driver = sized(6, 4)
    driver.pull(1)
    driver.pull(2)
    assert driver.kernel.snapshot().buffered_bytes == 8
    driver.finish(1, size=3)
    assert driver.kernel.snapshot().buffered_bytes == 7
    driver.finish(0, size=1)
    assert driver.kernel.snapshot().buffered_bytes == 4
    driver.ack()
    assert driver.kernel.snapshot().buffered_bytes == 0


@pytest.mark.req("BPR-1")
def test_the_bytes_of_the_first_window_alone_can_pause() -> None:
    driver = sized(4, 4, window_bytes_soft=6, window_bytes_hard=6)
    driver.pull()
    assert driver.told(PressureChanged)[-1].reason == "window bytes 8 above budgets.window_bytes_hard 6"


@pytest.mark.req("BPR-1")
def test_commit_lag_alone_can_pause() -> None:
    driver = Driver.of(8, commit_lag_soft=2, commit_lag_hard=2)
    for worker in range(5):
        driver.pull(worker)
    driver.finish(2)
    assert driver.told(PressureChanged)[-1].reason == "commit lag 3 above budgets.commit_lag_hard 2"
    assert driver.pull(2) == []


@pytest.mark.req("BPR-1", "BPR-2", "BPR-4")
def test_process_memory_pauses_and_releases_and_the_pause_is_timed() -> None:
    driver = Driver.of(4, resident_bytes_soft=100, resident_bytes_hard=200)
    driver.pull(1)
    driver.step(MemorySampled(201))
    assert driver.pull(2) == []
    driver.now_ms = 70
    driver.step(MemorySampled(161))
    assert levels(driver) == ["hard"]
    driver.now_ms = 100
    driver.step(MemorySampled(80))
    assert driver.told(PressureChanged)[-1] == PressureChanged("normal", "", at_ms=100, paused_ms=100, resumes=1)
    assert driver.holder(1) == 2


@pytest.mark.req("BPR-1")
def test_soft_pressure_gives_single_items_to_half_of_the_workers() -> None:
    driver = Driver.of(20, entries=100, resident_bytes_soft=100, resident_bytes_hard=200)
    for worker in range(6):
        driver.pull(worker)
    driver.finish(*range(6))
    driver.ack()
    driver.step(MemorySampled(150))
    served = [driver.pull(worker, 10) for worker in range(6)]
    assert served == [[6], [7], [8], [], [], []]
    assert driver.kernel.statistics().slowed_dispatches == 3


@pytest.mark.req("BPR-3")
def test_a_crowd_under_soft_pressure_still_serves_the_item_the_cursor_waits_for() -> None:
    driver = Driver.of(4, resident_bytes_soft=100, resident_bytes_hard=200)
    driver.pull(1)
    driver.pull(2)
    driver.step(MemorySampled(150))
    driver.lose(1, Loss.RETIRED)
    assert driver.pull(3) == [0]
    assert driver.kernel.statistics().cursor_admissions == 1


@pytest.mark.req("BPR-3")
def test_the_second_window_stops_first_and_the_first_is_still_served() -> None:
    driver = Driver.of(4, entries=2, window_bytes_soft=30, window_bytes_hard=100)
    for worker in (1, 2, 3):
        driver.pull(worker)
    driver.finish(1, size=0)
    driver.finish(2, size=20)
    assert driver.pull(2) == []
    assert driver.kernel.statistics().prefetch_refusals > 0
    assert levels(driver) == []
    driver.lose(1, Loss.RETIRED)
    assert driver.holder(0) == 2


@pytest.mark.req("BPR-3")
def test_the_second_window_is_served_again_once_it_is_the_first() -> None:
    driver = Driver.of(4, entries=2, window_bytes_soft=30, window_bytes_hard=100)
    for worker in (1, 2, 3):
        driver.pull(worker)
    driver.finish(1, size=0)
    driver.finish(2, size=20)
    assert driver.pull(2) == []
    driver.finish(0)
    driver.ack()
    assert driver.holder(3) == 2


@pytest.mark.req("BPR-3")
def test_under_hard_pressure_only_the_item_the_cursor_waits_for_gets_in() -> None:
    driver = sized(6, 9, **TIGHT)
    for worker in (1, 2):
        driver.pull(worker)
    assert driver.holdings == {1: {0: 1}}
    driver.pull(3)
    driver.lose(1, Loss.RETIRED)
    driver.lose(2, Loss.RETIRED)
    assert driver.holder(0) == 3
    assert driver.pull(4) == []
    assert driver.kernel.snapshot().waiting_for == "worker 3, which holds seq 0"
    driver.lose(3, Loss.RETIRED)
    assert driver.holder(0) == 4
    driver.lose(4, Loss.RETIRED)
    assert driver.kernel.snapshot().waiting_for == "a worker to pull seq 0 (dispatch is paused)"


@pytest.mark.req("BPR-3")
def test_a_suspect_the_cursor_waits_for_gets_in_by_itself() -> None:
    driver = sized(6, 4, **TIGHT)
    for worker in (1, 2):
        driver.pull(worker)
    driver.lose(1, Loss.DIED)
    assert driver.pull(3) == [0]
    assert driver.told(Dispatch)[-1].isolated


@pytest.mark.req("BPR-3")
def test_committing_is_never_held_back() -> None:
    driver = sized(3, 40, **TIGHT)
    assert levels(driver) == ["hard"]
    for seq in range(3):
        driver.pull()
        assert isinstance(driver.finish(seq, size=40)[0], CommitRun)
        driver.ack()
    assert driver.kernel.summary.succeeded == 3


@pytest.mark.slow
@pytest.mark.req("BPR-3")
@given(
    choices=st.lists(st.integers(0, 1000), min_size=1, max_size=40),
    workers=st.sampled_from([1, 2, 7]),
    losses=st.integers(0, 3),
    schedule=st.sampled_from(["fifo", "sjf"]),
)
def test_a_budget_smaller_than_one_item_still_ends_in_order(
    choices: list[int], workers: int, losses: int, schedule: str
) -> None:
    nothing = {f"{name}_{level}": 1 for name in ("buffered_bytes", "window_bytes") for level in ("soft", "hard")}
    items = [PlanItem(cost=float(7 - seq), size_bytes=10) for seq in range(7)]
    driver = Driver(options(entries=3, schedule=schedule, **nothing), total=7)
    Story(driver, ["s"] * 7, choices, workers=workers).plays(items).to_its_end(losses=losses)
    assert [envelope.seq for envelope in driver.committed] == list(range(7))
    assert driver.kernel.statistics().cursor_admissions == driver.kernel.statistics().dispatches
    assert levels(driver) == ["hard"]


@pytest.mark.slow
@pytest.mark.req("BPR-1")
@given(
    choices=st.lists(st.integers(0, 1000), min_size=1, max_size=60),
    workers=st.sampled_from([1, 2, 7]),
)
def test_while_sizes_are_as_announced_only_the_item_at_the_cursor_goes_beyond_the_budget(
    choices: list[int], workers: int
) -> None:
    driver = Driver(options(entries=6, buffered_bytes_soft=9, buffered_bytes_hard=10), total=20)
    seen: list[int] = []
    inner = driver.step
    driver.step = lambda event: [*inner(event), seen.append(driver.kernel.snapshot().buffered_bytes)][:-1]
    Story(driver, ["s"] * 20, choices, workers=workers).plays([PlanItem(size_bytes=3)] * 20).to_its_end()
    assert max(seen) <= 10 + 3
