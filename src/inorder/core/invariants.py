"""What must never happen, and the story told when it does.

A violation is a bug of ours or of an engine, never of an item, so nothing is recovered: the stage ends at once and the
error carries a snapshot from which the situation can be understood without a debugger. `check` is used instead of
`assert` because `python -O` strips the latter.
"""

from typing import NoReturn

import msgspec

from inorder.errors import InvariantViolation

from .transitions import State


class WindowSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds and occupancy of one active window."""

    id: int
    start: int
    end: int
    sealed: bool
    computed: int
    used_bytes: int


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The kernel at one moment: what the next engineer asks first when a stage has been aborted."""

    now_ms: int
    next_commit_seq: int
    max_seen_seq: int
    planned_count: int
    terminal_count: int
    dispatched_count: int
    in_flight_count: int
    committed_count: int
    windows: tuple[WindowSnapshot, ...]
    oldest_blocked_seq: int | None
    oldest_blocked_state: str | None
    buffered_bytes: int
    commit_lag: int
    waiting_for: str


class IllegalTransition(InvariantViolation):
    """A move that the state table does not list. Names everything needed to find who attempted it."""

    def __init__(self, *, seq: int, prior: int, attempted: int, owner: int, wall_ms: int) -> None:
        self.seq = seq
        self.prior = State(prior)
        self.attempted = State(attempted)
        self.owner = owner
        self.wall_ms = wall_ms
        super().__init__(
            f"illegal transition of seq {seq}: {self.prior.name} -> {self.attempted.name}, "
            f"owner {owner}, at wall clock {wall_ms} ms"
        )


def check(condition: bool, message: str) -> None:
    """Abort with `message` unless `condition` holds."""
    if not condition:
        raise_violation(message)


def raise_violation(message: str) -> NoReturn:
    """Abort: the caller has already seen the condition fail (the hot path tests inline and calls only then)."""
    raise InvariantViolation(message)
