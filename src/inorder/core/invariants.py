"""Invariant checks and the snapshot that a violation reports.

A violation is a bug in inorder or in an engine, never a fault of an item. Nothing is recovered: the run ends at once,
and the error carries a snapshot of the kernel that explains the situation without a debugger. `check` replaces `assert`
because `python -O` strips the latter.
"""

from typing import NoReturn

import msgspec

from inorder.errors import InvariantViolation

from .transitions import State


class WindowSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds and usage of one active window."""

    id: int
    start: int
    end: int
    sealed: bool
    computed: int
    used_bytes: int


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The state of the kernel at one moment, for the analysis of a failed run."""

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


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """What the commit position waits for."""

    state: str
    """`planning`, `queued`, `dispatched`, `retry-waiting`, `committing`, `outage`, `undecided` or `ended`."""
    seq: int | None = None
    """The first seq without a result or, while results are committed, the first of those. None: there is none."""
    worker: int | None = None
    """The worker that holds it."""
    due_ms: int | None = None
    """When its retry is due, or the next item is tried."""
    is_paused: bool = False
    """Dispatch is paused by backpressure."""
    server: str = ""
    reason: str = ""
    since_ms: int = 0
    """The server that the run waits for, why, and since when."""

    def describe(self) -> str:
        """Describe what has to happen next for the run to make progress."""
        seq = self.seq
        return {
            "ended": "nothing: the run has ended",
            "committing": f"the commit lane, from seq {seq} on",
            "planning": "the plan",
            "dispatched": f"worker {self.worker}, which holds seq {seq}",
            "queued": f"a worker to pull seq {seq}{' (dispatch is paused)' if self.is_paused else ''}",
            "outage": f"{self.server}, which is down: {self.reason}",
            "retry-waiting": f"the retry of seq {seq} at {self.due_ms} ms",
        }.get(self.state, "an event")


class IllegalTransition(InvariantViolation):
    """A transition that the table does not list."""

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
    """Raise `InvariantViolation` unless `condition` holds."""
    if not condition:
        raise_violation(message)


def raise_violation(message: str) -> NoReturn:
    """Raise `InvariantViolation`. Hot paths test the condition inline and call this only if it fails."""
    raise InvariantViolation(message)
