"""Who holds what, who has gone silent, and what a strange clock changes: nothing."""

import pytest

from inorder.core.commands import Reclaimed, StopWorker
from inorder.core.events import Loss
from inorder.core.leases import Lease, LeaseTable
from inorder.errors import InvariantViolation
from tests.core.driver import Driver

LEASE_MS = 100
QUARTER_MS = LEASE_MS // 4


def lease(worker: int, *seqs: int, now_ms: int = 0) -> Lease:
    return Lease(worker, dict.fromkeys(seqs, 1), share_bytes=1, isolated=False, now_ms=now_ms)


def table(*leases: Lease) -> LeaseTable:
    leases_ = LeaseTable(LEASE_MS)
    for each in leases:
        leases_.grant(each)
    return leases_


def test_the_running_item_is_the_first_not_answered_for() -> None:
    held = lease(1, 5, 3, 8)
    del held.seqs[5]
    assert held.running_seq == 3


@pytest.mark.req("LED-6")
def test_a_worker_holds_one_lease_at_most() -> None:
    leases = table(lease(1, 0))
    with pytest.raises(InvariantViolation, match="worker 1 already holds a lease"):
        leases.grant(lease(1, 1))


def test_a_dropped_lease_is_gone() -> None:
    leases = table(lease(1, 0), lease(2, 1))
    assert leases.drop(1).worker == 1
    assert (leases.get(1), leases.drop(1), len(leases)) == (None, None, 1)


def test_all_leases_are_taken_back_longest_silent_first() -> None:
    leases = table(lease(1, 0), lease(2, 1), lease(3, 2))
    leases.beat([1], now_ms=10)
    assert [held.worker for held in leases.drain()] == [2, 3, 1]
    assert len(leases) == 0


@pytest.mark.req("LED-7")
def test_a_lease_expires_when_its_time_is_up_and_not_a_moment_before() -> None:
    leases = table(lease(1, 0))
    assert leases.find_expired(LEASE_MS - 1) is None
    assert leases.find_expired(LEASE_MS).worker == 1


@pytest.mark.req("LED-7")
def test_a_beat_starts_the_time_anew_and_one_without_a_lease_says_nothing() -> None:
    leases = table(lease(1, 0), lease(2, 1))
    leases.beat([9, 1], now_ms=50)
    assert leases.find_expired(LEASE_MS).worker == 2
    leases.drop(2)
    assert leases.find_expired(149) is None
    assert leases.find_expired(150).worker == 1


def test_without_leases_nothing_expires() -> None:
    assert table().find_expired(10**9) is None


@pytest.mark.req("LED-8")
def test_finding_expired_leases_looks_at_one_lease_only() -> None:
    class Watched(Lease):
        looks = 0

        def __getattribute__(self, name: str) -> object:
            Watched.looks += name == "heartbeat_ms"
            return super().__getattribute__(name)

    leases = table(*(Watched(worker, [worker], share_bytes=1, isolated=False, now_ms=0) for worker in range(1000)))
    assert leases.find_expired(LEASE_MS - 1) is None
    assert Watched.looks == 1


def holding(*workers: int) -> Driver:
    """A run in which each of these workers holds one item."""
    driver = Driver.of(len(workers), lease_ms=LEASE_MS)
    for worker in workers:
        driver.pull(worker)
    return driver


@pytest.mark.req("LED-7", "DEC-3")
def test_a_worker_silent_for_a_whole_lease_loses_it() -> None:
    driver = holding(1)
    for _ in range(3):
        assert driver.tick(QUARTER_MS) == []
    assert driver.tick(QUARTER_MS) == [
        StopWorker(1, "worker 1 silent for 100 ms"),
        Reclaimed(0, 1, 1, suspected=False, reason="worker 1 silent for 100 ms"),
    ]
    assert driver.kernel.statistics().expired_leases == 1
    assert driver.pull(2) == [0]


@pytest.mark.req("LED-7")
def test_a_worker_that_beats_keeps_its_lease_for_as_long_as_its_item_takes() -> None:
    driver = holding(1, 2)
    for _ in range(40):
        driver.tick(QUARTER_MS)
        driver.beat(1)
    assert [command.worker for command in driver.told(StopWorker)] == [2]
    driver.finish(0)
    assert driver.kernel.statistics().refused == 0


@pytest.mark.req("LED-7")
def test_answering_for_one_item_is_a_sign_of_life_for_the_rest() -> None:
    driver = Driver.of(5, entries=8, lease_ms=LEASE_MS)
    driver.pull()
    driver.finish(0)
    assert driver.pull(1, 4) == [1, 2, 3, 4]
    for seq in (1, 2, 3, 4):
        for _ in range(3):
            driver.tick(QUARTER_MS)
        driver.finish(seq)
    assert driver.told(StopWorker) == []


@pytest.mark.req("LED-7")
def test_several_silent_workers_lose_their_leases_in_one_step() -> None:
    driver = holding(1, 2, 3)
    for _ in range(4):
        driver.tick(QUARTER_MS)
    assert [command.worker for command in driver.told(StopWorker)] == [1, 2, 3]


@pytest.mark.req("LED-7", "INV-3")
def test_a_clock_that_jumps_back_expires_nobody() -> None:
    driver = holding(1)
    driver.tick(50)
    for _ in range(10):
        driver.tick(-10_000)
    assert driver.told(StopWorker) == []
    assert driver.kernel.snapshot().now_ms == 50


@pytest.mark.req("LED-7", "INV-3")
def test_a_clock_that_jumps_far_ahead_expires_nobody() -> None:
    driver = holding(1)
    driver.tick(10**9)
    assert driver.told(StopWorker) == []
    assert driver.kernel.statistics().unwatched_gaps == 1
    driver.finish(0)
    assert driver.kernel.statistics().refused == 0


@pytest.mark.req("LED-7")
def test_after_a_jump_a_living_worker_has_time_to_say_so() -> None:
    driver = holding(1)
    for _ in range(10):
        driver.tick(QUARTER_MS)
        driver.tick(10**9)
        driver.beat(1)
    assert driver.told(StopWorker) == []


@pytest.mark.req("LED-7")
@pytest.mark.parametrize(("gap_ms", "gaps"), [(LEASE_MS // 2, 0), (LEASE_MS // 2 + 1, 1)])
def test_a_gap_of_more_than_half_a_lease_is_counted(gap_ms: int, gaps: int) -> None:
    driver = holding(1)
    driver.tick(gap_ms)
    assert driver.kernel.statistics().unwatched_gaps == gaps


@pytest.mark.req("LED-7")
def test_a_gap_while_nobody_works_is_not_counted() -> None:
    driver = Driver.of(1, lease_ms=LEASE_MS)
    driver.tick(10**9)
    assert driver.kernel.statistics().unwatched_gaps == 0


@pytest.mark.req("INV-3")
def test_the_kernel_wants_to_look_at_leases_four_times_in_each() -> None:
    driver = holding(1)
    assert driver.kernel.wake_at_ms == QUARTER_MS
    driver.tick(10)
    assert driver.kernel.wake_at_ms == 10 + QUARTER_MS


def test_a_worker_that_was_told_to_stop_asks_in_vain_until_it_is_gone() -> None:
    driver = holding(1)
    for _ in range(4):
        driver.tick(QUARTER_MS)
    assert driver.pull(1) == []
    driver.lose(1, Loss.RETIRED)
    assert driver.pull(1) == [0]
    assert driver.kernel.statistics().lost_workers == 0
