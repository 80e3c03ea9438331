"""The sink of a store over several runs: what it holds when journal and store are not of the same moment."""

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from inorder.core.transitions import State
from inorder.errors import InvariantViolation
from inorder.sinks.base import Entry, Position
from inorder.stage.store.database import StoreReader, store_path
from inorder.stage.store.sink import StoreSink
from tests.sinks.harnesses import make_stored_entry

SUCCESS, SKIP, FAIL = State.TERMINAL_SUCCESS, State.TERMINAL_SKIP, State.TERMINAL_FAIL


def entry(item_id: str, seq: int, text: str = "text", **options: Any) -> Entry:
    return make_stored_entry(item_id, seq, options.pop("outcome", SUCCESS), text, **options)


def open_sink(data: Path) -> StoreSink:
    return StoreSink(str(data), "stage", removes_failed=True)


def read(data: Path) -> dict[str, bytes]:
    """The content of every item."""
    with closing(StoreReader(store_path(str(data), "stage"))) as reader:
        found = {}
        for item in reader.iterate():
            content = reader.read(item.item_id)
            assert content is not None
            found[item.item_id] = content[1]
        return found


def begin(sink: StoreSink) -> Position:
    """Begin a new run, as a new journal does."""
    origin = sink.origin()
    sink.roll_back(origin, ())
    return origin


@pytest.fixture
def sink(tmp_path: Path) -> Iterator[StoreSink]:
    """A store with the items a and b of a run that has ended."""
    made = open_sink(tmp_path)
    begin(made)
    made.apply([entry("a", 0, "old a"), entry("b", 1, "old b")])
    made.sync()
    yield made
    made.close()


def test_a_new_run_keeps_the_rows_and_replaces_them_one_by_one(sink: StoreSink, tmp_path: Path) -> None:
    assert begin(sink).end == 0
    assert read(tmp_path) == {"a": b"old a", "b": b"old b"}
    sink.apply([entry("b", 0, "new b"), entry("c", 1, "c")])
    assert read(tmp_path) == {"a": b"old a", "b": b"new b", "c": b"c"}


@pytest.mark.req("JRN-3")
def test_rows_after_the_position_of_the_journal_are_removed_and_written_again(sink: StoreSink, tmp_path: Path) -> None:
    begin(sink)
    position = sink.apply([entry("a", 0, "new a")])
    sink.apply([entry("b", 1, "new b"), entry("c", 2, "c")])
    sink.close()
    again = open_sink(tmp_path)
    assert again.holds(position, ())
    again.roll_back(position, ())
    assert read(tmp_path) == {"a": b"new a"}
    again.apply([entry("b", 1, "another b"), entry("c", 2, outcome=FAIL)])
    assert read(tmp_path) == {"a": b"new a", "b": b"another b"}
    again.close()


@pytest.mark.req("JRN-3")
def test_a_run_that_resumes_at_its_origin_removes_only_its_own_rows(sink: StoreSink, tmp_path: Path) -> None:
    origin = begin(sink)
    sink.apply([entry("c", 0, "c"), entry("b", 1, outcome=SKIP, reason="it is gone")])
    sink.close()
    again = open_sink(tmp_path)
    assert again.holds(origin, ())
    again.roll_back(origin, ())
    assert read(tmp_path) == {"a": b"old a"}
    with closing(StoreReader(store_path(str(tmp_path), "stage"))) as reader:
        assert [item_id for item_id, _, _ in reader.list_removed()] == ["b"]
    again.close()


def test_the_next_run_forgets_what_was_removed(sink: StoreSink, tmp_path: Path) -> None:
    begin(sink)
    sink.apply([entry("b", 0, outcome=FAIL)])
    begin(sink)
    with closing(StoreReader(store_path(str(tmp_path), "stage"))) as reader:
        assert reader.list_removed() == []


@pytest.mark.req("JRN-3", "JRN-7")
def test_a_store_without_the_beginning_of_a_run_holds_only_its_origin(sink: StoreSink, tmp_path: Path) -> None:
    """As after a power loss, or if the store was restored from an older copy."""
    sink.close()
    copy = tmp_path / "copy"
    shutil.copytree(tmp_path / "store", copy)
    later = open_sink(tmp_path)
    origin = begin(later)
    position = later.apply([entry("c", 0, "c")])
    later.close()
    shutil.rmtree(tmp_path / "store")
    shutil.copytree(copy, tmp_path / "store")
    older = open_sink(tmp_path)
    assert not older.holds(position, ()), "it is at a later seq of another run"
    assert older.holds(origin, ())
    with pytest.raises(InvariantViolation, match="does not hold"):
        older.roll_back(position, ())
    older.roll_back(origin, ())
    assert older.apply([entry("c", 0, "c")]) == position
    older.close()


@pytest.mark.req("JRN-3")
def test_a_store_with_rows_of_a_later_run_does_not_hold_the_origin_of_an_earlier_one(sink: StoreSink) -> None:
    """As with a journal that was restored from a copy: its rows would get numbers that are taken."""
    origin = begin(sink)
    begin(sink)
    sink.apply([entry("c", 0, "c")])
    assert not sink.holds(origin, ())


def test_a_store_that_was_removed_holds_the_origin_and_nothing_else(sink: StoreSink, tmp_path: Path) -> None:
    origin = begin(sink)
    position = sink.apply([entry("c", 0, "c")])
    sink.close()
    shutil.rmtree(tmp_path / "store")
    new = open_sink(tmp_path)
    assert (new.holds(origin, ()), new.holds(position, ())) == (True, False)
    new.close()


def test_runs_have_different_origins(sink: StoreSink) -> None:
    assert sink.origin() != sink.origin()
