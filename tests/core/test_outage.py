"""A server that is down is not the items' fault: the run waits for it."""

import pytest

from inorder.core.commands import Dispatch, OutageChanged, RetryScheduled, Stopping
from inorder.core.events import Loss, Overran, WorkerLost
from inorder.core.options import KernelOptions
from inorder.errors import Category, Failure
from tests.core.driver import FAIL, Driver

pytestmark = pytest.mark.req("RTY-5", "LED-7")

DOWN = Failure(category=Category.PROVIDER, message="returned 503", retryable=True, outage="http://vectors")


def lose_server(driver: Driver, seq: int, wait_ms: int = 0) -> None:
    """The holder of the item finds the server down."""
    failure = Failure(category=DOWN.category, message=DOWN.message, retryable=True, outage=DOWN.outage, wait_ms=wait_ms)
    driver.answer(seq, FAIL, failure=failure)


def list_dispatched(driver: Driver) -> list[list[int]]:
    return [command.seqs for command in driver.told(Dispatch)]


def test_no_item_fails_and_none_is_dispatched_until_the_next_attempt_is_due() -> None:
    driver = Driver.of(3)
    driver.pull()
    lose_server(driver, 0)
    assert driver.pull() == []
    assert driver.pull(2) == []
    assert driver.kernel.wake_at_ms == 1000
    assert driver.told(RetryScheduled) == []
    driver.tick(1000)
    assert list_dispatched(driver) == [[0], [0]], "one item is tried, although two workers are idle"
    assert driver.kernel.wake_at_ms != driver.now_ms
    assert driver.committed == []


def test_a_run_that_waits_for_a_server_says_which_one_and_until_when() -> None:
    driver = Driver.of(3)
    driver.pull()
    driver.tick(500)
    lose_server(driver, 0)
    head = driver.kernel.find_head()
    assert (head.state, head.server, head.reason) == ("outage", "http://vectors", "returned 503")
    assert (head.since_ms, head.due_ms) == (500, 1500)
    assert "http://vectors" in driver.kernel.snapshot().waiting_for
    driver.pull()
    driver.tick(1000)
    driver.finish(0)
    assert driver.kernel.find_head().state == "committing"


def test_the_run_goes_on_once_the_item_that_was_tried_succeeds() -> None:
    driver = Driver.of(3)
    driver.pull()
    lose_server(driver, 0)
    driver.pull()
    driver.pull(2)
    driver.tick(1000)
    assert driver.kernel.outage is not None
    driver.finish(0)
    assert driver.kernel.outage is None
    assert list_dispatched(driver)[2:] == [[1]]
    began, ended = driver.told(OutageChanged)
    assert (began.server, began.reason, began.is_over, began.wait_ms) == ("http://vectors", "returned 503", False, 1000)
    assert (ended.is_over, ended.waited_ms, ended.probes) == (True, 1000, 0)


def test_a_failure_for_another_reason_shows_that_the_server_is_back() -> None:
    driver = Driver.of(2)
    driver.pull()
    lose_server(driver, 0)
    driver.pull()
    driver.tick(1000)
    driver.fail(0, Category.INPUT)
    assert driver.kernel.outage is None
    assert driver.pull() == [1]


def test_what_was_dispatched_before_neither_ends_the_outage_nor_lengthens_the_wait() -> None:
    driver = Driver.of(4)
    for worker in (1, 2, 3):
        driver.pull(worker)
    lose_server(driver, 0)
    driver.tick(900)
    lose_server(driver, 1)
    driver.finish(2)
    assert driver.kernel.outage is not None
    driver.pull(1)
    assert driver.kernel.wake_at_ms == 1000
    assert len(driver.told(OutageChanged)) == 1


def test_the_waits_double_and_the_run_stops_resumable_at_the_limit() -> None:
    driver = Driver.of(2, outage_ms_max=10_000)
    driver.pull()
    lose_server(driver, 0)
    for wait_ms in (1000, 2000, 4000):
        driver.pull()
        driver.tick(wait_ms)
        lose_server(driver, 0)
    assert [change.wait_ms for change in driver.told(OutageChanged)] == [1000, 2000, 4000, 8000]
    [stopping] = driver.told(Stopping)
    assert stopping.reason == (
        "http://vectors is down, and the next attempt would be made after outage_s_max: returned 503"
    )
    summary = driver.kernel.summary
    assert summary is not None
    assert (summary.stop_kind, summary.failed, summary.cancelled) == ("infrastructure", 0, 2)


def test_a_server_that_asks_for_more_time_than_there_is_stops_the_run_at_once() -> None:
    driver = Driver.of(1, outage_ms_max=10_000)
    driver.pull()
    lose_server(driver, 0, wait_ms=10_001)
    assert driver.kernel.summary is not None


def test_the_wait_is_at_least_what_the_server_asks_for() -> None:
    driver = Driver.of(1)
    driver.pull()
    lose_server(driver, 0, wait_ms=60_000)
    driver.pull()
    assert driver.kernel.wake_at_ms == 60_000


@pytest.mark.parametrize("end", ["lost", "overran"])
def test_another_item_is_tried_if_the_worker_of_the_first_is_lost(end: str) -> None:
    driver = Driver.of(3)
    driver.pull()
    lose_server(driver, 0)
    driver.pull()
    driver.tick(1000)
    attempt = driver.holdings[1][0]
    driver.step(WorkerLost(1, Loss.INFRASTRUCTURE) if end == "lost" else Overran(1, 0, attempt, 10))
    driver.pull(2)
    assert driver.kernel.outage is not None
    driver.tick(1000)
    assert list_dispatched(driver)[-1] == ([0] if end == "lost" else [1])


def test_an_item_that_waits_for_its_own_retry_wakes_the_run_meanwhile() -> None:
    driver = Driver.of(3, retries_max=1, backoff_ms=100)
    driver.pull(1)
    driver.pull(2)
    driver.pull(3)
    lose_server(driver, 0)
    driver.fail(1, Category.IO, retryable=True)
    driver.finish(2)
    driver.pull(1)
    assert 50 <= driver.kernel.wake_at_ms <= 100
    driver.tick(100)
    assert driver.kernel.wake_at_ms == 1000
    driver.tick(900)
    assert list_dispatched(driver)[-1] == [0]


def test_a_failure_that_cannot_pass_is_no_outage() -> None:
    refused = Failure(category=Category.CONFIG, message="returned 401", retryable=True, outage="http://vectors")
    driver = Driver.of(1)
    driver.pull()
    driver.answer(0, FAIL, failure=refused)
    assert driver.kernel.outage is None
    assert [envelope.outcome for envelope in driver.run.envelopes] == [FAIL]


def test_a_run_waits_a_quarter_of_an_hour() -> None:
    assert KernelOptions().outage_ms_max == 900_000


@pytest.mark.req("MOD-3")
def test_an_item_that_would_exceed_a_limit_on_money_stops_the_run_and_has_not_failed() -> None:
    driver = Driver.of(3)
    driver.pull()
    driver.finish(0)
    driver.pull()
    reached = Failure(category=Category.PROVIDER, message="no money", retryable=True, budget="cost_max=1 is reached")
    driver.answer(1, FAIL, failure=reached)
    driver.ack()
    summary = driver.kernel.summary
    assert summary is not None
    assert (summary.stop_kind, summary.cancel_reason) == ("budget", "cost_max=1 is reached")
    assert (summary.succeeded, summary.failed, summary.stopped_at, summary.retries) == (1, 0, 1, 0)
