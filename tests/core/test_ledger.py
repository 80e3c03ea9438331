"""Single moves, the fence, the cursor and the replay entry of the ledger."""

import itertools
import sys
import tracemalloc

import pytest

from inorder.core.invariants import IllegalTransition
from inorder.core.ledger import NO_OWNER, Ledger
from inorder.core.transitions import State
from inorder.errors import InvariantViolation

WORKER = 7

LEGAL = {
    (State.UNSEEN, State.DISPATCHED),
    (State.DISPATCHED, State.IN_FLIGHT),
    (State.IN_FLIGHT, State.TERMINAL_SUCCESS),
    (State.IN_FLIGHT, State.TERMINAL_SKIP),
    (State.IN_FLIGHT, State.TERMINAL_FAIL),
    (State.DISPATCHED, State.TERMINAL_CANCEL),
    (State.IN_FLIGHT, State.TERMINAL_CANCEL),
    (State.TERMINAL_SUCCESS, State.COMMITTED),
    (State.TERMINAL_SKIP, State.COMMITTED),
    (State.TERMINAL_FAIL, State.COMMITTED),
    (State.TERMINAL_CANCEL, State.COMMITTED),
    (State.TERMINAL_FAIL, State.DISPATCHED),
}
WAY_TO = {
    State.UNSEEN: [],
    State.DISPATCHED: [State.DISPATCHED],
    State.IN_FLIGHT: [State.DISPATCHED, State.IN_FLIGHT],
    State.TERMINAL_SUCCESS: [State.DISPATCHED, State.IN_FLIGHT, State.TERMINAL_SUCCESS],
    State.TERMINAL_SKIP: [State.DISPATCHED, State.IN_FLIGHT, State.TERMINAL_SKIP],
    State.TERMINAL_FAIL: [State.DISPATCHED, State.IN_FLIGHT, State.TERMINAL_FAIL],
    State.TERMINAL_CANCEL: [State.DISPATCHED, State.TERMINAL_CANCEL],
    State.COMMITTED: [State.DISPATCHED, State.IN_FLIGHT, State.TERMINAL_SUCCESS, State.COMMITTED],
}


def move(ledger: Ledger, seq: int, attempted: State) -> None:
    ledger.move(seq, attempted, owner=WORKER if attempted is State.IN_FLIGHT else None)


def ledger_in(*states: State) -> Ledger:
    """A ledger whose seqs were led into these states by legal moves."""
    ledger = Ledger()
    ledger.extend(len(states))
    for seq, state in enumerate(states):
        for step in WAY_TO[state]:
            move(ledger, seq, step)
    return ledger


def image(ledger: Ledger) -> tuple[object, ...]:
    """Everything the ledger knows."""
    seqs = range(ledger.base, len(ledger))
    return (
        bytes(ledger.states),
        (ledger.dispatched_count, ledger.in_flight_count, ledger.terminal_count, ledger.committed_count),
        ledger.next_commit_seq,
        [ledger.attempt(seq) for seq in seqs],
        [ledger.owner(seq) for seq in seqs],
    )


@pytest.mark.req("LED-2")
@pytest.mark.parametrize(("prior", "attempted"), sorted(LEGAL), ids=lambda state: state.name)
def test_a_legal_move_succeeds_and_is_counted(prior: State, attempted: State) -> None:
    ledger = ledger_in(prior)
    move(ledger, 0, attempted)
    assert ledger.states[0] == attempted
    assert ledger.dispatched_count == (attempted is State.DISPATCHED)
    assert ledger.in_flight_count == (attempted is State.IN_FLIGHT)
    assert ledger.terminal_count == (attempted >= State.TERMINAL_SUCCESS)
    assert ledger.committed_count == ledger.next_commit_seq == (attempted is State.COMMITTED)


@pytest.mark.req("LED-2", "LED-3")
@pytest.mark.parametrize(
    ("prior", "attempted"), sorted(set(itertools.product(State, State)) - LEGAL), ids=lambda state: state.name
)
def test_an_illegal_move_raises_and_changes_nothing(prior: State, attempted: State) -> None:
    ledger = ledger_in(prior)
    before = image(ledger)
    with pytest.raises(IllegalTransition) as caught:
        move(ledger, 0, attempted)
    assert (caught.value.seq, caught.value.prior, caught.value.attempted) == (0, prior, attempted)
    assert image(ledger) == before


@pytest.mark.req("LED-2")
def test_legal_and_illegal_moves_make_all_64() -> None:
    assert len(LEGAL) == 12
    assert len(set(itertools.product(State, State)) - LEGAL) == 52


@pytest.mark.req("LED-3")
def test_the_error_names_seq_prior_attempted_owner_and_wall_clock() -> None:
    ledger = ledger_in(State.COMMITTED, State.TERMINAL_SUCCESS)
    ledger.wall_ms = 1_700_000_000_123
    with pytest.raises(IllegalTransition) as caught:
        ledger.move(1, State.TERMINAL_FAIL)
    error = caught.value
    assert (error.seq, error.prior, error.attempted) == (1, State.TERMINAL_SUCCESS, State.TERMINAL_FAIL)
    assert (error.owner, error.wall_ms) == (WORKER, 1_700_000_000_123)
    for part in ("seq 1:", "TERMINAL_SUCCESS -> TERMINAL_FAIL", "owner 7", "wall clock 1700000000123 ms"):
        assert part in str(error)


@pytest.mark.req("LED-6")
def test_in_flight_without_an_owner_is_refused() -> None:
    ledger = ledger_in(State.DISPATCHED)
    before = image(ledger)
    with pytest.raises(IllegalTransition):
        ledger.move(0, State.IN_FLIGHT)
    assert image(ledger) == before


@pytest.mark.req("LED-6")
def test_only_entering_in_flight_begins_an_attempt() -> None:
    ledger = ledger_in(State.UNSEEN)
    ledger.move(0, State.DISPATCHED, owner=WORKER)
    assert (ledger.attempt(0), ledger.owner(0)) == (0, NO_OWNER)


@pytest.mark.req("LED-6")
def test_every_lease_of_a_seq_gets_the_next_attempt_number() -> None:
    ledger = Ledger()
    ledger.extend(2)
    assert (ledger.attempt(0), ledger.owner(0)) == (0, NO_OWNER)
    assert ledger.lease([0, 1], owner=4) == [1, 1]
    ledger.requeue(0)
    assert ledger.lease([0], owner=5) == [2]
    assert [ledger.owner(seq) for seq in (0, 1)] == [5, 4]


@pytest.mark.req("LED-6", "DEC-3")
def test_a_reclaimed_attempt_is_fenced_until_the_next_lease() -> None:
    ledger = ledger_in(State.IN_FLIGHT)
    ledger.requeue(0)
    assert (ledger.owner(0), ledger.attempt(0)) == (NO_OWNER, 1)


@pytest.mark.req("DEC-2", "DEC-3")
def test_going_again_passes_through_fail_in_one_call_and_counts_no_terminal_event() -> None:
    ledger = ledger_in(State.IN_FLIGHT)
    ledger.requeue(0)
    assert ledger.states[0] == State.DISPATCHED
    assert (ledger.dispatched_count, ledger.in_flight_count, ledger.terminal_count) == (1, 0, 0)


@pytest.mark.req("DEC-2")
@pytest.mark.parametrize("state", [state for state in State if state is not State.IN_FLIGHT])
def test_only_what_is_in_flight_can_go_again(state: State) -> None:
    ledger = ledger_in(state)
    before = image(ledger)
    with pytest.raises(IllegalTransition):
        ledger.requeue(0)
    assert image(ledger) == before


@pytest.mark.req("LED-10")
def test_seqs_are_dense_from_zero_in_the_order_they_are_given() -> None:
    ledger = Ledger()
    assert [ledger.extend(count) for count in (3, 0, 2)] == [0, 3, 3]
    assert len(ledger) == 5
    assert bytes(ledger.states) == bytes(5)


@pytest.mark.req("LED-5")
def test_a_commit_ahead_of_the_cursor_is_refused() -> None:
    ledger = ledger_in(State.TERMINAL_SUCCESS, State.TERMINAL_SUCCESS)
    before = image(ledger)
    with pytest.raises(InvariantViolation, match="commit of seq 1 out of order, the cursor is at 0"):
        ledger.move(1, State.COMMITTED)
    assert image(ledger) == before


@pytest.mark.req("LED-5")
@pytest.mark.parametrize("hole", [State.UNSEEN, State.DISPATCHED, State.IN_FLIGHT])
def test_a_commit_over_a_hole_is_refused_and_names_it(hole: State) -> None:
    ledger = ledger_in(State.TERMINAL_SKIP, hole, State.TERMINAL_SUCCESS)
    before = image(ledger)
    with pytest.raises(IllegalTransition) as caught:
        ledger.commit(3)
    assert (caught.value.seq, caught.value.prior, caught.value.attempted) == (1, hole, State.COMMITTED)
    assert image(ledger) == before


@pytest.mark.req("LED-5")
def test_a_commit_beyond_the_plan_is_refused() -> None:
    ledger = ledger_in(State.TERMINAL_SUCCESS)
    with pytest.raises(InvariantViolation, match="seq 1 is committed but was never planned"):
        ledger.commit(2)
    assert ledger.next_commit_seq == 0


@pytest.mark.req("LED-5")
def test_committing_again_is_fatal_outside_replay() -> None:
    ledger = ledger_in(State.COMMITTED, State.COMMITTED, State.TERMINAL_SUCCESS)
    before = image(ledger)
    with pytest.raises(IllegalTransition):
        ledger.move(1, State.COMMITTED)
    for end in (1, 2):
        with pytest.raises(InvariantViolation, match="the cursor is at 2"):
            ledger.commit(end)
    assert image(ledger) == before


@pytest.mark.req("LED-3", "LED-5")
def test_a_commit_that_ends_before_the_cursor_blames_no_legal_move() -> None:
    ledger = ledger_in(State.COMMITTED, State.COMMITTED, State.TERMINAL_SUCCESS)
    with pytest.raises(InvariantViolation) as caught:
        ledger.commit(1)
    assert "TERMINAL_SUCCESS -> COMMITTED" not in str(caught.value)


@pytest.mark.req("LED-5")
def test_a_replayed_commit_said_again_changes_nothing() -> None:
    ledger = Ledger()
    ledger.extend(4)
    ledger.replay_commit(3)
    once = image(ledger)
    for end in (3, 2, 0):
        ledger.replay_commit(end)
    assert image(ledger) == once
    assert (ledger.next_commit_seq, ledger.terminal_count, ledger.committed_count) == (3, 3, 3)
    assert bytes(ledger.states) == bytes([State.COMMITTED] * 3 + [State.UNSEEN])


@pytest.mark.req("LED-5")
def test_a_replayed_commit_goes_on_where_the_last_one_ended() -> None:
    ledger = Ledger()
    ledger.extend(5)
    for end in (2, 5):
        ledger.replay_commit(end)
        assert (ledger.next_commit_seq, ledger.terminal_count, ledger.committed_count) == (end, end, end)


@pytest.mark.req("LED-5")
def test_a_replayed_commit_beyond_the_plan_is_refused() -> None:
    ledger = ledger_in(State.UNSEEN, State.UNSEEN)
    with pytest.raises(InvariantViolation, match="commits seq 2 but only 2 were planned"):
        ledger.replay_commit(3)


@pytest.mark.req("LED-5")
def test_a_replayed_commit_of_work_under_way_is_refused() -> None:
    ledger = ledger_in(State.UNSEEN, State.IN_FLIGHT)
    before = image(ledger)
    with pytest.raises(InvariantViolation, match="seqs 0 to 1, which this run has already begun"):
        ledger.replay_commit(2)
    assert image(ledger) == before


@pytest.mark.req("LED-9")
def test_the_heavier_columns_go_when_windows_close() -> None:
    ledger = ledger_in(*[State.COMMITTED] * 10, *[State.IN_FLIGHT] * 2)
    assert ledger.size_bytes > 2 * len(ledger)
    ledger.forget(10)
    assert ledger.base == 10
    assert [ledger.attempt(seq) for seq in (10, 11)] == [1, 1]
    assert [ledger.owner(seq) for seq in (9, 10, 11, 12)] == [NO_OWNER, WORKER, WORKER, NO_OWNER]
    ledger.forget(12)
    assert ledger.size_bytes == len(ledger) == 12


@pytest.mark.req("LED-6", "LED-9")
def test_after_windows_have_closed_attempts_and_owners_are_still_those_of_their_seq() -> None:
    ledger = ledger_in(*[State.COMMITTED] * 3, State.DISPATCHED, State.DISPATCHED)
    ledger.forget(3)
    ledger.move(3, State.IN_FLIGHT, owner=1)
    assert ledger.lease([4], owner=2) == [1]
    assert [(ledger.attempt(seq), ledger.owner(seq)) for seq in (3, 4)] == [(1, 1), (1, 2)]
    ledger.requeue(4)
    assert [ledger.owner(seq) for seq in (3, 4)] == [1, NO_OWNER]


@pytest.mark.slow
@pytest.mark.req("LED-9")
def test_ten_million_seqs_take_two_bytes_each_at_most() -> None:
    count, window = 10_000_000, 8192
    tracemalloc.start()
    try:
        ledger = Ledger()
        for start in range(0, count, window):
            end = min(start + window, count)
            ledger.extend(end - start)
            ledger.replay_commit(end)
            ledger.forget(end)
        held, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert ledger.committed_count == count
    assert sys.getsizeof(ledger.states) <= held <= 2 * count
    assert peak < 200_000_000


@pytest.mark.parametrize("seq", [-1, 3])
def test_a_seq_that_was_never_planned_cannot_be_moved(seq: int) -> None:
    ledger = Ledger()
    ledger.extend(3)
    with pytest.raises(InvariantViolation, match="never planned"):
        ledger.move(seq, State.DISPATCHED)
