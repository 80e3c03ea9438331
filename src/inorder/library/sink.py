"""The library as a sink: the rows of all steps of a run of items and the position, in one transaction.

The library keeps what earlier runs have written. A run begins at `origin`, whose checksum is a number of its own, so
that a position of another run is recognized. After a crash the library stays ahead of the journal, and skips what it
has.

What is applied is durable and not visible. `publish` makes it so. `finish` leaves one file without a log.

What writes rows and publishes them needs NumPy. It is imported when there is something to write.
"""

import os
import sqlite3
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from inorder.errors import InorderError, OperatorError
from inorder.host.os_errors import translate_os_errors
from inorder.index.block_sums import BlockSums
from inorder.index.schema import has_table, read_meta
from inorder.sinks.base import AppliedRun, Entry, Position
from inorder.sinks.sqlite import DatabaseSink

from .connection import check_format, has_tables, library_path, translate_library_errors
from .contents import encode_path, register_texts
from .rows import FileResult, LibrarySource, decode_result
from .runs import has_pending, write_outcome
from .schema import APPLICATION_ID, FORMAT, LATE_INDEXES, PAGE_BYTES, SEARCH_COPY, TABLES

if TYPE_CHECKING:
    from .writer import FileWriter

NAME = "library"
_LOG_BYTES = 16 * 2**20
"""A write-ahead log of this size is copied to the database and emptied. A page that changes often is copied once."""
_LOG_STEP_BYTES = 4 * 2**20
"""If readers prevent that, it is tried again when the log has grown by so much."""
_LOG_WAIT_MS = 100
"""How long to wait for readers, who read for no longer than a question."""
_LOG_BYTES_LONG, _LOG_WAIT_LONG_MS = 32 * 2**20, 10_000
"""The same for a log that is long."""
_BUSY_WAIT_MS = 30_000
"""How long to wait for another program that writes."""
_CACHE_KIB = 8 * 1024
_TERM_BYTES_MAX = 4 * 2**20
"""Terms that wait in memory. More are inverted before they are published."""
_FILES_MAX = 4
"""Files with vectors after a run."""
_FIRST_CHUNKS = 2000
"""A run that has added so many chunks, and as many as there were before it, leaves one file with vectors."""
_BULK_CHUNKS = 20_000
"""A run that has added so many chunks, and as many as there were before it, goes without some indexes until it ends."""

_PUBLISH_S = 3.0
"""How long what is committed waits to be published, and how many times as long as the last publication took."""
_PUBLISH_FACTOR = 20

ReadEntry = Callable[[Entry], Iterable[FileResult]]


def read_payload(entry: Entry) -> Iterable[FileResult]:
    """Return the result that an entry has as its payload, if it has one. A failed entry may have a part of one."""
    if isinstance(entry.payload, bytes):
        return [decode_result(entry.payload)]
    return [entry.payload] if isinstance(entry.payload, FileResult) else []


class LibrarySink(DatabaseSink):
    """Writes the library of DATA.

    `read_entry` returns what an entry does to files: by default its payload. `run_id` is stored with what it writes.
    With `publishes`, what is committed is published every few seconds, and when the sink is closed. `is_last`: what
    waits for the end of a pass is published when this one is complete; if not, another pass follows. `describe_run`
    returns what the run has done so far, encoded: it is stored with each publication.
    """

    def __init__(
        self,
        data: str,
        *,
        run_id: str = "",
        read_entry: ReadEntry = read_payload,
        publishes: bool = False,
        is_last: bool = True,
        describe_run: Callable[[], bytes] | None = None,
    ) -> None:
        self._data = data
        self._run_id = run_id
        self._read_entry = read_entry
        self._publishes = publishes
        self._is_last = is_last
        self._describe_run = describe_run
        self._facts: deque[FileResult] = deque()
        self._settings: deque[tuple[str, str, Mapping[str, str]]] = deque()
        self._forgotten: list[str] = []
        self._publish_at_s = time.monotonic() + _PUBLISH_S
        self._is_broken = False
        self._is_closed = False
        self._writer: FileWriter | None = None
        super().__init__(library_path(data), TABLES, version=FORMAT, name=NAME, keeps=True)

    # ---- Sink

    def apply(self, entries: Sequence[Entry]) -> Position:
        """Write what the entries did, and the position, in one transaction. What is stored already is skipped."""
        position = super().apply(entries)
        self._bound_log()
        if self._publishes and time.monotonic() >= self._publish_at_s:
            self.publish()
        return position

    def roll_back(self, position: Position, undone: Sequence[AppliedRun]) -> None:
        """Stay ahead, or begin a new run. At position 0, become empty."""
        if position == Position() and not self._is_empty():
            self._clear_all()
        super().roll_back(position, undone)

    def complete(self) -> None:
        """Publish everything: every entry of the run is applied."""
        self._write_facts()
        if self._is_last:
            self.finish()
        else:
            self.publish()
        if self._forgotten:  # last, so that an interrupted run can be repeated: its name is still known
            with self._library_transaction("a source cannot be removed"):
                names = [(encode_path(name),) for name in self._forgotten]
                self._connection.executemany("DELETE FROM sources WHERE name = ?", names)
            self.sync()

    def leave_held(self) -> None:
        """Publish nothing that waits for the end of a pass: the pass stops before its end. May be called from any
        thread."""
        self._is_last = False

    def close(self) -> None:
        """Close the library and leave no log beside it, unless another process reads it. Idempotent."""
        if self._publishes and not self._is_broken:
            self._publishes = False
            with suppress(InorderError):
                self._write_facts()
                self.publish()
        if not self._is_closed:
            self._is_closed = True
            self._leave_log()
        super().close()

    def _leave_log(self) -> None:
        with suppress(sqlite3.Error):
            self._sums.note_log()
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self._connection.execute("PRAGMA busy_timeout=100")
            self._connection.execute("PRAGMA journal_mode=DELETE")
        with suppress(OSError):
            self._sums.write(self._stored.checksum)

    # ---- Publishing

    def publish(self, *, with_held: bool = False) -> bool:
        """Make visible what is committed; with `with_held`, also what waits for the end of the pass. Returns whether
        anything became visible."""
        began_s = time.monotonic()
        with self._library_transaction("it cannot be published"):
            is_changed = has_pending(self._connection, with_held=with_held)
            if is_changed:
                self._publish(with_held=with_held)
            if self._describe_run is not None:
                write_outcome(self._connection, self._run_id, self._describe_run())
        if is_changed:
            self._remove_files()
            self._sweep()
        self._bound_log()
        now_s = time.monotonic()
        self._publish_at_s = now_s + max(_PUBLISH_S, _PUBLISH_FACTOR * (now_s - began_s))
        return is_changed

    def _publish(self, *, with_held: bool) -> None:
        from .generations import publish, sweep

        publish(self._get_writer(), self._connection, self._data, with_held=with_held)
        sweep(self._connection)

    def finish(self) -> None:
        """Publish everything, and put in order what a run leaves for its end: indexes, and many files with vectors."""
        self.publish(with_held=True)
        self._sweep()
        self._connection.execute("PRAGMA shrink_memory")  # sorting the rows of an index takes as much as the cache
        for name, columns in LATE_INDEXES.items():
            if not has_table(self._connection, name):
                self._bound_log(0)
                with self._library_transaction("an index cannot be created"):
                    self._connection.execute(f"CREATE INDEX {name} ON {columns}")
        from .vectors import compact_vectors

        with self._library_transaction("its vectors cannot be written"):
            is_first = self._get_writer().is_bulk(_FIRST_CHUNKS)
            compact_vectors(self._connection, self._data, 1 if is_first else _FILES_MAX)
        self._remove_files()
        self.sync()

    # ---- What belongs to no item

    def put_source(self, source: LibrarySource) -> None:
        """Add a source, or change what is known of it."""
        with self._library_transaction("a source cannot be written"):
            self._connection.execute(
                "INSERT INTO sources (name, path, kind, state, added_at, walked_at) VALUES (?, ?, ?, ?, ?, ?) "
                "ON CONFLICT (name) DO UPDATE SET path = excluded.path, kind = excluded.kind, state = excluded.state, "
                "walked_at = excluded.walked_at",
                (
                    encode_path(source.name),
                    encode_path(source.path) or "",
                    source.kind,
                    source.state,
                    source.added_at or time.time(),
                    source.walked_at,
                ),
            )

    def remove_source(self, name: str) -> None:
        """Forget a source when the run is complete. Its files are removed by facts."""
        self._forgotten.append(name)

    def add_fact(self, fact: FileResult) -> None:
        """Add what is known of a file that is no item of the run: that it is not read, is a copy, or is gone. It is
        written with the next commit. May be called by any thread."""
        self._facts.append(fact)

    def add_settings(self, step: str, digest: str, parts: Mapping[str, str]) -> None:
        """Add what the settings of a step are made of. It is written with the next commit. May be called by any
        thread."""
        self._settings.append((step, digest, parts))

    def _write_facts(self) -> None:
        if self._facts or self._settings:
            self.write_files(self._take_facts())

    def _write_settings(self) -> None:
        while self._settings:
            self._get_writer().find_settings(*self._settings.popleft())

    def _take_facts(self) -> Iterator[FileResult]:
        while self._facts:
            yield self._facts.popleft()

    def write_files(self, results: Iterable[FileResult]) -> None:
        """Write what is known of files that are no items of the run: signatures, copies, files that are not read or are
        gone."""
        with self._library_transaction("files cannot be written"):
            self._write_settings()
            self._get_writer().write(list(results))
        self._bound_log()

    # ---- Database

    @contextmanager
    def _translate_errors(self, doing: str) -> Iterator[None]:
        with translate_os_errors(f"{self._path}: {doing}"), translate_library_errors(self._path, doing):
            yield

    @contextmanager
    def _library_transaction(self, doing: str) -> Iterator[None]:
        try:
            with self._transaction(doing):
                yield
        except BaseException:
            self._writer = None  # it may know what was not committed
            self._is_broken = True
            raise
        self._is_synced = False

    def _prepare(self) -> None:
        connection = self._connection
        if has_tables(connection):
            check_format(connection, self._path)
            if read_meta(connection, SEARCH_COPY):
                raise OperatorError(f"{self._path} is a copy for search alone; a run cannot write to it")
        else:
            connection.execute(f"PRAGMA page_size={PAGE_BYTES}")
            connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
        self._sums = BlockSums(self._data)
        connection.execute(f"PRAGMA cache_size=-{_CACHE_KIB}")
        register_texts(connection)
        super()._prepare()
        connection.execute("PRAGMA wal_autocheckpoint=0")  # which would copy pages at every commit while somebody reads
        self._log_limit = _LOG_BYTES

    def _add(self, entries: Sequence[Entry], position: Position) -> None:
        try:
            super()._add(entries, position)
        except BaseException:
            self._writer = None
            self._is_broken = True
            raise

    def _write_entries(self, entries: Sequence[Entry]) -> None:
        self._write_settings()
        results = [*self._take_facts(), *(found for entry in entries for found in self._read_entry(entry))]
        if not results:
            return
        writer = self._get_writer()
        writer.write(results)
        if writer.terms.size_bytes > _TERM_BYTES_MAX:
            writer.terms.invert(writer.epoch)
        if writer.is_bulk(_BULK_CHUNKS):
            for name in LATE_INDEXES:
                self._connection.execute(f"DROP INDEX IF EXISTS {name}")

    def _get_writer(self) -> "FileWriter":
        if self._writer is None:
            from .writer import FileWriter

            self._writer = FileWriter(self._connection, self._run_id)
        return self._writer

    def _sweep(self) -> None:
        """Remove what is retired, in small transactions."""
        from .generations import SWEPT_ITEMS, sweep

        is_more = True
        while is_more:
            with self._library_transaction("what was replaced cannot be removed"):
                is_more = sweep(self._connection) == SWEPT_ITEMS
            self._bound_log()

    def _bound_log(self, bytes_max: int | None = None) -> None:
        """Empty the write-ahead log if it is long, or longer than `bytes_max`."""
        try:
            size = os.stat(f"{self._path}-wal").st_size
        except FileNotFoundError:
            return
        if size <= (self._log_limit if bytes_max is None else bytes_max):
            return
        self._sums.note_log()
        wait_ms = _LOG_WAIT_LONG_MS if size > _LOG_BYTES_LONG else _LOG_WAIT_MS
        with self._translate_errors("its log cannot be emptied"):
            self._connection.execute(f"PRAGMA busy_timeout={wait_ms}")
            [is_busy, _, _] = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            self._connection.execute(f"PRAGMA busy_timeout={_BUSY_WAIT_MS}")
        self._log_limit = size + _LOG_STEP_BYTES if is_busy else _LOG_BYTES

    def _remove_files(self) -> None:
        """Remove files with vectors that the library no longer names, once it is durable that it does not."""
        from inorder.index.vector_files import list_vector_files, remove_other_files
        from inorder.index.vectors.table import list_matrix_files

        with self._translate_errors("its vectors cannot be listed"):
            kept = [file.name for file in list_matrix_files(self._connection, self._data)]
        if any(name not in kept for name in list_vector_files(self._data)):
            self.sync()
            remove_other_files(self._data, kept)

    def _is_empty(self) -> bool:
        with self._translate_errors("it cannot be read"):
            return self._connection.execute("SELECT 1 FROM items LIMIT 1").fetchone() is None

    def _clear_all(self) -> None:
        super()._clear_all()
        self._writer = None
