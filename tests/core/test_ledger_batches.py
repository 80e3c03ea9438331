"""A batch method of the ledger does what a loop over single moves does."""

import copy
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inorder.core.invariants import IllegalTransition
from inorder.core.ledger import Ledger
from inorder.core.transitions import TERMINAL_STATES, State
from inorder.errors import InvariantViolation
from tests.core.test_ledger import image, ledger_in

SEQS = 8
seqs = st.integers(0, SEQS - 1)
spans = st.tuples(seqs, st.integers(0, SEQS)).map(lambda span: (span[0], max(span)))
outcomes = st.lists(st.sampled_from(TERMINAL_STATES[:3]), max_size=3).map(bytes)
deeds = st.one_of(
    st.tuples(st.just("lease"), st.lists(seqs, max_size=4), st.integers(1, 3)),
    st.tuples(st.just("again"), seqs),
    st.tuples(st.just("settle"), seqs, outcomes),
    st.tuples(st.just("cancel"), spans),
    st.tuples(st.just("commit"), st.integers(0, SEQS)),
)


def lease(ledger: Ledger, chosen: list[int], owner: int) -> None:
    for seq in chosen:
        if ledger.states[seq] == State.UNSEEN:
            ledger.move(seq, State.DISPATCHED)
        ledger.move(seq, State.IN_FLIGHT, owner=owner)


def again(ledger: Ledger, seq: int) -> None:
    ledger.move(seq, State.TERMINAL_FAIL)
    ledger.move(seq, State.DISPATCHED)
    ledger.fence(seq)


def settle(ledger: Ledger, start: int, kinds: bytes) -> None:
    for seq, kind in enumerate(kinds, start):
        if seq >= len(ledger):
            raise InvariantViolation("never planned")
        ledger.move(seq, kind)


def cancel(ledger: Ledger, span: tuple[int, int]) -> None:
    for seq in range(*span):
        if ledger.states[seq] == State.UNSEEN:
            ledger.move(seq, State.DISPATCHED)
        ledger.move(seq, State.TERMINAL_CANCEL)


def commit(ledger: Ledger, end: int) -> None:
    if end <= ledger.next_commit_seq:
        raise InvariantViolation("committed before")
    for seq in range(ledger.next_commit_seq, end):
        ledger.move(seq, State.COMMITTED)


BY_MOVES: dict[str, Callable[..., None]] = {
    "lease": lease,
    "again": again,
    "settle": settle,
    "cancel": cancel,
    "commit": commit,
}
IN_ONE_GO: dict[str, Callable[..., object]] = {
    "lease": Ledger.lease,
    "again": Ledger.requeue,
    "settle": Ledger.settle,
    "cancel": lambda ledger, span: ledger.cancel(*span),
    "commit": Ledger.commit,
}


def scanned_counts(ledger: Ledger) -> tuple[int, int, int, int]:
    states = list(ledger.states)
    terminal = sum(state >= State.TERMINAL_SUCCESS for state in states)
    return states.count(State.DISPATCHED), states.count(State.IN_FLIGHT), terminal, states.count(State.COMMITTED)


@pytest.mark.slow
@pytest.mark.req("LED-2", "LED-8")
@given(st.lists(deeds, max_size=24))
def test_a_batch_equals_a_loop_of_single_moves(story: list[tuple[object, ...]]) -> None:
    batched = Ledger()
    batched.extend(SEQS)
    for name, *details in story:
        before = image(batched)
        looped = copy.deepcopy(batched)
        try:
            BY_MOVES[name](looped, *details)
        except InvariantViolation:
            with pytest.raises(InvariantViolation):
                IN_ONE_GO[name](batched, *details)
            assert image(batched) == before
        else:
            IN_ONE_GO[name](batched, *details)
            assert image(batched) == image(looped)
        assert image(batched)[1] == scanned_counts(batched)


@pytest.mark.req("LED-4")
def test_a_lease_that_names_a_seq_twice_is_refused() -> None:
    ledger = ledger_in(State.UNSEEN, State.UNSEEN)
    with pytest.raises(InvariantViolation, match=r"owner 3 is given the same seq twice in \[1, 1\]"):
        ledger.lease([1, 1], owner=3)


@pytest.mark.req("LED-2")
@pytest.mark.parametrize("kind", sorted(set(State) - set(TERMINAL_STATES[:3])))
def test_settling_as_anything_but_an_outcome_is_refused(kind: State) -> None:
    ledger = ledger_in(State.IN_FLIGHT)
    with pytest.raises(InvariantViolation, match="seqs 0 to 0 cannot be settled as"):
        ledger.settle(0, bytes([kind]))
    assert ledger.states[0] == State.IN_FLIGHT


@pytest.mark.req("LED-2", "LED-3")
def test_settling_a_run_with_a_hole_names_the_hole() -> None:
    ledger = ledger_in(State.IN_FLIGHT, State.DISPATCHED, State.IN_FLIGHT)
    with pytest.raises(IllegalTransition) as caught:
        ledger.settle(0, bytes([State.TERMINAL_SUCCESS, State.TERMINAL_SKIP, State.TERMINAL_FAIL]))
    assert (caught.value.seq, caught.value.attempted) == (1, State.TERMINAL_SKIP)


@pytest.mark.req("LED-2")
def test_settling_beyond_the_plan_is_refused() -> None:
    ledger = ledger_in(State.IN_FLIGHT)
    with pytest.raises(InvariantViolation, match="seq 1 is settled but was never planned"):
        ledger.settle(0, bytes([State.TERMINAL_SUCCESS] * 2))


@pytest.mark.req("LED-4")
@pytest.mark.parametrize("kind", [*TERMINAL_STATES, State.COMMITTED])
def test_cancelling_what_is_terminal_is_refused(kind: State) -> None:
    ledger = ledger_in(kind, State.UNSEEN)
    with pytest.raises(IllegalTransition) as caught:
        ledger.cancel(0, 2)
    assert (caught.value.seq, caught.value.prior) == (0, kind)


@pytest.mark.req("LED-3", "LED-4")
def test_cancelling_over_something_terminal_names_it() -> None:
    ledger = ledger_in(State.UNSEEN, State.UNSEEN, State.TERMINAL_SKIP)
    with pytest.raises(IllegalTransition) as caught:
        ledger.cancel(1, 3)
    assert (caught.value.seq, caught.value.attempted) == (2, State.TERMINAL_CANCEL)
    assert list(ledger.states) == [State.UNSEEN, State.UNSEEN, State.TERMINAL_SKIP]


def test_cancelling_beyond_the_plan_is_refused() -> None:
    ledger = ledger_in(State.UNSEEN)
    with pytest.raises(InvariantViolation, match="never planned"):
        ledger.cancel(0, 2)


@pytest.mark.req("DEC-1")
def test_what_was_never_dispatched_is_cancelled_without_attempt_or_owner() -> None:
    ledger = ledger_in(State.UNSEEN, State.DISPATCHED, State.IN_FLIGHT)
    ledger.cancel(0, 3)
    assert list(ledger.states) == [State.TERMINAL_CANCEL] * 3
    assert [ledger.attempt(seq) for seq in range(3)] == [0, 0, 1]
    assert ledger.owner(0) == ledger.owner(1) == -1
