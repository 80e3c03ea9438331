"""Who gets what next: windows, schedules, keys and batch sizes."""

from typing import Any

import pytest

from inorder.core.commands import Dispatch, WindowClosed
from inorder.core.events import Loss, MemorySampled
from inorder.core.windows.plan import PlanItem
from tests.core.driver import Driver, options


def planned(items: list[PlanItem], **limits: Any) -> Driver:
    driver = Driver(options(**limits), total=len(items))
    driver.plan(items, ended=True)
    return driver


def experienced(count: int, **limits: Any) -> Driver:
    """A run whose first item is done, so that the size of a result is known and batches may be larger than one."""
    driver = Driver.of(count, **({"entries": 1000} | limits))
    driver.pull(1)
    driver.finish(0)
    return driver


@pytest.mark.req("CMP-1")
def test_items_are_computed_out_of_order_inside_the_active_windows() -> None:
    driver = Driver.of(4, entries=2)
    assert [driver.pull(worker) for worker in (1, 2, 3, 4)] == [[0], [1], [2], [3]]
    driver.finish(3, 2, 1)
    assert driver.kernel.statistics().commit_runs == 0
    driver.finish(0)
    driver.drain()
    assert [envelope.seq for envelope in driver.committed] == [0, 1, 2, 3]


@pytest.mark.req("CMP-1")
def test_the_oldest_window_is_served_first() -> None:
    driver = Driver.of(6, entries=2)
    assert [driver.pull(worker) for worker in (1, 2, 3)] == [[0], [1], [2]]
    driver.lose(2, Loss.RETIRED)
    assert [driver.pull(worker) for worker in (4, 5, 6)] == [[1], [3], []]


@pytest.mark.req("CMP-1", "DEC-5")
def test_nothing_beyond_the_second_window_is_dispatched_while_the_first_is_open() -> None:
    driver = Driver.of(6, entries=2)
    assert [driver.pull(worker) for worker in range(5)] == [[0], [1], [2], [3], []]
    driver.finish(1, 2, 3)
    assert driver.told(WindowClosed) == []
    assert driver.holdings[0] == {0: 1}
    driver.finish(0)
    driver.ack()
    assert driver.holdings[4] == {4: 1}


@pytest.mark.req("CMP-1")
def test_the_longest_waiting_worker_is_served_first() -> None:
    driver = Driver()
    for worker in (3, 1, 2):
        driver.pull(worker)
    driver.plan(2)
    assert [command.worker for command in driver.told(Dispatch)] == [3, 1]


@pytest.mark.req("CMP-4")
@pytest.mark.parametrize(("schedule", "order"), [("fifo", [0, 1, 2, 3]), ("sjf", [1, 0, 3, 2])])
def test_a_schedule_orders_dispatch_inside_each_window_only(schedule: str, order: list[int]) -> None:
    driver = planned([PlanItem(cost=cost) for cost in (9, 5, 2, 1)], entries=2, schedule=schedule)
    assert [driver.pull(worker)[0] for worker in range(4)] == order


@pytest.mark.req("CMP-4", "COM-1")
def test_a_schedule_does_not_touch_the_order_of_commits() -> None:
    driver = planned([PlanItem(cost=cost) for cost in (9, 5, 2, 1, 7)], entries=3, schedule="sjf")
    driver.drain()
    assert [envelope.seq for envelope in driver.committed] == [0, 1, 2, 3, 4]


@pytest.mark.req("CMP-1")
def test_in_an_aged_window_the_oldest_goes_first_whatever_the_schedule() -> None:
    driver = planned([PlanItem(cost=cost) for cost in (9, 3, 2, 1)], schedule="sjf", aged_ms=1000)
    assert driver.pull(1) == [3]
    driver.tick(999)
    assert driver.pull(2) == [2]
    driver.tick(1)
    assert [driver.pull(3), driver.pull(4)] == [[0], [1]]
    assert driver.kernel.statistics().aged_dispatches == 2


@pytest.mark.req("CMP-1")
def test_age_changes_nothing_where_the_oldest_goes_first_anyway() -> None:
    driver = Driver.of(2, aged_ms=0)
    assert driver.pull() == [0]
    assert driver.kernel.statistics().aged_dispatches == 0


@pytest.mark.req("CMP-3")
def test_items_with_one_key_travel_together_and_a_worker_keeps_to_its_key() -> None:
    driver = planned([PlanItem(batch_key=key) for key in "xpyqpyqp"], entries=8)
    driver.pull(1)
    driver.finish(0)
    assert [driver.pull(1, 2), driver.pull(2, 2)] == [[1, 4], [2, 5]]
    driver.finish(1, 4, 2, 5)
    assert [driver.pull(1, 2), driver.pull(2, 1)] == [[7], [3]]
    driver.finish(3)
    assert driver.pull(2, 1) == [6]
    assert [batch.batch_key for batch in driver.told(Dispatch)] == ["x", "p", "y", "p", "q", "q"]
    assert driver.kernel.statistics().local_batches == 2


@pytest.mark.req("CMP-3")
def test_workers_spread_over_the_keys_before_they_share_one() -> None:
    driver = planned([PlanItem(batch_key=key) for key in "aabbcc"], entries=6)
    assert [driver.pull(worker) for worker in (1, 2, 3, 4)] == [[0], [2], [4], [1]]


@pytest.mark.req("CMP-3", "COM-1")
def test_keys_do_not_touch_the_order_of_commits() -> None:
    driver = planned([PlanItem(batch_key=key) for key in "abababab"], entries=4)
    driver.drain()
    assert [envelope.seq for envelope in driver.committed] == list(range(8))


@pytest.mark.req("CMP-3")
def test_a_key_reaches_no_further_than_its_window() -> None:
    driver = planned([PlanItem(batch_key=key) for key in "abbb"], entries=2)
    driver.pull(1)
    driver.finish(0)
    assert driver.pull(1, 10) == [1]


def test_until_a_size_is_known_items_go_out_one_by_one() -> None:
    driver = Driver.of(4)
    assert driver.pull(1, 10) == [0]


@pytest.mark.parametrize(
    ("limits", "wanted", "given"),
    [
        ({}, 5, 5),
        ({}, 0, 1),
        ({"batch_max": 3}, 5, 3),
    ],
)
def test_a_batch_is_as_large_as_wanted_and_allowed(limits: dict[str, Any], wanted: int, given: int) -> None:
    assert len(experienced(11, **limits).pull(1, wanted)) == given


def test_a_batch_leaves_the_other_workers_their_share() -> None:
    driver = experienced(10)
    driver.lose(1, Loss.RETIRED)
    driver.pull(2)
    for worker in (3, 4):
        driver.pull(worker)
    driver.finish(1)
    assert driver.pull(2, 100) == [4, 5]


@pytest.mark.req("BPR-1")
@pytest.mark.parametrize("marks", ["buffered_bytes", "window_bytes"])
def test_a_batch_does_not_go_beyond_the_bytes_left(marks: str) -> None:
    driver = Driver.of(20, entries=100, **{f"{marks}_soft": 50, f"{marks}_hard": 55})
    driver.pull(1)
    driver.finish(0, size=10)
    driver.ack()
    assert driver.pull(2) == [1]
    assert driver.pull(1, 100) == [2, 3, 4, 5]
    assert driver.told(Dispatch)[-1].share_bytes == 10


@pytest.mark.req("WIN-6")
def test_a_worker_that_idles_because_both_windows_are_too_small_is_counted() -> None:
    driver = Driver(options(entries=1))
    driver.plan(3)
    for worker in (1, 2):
        driver.pull(worker)
    assert driver.kernel.statistics().starved_steps == 0
    driver.pull(3)
    assert driver.kernel.statistics().starved_steps == 1


@pytest.mark.req("WIN-6")
def test_a_worker_that_idles_for_another_reason_is_not_counted() -> None:
    no_plan, small_plan, paused = Driver(), Driver.of(1, entries=1), Driver(options(entries=1, resident_bytes_soft=1))
    slow_plan = Driver(options(entries=2))
    slow_plan.plan(3)
    for worker in range(4):
        slow_plan.pull(worker)
    no_plan.pull()
    small_plan.pull(1)
    small_plan.pull(2)
    paused.plan(3)
    paused.pull(1)
    paused.pull(2)
    paused.step(MemorySampled(2))
    paused.pull(3)
    for driver in (no_plan, small_plan, paused, slow_plan):
        assert driver.kernel.statistics().starved_steps == 0


def test_a_worker_that_pulls_twice_before_it_is_served_wants_what_it_said_last() -> None:
    driver = Driver()
    driver.pull(1, 5)
    driver.pull(1, 2)
    assert driver.kernel._state.demand == 2
    driver.plan(1)
    assert [command.seqs for command in driver.told(Dispatch)] == [[0]]
