"""What an item hands over before it ends: fenced, counted, committed with a failure and with nothing else."""

import pytest

from inorder.core.commands import Dispatch, ResultRefused, StopWorker
from inorder.core.events import HandedOver, Loss, Overran, WorkerLost
from inorder.errors import Category
from tests.core.driver import Driver


def running(count: int = 1, **limits: object) -> Driver:
    driver = Driver.of(count, **limits)
    driver.pull(1)
    return driver


def used_bytes(driver: Driver) -> int:
    return sum(window.used_bytes for window in driver.kernel.snapshot().windows)


@pytest.mark.req("COM-2")
def test_a_failure_is_committed_with_what_its_worker_handed_over() -> None:
    driver = running()
    driver.step(HandedOver(1, 0, 1, b"half"))
    driver.fail(0)
    assert [each.partial for each in driver.committed] == [b"half"]
    assert driver.kernel.statistics().hand_overs == 1


@pytest.mark.req("COM-2")
def test_the_last_hand_over_wins() -> None:
    driver = running()
    driver.step(HandedOver(1, 0, 1, b"a quarter"))
    driver.step(HandedOver(1, 0, 1, b"half"))
    driver.fail(0)
    assert driver.committed[0].partial == b"half"


@pytest.mark.req("COM-2")
@pytest.mark.parametrize("end", ["finish", "skip"])
def test_a_success_or_a_skip_drops_it(end: str) -> None:
    driver = running()
    driver.step(HandedOver(1, 0, 1, b"half"))
    getattr(driver, end)(0)
    assert driver.committed[0].partial is None
    assert driver.committed[0].payload_bytes == 0


@pytest.mark.req("COM-2")
def test_only_the_item_that_handed_over_gets_it() -> None:
    driver = Driver.of(2)
    driver.pull(1)
    driver.pull(2)
    driver.step(HandedOver(driver.holder(1), 1, 1, b"half"))
    driver.fail(0)
    driver.ack()
    driver.fail(1)
    assert [each.partial for each in driver.committed] == [None, b"half"]


@pytest.mark.req("COM-2", "LED-6")
def test_a_hand_over_of_a_fenced_attempt_is_refused() -> None:
    driver = running()
    driver.lose(1, Loss.INFRASTRUCTURE)
    driver.pull(2)
    driver.step(HandedOver(1, 0, 1, b"late"))
    assert driver.told(ResultRefused) == [ResultRefused(1, 0, 1)]
    driver.step(HandedOver(2, 0, 1, b"of another attempt"))
    assert driver.told(ResultRefused)[1:] == [ResultRefused(2, 0, 1)]
    driver.fail(0)
    assert driver.committed[0].partial is None
    assert driver.kernel.statistics().refused == 2
    assert driver.kernel.statistics().hand_overs == 0


@pytest.mark.req("COM-2", "LED-6")
def test_a_hand_over_after_the_result_is_refused_and_harmless() -> None:
    driver = running(2)
    driver.fail(0)
    driver.step(HandedOver(1, 0, 1, b"late"))
    assert driver.told(ResultRefused) == [ResultRefused(1, 0, 1)]
    assert driver.committed[0].partial is None


@pytest.mark.req("COM-2", "RTY-2")
def test_what_an_older_attempt_handed_over_stays_if_the_new_one_hands_over_nothing() -> None:
    driver = running(retries_max=1)
    driver.step(HandedOver(1, 0, 1, b"half"))
    driver.fail(0, Category.IO, retryable=True)
    driver.tick()
    driver.pull(1)
    assert driver.told(Dispatch)[-1].partials == {0: b"half"}
    driver.fail(0, Category.IO, retryable=True)
    assert driver.committed[0].partial == b"half"
    assert driver.committed[0].attempt == 2


@pytest.mark.req("COM-2", "RTY-2")
def test_what_the_newest_attempt_handed_over_wins() -> None:
    driver = running(retries_max=1)
    driver.step(HandedOver(1, 0, 1, b"half"))
    driver.fail(0, Category.IO, retryable=True)
    driver.tick()
    driver.pull(1)
    driver.step(HandedOver(1, 0, 2, b"less"))
    driver.fail(0, Category.IO, retryable=True)
    assert driver.committed[0].partial == b"less"


@pytest.mark.req("COM-2")
def test_a_dispatch_offers_only_what_its_items_handed_over() -> None:
    driver = Driver.of(3, retries_max=1)
    driver.pull(1)
    driver.pull(2)
    driver.step(HandedOver(driver.holder(1), 1, 1, b"half"))
    driver.pull(3)
    assert [command.partials for command in driver.told(Dispatch)] == [{}, {}, {}]


@pytest.mark.req("COM-2", "BPR-1")
def test_a_partial_result_counts_in_the_byte_budget_until_it_is_committed() -> None:
    driver = running(2)
    share = used_bytes(driver)
    driver.step(HandedOver(1, 0, 1, b"1234567890"))
    assert used_bytes(driver) == share + 10
    driver.step(HandedOver(1, 0, 1, b"123"))
    assert used_bytes(driver) == share + 3
    driver.fail(0)
    assert driver.committed[0].payload_bytes == 3
    assert used_bytes(driver) == 3
    driver.ack()
    assert used_bytes(driver) == 0


@pytest.mark.req("COM-2", "BPR-1")
def test_the_bytes_of_a_dropped_partial_result_are_free_at_once() -> None:
    driver = running(2)
    driver.step(HandedOver(1, 0, 1, b"1234567890"))
    driver.finish(0, size=4)
    assert used_bytes(driver) == 4


@pytest.mark.req("COM-2", "RTY-3")
def test_an_item_that_kills_its_worker_twice_fails_with_it() -> None:
    driver = running()
    driver.step(HandedOver(1, 0, 1, b"half"))
    driver.lose(1, running_seq=0)
    driver.pull(2)
    assert driver.told(Dispatch)[-1].partials == {0: b"half"}
    driver.step(WorkerLost(2, Loss.DIED, 0, "killed by SIGSEGV", step="chunk"))
    assert driver.committed[0].partial == b"half"
    assert driver.committed[0].failure is not None
    assert driver.committed[0].failure.step == "chunk"


@pytest.mark.req("COM-2", "RTY-4", "HBT-1")
def test_an_item_that_takes_too_long_in_a_step_fails_under_that_step_with_it() -> None:
    driver = running()
    driver.step(HandedOver(1, 0, 1, b"half"))
    driver.step(Overran(1, 0, 1, 60_000, step="chunk"))
    failure = driver.committed[0].failure
    assert failure is not None
    assert (failure.step, failure.message) == ("chunk", "step 'chunk' took longer than 60 s")
    assert driver.committed[0].partial == b"half"
    assert driver.told(StopWorker)[0].reason == "seq 0: step 'chunk' took longer than 60 s"


@pytest.mark.req("RTY-4")
def test_without_a_step_the_time_limit_is_that_of_the_item() -> None:
    driver = running()
    driver.step(Overran(1, 0, 1, 1500))
    failure = driver.committed[0].failure
    assert failure is not None
    assert (failure.step, failure.message) == ("", "exceeded its time limit of 1500 ms")
    assert driver.told(StopWorker)[0].reason == "seq 0 exceeded its time limit of 1500 ms"


@pytest.mark.req("COM-2", "HBT-1")
def test_a_hand_over_is_a_heartbeat() -> None:
    driver = running(lease_ms=400)
    for _ in range(12):
        driver.now_ms += 100
        driver.step(HandedOver(1, 0, 1, b"more"))
    assert driver.kernel.statistics().expired_leases == 0


@pytest.mark.req("COM-2", "CAN-1")
def test_a_stopped_run_drops_what_was_handed_over() -> None:
    driver = running(2)
    driver.step(HandedOver(1, 0, 1, b"half"))
    driver.cancel(grace_ms=0)
    assert driver.kernel.summary is not None
    assert driver.committed == []


@pytest.mark.req("COM-2", "CAN-1")
def test_a_run_that_is_released_keeps_nothing_of_it() -> None:
    driver = running()
    driver.step(HandedOver(1, 0, 1, b"half"))
    driver.kernel.release()
    assert driver.kernel._state.partials == {}
