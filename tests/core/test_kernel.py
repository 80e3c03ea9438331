"""The one way in and the one way out."""

import os
import subprocess
import sys

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inorder.core.commands import CommitRun, Ended, NeedItems, Summary
from inorder.core.events import Event, Loss, Tick
from inorder.core.kernel import Kernel
from inorder.core.transitions import State
from inorder.core.windows.plan import PlanItem
from inorder.errors import OperatorError
from tests.core.driver import Driver, Story, options


def clean_summary(total: int) -> Summary:
    return Summary(
        total=total,
        succeeded=total,
        skipped=0,
        failed=0,
        cancelled=0,
        retries=0,
        was_cancelled=False,
        stop_kind=None,
        cancel_reason=None,
        stopped_at=None,
    )


@pytest.mark.req("INV-1")
@pytest.mark.parametrize("total", [0, None])
def test_an_empty_plan_ends_at_once_with_a_clean_summary(total: int | None) -> None:
    driver = Driver(total=total)
    assert driver.commands == [NeedItems(1024)]
    assert driver.plan(0, ended=True) == [Ended(clean_summary(0))]


@pytest.mark.req("INV-1")
def test_a_run_goes_through_plan_dispatch_finish_and_commit_to_its_end() -> None:
    driver = Driver.of(5, entries=2)
    driver.drain()
    assert driver.commands[-1] == Ended(clean_summary(5))
    assert driver.kernel.summary == clean_summary(5)
    ledger = driver.kernel._state.ledger
    assert list(ledger.states) == [State.COMMITTED] * 5
    assert ledger.terminal_count == ledger.committed_count == 5


@pytest.mark.req("INV-1")
def test_where_the_plan_announces_nothing_the_total_is_what_it_had() -> None:
    driver = Driver()
    driver.plan(3, ended=True)
    driver.drain()
    assert driver.kernel.summary == clean_summary(3)


def test_after_the_end_every_event_is_answered_with_nothing() -> None:
    driver = Driver.of(0)
    steps = driver.kernel.statistics().steps
    assert driver.tick(1000) == driver.pull() == driver.cancel() == driver.ack(99) == []
    assert driver.kernel.statistics().steps == steps
    assert driver.kernel.wake_at_ms is None


def test_after_a_bad_plan_the_kernel_raises_the_same_error_again() -> None:
    driver = Driver(total=1)
    with pytest.raises(OperatorError) as first:
        driver.plan(2)
    with pytest.raises(OperatorError) as again:
        driver.tick()
    assert again.value is first.value
    assert driver.kernel.summary is None


def test_statistics_begin_at_nothing() -> None:
    assert set(msgspec.structs.asdict(Kernel(options()).statistics()).values()) == {0}


def test_statistics_count_what_has_happened() -> None:
    driver = Driver.of(5, entries=2, retries_max=2)
    driver.pull(1)
    driver.pull(2)
    driver.fail(0, retryable=True)
    driver.lose(2, Loss.INFRASTRUCTURE)
    driver.drain()
    counted = driver.kernel.statistics()
    assert (counted.retries, counted.reclaims, counted.lost_workers, counted.windows_closed) == (1, 1, 1, 3)
    assert (counted.dispatches, counted.envelopes, counted.commit_runs) == (7, 6, len(driver.told(CommitRun)))


def test_statistics_are_a_copy() -> None:
    driver = Driver.of(1)
    before = driver.kernel.statistics()
    driver.pull()
    assert (before.dispatches, driver.kernel.statistics().dispatches) == (0, 1)
    assert (before.steps, driver.kernel.statistics().steps) == (2, 3)


def test_it_is_saturated_while_items_are_ready_and_no_worker_is_idle() -> None:
    driver = Driver.of(3)
    assert driver.kernel.is_saturated
    driver.pull(1)
    driver.pull(2)
    assert driver.kernel.is_saturated
    driver.pull(3)
    assert not driver.kernel.is_saturated
    driver.pull(4)
    assert not driver.kernel.is_saturated


def test_the_kernel_says_what_it_waits_for() -> None:
    assert Kernel(options()).snapshot().waiting_for == "an event"
    driver = Driver(options(retries_max=1, backoff_ms=10), total=1)
    waits = [driver.kernel.snapshot().waiting_for]
    driver.plan(1, ended=True)
    waits.append(driver.kernel.snapshot().waiting_for)
    driver.pull(4)
    waits.append(driver.kernel.snapshot().waiting_for)
    [scheduled] = driver.fail(0, retryable=True)
    waits.append(driver.kernel.snapshot().waiting_for)
    driver.pull(4)
    driver.tick(10)
    driver.finish(0)
    waits.append(driver.kernel.snapshot().waiting_for)
    driver.ack()
    waits.append(driver.kernel.snapshot().waiting_for)
    assert waits == [
        "the plan",
        "a worker to pull seq 0",
        "worker 4, which holds seq 0",
        f"the retry of seq 0 at {scheduled.due_ms} ms",
        "the commit lane, from seq 0 on",
        "nothing: the run has ended",
    ]


def test_a_snapshot_before_and_after_the_windows_has_no_blocked_seq() -> None:
    driver = Driver(total=1)
    assert driver.kernel.snapshot().oldest_blocked_seq is None
    driver.plan(1, ended=True)
    assert driver.kernel.snapshot().oldest_blocked_state == "UNSEEN"
    driver.drain()
    assert driver.kernel.snapshot().oldest_blocked_state is None


@pytest.mark.req("INV-2")
def test_a_seq_that_is_computed_is_never_the_oldest_blocked_one() -> None:
    driver = Driver.of(4, entries=2)
    for worker in range(4):
        driver.pull(worker)
    driver.finish(2, 1, 0)
    assert driver.kernel.snapshot().waiting_for == "the commit lane, from seq 0 on"
    assert driver.kernel.snapshot().oldest_blocked_seq in (0, 3)


@pytest.mark.req("INV-3")
def test_with_nothing_in_flight_and_nothing_due_nobody_is_woken() -> None:
    driver = Driver.of(2)
    assert driver.kernel.wake_at_ms is None
    driver.pull()
    assert driver.kernel.wake_at_ms is not None
    driver.finish(0)
    assert driver.kernel.wake_at_ms is None


def test_the_earliest_reason_to_be_woken_wins() -> None:
    driver = Driver.of(2, lease_ms=4000, cancel_grace_ms=300, retries_max=1, backoff_ms=200, backoff_ms_max=200)
    driver.pull(1)
    driver.pull(2)
    assert driver.kernel.wake_at_ms == 1000
    [scheduled] = driver.fail(0, retryable=True)
    driver.pull(1)
    assert driver.kernel.wake_at_ms == scheduled.due_ms <= 200
    driver.cancel()
    assert driver.kernel.wake_at_ms == 300


def test_a_clock_that_jumps_back_stands_still() -> None:
    driver = Driver.of(1)
    driver.tick(500)
    driver.kernel.step(100, Tick())
    assert driver.kernel.snapshot().now_ms == 500
    driver.kernel.step(501, Tick())
    assert driver.kernel.snapshot().now_ms == 501


class Recorder:
    """Keeps what a kernel was given."""

    def __init__(self, driver: Driver) -> None:
        self.events: list[tuple[int, Event]] = [(0, Tick())]
        self._step = driver.kernel.step
        driver.kernel.step = self.step

    def step(self, now_ms: int, event: Event) -> list[object]:
        self.events.append((now_ms, event))
        return self._step(now_ms, event)


@pytest.mark.slow
@pytest.mark.req("DEC-6")
@given(
    script=st.lists(st.sampled_from(["s", "k", "f", "rs"]), max_size=20),
    choices=st.lists(st.integers(0, 1000), min_size=1, max_size=40),
    workers=st.sampled_from([1, 2, 7]),
)
def test_the_same_events_at_the_same_times_give_the_same_commands(
    script: list[str], choices: list[int], workers: int
) -> None:
    settings = options(entries=4, adaptive=True, retries_max=1, backoff_ms=5)
    driver = Driver(settings, total=len(script))
    recorder = Recorder(driver)
    items = [PlanItem(str(seq), batch_key="ab"[seq % 2]) for seq in range(len(script))]
    Story(driver, script, choices, workers=workers).plays(items).to_its_end(losses=2)
    again = Kernel(settings, total=len(script))
    replayed = [command for now_ms, event in recorder.events for command in again.step(now_ms, event)]
    assert replayed == driver.commands
    assert again.statistics() == driver.kernel.statistics()


@pytest.mark.process
@pytest.mark.req("DEC-6")
def test_a_run_does_not_depend_on_the_hash_seed_of_the_interpreter() -> None:
    program = (
        "from tests.core.driver import Driver, PlanItem, Story, options\n"
        "items = [PlanItem(f'item {n}', batch_key='abc'[n % 3]) for n in range(30)]\n"
        "driver = Driver(options(retries_max=1, backoff_ms=9, plan_ahead=7), total=30)\n"
        "story = Story(driver, ['s', 'rs', 'k'] * 10, [3, 1, 4, 1, 5, 9, 2, 6], workers=5)\n"
        "print(story.plays(items).to_its_end(losses=4).commands)\n"
    )
    answers = {
        subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout
        for hash_seed in ("1", "2", "3")
    }
    assert len(answers) == 1
    assert "Ended" in answers.pop()
