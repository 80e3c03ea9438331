"""The states of one seq and the transitions between them.

Every item has a seq, and every seq is in exactly one of eight states. The twelve transitions below are the only legal
ones. An illegal transition raises, changes nothing, and ends the run.

    UNSEEN ─▶ DISPATCHED ─▶ IN_FLIGHT ─▶ TERMINAL_SUCCESS ─┐
                 ▲   │          │   ├──▶ TERMINAL_SKIP ────┤
                 │   │          │   ├──▶ TERMINAL_FAIL ────┼─▶ COMMITTED
                 │   └──────────┼───┴──▶ TERMINAL_CANCEL ──┘
                 └── retry ─────┘ (through TERMINAL_FAIL, inside one ledger call)

A seq is *in flight* from the moment a worker holds a lease on it until its outcome is final. Like an instruction in an
out-of-order processor, it may be computed long before it is retired: a computed result waits in the reorder buffer,
still IN_FLIGHT, until every lower seq is settled. Its outcome cannot be final earlier, because the error budget or a
cancel may still end the run at a lower seq.

`docs/specs/ledger.md` quotes this table, and a test keeps the two equal.
"""

from enum import IntEnum
from typing import NamedTuple


class State(IntEnum):
    """The eight states. Journals store these codes, so they never change."""

    UNSEEN = 0
    DISPATCHED = 1
    IN_FLIGHT = 2
    TERMINAL_SUCCESS = 3
    TERMINAL_SKIP = 4
    TERMINAL_FAIL = 5
    TERMINAL_CANCEL = 6
    COMMITTED = 7


class Transition(NamedTuple):
    """A legal transition and when it happens."""

    prior: State
    attempted: State
    occasion: str


TRANSITIONS: tuple[Transition, ...] = (
    Transition(State.UNSEEN, State.DISPATCHED, "chosen for dispatch, or for cancellation before any work"),
    Transition(State.DISPATCHED, State.IN_FLIGHT, "a worker took a lease"),
    Transition(State.IN_FLIGHT, State.TERMINAL_SUCCESS, "settled: the result stands"),
    Transition(State.IN_FLIGHT, State.TERMINAL_SKIP, "settled: the worker declined the item"),
    Transition(State.IN_FLIGHT, State.TERMINAL_FAIL, "settled as failed, or the first half of a retry or reclaim"),
    Transition(State.DISPATCHED, State.TERMINAL_CANCEL, "cancelled before work began"),
    Transition(State.IN_FLIGHT, State.TERMINAL_CANCEL, "cancelled after the grace period, or computed beyond the stop"),
    Transition(State.TERMINAL_SUCCESS, State.COMMITTED, "the commit lane applied it"),
    Transition(State.TERMINAL_SKIP, State.COMMITTED, "the cursor passed it, nothing to apply"),
    Transition(State.TERMINAL_FAIL, State.COMMITTED, "the cursor passed it, nothing to apply"),
    Transition(State.TERMINAL_CANCEL, State.COMMITTED, "the cursor passed it, nothing to apply"),
    Transition(State.TERMINAL_FAIL, State.DISPATCHED, "the second half of a retry or reclaim"),
)

TERMINAL_STATES: tuple[State, ...] = (
    State.TERMINAL_SUCCESS,
    State.TERMINAL_SKIP,
    State.TERMINAL_FAIL,
    State.TERMINAL_CANCEL,
)

_LEGAL = frozenset((transition.prior, transition.attempted) for transition in TRANSITIONS)


def is_legal(prior: int, attempted: int) -> bool:
    """Whether this transition is legal."""
    return (prior, attempted) in _LEGAL
