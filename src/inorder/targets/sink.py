"""The sink of a target: documents from workers, written in the order of the plan.

A target replaces documents as a whole, so a write can be repeated. After a crash the target may therefore *stay ahead*
of the journal: `roll_back` sets the position back, the rows stay, and the same documents are written again. Only
position 0 removes all of them. A new run begins at what the target holds; the checksum of its positions is a number
that identifies the run.
"""

import os
from collections.abc import Sequence
from typing import Any

import msgspec

from inorder.core.invariants import check
from inorder.sinks.base import AppliedRun, Entry, Position, check_run

from .base import Target, TargetChanges

NO_CHANGES = TargetChanges((), (), ())


class ExportDelivery(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What a worker passes to the sink: a document, or the id of one that is removed."""

    doc_id: str
    content: bytes | None
    """The document as the target encodes it; None: it is removed."""


class TargetSink:
    """Writes to an open target, and closes it."""

    is_final = True
    """What it has written cannot be undone; see `inorder.sinks.base`."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self.name = target.name
        self._stored = target.read_position()
        self._position: Position | None = self._stored
        """None: unknown, after a write that failed."""
        self._is_synced = self._stored.end == 0

    def apply(self, entries: Sequence[Entry]) -> Position:
        """Write the documents, the removals and the position at once."""
        position = check_run(self.name, self._position, entries)
        if not entries:
            return position
        deliveries = [entry.payload for entry in entries if entry.applies]
        changes = collect_changes([each for each in deliveries if each is not None])
        self._position = None
        self._write(
            changes, Position(position.end + len(entries), position.offset + len(deliveries), position.checksum)
        )
        return self._stored

    def position(self) -> Position:
        """The position after the last applied entry; `offset` counts successes of all runs."""
        return check_run(self.name, self._position, ())

    def origin(self) -> Position:
        """Return where a new run begins: after what the target holds, with the identity of a new run."""
        return Position(0, self._stored.offset, int.from_bytes(os.urandom(4)) or 1)

    def complete(self) -> None:
        """The target equals the index: build what is built over all rows."""
        self.sync()
        self._target.complete()

    def sync(self) -> None:
        """Make every write so far durable."""
        if not self._is_synced:
            self._target.sync()
            self._is_synced = True

    def holds(self, position: Position, since: Sequence[AppliedRun]) -> bool:
        """Whether the target has everything up to this position of its run. It also holds the origin of another run,
        unless it was written to after that run began."""
        if position == Position() or position == self._stored:
            return True
        if position.checksum == self._stored.checksum:
            return position.end < self._stored.end
        return position.end == 0 and position.offset >= self._stored.offset

    def applied(self, position: Position) -> Position:
        """Return the position of the target, which cannot be rolled back, if it is of the same run."""
        return self._stored if self._stored.checksum == position.checksum else position

    def roll_back(self, position: Position, undone: Sequence[AppliedRun]) -> None:
        """Stay ahead of this position, or begin a new run; at position 0, become empty."""
        check(self.holds(position, ()), f"sink {self.name} does not hold {position}")
        if position == Position() and self._stored != Position():
            self._target.clear()
            self._stored, self._is_synced = Position(), False
        elif position != self._stored:
            self._write(NO_CHANGES, position)
        self._position = position

    def close(self) -> None:
        """Close the target. Idempotent."""
        self._target.close()

    def _write(self, changes: TargetChanges, position: Position) -> None:
        self._target.write(changes, position)
        self._stored = self._position = position
        self._is_synced = False


def collect_changes(deliveries: Sequence[Any]) -> TargetChanges:
    """The changes of one write."""
    written = [each for each in deliveries if each.content is not None]
    removed = [each.doc_id for each in deliveries if each.content is None]
    return TargetChanges([each.content for each in written], [each.doc_id for each in written], removed)
