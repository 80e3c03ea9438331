"""Each invariant fires when it is broken on purpose, and tells the whole story."""

import json
from collections.abc import Callable

import pytest

from inorder.core.events import Committed, Envelope, Finished, Tick
from inorder.core.invariants import IllegalTransition, Snapshot, WindowSnapshot, check
from inorder.core.transitions import State
from inorder.errors import InvariantViolation
from tests.core.driver import SUCCESS, Driver, options


def at_the_end(count: int = 2) -> Driver:
    """A run that waits for nothing but its last acknowledgement."""
    driver = Driver.of(count)
    for worker in range(count):
        driver.pull(worker)
    driver.finish(*reversed(range(count)))
    assert driver.run is not None
    return driver


@pytest.mark.req("INV-1")
def test_a_seq_that_never_became_terminal_is_found_at_the_end() -> None:
    driver = at_the_end()
    driver.kernel._state.ledger.terminal_count -= 1
    with pytest.raises(InvariantViolation, match="1 seqs never became terminal"):
        driver.ack()


@pytest.mark.req("INV-1")
def test_a_cursor_that_skipped_a_seq_is_found_at_the_end() -> None:
    driver = Driver.of(2)
    driver.pull(1)
    driver.pull(2)
    driver.kernel._state.ledger.next_commit_seq = 1
    driver.finish(0, 1)
    with pytest.raises(InvariantViolation, match="1 seqs never became terminal"):
        driver.ack()


@pytest.mark.req("INV-1")
def test_a_cursor_that_did_not_move_by_one_for_each_seq_is_found_at_the_end() -> None:
    driver = at_the_end()
    driver.kernel._state.ledger.committed_count -= 1
    with pytest.raises(InvariantViolation, match="the cursor stopped at 2 of 2"):
        driver.ack()


@pytest.mark.req("INV-1", "LED-5")
def test_a_commit_before_its_turn_is_found_at_once() -> None:
    driver = at_the_end()
    with pytest.raises(InvariantViolation, match="commit of seq 1 out of order, the cursor is at 0"):
        driver.kernel._state.ledger.move(1, State.COMMITTED)


@pytest.mark.req("INV-1")
def test_a_second_terminal_event_is_found_at_once() -> None:
    driver = at_the_end()
    with pytest.raises(InvariantViolation, match="second terminal event for seq 1 from worker 1"):
        driver.deliver(1, Envelope(1, 1, SUCCESS))


@pytest.mark.req("INV-1", "LED-4")
def test_an_outcome_for_what_is_terminal_already_is_found_when_it_is_settled() -> None:
    driver = Driver.of(2)
    driver.pull()
    driver.kernel._state.ledger.states[0] = State.TERMINAL_SKIP
    with pytest.raises(IllegalTransition, match="seq 0: TERMINAL_SKIP -> TERMINAL_SUCCESS"):
        driver.finish(0)


@pytest.mark.req("INV-1")
def test_a_commit_of_what_is_not_terminal_is_found_at_once() -> None:
    driver = at_the_end()
    driver.kernel._state.ledger.states[1] = State.IN_FLIGHT
    with pytest.raises(IllegalTransition, match="seq 1: IN_FLIGHT -> COMMITTED"):
        driver.ack()


@pytest.mark.req("INV-1", "WIN-5")
@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        (lambda window: setattr(window, "used_bytes", window.used_bytes + 7), "closes with 7 bytes unaccounted for"),
        (lambda window: window.ready.requeue(0), "closes with 1 items not dispatched"),
        (lambda window: setattr(window, "computed_count", 1), "closes with items never computed"),
    ],
    ids=["bytes", "items waiting", "items not computed"],
)
def test_a_window_that_must_not_close_is_found_when_it_does(damage: Callable[[object], None], complaint: str) -> None:
    driver = at_the_end()
    damage(driver.kernel._state.windows[0])
    with pytest.raises(InvariantViolation, match=f"window 0 {complaint}"):
        driver.ack()


@pytest.mark.req("INV-1", "CAN-1")
def test_a_lease_that_survives_is_found_at_the_end() -> None:
    driver = at_the_end()
    state = driver.kernel._state
    other = Driver.of(1)
    other.pull(5)
    state.leases.grant(other.kernel._state.leases.get(5))
    with pytest.raises(InvariantViolation, match="1 leases are still held at the end of the run"):
        driver.ack()


@pytest.mark.req("INV-1")
@pytest.mark.parametrize("count", ["in_flight_count", "dispatched_count"])
def test_work_still_under_way_is_found_at_the_end(count: str) -> None:
    driver = at_the_end()
    setattr(driver.kernel._state.ledger, count, 1)
    with pytest.raises(InvariantViolation, match="seqs are still in flight at the end of the run"):
        driver.ack()


@pytest.mark.req("INV-1", "LED-6")
def test_a_busy_worker_that_is_given_more_is_found_at_once() -> None:
    driver = Driver.of(2)
    driver.pull(1)
    with pytest.raises(InvariantViolation, match="worker 1 already holds a lease"):
        driver.pull(1)


@pytest.mark.req("INV-2")
def test_a_violation_carries_the_whole_situation() -> None:
    driver = Driver(options(entries=3), total=8, epoch_ms=1_000_000)
    driver.plan(8, ended=True)
    for worker in range(6):
        driver.pull(worker)
    driver.finish(0, size=10)
    driver.ack()
    driver.finish(4, size=5)
    driver.lose(5)
    driver.now_ms = 77
    with pytest.raises(InvariantViolation) as caught:
        driver.deliver(4, Envelope(4, 1, SUCCESS))
    assert caught.value.snapshot == Snapshot(
        now_ms=77,
        next_commit_seq=1,
        max_seen_seq=4,
        planned_count=6,
        terminal_count=1,
        dispatched_count=1,
        in_flight_count=4,
        committed_count=1,
        windows=(
            WindowSnapshot(id=0, start=0, end=2, sealed=True, computed=1, used_bytes=2),
            WindowSnapshot(id=1, start=3, end=5, sealed=True, computed=1, used_bytes=6),
        ),
        oldest_blocked_seq=1,
        oldest_blocked_state="IN_FLIGHT",
        buffered_bytes=8,
        commit_lag=4,
        waiting_for="worker 1, which holds seq 1",
    )
    assert caught.value.snapshot == driver.kernel.snapshot()


@pytest.mark.req("INV-2")
def test_the_message_of_a_violation_holds_its_snapshot_as_json() -> None:
    driver = at_the_end()
    with pytest.raises(InvariantViolation) as caught:
        driver.ack(9)
    message, _, story = str(caught.value).partition(" | snapshot: ")
    assert message == "seq 8 is acknowledged but was never handed over for commit"
    assert json.loads(story)["next_commit_seq"] == 0
    assert caught.value.exit_code == 6


def test_a_violation_outside_a_run_is_its_message() -> None:
    with pytest.raises(InvariantViolation) as caught:
        check(False, "broken")
    assert (str(caught.value), caught.value.args) == ("broken", ("broken",))
    check(True, "never said")


@pytest.mark.req("LED-3", "INV-2")
def test_an_illegal_move_ends_the_run_and_is_dated_by_the_wall_clock() -> None:
    driver = Driver(epoch_ms=1_700_000_000_000, total=1)
    driver.plan(1, ended=True)
    driver.pull(3)
    driver.now_ms = 250
    driver.kernel._state.ledger.states[0] = State.COMMITTED
    with pytest.raises(IllegalTransition) as caught:
        driver.finish(0)
    assert (caught.value.owner, caught.value.wall_ms) == (3, 1_700_000_000_250)
    assert caught.value.snapshot.now_ms == 250


@pytest.mark.req("LED-3", "INV-1")
def test_after_an_error_the_kernel_raises_it_again_and_changes_nothing() -> None:
    driver = at_the_end()
    with pytest.raises(InvariantViolation) as first:
        driver.ack(9)
    before = driver.kernel.snapshot()
    for event in (Tick(), Committed(2), Finished(1, [])):
        with pytest.raises(InvariantViolation) as again:
            driver.step(event)
        assert again.value is first.value
    assert driver.kernel.snapshot() == before
    assert driver.kernel.summary is None


@pytest.mark.req("INV-3")
def test_no_time_however_long_makes_the_cursor_pass_a_hole() -> None:
    driver = Driver.of(3)
    for worker in (1, 2, 3):
        driver.pull(worker)
    driver.finish(1, 2)
    for _ in range(500):
        driver.now_ms += 60_000
        driver.beat(1)
    assert driver.kernel.snapshot().next_commit_seq == 0
    assert driver.committed == []
    driver.finish(0)
    driver.drain()
    assert driver.kernel.summary.succeeded == 3


@pytest.mark.req("INV-3", "LED-7")
def test_a_lease_that_expires_costs_time_and_changes_no_result() -> None:
    summaries = []
    for is_silent in (False, True):
        driver = Driver.of(3, lease_ms=100)
        driver.pull(1)
        for _ in range(8):
            driver.tick(25)
            if not is_silent:
                driver.beat(1)
        driver.drain(worker=2)
        summaries.append(driver.kernel.summary)
    assert summaries[0] == summaries[1]
