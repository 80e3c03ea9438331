"""Writes the results of a stage to its store: rows, fingerprints and position in one transaction per run of commits.

The store keeps the results of earlier runs; results replace earlier ones of the same item. A position has a random
number that identifies its run as its checksum, and the number of the last row as its offset. Rows are numbered in the
order in which they are written, over all runs. So `roll_back` can remove the rows that were written after a position,
and a position of another run is recognized: the journal may be newer than the store, or older, if one of them was lost
or restored from a copy. What a removed row has replaced is not restored; its item is done again, as with files.

An item that is skipped because it is no longer a document, no longer in the plan, or that fails, loses its row. The
ids of removed items are kept until the next run begins: a run that resumes must find the same items to remove, in the
same order, as before its interruption.
"""

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from inorder.core.invariants import check
from inorder.engines.attempt import Skip
from inorder.host.filesystem import SystemFilesystem
from inorder.host.os_errors import translate_os_errors
from inorder.sinks.base import AppliedRun, Entry, Position, check_run, check_skipped
from inorder.sinks.sqlite import SqliteSink

from .database import close_readers, store_path, translate_store_errors
from .format import STORE_FORMAT, require_current
from .rows import SCHEMA, ItemWriter

NAME = "store"
_CLEAR = "DELETE FROM items; DELETE FROM removed;"
"""Origins and dictionaries stay: a reader may know them by their numbers."""


class StoreSink(SqliteSink):
    """The store of one stage. `removes_failed`: an item that fails loses the result of earlier runs."""

    def __init__(self, data: str, stage: str, *, removes_failed: bool) -> None:
        path = store_path(data, stage)
        filesystem = SystemFilesystem()
        with translate_os_errors(f"{path} cannot be created"):
            if not os.path.isdir(os.path.dirname(path)):
                filesystem.make_directory(os.path.dirname(path))
                filesystem.sync_directory(data)
        self._removes_failed = removes_failed
        self._rows: ItemWriter | None = None
        super().__init__(path, SCHEMA, self._write_results, clear=_CLEAR, version=STORE_FORMAT, name=NAME)

    def apply(self, entries: Sequence[Entry]) -> Position:
        """Write the rows of the successes and the position, in one transaction."""
        position = check_run(self.name, self._position, entries)
        successes = sum(entry.is_success for entry in entries)
        position = Position(position.end + len(entries), position.offset + successes, position.checksum)
        self._add(entries, position)
        self._position = position
        return position

    def apply_skipped(self, start: int, count: int) -> Position:
        """Write the position after entries that have no rows."""
        position = check_skipped(self.name, self._position, start)
        position = Position(position.end + count, position.offset, position.checksum)
        self._move_to(position, f"seqs {start} to {start + count - 1} cannot be written")
        return position

    @property
    def stored(self) -> Position:
        """The position that is in the store."""
        return self._stored

    def origin(self) -> Position:
        """Return where a new run begins: after the rows that are there, with the identity of a new run."""
        return make_origin(self._stored)

    def holds(self, position: Position, since: Sequence[AppliedRun]) -> bool:
        """Whether the store has everything up to this position of its run. It also holds the origin of another run,
        unless it has rows that were written after that run began."""
        return does_hold(self._stored, position)

    def roll_back(self, position: Position, undone: Sequence[AppliedRun]) -> None:
        """Remove the rows that were written after this position, or begin a new run. Results of earlier runs stay,
        except at position 0."""
        check(self.holds(position, ()), f"sink {self.name} does not hold {position}")
        if position == Position():
            self._clear_all()
        elif position != self._stored:
            with self._transaction("its position cannot be written"):
                self._connection.execute("DELETE FROM items WHERE rowid > ?", (position.offset,))
                if position.checksum != self._stored.checksum:
                    self._connection.execute("DELETE FROM removed")
                self._store(position)
            self._stored = position
            self._is_synced = False
        self._position = position

    def close(self) -> None:
        """Close the database and leave no log files beside it, unless another process reads it. Idempotent."""
        close_readers()
        with suppress(sqlite3.Error):
            self._connection.execute("PRAGMA journal_mode=DELETE")
        super().close()

    @contextmanager
    def _translate_errors(self, doing: str) -> Iterator[None]:
        with translate_store_errors(self._path, doing):
            yield

    def _prepare(self) -> None:
        [version] = self._connection.execute("PRAGMA user_version").fetchone()
        require_current(self._path, version, STORE_FORMAT)
        super()._prepare()

    def _add(self, entries: Sequence[Entry], position: Position) -> None:
        try:
            super()._add(entries, position)
        except BaseException:
            self._rows = None  # it may know origins that were not committed
            raise

    def _write_entries(self, entries: Sequence[Entry]) -> None:
        super()._write_entries([entry for entry in entries if entry.is_success])  # a store has whole results only
        removed = [entry.item.item.item_id for entry in entries if is_removed(entry, self._removes_failed)]
        self._get_rows().remove(removed)

    def _write_results(self, connection: sqlite3.Connection, entries: Sequence[Entry]) -> None:
        self._get_rows().write(self._stored.offset + 1, entries)

    def _get_rows(self) -> ItemWriter:
        if self._rows is None:
            self._rows = ItemWriter(self._connection)
        return self._rows


def make_origin(stored: Position) -> Position:
    """Where a new run begins if the store is at this position."""
    return Position(0, stored.offset, int.from_bytes(os.urandom(4)) or 1)


def does_hold(stored: Position, position: Position) -> bool:
    """Whether a store that is at `stored` has everything up to `position`."""
    if position.checksum == stored.checksum:
        return position == stored or position.end < stored.end
    return position == Position() or (position.end == 0 and position.offset >= stored.offset)


def is_removed(entry: Entry, removes_failed: bool) -> bool:
    """Whether an item loses its row."""
    if entry.failure is not None:
        return removes_failed
    return isinstance(entry.payload, Skip) and bool(entry.payload.value.removals)
