"""What is tried again, after how long, and how often."""

import itertools
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inorder.core.commands import Dispatch, RetryScheduled
from inorder.core.options import RetryOptions
from inorder.core.retry import RetryDecision, WindowRetries, backoff_ms
from inorder.core.transitions import State
from inorder.errors import NON_RETRYABLE, Category, Failure
from tests.core.driver import FAIL, SUCCESS, Driver, Story, flaw, options


@pytest.mark.req("RTY-1")
def test_the_categories_are_these_seven() -> None:
    assert sorted(Category) == ["config", "input", "io", "provider", "runtime", "timeout", "unknown"]
    assert sorted(NON_RETRYABLE) == ["config", "input", "timeout"]


@pytest.mark.req("RTY-1")
@pytest.mark.parametrize("category", Category)
@pytest.mark.parametrize("retryable", [True, False])
def test_only_a_retryable_failure_of_a_hopeful_category_may_succeed_later(category: Category, retryable: bool) -> None:
    failure = Failure(category=category, message="", retryable=retryable)
    hopeful = category in ("runtime", "io", "provider", "unknown")
    assert failure.may_succeed_later == (retryable and hopeful)


@pytest.mark.req("RTY-1")
def test_a_failure_that_does_not_say_so_is_not_worth_another_attempt() -> None:
    assert not Failure(category=Category.IO, message="").may_succeed_later


@pytest.mark.req("RTY-1")
@pytest.mark.parametrize("category", sorted(NON_RETRYABLE))
def test_a_hopeless_item_fails_at_once_whatever_it_says_of_itself(category: Category) -> None:
    driver = Driver.of(1, retries_max=5)
    driver.pull()
    driver.fail(0, category, retryable=True)
    assert driver.told(RetryScheduled) == []
    assert driver.run.envelopes[0].failure == flaw(category, retryable=True)


@pytest.mark.req("RTY-5")
@pytest.mark.parametrize(("wait_ms", "due_ms"), [(120_000, range(120_000, 120_001)), (1, range(50, 101))])
def test_a_retry_waits_at_least_as_long_as_its_failure_asks_for(wait_ms: int, due_ms: range) -> None:
    driver = Driver.of(1, retries_max=1, backoff_ms=100)
    driver.pull()
    failure = Failure(category=Category.PROVIDER, message="busy", retryable=True, wait_ms=wait_ms)
    driver.answer(0, FAIL, failure=failure)
    [scheduled] = driver.told(RetryScheduled)
    assert scheduled.due_ms - driver.now_ms in due_ms


limits = st.builds(
    lambda first, extra, seed: RetryOptions(backoff_ms=first, backoff_ms_max=first + extra, seed=seed),
    st.integers(0, 1000),
    st.integers(0, 100_000),
    st.integers(0, 2**64 - 1),
)


@pytest.mark.slow
@pytest.mark.req("RTY-2")
@given(limits, st.integers(0, 2**40), st.integers(1, 1000))
def test_a_wait_lies_between_half_of_its_step_and_the_whole(limits: RetryOptions, seq: int, attempt: int) -> None:
    step = min(limits.backoff_ms * 2 ** (attempt - 1), limits.backoff_ms_max)
    wait = backoff_ms(limits, seq, attempt)
    assert step / 2 <= wait <= step
    assert wait == backoff_ms(limits, seq, attempt)


@pytest.mark.req("RTY-2", "DEC-6")
def test_seed_seq_and_attempt_each_change_the_wait() -> None:
    limits = RetryOptions(backoff_ms=1_000_000, backoff_ms_max=1_000_000)
    other_seed = RetryOptions(backoff_ms=1_000_000, backoff_ms_max=1_000_000, seed=1)
    waits = {backoff_ms(limits, 3, 1), backoff_ms(limits, 4, 1), backoff_ms(limits, 3, 2), backoff_ms(other_seed, 3, 1)}
    assert len(waits) == 4


@pytest.mark.req("RTY-2")
def test_waits_spread_over_the_whole_of_their_range() -> None:
    limits = RetryOptions(backoff_ms=100, backoff_ms_max=100)
    waits = {backoff_ms(limits, seq, 1) for seq in range(2000)}
    assert waits == set(range(50, 101))


@pytest.mark.process
@pytest.mark.req("RTY-2", "DEC-6")
def test_waits_do_not_depend_on_the_hash_seed_of_the_interpreter() -> None:
    program = (
        "from inorder.core.options import RetryOptions\n"
        "from inorder.core.retry import backoff_ms\n"
        "print([backoff_ms(RetryOptions(seed=7), seq, attempt) for seq in range(9) for attempt in (1, 2, 3)])"
    )
    answers = [
        subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout
        for hash_seed in ("1", "2")
    ]
    here = [backoff_ms(RetryOptions(seed=7), seq, attempt) for seq in range(9) for attempt in (1, 2, 3)]
    assert answers == [f"{here}\n"] * 2


def retries(*, each: int, bound: int | None, entries: int) -> WindowRetries:
    return WindowRetries(RetryOptions(retries_max=each, window_retries_max=bound), entries)


@pytest.mark.req("RTY-2")
def test_without_a_bound_for_the_window_only_the_item_counts() -> None:
    window = retries(each=2, bound=None, entries=100)
    for number in (1, 2):
        assert window.decide(50, is_frontier=False) is RetryDecision.RETRY
        assert window.grant(50) == number
    assert window.is_exhausted(50)
    assert window.decide(50, is_frontier=True) is RetryDecision.FINAL
    assert not window.is_exhausted(51)


@pytest.mark.req("RTY-2")
def test_a_bound_that_may_run_short_is_granted_in_seq_order() -> None:
    window = retries(each=1, bound=1, entries=3)
    assert window.decide(2, is_frontier=False) is RetryDecision.WAIT
    assert window.decide(0, is_frontier=True) is RetryDecision.RETRY
    window.grant(0)
    window.mark_final([0], 1)
    assert window.decide(1, is_frontier=True) is RetryDecision.FINAL


@pytest.mark.req("RTY-2")
def test_a_bound_that_can_no_longer_run_short_holds_nobody_up() -> None:
    window = retries(each=2, bound=2, entries=3)
    window.mark_final([0], 1)
    assert window.decide(2, is_frontier=False) is RetryDecision.WAIT
    window.mark_final([1], 1)
    assert window.decide(2, is_frontier=False) is RetryDecision.RETRY


@pytest.mark.req("RTY-2")
def test_retries_of_items_that_are_final_count_against_the_bound() -> None:
    window = retries(each=1, bound=2, entries=3)
    window.grant(0)
    window.mark_final([0], 1)
    assert window.decide(2, is_frontier=False) is RetryDecision.WAIT
    window.mark_final([1], 1)
    assert window.decide(2, is_frontier=False) is RetryDecision.RETRY


@pytest.mark.req("RTY-2")
def test_a_bound_that_cannot_run_short_never_begins_to_hold_somebody_up() -> None:
    window = retries(each=1, bound=3, entries=3)
    for seq in (2, 1, 0):
        assert window.decide(seq, is_frontier=False) is RetryDecision.RETRY
        window.grant(seq)


@pytest.mark.req("RTY-2", "LED-10", "DEC-2")
def test_a_retry_keeps_its_seq_and_counts_its_attempts() -> None:
    driver = Driver.of(1, retries_max=2, backoff_ms=100, backoff_ms_max=100)
    driver.pull()
    for attempt in (1, 2):
        [scheduled] = driver.fail(0, retryable=True)
        assert scheduled == RetryScheduled(
            0, attempt, driver.now_ms + scheduled.due_ms - driver.now_ms, flaw(retryable=True), attempt
        )
        assert 50 <= scheduled.due_ms - driver.now_ms <= 100
        assert driver.kernel.snapshot().terminal_count == 0
        driver.pull()
        driver.tick(scheduled.due_ms - driver.now_ms)
    assert [(command.seqs, command.attempts) for command in driver.told(Dispatch)] == [
        ([0], [1]),
        ([0], [2]),
        ([0], [3]),
    ]
    driver.fail(0, retryable=True)
    assert driver.kernel.snapshot().terminal_count == 1
    driver.ack()
    assert (driver.kernel.summary.failed, driver.kernel.summary.retries) == (1, 2)


@pytest.mark.req("RTY-2")
def test_an_item_that_mends_itself_is_a_success() -> None:
    driver = Driver.of(1, retries_max=1)
    driver.pull()
    driver.fail(0, retryable=True)
    driver.drain()
    assert (driver.kernel.summary.succeeded, driver.kernel.summary.retries) == (1, 1)


@pytest.mark.req("RTY-2")
def test_a_waiting_retry_blocks_nobody_and_is_given_when_due() -> None:
    driver = Driver.of(3, retries_max=1, backoff_ms=1000, backoff_ms_max=1000)
    driver.pull()
    [scheduled] = driver.fail(0, retryable=True)
    assert [driver.pull(worker) for worker in (1, 2)] == [[1], [2]]
    assert driver.pull(3) == []
    assert driver.kernel.snapshot().waiting_for == f"the retry of seq 0 at {scheduled.due_ms} ms"
    driver.tick(scheduled.due_ms - 1)
    assert 3 in driver.waiting
    assert driver.kernel.wake_at_ms == scheduled.due_ms
    driver.tick(1)
    assert driver.holder(0) == 3


@pytest.mark.req("RTY-2")
def test_nobody_is_woken_for_a_retry_while_every_worker_is_busy() -> None:
    driver = Driver.of(2, retries_max=1, backoff_ms=10, backoff_ms_max=10, lease_ms=4000)
    driver.pull()
    driver.fail(0, retryable=True)
    driver.pull()
    assert driver.kernel.wake_at_ms == 1000


@pytest.mark.req("RTY-2")
def test_the_last_retry_of_a_window_goes_to_the_lowest_seq_although_it_failed_last() -> None:
    driver = Driver.of(3, retries_max=1, window_retries_max=1)
    for worker in (1, 2, 3):
        driver.pull(worker)
    assert driver.fail(2, retryable=True) == driver.fail(1, retryable=True) == []
    assert driver.kernel.statistics().retries_parked == 2
    [scheduled] = driver.fail(0, retryable=True)
    assert scheduled.seq == 0
    driver.drain()
    assert [envelope.outcome for envelope in driver.committed] == [SUCCESS, FAIL, FAIL]
    assert driver.kernel.statistics().retries_denied == 2


def in_order(script: list[str], entries: int, each: int, bound: int) -> list[State]:
    """What one worker that does the items one after the other would get."""
    outcomes = []
    for start in range(0, len(script), entries):
        left = bound
        for word in script[start : start + entries]:
            own = each
            for letter in itertools.chain(word, itertools.repeat(word[-1])):
                if letter != "r" or not own or not left:
                    break
                own, left = own - 1, left - 1
            outcomes.append(State.TERMINAL_SUCCESS if letter == "s" else State.TERMINAL_FAIL)
    return outcomes


@pytest.mark.slow
@pytest.mark.req("RTY-2", "DEC-6")
@given(
    script=st.lists(st.sampled_from(["s", "f", "rs", "rrs", "r"]), max_size=12),
    choices=st.lists(st.integers(0, 1000), min_size=1, max_size=40),
    workers=st.sampled_from([1, 2, 7]),
    each=st.integers(0, 2),
    bound=st.integers(0, 6),
    losses=st.integers(0, 3),
)
def test_the_bound_of_a_window_gives_the_same_outcomes_whatever_the_order_of_completion(
    script: list[str], choices: list[int], workers: int, each: int, bound: int, losses: int
) -> None:
    settings = options(entries=4, retries_max=each, window_retries_max=bound, backoff_ms=3)
    driver = Story(Driver(settings, total=len(script)), script, choices, workers=workers).to_its_end(losses=losses)
    assert [envelope.outcome for envelope in driver.committed] == in_order(script, 4, each, bound)
