"""What a run asks of a place that its results go to.

A sink gets contiguous runs of entries, in seq order, each seq once. It answers with its *position*: how far it has
come, in words that let anybody check later whether it really holds that much. The run writes the position into its
journal *after* the sink has taken the entries. So after a crash the sink may hold more than the journal says, and after
a loss of power it may also hold less. Recovery asks, from the newest journaled position to the oldest, which one the
sink still `holds`, and has it `roll_back` to that one; whatever came after is done again, to the same bytes.

The rules, which `inorder.sinks.conformance` checks for every sink:

* `apply` takes one run in one act: one write, one transaction. A run begins where the sink stands; one that leaves a
  hole or comes a second time is refused.
* Every entry moves the position. Only a success brings a payload or files.
* What `apply` did is visible to readers when it returns, and survives the death of the process; `sync` makes it survive
  the loss of power.
* Where it stands and what it holds follow from the entries alone, however they were cut into runs.
* `roll_back` to a position it holds leaves the sink as it was at that position, byte for byte; twice is once. Position
  0 is always held: it is the empty sink.
* A run begins with `roll_back`, also when there is nothing to undo. A sink that cannot tell by itself where it stands
  refuses everything before that.
* A sink that fails raises. It is not used again by this run; the next one begins with recovery.

A sink with transactions keeps its position beside its rows, so the two never disagree, and it cannot go back. It may
*stay ahead* instead: it `holds` every position below its own, answers after `roll_back` as if it had gone back, and
`apply` skips what it already has. No seq is applied twice either way. At position 0 it too really becomes empty.
"""

import zlib
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec

from inorder.core.invariants import check, raise_violation
from inorder.core.transitions import State
from inorder.errors import Failure


class Output(msgspec.Struct, frozen=True, array_like=True):
    """One file that an item made."""

    path: str
    """Where it is published, relative to the root of the sink, with `/`."""
    size: int
    checksum: int
    """CRC-32 of its bytes."""


class Entry(msgspec.Struct, frozen=True):
    """One item at its end, as sinks see it."""

    seq: int
    outcome: int
    """TERMINAL_SUCCESS, TERMINAL_SKIP or TERMINAL_FAIL."""
    attempts: int = 1
    item: Any = None
    payload: Any = None
    """What the worker gave back; only of a success."""
    failure: Failure | None = None
    outputs: Sequence[Output] = ()
    staging: str = ""
    """The folder in which the files of this very attempt wait to be published, under the same relative paths."""
    staged: Sequence[str] = ()
    """Where each of `outputs` waits, if not there. Files with names that no other attempt uses need no folder of their
    own, and folders are slow to make."""
    removals: Sequence[str] = ()
    """Files, relative to the root of the sink, that are not to be there any more. Whatever its outcome. Going back does
    not bring them back: the item is done again, and must be able to do without them."""
    exec_ms: float = 0.0
    """Volatile."""

    @property
    def is_success(self) -> bool:
        """Whether it has a payload or files to apply."""
        return self.outcome == State.TERMINAL_SUCCESS


class Position(msgspec.Struct, frozen=True, array_like=True):
    """How far a sink has come."""

    end: int = 0
    """Every seq below it has been applied."""
    offset: int = 0
    """How much it holds, in a unit of its own: bytes, rows, files."""
    checksum: int = 0
    """CRC-32 of what it holds, in a form of its own."""


class Trace(msgspec.Struct, frozen=True):
    """What the journal knows of a run that was about to be applied: enough to check it, or to undo it."""

    start: int
    end: int
    outputs: Mapping[int, Sequence[Output]] = {}
    """By seq, for the successes that made files."""


class Sink(Protocol):
    """A place that results go to."""

    @property
    def name(self) -> str:
        """Stands in the journal beside its positions: never change it."""
        ...

    def apply(self, entries: Sequence[Entry]) -> Position:
        """Take a contiguous run, in one act. The position after it. An empty run changes nothing."""
        ...

    def position(self) -> Position:
        """How far it has come."""
        ...

    def sync(self) -> None:
        """Make everything applied safe from a loss of power."""
        ...

    def holds(self, position: Position, since: Sequence[Trace]) -> bool:
        """Whether it really holds what it held at this position. `since`: the runs from the latest sync to it, oldest
        first."""
        ...

    def roll_back(self, position: Position, undone: Sequence[Trace]) -> None:
        """Become what it was at this position, or stay ahead of it. `undone`: the runs that may have been applied after
        it."""
        ...

    def verify(self, position: Position) -> list[str]:
        """What is wrong with it at this position, a line each; empty: nothing."""
        ...

    def close(self) -> None:
        """Let its files go. Twice is once."""
        ...


def origin_of(sink: Sink) -> Position:
    """Where a new run begins in this sink. The empty sink, unless it has an `origin()` that says otherwise: one that
    keeps what earlier runs have put there."""
    origin = getattr(sink, "origin", None)
    found: Position = Position() if origin is None else origin()
    return found


def check_run(name: str, position: Position | None, entries: Sequence[Entry]) -> Position:
    """Refuse a run that does not begin where the sink stands, or has a hole; where the sink stands. None: it cannot
    tell, because it was just opened or failed half-way."""
    if position is None:
        raise_violation(f"sink {name} must be rolled back before it is used")
    if entries:
        start, end = entries[0].seq, entries[-1].seq + 1
        check(start == position.end, f"sink {name} stands at seq {position.end} and was given a run from seq {start}")
        check(
            end - start == len(entries), f"sink {name} was given {len(entries)} entries for seqs {start} to {end - 1}"
        )
    return position


def tally(position: Position, entries: Sequence[Entry]) -> Position:
    """The position after these, for a sink that has no bytes of its own to count: successes, and a CRC-32 of every seq
    with its outcome."""
    said = b"".join(b"%d:%d;" % (entry.seq, entry.outcome) for entry in entries)
    successes = sum(entry.is_success for entry in entries)
    return Position(position.end + len(entries), position.offset + successes, zlib.crc32(said, position.checksum))
