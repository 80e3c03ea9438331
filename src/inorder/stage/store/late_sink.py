"""A store that is opened for writing when there is something to write.

To open a store, and to leave it as one file again, takes a dozen syncs. A run in which every item is up to date writes
nothing, so it only reads the position of the store. As long as it has written nothing, its positions are *unwritten*:
they differ from those that are in a store by a bit of the number that identifies the run. A store holds an unwritten
position if no row was written since the run began, or if the run has written to it later.
"""

import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing, suppress

from inorder.errors import InorderError
from inorder.sinks.base import AppliedRun, Entry, Position, check_run, check_skipped

from .database import close_readers, open_database, store_path
from .sink import NAME, StoreSink, does_hold, is_removed, make_origin

_LOG_ENDINGS = ("-wal", "-journal")
_UNWRITTEN = 2**32
"""Added to the number of a run, which is below."""


class LateStoreSink:
    """The store of one stage. `removes_failed`: an item that fails loses the result of earlier runs."""

    name = NAME

    def __init__(self, data: str, stage: str, *, removes_failed: bool) -> None:
        self._data = data
        self._stage = stage
        self._removes_failed = removes_failed
        self._inner: StoreSink | None = None
        self._origin: Position | None = None
        """Where the run begins; None: the store is not prepared for it."""
        close_readers()  # a file that was removed and created again may have the same inode
        found = _read_position(store_path(data, stage))
        self._stored = self._position = found or Position()
        if found is None:
            self._open()

    def apply(self, entries: Sequence[Entry]) -> Position:
        """Write the rows of the successes and the position."""
        has_changes = any(entry.is_success or is_removed(entry, self._removes_failed) for entry in entries)
        if self._inner is not None or has_changes or self._origin is None:
            return self._open().apply(entries)
        check_run(self.name, self._position, entries)
        return self._advance(len(entries))

    def apply_skipped(self, start: int, count: int) -> Position:
        """Advance by entries that have no rows."""
        if self._inner is not None or self._origin is None:
            return self._open().apply_skipped(start, count)
        check_skipped(self.name, self._position, start)
        return self._advance(count)

    def _advance(self, count: int) -> Position:
        """Advance by entries that change nothing."""
        end, offset, checksum = self._position.end + count, self._position.offset, self._position.checksum
        self._position = Position(end, offset, checksum | _UNWRITTEN)
        return self._position

    def position(self) -> Position:
        """Return how far the run has come."""
        return self._position if self._inner is None else self._inner.position()

    def origin(self) -> Position:
        """Return where a new run begins."""
        return make_origin(self._stored) if self._inner is None else self._inner.origin()

    def sync(self) -> None:
        """Make every run so far durable."""
        if self._inner is not None:
            self._inner.sync()

    def holds(self, position: Position, since: Sequence[AppliedRun]) -> bool:
        """Whether the store has everything up to this position of its run."""
        stored = self._stored if self._inner is None else self._inner.stored
        if position.checksum < _UNWRITTEN:
            return does_hold(stored, position)
        written = _mark_written(position)
        return does_hold(stored, written) if stored.checksum == written.checksum else stored.offset == position.offset

    def roll_back(self, position: Position, undone: Sequence[AppliedRun]) -> None:
        """Return to a position, or begin a new run."""
        written = _mark_written(position)
        is_origin = position.end == 0 and position.offset == self._stored.offset and bool(position.checksum)
        has_begun = written.checksum == (self._stored if self._inner is None else self._inner.stored).checksum
        if has_begun or not (is_origin or position.checksum >= _UNWRITTEN):
            self._open().roll_back(written, undone)
            return
        self._origin, self._position = Position(0, position.offset, written.checksum), position
        if self._inner is not None:
            self._begin(self._inner)

    def close(self) -> None:
        """Close the database. Idempotent."""
        if self._inner is not None:
            self._inner.close()

    def _open(self) -> StoreSink:
        """Open the store, and bring it to the position of the run."""
        if self._inner is None:
            self._inner = StoreSink(self._data, self._stage, removes_failed=self._removes_failed)
            self._begin(self._inner)
        return self._inner

    def _begin(self, inner: StoreSink) -> None:
        if self._origin is not None:
            inner.roll_back(self._origin, ())
            if count := self._position.end:
                inner.apply_skipped(0, count)


def _mark_written(position: Position) -> Position:
    return Position(position.end, position.offset, position.checksum & ~_UNWRITTEN)


def _read_position(path: str) -> Position | None:
    """The position of a store that need not be opened for writing; None: it is new or damaged, was not closed, or keeps
    the ids of removed items for its last run."""
    if not os.path.exists(path) or any(os.path.exists(f"{path}{ending}") for ending in _LOG_ENDINGS):
        return None
    with suppress(sqlite3.Error, InorderError), closing(open_database(path)) as connection:
        if connection.execute("SELECT 1 FROM removed LIMIT 1").fetchone() is None:
            query = 'SELECT "end", "offset", checksum FROM inorder_position WHERE sink = ?'
            row = connection.execute(query, (NAME,)).fetchone()
            return None if row is None else Position(*row)
    return None
