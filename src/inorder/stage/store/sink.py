"""Writes the results of a stage to its store: rows, fingerprints and position in one transaction per run of commits.

The store keeps the results of earlier runs. A new run begins at an *origin*, a position of its own; from there the sink
stays ahead of the journal after a crash, as every SQLite sink does. Results replace earlier ones of the same item.

An item that is skipped because it is no longer a document, no longer in the plan, or that fails, loses its row. The
ids of removed items are kept until the next run begins: a run that resumes must find the same items to remove, in the
same order, as before its interruption.
"""

import os
import sqlite3
import zlib
from collections.abc import Sequence
from contextlib import suppress

import msgspec

from inorder.core.invariants import check
from inorder.engines.attempt import Skip
from inorder.host.filesystem import SystemFilesystem
from inorder.host.os_errors import translate_os_errors
from inorder.sinks.base import AppliedRun, Entry, Position
from inorder.sinks.sqlite import SqliteSink

from .database import SCHEMA, VERSION, close_readers, encode_id, store_path

NAME = "store"
_REPLACE = "INSERT OR REPLACE INTO items VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_REMOVE = "DELETE FROM items WHERE item_id = ? RETURNING item_id, input_path"


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
        super().__init__(path, SCHEMA, _write_results, version=VERSION, name=NAME)

    def origin(self) -> Position:
        """Return where a new run begins: at seq 0, with a checksum that no position of an earlier run has led to."""
        stored = self._stored
        return Position(0, 0, zlib.crc32(b"%d %d %d" % (stored.end, stored.offset, stored.checksum), 1))

    def holds(self, position: Position, since: Sequence[AppliedRun]) -> bool:
        """Whether the store is at this position, or ahead of it. It always holds the origin of a run."""
        return position.end == 0 or super().holds(position, since)

    def roll_back(self, position: Position, undone: Sequence[AppliedRun]) -> None:
        """Stay ahead, or begin a new run at its origin. Results of earlier runs stay."""
        if position.end > 0 or position == Position():
            super().roll_back(position, undone)
            return
        if self._read_origin() != position.checksum:
            with self._transaction("its position cannot be written"):
                self._connection.execute("DELETE FROM removed")
                self._connection.execute("DELETE FROM origin")
                self._connection.execute("INSERT INTO origin VALUES (?)", (position.checksum,))
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

    def _read_origin(self) -> int | None:
        with self._translate_errors("it cannot be read"):
            row = self._connection.execute("SELECT checksum FROM origin").fetchone()
        return None if row is None else int(row[0])

    def _write_entries(self, entries: Sequence[Entry]) -> None:
        super()._write_entries(entries)
        removed = [entry for entry in entries if self._is_removed(entry)]
        for entry in removed:
            found = self._connection.execute(_REMOVE, (encode_id(entry.item.item.item_id),)).fetchone()
            if found is not None:
                self._connection.execute("INSERT OR REPLACE INTO removed VALUES (?, ?)", found)

    def _is_removed(self, entry: Entry) -> bool:
        if entry.failure is not None:
            return self._removes_failed
        return isinstance(entry.payload, Skip) and bool(entry.payload.value.removals)


def _write_results(connection: sqlite3.Connection, entries: Sequence[Entry]) -> None:
    rows = []
    for entry in entries:
        item, result = entry.item.item, entry.payload
        stored = result.stored
        check(stored is not None, f"item {item.item_id!r} has no result to store")
        path = os.fspath(next(iter(item.inputs.values()), ""))
        rows.append(
            (
                encode_id(item.item_id),
                next(iter(item.outputs), ""),
                item.cfg_hash,
                result.input_sha256,
                encode_id(path),
                msgspec.json.encode(result.extras).decode(),
                stored.size,
                bytes.fromhex(stored.sha256),
                stored.codec,
                stored.content,
            )
        )
    connection.executemany(_REPLACE, rows)
