"""A store that is opened for writing when there is something to write."""

import os
from contextlib import closing
from pathlib import Path

import pytest

from inorder.core.transitions import State
from inorder.sinks.base import Entry, Position
from inorder.stage.store.database import open_store, store_path
from inorder.stage.store.late_sink import LateStoreSink
from inorder.stage.store.sink import StoreSink
from tests.sinks.harnesses import make_stored_entry

pytestmark = pytest.mark.req("COM-1")
SKIP = int(State.TERMINAL_SKIP)


@pytest.fixture
def data(tmp_path: Path) -> str:
    """A store with the results of three items."""
    with closing(StoreSink(str(tmp_path), "stage", removes_failed=True)) as sink:
        sink.roll_back(Position(0, 0, 7), ())
        sink.apply([make_stored_entry(f"item {seq}", seq, State.TERMINAL_SUCCESS) for seq in range(3)])
    return str(tmp_path)


def open_late(data: str) -> LateStoreSink:
    return LateStoreSink(data, "stage", removes_failed=True)


def begin(sink: LateStoreSink) -> Position:
    origin = sink.origin()
    sink.roll_back(origin, ())
    return origin


def read_position(data: str) -> Position:
    store = open_store(data, "stage")
    assert store is not None
    return store.read_position()


def read_bytes(data: str) -> bytes:
    return Path(store_path(data, "stage")).read_bytes()


def list_folder(data: str) -> set[str]:
    return {name for name in os.listdir(f"{data}/store") if not name.endswith(".lock")}


def test_a_run_that_changes_nothing_leaves_it_as_it_is(data: str) -> None:
    before = read_bytes(data)
    with closing(open_late(data)) as sink:
        origin = begin(sink)
        sink.apply([Entry(0, SKIP)])
        assert sink.apply_skipped(1, 2) == sink.position() == Position(3, 3, origin.checksum + 2**32)
        sink.sync()
        assert list_folder(data) == {"stage.sqlite"}
    assert read_bytes(data) == before


def test_the_position_of_such_a_run_is_held_after_its_death(data: str) -> None:
    with closing(open_late(data)) as sink:
        origin = begin(sink)
        position = sink.apply_skipped(0, 3)
    with closing(open_late(data)) as again:
        assert again.holds(origin, ())
        assert again.holds(position, ())
        again.roll_back(position, ())
        assert again.position() == position


def test_the_position_before_the_first_change_is_held_too(data: str) -> None:
    with closing(open_late(data)) as sink:
        begin(sink)
        position = sink.apply_skipped(0, 2)
        sink.apply([make_stored_entry("item 2", 2, State.TERMINAL_SUCCESS, "other")])
    with closing(open_late(data)) as again:
        assert again.holds(position, ())
        again.roll_back(position, ())
        assert again.apply([make_stored_entry("item 2", 2, State.TERMINAL_SUCCESS)]).offset == 4


def test_a_position_before_changes_of_another_run_is_not_held(data: str) -> None:
    with closing(open_late(data)) as sink:
        begin(sink)
        position = sink.apply_skipped(0, 2)
    with closing(open_late(data)) as other:
        begin(other)
        other.apply([make_stored_entry("item 0", 0, State.TERMINAL_SUCCESS)])
    with closing(open_late(data)) as again:
        assert not again.holds(position, ())


def test_the_first_change_opens_it_with_the_identity_of_the_run(data: str) -> None:
    with closing(open_late(data)) as sink:
        origin = begin(sink)
        sink.apply_skipped(0, 2)
        changed = make_stored_entry("item 2", 2, State.TERMINAL_SUCCESS)
        assert sink.apply([changed]) == Position(3, 4, origin.checksum)
        assert sink.apply_skipped(3, 1) == Position(4, 4, origin.checksum)
        sink.sync()
    assert read_position(data) == Position(4, 4, origin.checksum)
    assert list_folder(data) == {"stage.sqlite"}


def test_a_failure_that_removes_a_result_is_a_change(data: str) -> None:
    with closing(open_late(data)) as sink:
        begin(sink)
        sink.apply([make_stored_entry("item 0", 0, State.TERMINAL_FAIL)])
    store = open_store(data, "stage")
    assert store is not None
    assert [item.item_id for item in store.iterate()] == ["item 1", "item 2"]


def test_items_that_the_last_run_has_removed_are_forgotten_by_the_next_one(data: str) -> None:
    with closing(open_late(data)) as sink:
        begin(sink)
        sink.apply([make_stored_entry("item 0", 0, State.TERMINAL_FAIL)])
    with closing(open_late(data)) as sink:
        begin(sink)
        sink.apply_skipped(0, 2)
    store = open_store(data, "stage")
    assert store is not None
    assert store.list_removed() == []


@pytest.mark.parametrize("ending", ["-wal", "-journal"])
def test_one_that_was_not_closed_is_opened(data: str, ending: str) -> None:
    Path(f"{store_path(data, 'stage')}{ending}").touch()
    with closing(open_late(data)) as sink:
        origin = begin(sink)
        sink.apply_skipped(0, 3)
    assert read_position(data) == Position(3, 3, origin.checksum)


def test_a_new_one_is_created(tmp_path: Path) -> None:
    with closing(open_late(str(tmp_path))) as sink:
        origin = begin(sink)
        assert sink.apply_skipped(0, 1) == Position(1, 0, origin.checksum)
    assert list_folder(str(tmp_path)) == {"stage.sqlite"}
