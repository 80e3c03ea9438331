"""The library keeps the rules of a sink."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from inorder.core.transitions import State
from inorder.library.connection import library_path
from inorder.library.sink import LibrarySink
from inorder.sinks.base import Entry, Sink
from inorder.sinks.testing import RULES, MakeHarness, SinkHarness
from tests.library.making import failed, make_document, make_failure, success

TABLES = ("items", "states", "failures", "results", "texts", "searchable", "chunk_rows", "pending", "totals", "steps")


class LibraryHarness(SinkHarness):
    """A library whose items have the number of their entry as their size."""

    stays_ahead = True
    is_exclusive = True

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.commits = 0

    def open(self) -> Sink:
        sink = LibrarySink(str(self.folder))
        sink._connection.set_trace_callback(self._count)
        return sink

    def _count(self, statement: str) -> None:
        self.commits += statement.startswith("COMMIT")

    def write_count(self) -> int:
        return self.commits

    def content(self) -> object:
        with closing(sqlite3.connect(library_path(str(self.folder)))) as connection:
            return [connection.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall() for table in TABLES]

    def applied_seqs(self) -> list[int]:
        with closing(sqlite3.connect(library_path(str(self.folder)))) as connection:
            query = "SELECT item_id FROM items WHERE EXISTS (SELECT 1 FROM results WHERE key / 64 = items.id)"
            return sorted(int(item_id.removeprefix("docs/")) for (item_id,) in connection.execute(query))

    def damage(self) -> None:
        with closing(sqlite3.connect(library_path(str(self.folder)))) as connection:
            connection.execute('UPDATE inorder_position SET "end" = "end" - 1')
            connection.commit()

    def entry(self, seq: int, outcome: State) -> Entry:
        result = make_document(f"docs/{seq}", f"text of {seq}")
        if outcome is State.TERMINAL_SUCCESS:
            return success(seq, result)
        if outcome is State.TERMINAL_FAIL:
            return failed(seq, make_failure(result, "doctags"))
        return Entry(seq, outcome)

    def partial_entry(self, seq: int) -> Entry:
        return failed(seq, make_failure(make_document(f"docs/{seq}", f"text of {seq}"), "chunk"))


@pytest.mark.process
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_library_is_a_sink(rule: Callable[[MakeHarness], None], tmp_path_factory: pytest.TempPathFactory) -> None:
    rule(lambda: LibraryHarness(tmp_path_factory.mktemp("library")))
