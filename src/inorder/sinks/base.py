"""The protocol of a sink: a place that results are committed to.

A sink gets contiguous runs of entries, in seq order, each seq once. It returns its *position*: how much it has applied,
in a form that lets recovery check later whether the sink still holds that much. The position is written to the journal
*after* the sink has applied the entries. So after a crash the sink may hold more than the journal says, and after a
power loss it may also hold less. Recovery checks the journaled positions from the newest to the oldest, takes the first
one that the sink still `holds`, and calls `roll_back` with it. Everything after it is computed again, with the same
bytes.

The rules are in the documentation of `Sink`, and `inorder.sinks.testing` checks them for every sink.

A sink may have two more methods. `origin` returns the position at which a new run begins, if that is not the empty
sink. `complete` is called once every entry of a run is applied, before the journal records its end. See `find_origin`
and `complete_sink`.

An interrupted run of a plan that is a remainder cannot be repeated: the plan has only what is left to do. So its sinks
are brought to one position before the next run begins. If one of them stays ahead of the journal, the others must
follow it. Two more methods serve that: `applied` of the sink that stays ahead, which has an attribute `is_final`, and
`advance` of the others. At most one sink of such a plan is final, and it is the last. Where outcomes are durable before
sinks change (`fsync`), the others are synced before it applies a run. See `is_final`, `find_applied` and
`advance_sink`.

A sink has no method to verify its content. `inorder verify` reads what is on disk without opening a sink: it needs no
lock, no schema and no function of the user, and it compares the content with manifest, journal and fingerprints, which
no sink knows.
"""

import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from inorder.core.invariants import check, raise_violation
from inorder.core.transitions import State
from inorder.errors import Failure


class Output(msgspec.Struct, frozen=True, array_like=True):
    """One file that an item produced.

    >>> import zlib
    >>> from inorder.sinks import Output
    >>> Output("texts/1.txt", size=5, checksum=zlib.crc32(b"hello")).path
    'texts/1.txt'
    """

    path: str
    """Where it is published, relative to the root of the sink, with `/`."""
    size: int
    checksum: int
    """CRC-32 of its bytes."""


class Entry(msgspec.Struct, frozen=True):
    """One finished item, as sinks receive it.

    >>> from inorder.core.transitions import State
    >>> from inorder.sinks import Entry
    >>> Entry(0, State.TERMINAL_SUCCESS, payload="result").is_success
    True
    """

    seq: int
    outcome: int
    """TERMINAL_SUCCESS, TERMINAL_SKIP or TERMINAL_FAIL."""
    attempts: int = 1
    item: Any = None
    """In `run_stage`, the `WorkItem`."""
    payload: Any = None
    """What is applied: in `run_stage`, what the worker passed to `ctx.deliver` or, if the item failed, to
    `ctx.hand_over`. None: nothing."""
    failure: Failure | None = None
    outputs: Sequence[Output] = ()
    staging: str = ""
    """The folder with the staged files of this attempt, under the same relative paths."""
    staged: Sequence[str] = ()
    """Where each of `outputs` is staged, if not in `staging`. Files with names that no other attempt uses need no
    folder of their own, and folders are slow to create."""
    removals: Sequence[str] = ()
    """Files to remove, relative to the root of the sink, whatever the outcome. Rolling back does not restore them: the
    item is processed again, and must not need them."""
    exec_ms: float = 0.0
    """Volatile."""
    began_ms: float = 0.0
    """When the final attempt began, in milliseconds since 1970; 0: it did not run. Volatile."""

    @property
    def is_success(self) -> bool:
        """Whether the item succeeded: it may have files to publish."""
        return self.outcome == State.TERMINAL_SUCCESS

    @property
    def applies(self) -> bool:
        """Whether a sink for payloads has to apply it: a success, or a failure with a partial result."""
        outcome = self.outcome
        return outcome == State.TERMINAL_SUCCESS or (outcome == State.TERMINAL_FAIL and self.payload is not None)


class Position(msgspec.Struct, frozen=True, array_like=True):
    """How far a sink has come. The default is the empty sink.

    >>> from inorder.sinks import Position
    >>> Position()
    Position(end=0, offset=0, checksum=0)
    """

    end: int = 0
    """Every seq below it has been applied."""
    offset: int = 0
    """How much the sink holds, in its own unit: bytes, rows, files."""
    checksum: int = 0
    """CRC-32 of what the sink holds, in its own form."""


class AppliedRun(msgspec.Struct, frozen=True):
    """A run that may have been applied, as the journal records it: enough to check or undo it.

    >>> from inorder.sinks import AppliedRun
    >>> AppliedRun(start=0, end=8).outputs
    {}
    """

    start: int
    end: int
    outputs: Mapping[int, Sequence[Output]] = {}
    """By seq, for the successes that produced files."""


class Sink(Protocol):
    """A place that results are committed to.

    The rules, which `inorder.testing.SINK_RULES` checks:

    * `apply` applies one run in one write or one transaction. A run begins at the position of the sink. A run that
      leaves a gap or was applied before is refused.
    * Every entry advances the position. A success applies its payload and files; a failure applies the partial result
      that its worker handed over, if there is one (`Entry.applies`); a skip applies nothing.
    * What `apply` did is visible to readers when it returns, and survives the death of the process. `sync` makes it
      durable: it then survives a power loss too.
    * The position and the content follow from the entries alone, however they were divided into runs.
    * `roll_back` to a position that the sink holds restores its content at that position, byte for byte. It is
      idempotent. Position 0 is always held: it is the empty sink.
    * A run begins with `roll_back`, also when there is nothing to undo. A sink that does not know its own position
      refuses everything before that.
    * A sink that fails raises. This run does not use it again; the next one begins with recovery.

    A sink with transactions stores its position together with its rows, so the two always agree, but it cannot undo a
    transaction. It may *stay ahead* instead: it `holds` every position below its own, reports the earlier position
    after `roll_back`, and `apply` skips what is stored already. Either way no seq is applied twice. At position 0 such
    a sink becomes empty too.

    >>> from inorder.sinks import MemorySink, Sink
    >>> sink: Sink = MemorySink()
    """

    @property
    def name(self) -> str:
        """Stored in the journal with the sink's positions: never change it."""

    def apply(self, entries: Sequence[Entry]) -> Position:
        """Apply a contiguous run, in one step. Returns the position after it. An empty run changes nothing."""

    def position(self) -> Position:
        """Return how far it has come."""

    def sync(self) -> None:
        """Make everything applied durable."""

    def holds(self, position: Position, since: Sequence[AppliedRun]) -> bool:
        """Whether it still holds what it held at this position.

        `since` has the runs from the latest sync up to the position, oldest first.
        """

    def roll_back(self, position: Position, undone: Sequence[AppliedRun]) -> None:
        """Restore the content at this position, or stay ahead of it.

        `undone` has the runs that may have been applied after it.
        """

    def close(self) -> None:
        """Close its files. Idempotent."""


def find_origin(sink: Sink) -> Position:
    """Return the position at which a new run begins: the empty sink, unless the sink has a method `origin`.

    A sink that keeps the content of earlier runs has one.
    """
    origin = getattr(sink, "origin", None)
    found: Position = Position() if origin is None else origin()
    return found


def is_final(sink: Sink) -> bool:
    """Whether what a sink has applied cannot be undone, and other sinks follow it: it has an attribute `is_final`."""
    found: bool = getattr(sink, "is_final", False)
    return found


def find_applied(sink: Sink, position: Position) -> Position:
    """Return how far a final sink has come in the run that `position` belongs to: by its method `applied`. Any other
    sink is at `position`."""
    if not is_final(sink):
        return position
    applied: Callable[[Position], Position] = getattr(sink, "applied")  # noqa: B009 - not part of the protocol
    return applied(position)


def advance_sink(sink: Sink, position: Position, runs: Sequence[AppliedRun]) -> Position | None:
    """Return the position of a sink after these runs, which follow `position`, if it holds all of them: by its method
    `advance`. None: it does not, or has no such method."""
    advance = getattr(sink, "advance", None)
    found: Position | None = None if advance is None else advance(position, runs)
    return found


def complete_sink(sink: Sink) -> None:
    """Tell a sink that every entry of the run is applied, if it has a method `complete`.

    It is called before the journal records the end of the run, and again by a run that was killed in between. A sink
    that publishes what it has at the end of a run notes there that it may do so.
    """
    complete = getattr(sink, "complete", None)
    if complete is not None:
        complete()


def check_run(name: str, position: Position | None, entries: Sequence[Entry]) -> Position:
    """Check that a run begins at the sink's position and has no gap. Returns the position.

    `position` is None when the sink does not know it, because it was just opened or failed during a write. Raises
    `InvariantViolation`.

    >>> from inorder.sinks import Position, check_run
    >>> check_run("rows", Position(), [])
    Position(end=0, offset=0, checksum=0)
    """
    if position is None:
        raise_violation(f"sink {name} must be rolled back before it is used")
    if entries:
        start, end = entries[0].seq, entries[-1].seq + 1
        check(start == position.end, f"sink {name} is at seq {position.end} and was given a run from seq {start}")
        check(
            end - start == len(entries), f"sink {name} was given {len(entries)} entries for seqs {start} to {end - 1}"
        )
    return position


def advance_position(position: Position, entries: Sequence[Entry]) -> Position:
    """Return the position after these entries, for a sink that has no bytes of its own to count.

    `offset` counts successes, and `checksum` is the CRC-32 of every seq with its outcome.

    >>> from inorder.core.transitions import State
    >>> from inorder.sinks import Entry, Position, advance_position
    >>> advance_position(Position(), [Entry(0, State.TERMINAL_SUCCESS), Entry(1, State.TERMINAL_FAIL)]).end
    2
    """
    text = b"".join(b"%d:%d;" % (entry.seq, entry.outcome) for entry in entries)
    successes = sum(entry.is_success for entry in entries)
    return Position(position.end + len(entries), position.offset + successes, zlib.crc32(text, position.checksum))
