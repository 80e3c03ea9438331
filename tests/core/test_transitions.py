"""The table of states and moves."""

import itertools

import pytest

from inorder.core.transitions import TERMINAL_STATES, TRANSITIONS, State, is_legal


@pytest.mark.req("LED-1")
def test_the_eight_states_keep_their_codes() -> None:
    assert {state.name: state.value for state in State} == {
        "UNSEEN": 0,
        "DISPATCHED": 1,
        "IN_FLIGHT": 2,
        "TERMINAL_SUCCESS": 3,
        "TERMINAL_SKIP": 4,
        "TERMINAL_FAIL": 5,
        "TERMINAL_CANCEL": 6,
        "COMMITTED": 7,
    }


@pytest.mark.req("LED-1")
def test_the_terminal_states_are_those_named_terminal() -> None:
    assert [state for state in State if state.name.startswith("TERMINAL_")] == list(TERMINAL_STATES)


@pytest.mark.req("LED-2")
def test_the_table_lists_twelve_moves_each_once_and_says_when() -> None:
    assert len({(move.prior, move.attempted) for move in TRANSITIONS}) == len(TRANSITIONS) == 12
    assert all(move.occasion for move in TRANSITIONS)


@pytest.mark.req("LED-2")
def test_a_move_is_legal_exactly_when_the_table_lists_it() -> None:
    listed = {(move.prior, move.attempted) for move in TRANSITIONS}
    legal = {pair for pair in itertools.product(State, State) if is_legal(*pair)}
    assert legal == listed


@pytest.mark.req("LED-2")
def test_a_code_that_is_no_state_leads_nowhere() -> None:
    assert not any(is_legal(State.IN_FLIGHT, code) or is_legal(code, State.COMMITTED) for code in (-1, 8, 255))
