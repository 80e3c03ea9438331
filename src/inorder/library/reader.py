"""Read the library: the files that are known and what steps did with them, and what is visible of the results.

Every question is one short transaction, which sees one generation whole. A listing is read in pages, each in a
transaction of its own, so that it never keeps the write-ahead log from being emptied. What is published while it is
read is seen from the next page on, always whole files. `read_generation` says of when it is.
"""

import os
import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import RLock
from typing import Any, NamedTuple

import msgspec

from inorder.code.rules import IGNORED
from inorder.errors import IntegrityError
from inorder.index.place import Generation
from inorder.index.vector_files import list_vector_files
from inorder.index.vectors.table import list_matrix_files
from inorder.stage.sources import quote_id

from .codec import Content, unpack_content
from .connection import connect_library, library_path, translate_library_errors
from .contents import ChunkTexts, decode_path, read_rows
from .rows import CHUNK, INDEX, LibrarySource
from .schema import FOREVER, STEPS_MAX, held_epoch
from .totals import Totals, read_difference

PAGE = 1000
"""Rows that are read in one transaction."""
_EPOCH = "(SELECT epoch FROM generation)"
_VISIBLE = f"since <= {_EPOCH} AND until > {_EPOCH}"
_LATEST = f"until = {FOREVER}"
COUNTED = (
    f"removed = 0 AND items.kind NOT GLOB 'part:*' AND reason IS NOT '{IGNORED}' AND (items.kind NOT GLOB 'archive:*' "
    f"OR EXISTS (SELECT 1 FROM failures WHERE failures.id BETWEEN items.id * {STEPS_MAX} "
    f"AND items.id * {STEPS_MAX} + {STEPS_MAX - 1}))"
)
"""What is a file that users are told of."""
_ITEM_COLUMNS = (
    "items.id, item_id, items.kind, path, signature, sha256, size, reason, copy_of, parent, pages_without_text"
)


class StepState(msgspec.Struct, array_like=True, gc=False):
    """What a step last did with a file."""

    settings: str
    """The hash of its settings."""
    input: bytes
    output: bytes | None
    """None: it failed."""
    category: str = ""
    """Of its failure; empty: it has none."""


class StepDetails(msgspec.Struct):
    """What else is known of how a step made its result."""

    step: str
    duration_ms: float
    extras: dict[str, Any]
    run_id: str
    began_at: float
    """When that run began to write, in seconds since 1970."""


class KnownFile(msgspec.Struct, gc=False):
    """A file that the library knows, and the state of each step that worked on it."""

    item_id: str
    kind: str
    path: str
    signature: bytes
    sha256: bytes
    size: int
    reason: str
    copy_of: str
    parent: str
    pages_without_text: int
    is_held: bool = False
    """Whether it has results that become visible when the pass is complete."""
    states: dict[str, StepState] = {}

    @property
    def is_failed(self) -> bool:
        """Whether a step has failed, and not succeeded since."""
        return any(state.category for state in self.states.values())

    @property
    def is_visited(self) -> bool:
        """Whether more is known of it than that it is there."""
        return bool(self.states or self.reason or self.copy_of)

    def list_outputs(self, except_: Collection[str] = ()) -> dict[str, bytes]:
        """Return the hashes of the results of steps, except of some."""
        return {
            name: state.output
            for name, state in self.states.items()
            if state.output is not None and name not in except_
        }


class FileFailure(msgspec.Struct):
    """Why a step failed for a file, as long as it has not succeeded since."""

    item_id: str
    step: str
    category: str
    message: str
    detail: str
    attempts: int
    is_outside: bool
    run_id: str


class LibraryRun(NamedTuple):
    """A run that has written to the library."""

    run_id: str
    began_at: float
    outcome: bytes
    """What it did, as the pipeline encodes it; empty: it has published nothing."""


class StoredResult(msgspec.Struct):
    """What a step made of a file."""

    item_id: str
    content: bytes
    output: bytes
    texts: list[str]
    """Of the chunks, for the step `chunk`."""


class LibraryReader:
    """Reads the library of DATA. Thread-safe. Raises as `connect_library` does."""

    def __init__(self, data: str) -> None:
        self.path = library_path(data)
        self._connection = connect_library(data)
        self._lock = RLock()

    def close(self) -> None:
        """Close the library. Idempotent."""
        self._connection.close()

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """Let all questions in the body see one generation, whatever is published in the meantime. The body must be
        short."""
        with self._lock, translate_library_errors(self.path):
            if self._connection.in_transaction:
                yield self._connection
                return
            self._connection.execute("BEGIN")
            try:
                self._connection.refresh()
                yield self._connection
            finally:
                self._connection.rollback()

    # ---- The library as a whole

    def read_generation(self) -> Generation:
        """Return which generation is visible, and of when it is."""
        with self.snapshot() as connection:
            return Generation(*connection.execute("SELECT number, published_at FROM generation").fetchone())

    def has_leftovers(self) -> bool:
        """Whether a run has something to put in order: rows to publish or to remove, or a file with vectors that is
        lost, cut, or not named any more."""
        with self.snapshot() as connection:
            if connection.execute("SELECT 1 FROM pending LIMIT 1").fetchone() is not None:
                return True
            data = os.path.dirname(self.path)
            files = list_matrix_files(connection, data)
            is_lost = any(file.find_problem() for file in files)
            return is_lost or not {file.name for file in files}.issuperset(list_vector_files(data))

    def read_totals(self) -> Totals:
        """Return the counts and the content hash of what is visible."""
        with self.snapshot() as connection:
            [epoch] = connection.execute("SELECT epoch FROM generation").fetchone()
            return read_difference(connection, epoch)

    def list_sources(self) -> list[LibrarySource]:
        """Return all sources, in the order in which they were added."""
        with self.snapshot() as connection:
            rows = connection.execute("SELECT name, path, kind, state, added_at, walked_at FROM sources ORDER BY id")
            return [LibrarySource(decode_path(name), decode_path(path), *rest) for name, path, *rest in rows]

    def read_settings(self, step: str, hash_: str) -> dict[str, str]:
        """Return the parts of settings of a step; empty if they are not known."""
        with self.snapshot() as connection:
            row = connection.execute(
                "SELECT parts FROM settings JOIN steps ON steps.id = step WHERE name = ? AND hash = ?", (step, hash_)
            ).fetchone()
            return {} if row is None else msgspec.json.decode(row[0], type=dict[str, str])

    def count_items(self) -> dict[str, int]:
        """Return the number of files by what became of them: `read`, `failed`, `copy`, and `not read: REASON`.
        Members of archives are files. Parts of long documents are not, nor are archives that can be read, nor source
        code that ignore files exclude."""
        with self.snapshot() as connection:
            rows = connection.execute(
                "SELECT CASE WHEN copy_of IS NOT NULL THEN 'copy' WHEN reason IS NOT NULL THEN 'not read: ' || reason "
                f"WHEN EXISTS (SELECT 1 FROM failures WHERE failures.id BETWEEN items.id * {STEPS_MAX} "
                f"AND items.id * {STEPS_MAX} + {STEPS_MAX - 1}) THEN 'failed' ELSE 'read' END AS name, COUNT(*) "
                f"FROM items WHERE {COUNTED} GROUP BY name"
            )
            return dict(rows.fetchall())

    def read_run_number(self) -> int:
        """Return the number of the latest pass of a run that has written to the library."""
        with self.snapshot() as connection:
            row = connection.execute("SELECT checksum FROM inorder_position").fetchone()
            return 0 if row is None else int(row[0])

    def list_runs(self) -> list[LibraryRun]:
        """Return the runs that have written to the library, the latest first."""
        query = "SELECT run_id, began_at, COALESCE(outcome, x'') FROM runs ORDER BY id DESC"
        with self.snapshot() as connection:
            return [LibraryRun(*row) for row in connection.execute(query)]

    def find_run(self, run_id: str) -> LibraryRun | None:
        """Return a run that has written to the library; None: it has not."""
        query = "SELECT run_id, began_at, COALESCE(outcome, x'') FROM runs WHERE run_id = ?"
        with self.snapshot() as connection:
            row = connection.execute(query, (run_id,)).fetchone()
            return None if row is None else LibraryRun(*row)

    def count_by_source(self) -> dict[str, int]:
        """Return the number of files of each source, by its name. What is a file is decided as in `count_items`."""
        with self.snapshot() as connection:
            rows = connection.execute(
                "SELECT substr(item_id, 1, instr(item_id || '/', '/') - 1) AS source, COUNT(*) FROM items WHERE "
                f"{COUNTED} GROUP BY source"
            )
            counts = dict(rows.fetchall())
        return {each.name: counts.get(quote_id(each.name), 0) for each in self.list_sources()}

    def list_step_names(self) -> list[str]:
        """Return the steps that have worked on files, in the order of their names."""
        with self.snapshot() as connection:
            return sorted(self._find_names(connection).values())

    # ---- Files and states (what is committed)

    def get_file(self, item_id: str) -> KnownFile | None:
        """Return what is known of a file; None: it is not known."""
        found = self._fetch_files("item_id = ?", (item_id,))
        return found[0] if found else None

    def get_files(self, item_ids: Sequence[str]) -> dict[str, KnownFile]:
        """Return what is known of files, by id, with as many queries as for one of them."""
        if not item_ids:
            return {}
        listed = msgspec.json.encode(item_ids).decode()
        found = self._fetch_files("item_id IN (SELECT value FROM json_each(?))", (listed,))
        return {file.item_id: file for file in found}

    def read_details(self, item_id: str) -> list[StepDetails]:
        """Return how long each step took for a file, what it wrote to the manifest, and in which run."""
        with self.snapshot() as connection:
            names = self._find_names(connection)
            rows = connection.execute(
                "SELECT states.id, duration_ms, extras, run_id, began_at FROM items JOIN states ON states.id BETWEEN "
                f"items.id * {STEPS_MAX} AND items.id * {STEPS_MAX} + {STEPS_MAX - 1} JOIN runs ON runs.id = run "
                "WHERE item_id = ? ORDER BY states.id",
                (item_id,),
            )
            return [
                StepDetails(names[key % STEPS_MAX], ms, {} if extras is None else msgspec.msgpack.decode(extras), *run)
                for key, ms, extras, *run in rows
            ]

    def list_files(self, prefix: str = "") -> Iterator[KnownFile]:
        """Yield the files whose ids are `prefix` or begin with it and a slash, in the order of ids; all without one."""
        condition, last = "item_id > ?", ""
        end: tuple[str, ...] = ()
        if prefix:
            yield from self._fetch_files("item_id = ?", (prefix,))
            condition, last, end = "item_id > ? AND item_id < ?", f"{prefix}/", (f"{prefix}0",)  # "0" follows "/"
        while True:
            page = self._fetch_files(f"{condition} ORDER BY item_id LIMIT {PAGE}", (last, *end))
            yield from page
            if len(page) < PAGE:
                return
            last = page[-1].item_id

    def has_unsettled(self, parent: str) -> bool:
        """Whether a member of an archive is known by its listing alone, or was marked to be looked at again: it has no
        signature."""
        query = "SELECT 1 FROM items WHERE parent = ? AND removed = 0 AND signature IS NULL LIMIT 1"
        with self.snapshot() as connection:
            return connection.execute(query, (parent,)).fetchone() is not None

    def find_by_sha256(self, hashes: Sequence[bytes]) -> dict[bytes, list[str]]:
        """Return the ids of the files with this content, by its hash, in the order of ids."""
        found: dict[bytes, list[str]] = {}
        for start in range(0, len(hashes), PAGE):
            wanted = set(hashes[start : start + PAGE])
            with self.snapshot() as connection:
                rows = connection.execute(
                    "SELECT sha256, item_id FROM items WHERE removed = 0 "
                    f"AND substr(sha256, 1, 6) IN ({', '.join('?' * len(wanted))}) ORDER BY item_id",
                    [each[:6] for each in wanted],
                ).fetchall()
            for digest, item_id in rows:
                if digest in wanted:
                    found.setdefault(digest, []).append(item_id)
        return found

    def list_copies(self, originals: Sequence[str] | None = None) -> list[tuple[str, str]]:
        """Return the id of each copy of these files, or of all, and that of the file, in order."""
        with self.snapshot() as connection:
            return list_copies(connection, originals)

    def list_orphans(self) -> list[str]:
        """Return the ids of copies whose document is gone, or has other content. A run that is interrupted between the
        document and its copies leaves such."""
        query = (
            "SELECT copy.item_id FROM items AS copy LEFT JOIN items AS document ON document.item_id = copy.copy_of "
            "AND document.removed = 0 AND document.copy_of IS NULL AND document.sha256 IS copy.sha256 "
            "WHERE copy.copy_of IS NOT NULL AND copy.removed = 0 AND document.id IS NULL"
        )
        with self.snapshot() as connection:
            return [item_id for (item_id,) in connection.execute(query)]

    def list_failures(self) -> Iterator[FileFailure]:
        """Yield what has failed and has not succeeded since, in the order of ids."""
        last = ("", -1)
        query = (
            "SELECT item_id, failures.id, category, message, detail, attempts, is_outside, COALESCE(run_id, '') "
            f"FROM failures JOIN items ON items.id = failures.id / {STEPS_MAX} LEFT JOIN runs ON runs.id = run "
            "WHERE removed = 0 AND kind NOT GLOB 'part:*' AND (item_id, failures.id) > (?, ?) ORDER BY item_id, "
            f"failures.id LIMIT {PAGE}"
        )
        while True:
            with self.snapshot() as connection:
                page = connection.execute(query, last).fetchall()
                names = self._find_names(connection)
            for item_id, key, category, message, detail, attempts, is_outside, run_id in page:
                step = names[key % STEPS_MAX]
                yield FileFailure(item_id, step, category, message, detail, attempts, bool(is_outside), run_id)
            if len(page) < PAGE:
                return
            last = page[-1][0], page[-1][1]

    def find_failure(self, item_id: str) -> FileFailure | None:
        """Return why a step failed for a file, or for a part of one; None: no step has."""
        with self.snapshot() as connection:
            row = connection.execute(
                "SELECT failures.id, category, message, detail, attempts, is_outside, COALESCE(run_id, '') FROM items "
                f"JOIN failures ON failures.id BETWEEN items.id * {STEPS_MAX} AND items.id * {STEPS_MAX} + "
                f"{STEPS_MAX - 1} LEFT JOIN runs ON runs.id = run WHERE item_id = ? AND removed = 0",
                (item_id,),
            ).fetchone()
            if row is None:
                return None
            key, category, message, detail, attempts, is_outside, run_id = row
            step = self._find_names(connection)[key % STEPS_MAX]
            return FileFailure(item_id, step, category, message, detail, attempts, bool(is_outside), run_id)

    def _fetch_files(self, condition: str, values: tuple[Any, ...]) -> list[KnownFile]:
        """Return files with their states. Both are read with one query each."""
        with self.snapshot() as connection:
            names = self._find_names(connection)
            rows = connection.execute(
                f"SELECT {_ITEM_COLUMNS} FROM items WHERE removed = 0 AND {condition}", values
            ).fetchall()
            by_item = {row[0]: make_file(row) for row in rows}
            hashes = dict(connection.execute("SELECT id, hash FROM settings").fetchall())
            listed = msgspec.json.encode(list(by_item)).decode()
            states = connection.execute(
                "SELECT states.id, settings, input, output FROM json_each(?) CROSS JOIN states "
                f"ON states.id BETWEEN value * {STEPS_MAX} AND value * {STEPS_MAX} + {STEPS_MAX - 1}",
                (listed,),
            )
            for key, settings, input_, output in states:
                item, step = divmod(key, STEPS_MAX)
                by_item[item].states[names[step]] = StepState(hashes[settings], input_, output)
            failures = connection.execute(
                f"SELECT value, failures.id % {STEPS_MAX}, category FROM json_each(?) CROSS JOIN failures "
                f"ON failures.id BETWEEN value * {STEPS_MAX} AND value * {STEPS_MAX} + {STEPS_MAX - 1}",
                (listed,),
            )
            held = connection.execute(
                "SELECT value FROM json_each(?1) CROSS JOIN pending ON pending.epoch = ?2 AND item = value",
                (listed, held_epoch(connection.execute("SELECT epoch FROM generation").fetchone()[0])),
            )
            for (item,) in held:
                by_item[item].is_held = True
            for item, step, category in failures:
                by_item[item].states.setdefault(names[step], StepState("", b"", None)).category = category
        return list(by_item.values())

    def _find_names(self, connection: sqlite3.Connection) -> Mapping[int, str]:
        return dict(connection.execute("SELECT id, name FROM steps").fetchall())

    # ---- Results (what is visible)

    def list_visible(self, step: str) -> Iterator[str]:
        """Yield the ids of the files of which a result of a step is visible, in order."""
        if step == INDEX:
            query = f"SELECT item_id FROM files WHERE item_id > ? ORDER BY item_id LIMIT {PAGE}"
        else:
            query = (
                "SELECT item_id FROM items CROSS JOIN results ON key = items.id * "
                f"{STEPS_MAX} + (SELECT id FROM steps WHERE name = ?2) AND {_VISIBLE} "
                f"WHERE item_id > ?1 ORDER BY item_id LIMIT {PAGE}"
            )
        last = ""
        while True:
            with self.snapshot() as connection:
                values = (last,) if step == INDEX else (last, step)
                page = [item_id for (item_id,) in connection.execute(query, values)]
            yield from page
            if len(page) < PAGE:
                return
            last = page[-1]

    def read_result(self, item_id: str, step: str, *, is_committed: bool = False) -> StoredResult | None:
        """Return what a step made of a file; None: nothing is visible. Raises IntegrityError if it is not what was
        stored. `is_committed`: the latest that was committed, whether or not it is visible."""
        with self.snapshot() as connection:
            row = self._fetch_result(connection, item_id, step, _LATEST if is_committed else _VISIBLE)
            if row is None:
                return None
            owner, output, *content = row
            try:
                texts = ChunkTexts(connection).read_all(owner) if step == CHUNK else []
                return StoredResult(item_id, unpack_content(Content(*content)), output, texts)
            except IntegrityError as error:
                raise IntegrityError(self.describe_damage(item_id, step, error)) from error

    def read_committed(self, item_id: str, step: str) -> StoredResult | None:
        """Return what a step last made of a file, whether or not it is visible; None: nothing. Raises IntegrityError if
        it is not what was stored."""
        return self.read_result(item_id, step, is_committed=True)

    def read_results(self, step: str) -> Iterator[StoredResult]:
        """Yield what a step made of each file, in the order of ids."""
        for item_id in self.list_visible(step):
            found = self.read_result(item_id, step)
            if found is not None:
                yield found

    def read_rows(self, item_id: str) -> Any:
        """Return the rows of a file in the index, without terms; None: none are visible."""
        with self.snapshot() as connection:
            row = connection.execute("SELECT id FROM files WHERE item_id = ?", (item_id,)).fetchone()
            return None if row is None else read_rows(connection, row[0])

    def _fetch_result(self, connection: sqlite3.Connection, item_id: str, step: str, condition: str = _VISIBLE) -> Any:
        return connection.execute(
            "SELECT results.id, output, codec, results.size, checksum, data FROM items CROSS JOIN results ON "
            f"key = items.id * {STEPS_MAX} + (SELECT id FROM steps WHERE name = ?) AND {condition} WHERE item_id = ?",
            (step, item_id),
        ).fetchone()

    def describe_damage(self, item_id: str, step: str, error: Exception) -> str:
        """Return what is wrong with a result, for an error."""
        return f"{self.path}: {item_id}, step {step}: {error}; run `inorder {step.partition(':')[0]} --force`"


def list_copies(connection: sqlite3.Connection, originals: Sequence[str] | None = None) -> list[tuple[str, str]]:
    """Return the id of each copy of these files, or of all, and that of the file, in order."""
    listed = None if originals is None else msgspec.json.encode(list(originals)).decode()
    where = "" if listed is None else "AND copy_of IN (SELECT value FROM json_each(?))"
    return connection.execute(
        f"SELECT item_id, copy_of FROM items WHERE copy_of IS NOT NULL AND removed = 0 {where} ORDER BY item_id",
        () if listed is None else (listed,),
    ).fetchall()


def make_file(row: Sequence[Any]) -> KnownFile:
    """Return a file from the values of its columns."""
    _, item_id, kind, path, signature, sha256, size, reason, copy_of, parent, pages_without_text = row
    return KnownFile(
        item_id,
        kind,
        decode_path(path),
        signature or b"",
        sha256 or b"",
        size,
        reason or "",
        copy_of or "",
        parent or "",
        pages_without_text,
        states={},
    )
