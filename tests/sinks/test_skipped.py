"""Entries that were skipped and have no item: a sink that gets their number is where it is after each of them."""

import tracemalloc
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from inorder.core.transitions import State
from inorder.errors import IntegrityError, InvariantViolation
from inorder.index.drafts.draft import IndexSink
from inorder.index.drafts.publishing import draft_path
from inorder.sim.disk.disk import Disk
from inorder.sinks.base import Entry, Position, Sink, advance_position, advance_skipped, apply_skipped
from inorder.sinks.outputs import OutputsSink
from inorder.sinks.sqlite import SqliteSink
from tests.index.test_draft import success
from tests.sinks.harnesses import SCHEMA, insert_results

pytestmark = pytest.mark.req("COM-1")
SKIP, SUCCESS, FAIL = State.TERMINAL_SKIP, State.TERMINAL_SUCCESS, State.TERMINAL_FAIL
OpenSink = Callable[[Path], Sink]


def open_outputs(folder: Path) -> Sink:
    return OutputsSink(Disk(), folder.name)


def open_sqlite(folder: Path) -> SqliteSink:
    return SqliteSink(f"{folder}.sqlite", SCHEMA, insert_results)


def open_unchanged_index(folder: Path) -> Sink:
    folder.mkdir()
    sink = IndexSink(str(folder))
    sink.roll_back(Position(), ())
    return sink


def open_changed_index(folder: Path) -> Sink:
    sink = open_unchanged_index(folder)
    sink.apply([success(0, "a.py")])
    return sink


@pytest.mark.parametrize("open_sink", [open_outputs, open_sqlite, open_unchanged_index, open_changed_index])
def test_their_number_leaves_the_position_that_each_of_them_leaves(tmp_path: Path, open_sink: OpenSink) -> None:
    with ExitStack() as stack:
        one, other = (stack.enter_context(closing(open_sink(tmp_path / name))) for name in ("one", "other"))
        start = one.position().end
        for sink in (one, other):
            sink.apply([Entry(start, FAIL)])
        expected = one.apply([Entry(seq, SKIP) for seq in range(start + 1, start + 6)])
        assert apply_skipped(other, start + 1, 5) == other.position() == expected
        with pytest.raises(InvariantViolation):
            apply_skipped(other, start + 7, 1)
        assert other.apply([Entry(start + 6, SKIP)]) == one.apply([Entry(start + 6, SKIP)])


@pytest.mark.parametrize("open_sink", [open_outputs, open_sqlite, open_unchanged_index])
def test_no_entry_is_made_for_each_of_them(
    tmp_path: Path, open_sink: OpenSink, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(open_sink(tmp_path / "sink")) as sink:
        monkeypatch.setattr(type(sink), "apply", None)
        assert apply_skipped(sink, 0, 3000).end == 3000


@pytest.mark.parametrize("count", [0, 12, 1023, 1024, 1025, 5000])
def test_a_count_advances_a_position_as_the_entries_do(count: int) -> None:
    position = advance_position(Position(), [Entry(0, SUCCESS)])
    entries = [Entry(seq, SKIP) for seq in range(1, count + 1)]
    assert advance_skipped(position, count) == advance_position(position, entries)


def test_many_skipped_entries_take_little_memory() -> None:
    tracemalloc.start()
    try:
        advance_skipped(Position(), 100_000)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 500_000


def test_an_index_without_changes_has_no_draft_after_them(tmp_path: Path) -> None:
    with closing(open_unchanged_index(tmp_path / "data")) as sink:
        apply_skipped(sink, 0, 5)
        assert not Path(draft_path(str(tmp_path / "data"))).exists()


def test_a_database_that_is_ahead_does_not_store_them_twice(tmp_path: Path) -> None:
    with closing(open_sqlite(tmp_path / "rows")) as sink:
        sink.apply([Entry(0, SUCCESS, payload="a")])
        earlier = sink.position()
        expected = apply_skipped(sink, 1, 4)
    with closing(open_sqlite(tmp_path / "rows")) as sink:
        sink.roll_back(earlier, ())
        assert apply_skipped(sink, 1, 4) == expected
        assert apply_skipped(sink, 5, 2) == advance_skipped(expected, 2)


def test_a_database_that_is_ahead_with_other_outcomes_is_noticed(tmp_path: Path) -> None:
    with closing(open_sqlite(tmp_path / "rows")) as sink:
        sink.apply([Entry(0, FAIL), Entry(1, FAIL)])
    with closing(open_sqlite(tmp_path / "rows")) as sink:
        sink.roll_back(Position(1, 0, advance_position(Position(), [Entry(0, FAIL)]).checksum), ())
        with pytest.raises(IntegrityError, match="differ from those of this run"):
            apply_skipped(sink, 1, 4)


def test_they_become_durable_with_the_next_sync(tmp_path: Path) -> None:
    with closing(open_sqlite(tmp_path / "rows")) as sink:
        sink.apply([Entry(0, SKIP)])
        sink.sync()
        apply_skipped(sink, 1, 4)
        statements: list[str] = []
        sink._connection.set_trace_callback(statements.append)
        sink.sync()
        assert "PRAGMA synchronous=FULL" in statements
