"""Results that are delivered before their turn: announced once, freed when they are consumed, committed in order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inorder.core.commands import Announce, CommitRun, WindowClosed
from inorder.core.events import Delivered, Envelope, HandedOver
from inorder.errors import Category, InvariantViolation
from tests.core.driver import FAIL, SKIP, SUCCESS, Driver, Story, options

pytestmark = pytest.mark.req("API-1", "COM-1")


def busy(count: int, **limits: object) -> Driver:
    """Each item is with the worker of its number, and results are announced."""
    driver = Driver.of(count, **({"announces": True} | limits))
    for worker in range(count):
        driver.pull(worker)
    return driver


def announced(driver: Driver) -> list[list[int]]:
    return [[envelope.seq for envelope in command.envelopes] for command in driver.told(Announce)]


def handed(driver: Driver) -> list[int]:
    return [envelope.seq for envelope in driver.committed]


def position(driver: Driver) -> int:
    return driver.kernel.snapshot().next_commit_seq


def used_bytes(driver: Driver) -> int:
    return sum(window.used_bytes for window in driver.kernel.snapshot().windows)


def test_a_result_is_announced_once_it_is_final_and_handed_over_in_its_turn() -> None:
    driver = busy(3)
    driver.finish(2)
    driver.skip(1)
    assert announced(driver) == [[2], [1]]
    assert handed(driver) == []
    driver.finish(0)
    assert announced(driver) == [[2], [1], [0]]
    assert [envelope.outcome for envelope in driver.committed] == [SUCCESS, SKIP, SUCCESS]


def test_results_that_arrive_together_are_announced_together() -> None:
    driver = Driver.of(3, announces=True, expected_bytes=0)
    assert driver.pull(1, 3) == [0, 1, 2]
    driver.deliver(1, *[Envelope(seq, 1, SUCCESS) for seq in (2, 0, 1)])
    assert announced(driver) == [[2, 0, 1]]


def test_nothing_is_announced_to_a_consumer_that_waits_for_its_turn() -> None:
    driver = busy(3, announces=False)
    driver.finish(2, 1, 0)
    assert announced(driver) == []
    assert handed(driver) == [0, 1, 2]


def test_a_failure_is_announced_when_no_retry_is_left_and_not_before() -> None:
    driver = busy(2, retries_max=1)
    driver.fail(1, Category.IO, retryable=True)
    assert announced(driver) == []
    driver.finish(0)
    driver.pull(7)
    driver.fail(1, Category.IO, retryable=True)
    assert announced(driver) == [[0], [1]]
    assert driver.told(Announce)[1].envelopes[0].outcome == FAIL


def test_a_consumed_result_is_committed_only_when_every_lower_seq_is_consumed() -> None:
    driver = busy(3)
    driver.finish(2, 1)
    driver.consume(2)
    driver.consume(1)
    assert position(driver) == 0
    driver.finish(0)
    assert position(driver) == 0, "the first result is announced, and the consumer has not taken it"
    driver.consume(0)
    assert position(driver) == 3
    assert driver.kernel.summary.succeeded == 3


def test_what_was_consumed_before_it_was_handed_over_is_committed_as_it_is_handed_over() -> None:
    driver = busy(3)
    driver.finish(0)
    driver.finish(1)
    driver.consume(1)
    assert (handed(driver), position(driver)) == ([0], 0)
    driver.consume(0)
    assert (handed(driver), position(driver)) == ([0, 1], 2), "seq 1 needs no second report"
    driver.finish(2)
    driver.consume(2)
    assert driver.kernel.summary is not None


def test_a_run_is_committed_as_far_as_it_was_consumed() -> None:
    driver = busy(3)
    driver.finish(2, 1, 0)
    for seq, expected in ((0, 1), (2, 1), (1, 3)):
        driver.consume(seq)
        assert position(driver) == expected


def test_the_bytes_of_a_consumed_result_are_free_although_its_turn_has_not_come() -> None:
    driver = busy(3)
    driver.finish(2, size=70)
    driver.finish(1, size=5)
    before = used_bytes(driver)
    driver.consume(2)
    assert used_bytes(driver) == before - 70
    driver.finish(0, size=3)
    driver.consume(1, 0)
    assert driver.kernel.summary is not None, "no window closed with bytes unaccounted for"


def test_the_bytes_of_a_run_that_was_handed_over_are_free_once_it_is_consumed() -> None:
    driver = busy(2)
    driver.finish(0, size=9)
    before = used_bytes(driver)
    driver.consume(0)
    assert used_bytes(driver) == before - 9


def test_a_consumed_failure_is_handed_over_without_what_it_left_and_with_its_reason() -> None:
    driver = busy(2, expected_bytes=0)
    driver.step(HandedOver(1, 1, 1, b"half"))
    driver.fail(1)
    assert driver.told(Announce)[0].envelopes[0].partial == b"half"
    before = used_bytes(driver)
    driver.consume(1)
    assert used_bytes(driver) == before - len(b"half")
    driver.finish(0)
    driver.consume(0)
    failed = driver.committed[1]
    assert (failed.outcome, failed.failure.message, failed.partial) == (FAIL, "it broke", None)


def test_windows_close_while_consumed_results_of_the_next_one_wait() -> None:
    driver = busy(4, entries=2)
    driver.finish(3, 2, 1)
    driver.consume(2, 3)
    driver.finish(0)
    assert driver.told(WindowClosed) == []
    driver.consume(0, 1)
    assert [closed.end for closed in driver.told(WindowClosed)] == [1, 3]
    assert driver.kernel.summary.succeeded == 4


@pytest.mark.req("INV-1")
@pytest.mark.parametrize("seqs", [[1], [0, 0], [5]], ids=["not final", "twice", "never planned"])
def test_a_delivery_that_nothing_announced_is_fatal(seqs: list[int]) -> None:
    driver = busy(3)
    driver.finish(0)
    with pytest.raises(InvariantViolation, match=f"seq {seqs[-1]} was delivered twice, or before it was announced"):
        driver.step(Delivered(seqs))


@pytest.mark.req("INV-1")
def test_a_second_delivery_of_a_result_that_still_waits_for_its_turn_is_fatal() -> None:
    driver = busy(3)
    driver.finish(2)
    driver.consume(2)
    with pytest.raises(InvariantViolation, match="seq 2 was delivered twice"):
        driver.consume(2)


@pytest.mark.slow
@given(
    script=st.lists(st.sampled_from(["s", "k", "f", "rs", "r"]), max_size=16),
    choices=st.lists(st.integers(0, 1000), min_size=1, max_size=40),
    workers=st.sampled_from([1, 2, 7]),
    entries=st.integers(1, 6),
    longest=st.integers(1, 5),
)
def test_each_result_is_announced_once_and_committed_in_order_whatever_the_consumer_takes_first(
    script: list[str], choices: list[int], workers: int, entries: int, longest: int
) -> None:
    settings = options(entries=entries, commit_run_max=longest, retries_max=1, announces=True)
    driver = Story(Driver(settings, total=len(script)), script, choices, workers=workers).to_its_end(losses=2)
    assert sorted(seq for seqs in announced(driver) for seq in seqs) == list(range(len(script)))
    assert [seq for run in driver.told(CommitRun) for seq in range(run.start, run.end)] == list(range(len(script)))
    assert used_bytes(driver) == 0
