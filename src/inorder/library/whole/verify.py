"""Check a library against its own hashes.

What is read again: the rows of every searchable file and their digests, the content of every result and its hash, the
inverted index, the files with vectors, and the totals. Items are read in pages. A library that changes while it is
checked is checked again by the next call: its totals are not compared. What is derived from results and rows is only
checked if these are intact.
"""

import sqlite3
from collections import Counter
from collections.abc import Collection, Iterator
from itertools import chain
from typing import NamedTuple

import msgspec
import numpy as np

from inorder.index.block_sums import NAME as SUMS
from inorder.index.block_sums import find_damaged_files, is_damaged
from inorder.index.lexical.check import is_inverted_index_intact
from inorder.index.lexical.file_terms import FileTerms
from inorder.index.lexical.schema import DamagedIndexError
from inorder.index.rows import count_terms
from inorder.index.vector_files import list_vector_files
from inorder.index.vectors.row_chunks import DEAD, read_chunk_blocks
from inorder.index.vectors.table import list_matrix_files
from inorder.library.connection import NAME, connect_library, library_path, translate_library_errors
from inorder.library.contents import find_result_damage, find_rows_damage, read_rows
from inorder.library.removal import OWNED_TABLES
from inorder.library.rows import INDEX
from inorder.library.schema import STEPS_MAX, TEXT_BLOCKS_MAX
from inorder.library.totals import FamilySummary, Totals, count_family, count_rows, hash_result, read_difference

_PAGE = 200
_EPOCH = "(SELECT epoch FROM generation)"
_VISIBLE = f"since <= {_EPOCH} AND until > {_EPOCH}"
_REBUILD = "remove library.sqlite and run `inorder run SRC` again"
_FORCE = "run `inorder run --force SRC` again"
_AGAIN = "run `inorder run SRC` again, which writes it"
_SUMMARY = msgspec.msgpack.Decoder(FamilySummary)
_MODULUS = 1 << 256


class LibraryFinding(NamedTuple):
    """Something that is not as it was written."""

    where: str
    problem: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.where}: {self.problem}; {self.remedy}"


def verify_library(data: str) -> Iterator[LibraryFinding]:
    """Yield what is wrong with the library of DATA. Raises as `connect_library` does."""
    damaged = find_damaged_files(data)
    yield from (LibraryFinding(name, problem, _REBUILD if name == NAME else _AGAIN) for name, problem in damaged)
    if any(name == NAME for name, _ in damaged):
        return
    if is_damaged(data):
        yield LibraryFinding(SUMS, "it is damaged", _AGAIN)
    connection = connect_library(data)
    try:
        with translate_library_errors(library_path(data)):
            yield from _Check(connection, data, [name for name, _ in damaged]).run()
    finally:
        connection.close()


class _Check:
    def __init__(self, connection: sqlite3.Connection, data: str, damaged: Collection[str]) -> None:
        self._connection = connection
        self._data = data
        self._damaged = damaged
        self._names: dict[int, str] = dict(connection.execute("SELECT id, name FROM steps").fetchall())
        self._content = 0
        self._counts: Counter[str] = Counter()

    def run(self) -> Iterator[LibraryFinding]:
        """Yield all findings. Those that are of the same cause may be several."""
        messages = self._connection.execute("PRAGMA integrity_check(20)").fetchall()
        if messages != [("ok",)]:
            yield LibraryFinding("library.sqlite", f"the database is damaged ({messages[0][0]})", _REBUILD)
            return
        before = self._read_epoch()
        found = [*self._find_orphans(), *self._check_items()]
        yield from found
        for where, check in (("inverted index", self._check_index), ("vectors", self._check_vectors)):
            try:
                yield from () if found else check()
            except DamagedIndexError as error:
                yield LibraryFinding(where, str(error), _REBUILD)
        if before == self._read_epoch():
            yield from self._check_totals()

    def _read_epoch(self) -> tuple[int, int]:
        [version] = self._connection.execute("PRAGMA data_version").fetchone()
        return version, self._connection.execute("SELECT epoch FROM generation").fetchone()[0]

    # ---- Items

    def _check_items(self) -> Iterator[LibraryFinding]:
        last = 0
        query = f"SELECT id, item_id FROM items WHERE id > ? ORDER BY id LIMIT {_PAGE}"
        while page := self._connection.execute(query, (last,)).fetchall():
            for item, item_id in page:
                yield from self._check_results(item, item_id)
                yield from self._check_rows(item, item_id)
            last = page[-1][0]

    def _check_results(self, item: int, item_id: str) -> Iterator[LibraryFinding]:
        rows = self._connection.execute(
            f"SELECT id, key, output, summary, {_VISIBLE} FROM results WHERE key BETWEEN ? AND ?",
            (item * STEPS_MAX, item * STEPS_MAX + STEPS_MAX - 1),
        ).fetchall()
        for id_, key, output, summary, is_visible in rows:
            step = self._names[key % STEPS_MAX]
            if is_visible:
                self._add(item_id, step, output, summary)
            if damage := find_result_damage(self._connection, id_, step, output):
                yield LibraryFinding(item_id, f"the result of step {step} is damaged ({damage})", _FORCE)

    def _check_rows(self, item: int, item_id: str) -> Iterator[LibraryFinding]:
        rows = self._connection.execute(
            f"SELECT id, digest, summary, {_VISIBLE}, kind, language, chunks FROM searchable WHERE item = ?", (item,)
        ).fetchall()
        for id_, digest, summary, is_visible, *facts in rows:
            if is_visible:
                self._add(item_id, INDEX, bytes.fromhex(digest), summary, count_rows(*facts))
            if damage := find_rows_damage(self._connection, id_, digest):
                yield LibraryFinding(item_id, f"its rows in the index are damaged ({damage})", _FORCE)

    def _add(
        self, item_id: str, step: str, output: bytes, summary: bytes | None, counts: dict[str, int] | None = None
    ) -> None:
        self._content += hash_result(item_id, step, output)
        self._counts.update(counts or {})
        if summary is not None:
            self._counts.update(count_family(step, _SUMMARY.decode(summary)))

    # ---- The library as a whole

    def _find_orphans(self) -> Iterator[LibraryFinding]:
        for table, condition in (
            ("results", f"key / {STEPS_MAX} NOT IN (SELECT id FROM items)"),
            ("states", f"id / {STEPS_MAX} NOT IN (SELECT id FROM items)"),
            ("searchable", "item NOT IN (SELECT id FROM items)"),
            (
                "texts",
                f"id / {TEXT_BLOCKS_MAX} NOT IN (SELECT id FROM results) "
                f"AND id / {TEXT_BLOCKS_MAX} NOT IN (SELECT texts FROM searchable)",
            ),
            *((table, "file NOT IN (SELECT id FROM searchable)") for table in OWNED_TABLES),
        ):
            [count] = self._connection.execute(f"SELECT COUNT(*) FROM {table} WHERE {condition}").fetchone()
            if count:
                yield LibraryFinding(f"table {table}", f"{count} rows belong to nothing", _REBUILD)

    def _check_index(self) -> Iterator[LibraryFinding]:
        if not is_inverted_index_intact(self._connection, self._count_all_terms()):
            yield LibraryFinding("inverted index", "it does not match the chunks", _REBUILD)

    def _count_all_terms(self) -> Iterator[tuple[list[int], FileTerms]]:
        query = f"SELECT id, first_chunk, chunks FROM searchable WHERE {_VISIBLE}"
        for id_, first, count in self._connection.execute(query).fetchall():
            yield list(range(first, first + count)), count_terms(read_rows(self._connection, id_))

    def _check_vectors(self) -> Iterator[LibraryFinding]:
        files = list_matrix_files(self._connection, self._data)
        for name in sorted({*list_vector_files(self._data)} - {file.name for file in files}):
            yield LibraryFinding(name, "the library does not name it", "run `inorder run SRC` again, which removes it")
        for file in files:
            if file.name in self._damaged:
                continue
            if problem := file.find_problem():
                yield LibraryFinding(file.name, f"it {problem}", _AGAIN)
            elif file.is_altered():
                yield LibraryFinding(file.name, "it was altered", f"remove it and {_AGAIN}")
        query = (
            f"SELECT chunk_rows.id FROM chunk_rows JOIN searchable ON searchable.id = file WHERE {_VISIBLE} ORDER BY 1"
        )
        ids = np.fromiter(chain.from_iterable(self._connection.execute(query)), np.int64)
        seen: list[int] = []
        for file in files:
            rows = np.concatenate([np.zeros(0, np.int64), *read_chunk_blocks(self._connection, file)])
            alive = rows[rows != DEAD]
            seen += alive.tolist()
            if len(rows) - len(alive) != file.dead:
                yield LibraryFinding(file.name, "the number of its removed rows is wrong", _REBUILD)
        if len(set(seen)) != len(seen) or not np.isin(np.array(seen, np.int64), ids).all():
            yield LibraryFinding("vectors", "they are not those of the visible chunks", _REBUILD)

    def _check_totals(self) -> Iterator[LibraryFinding]:
        [epoch] = self._connection.execute("SELECT epoch FROM generation").fetchone()
        try:
            recorded = read_difference(self._connection, epoch)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            yield LibraryFinding("counts", f"they cannot be decoded ({error})", _REBUILD)
            return
        found = Totals((self._content % _MODULUS).to_bytes(32), {name: n for name, n in self._counts.items() if n})
        if found.content != recorded.content:
            yield LibraryFinding("content hash", f"it is {found.content_hash}, not {recorded.content_hash}", _REBUILD)
        if found.counts != recorded.counts:
            names = sorted(set(found.counts.items()) ^ set(recorded.counts.items()))
            yield LibraryFinding("counts", f"they differ in {names[0][0]}", _REBUILD)
