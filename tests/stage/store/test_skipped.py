"""Items that are up to date and in no plan are counted by a store, and have no rows in it."""

from contextlib import closing
from pathlib import Path

import pytest

from inorder.core.transitions import State
from inorder.errors import InvariantViolation
from inorder.sinks.base import Entry, Position
from inorder.stage.store.database import open_store
from inorder.stage.store.sink import StoreSink

pytestmark = pytest.mark.req("COM-1")
ORIGIN = Position(0, 0, 7)
SKIP = int(State.TERMINAL_SKIP)


def open_sink(folder: Path) -> StoreSink:
    folder.mkdir()
    sink = StoreSink(str(folder), "stage", removes_failed=True)
    sink.roll_back(ORIGIN, ())
    return sink


def test_they_leave_the_position_that_their_entries_leave(tmp_path: Path) -> None:
    with closing(open_sink(tmp_path / "one by one")) as one, closing(open_sink(tmp_path / "at once")) as other:
        expected = one.apply([Entry(seq, SKIP) for seq in range(5)])
        assert other.apply_skipped(0, 5) == other.position() == expected == Position(5, 0, 7)
        other.sync()
    store = open_store(str(tmp_path / "at once"), "stage")
    assert store is not None
    assert (store.read_position(), store.count()) == (expected, 0)


def test_a_gap_before_them_is_noticed(tmp_path: Path) -> None:
    with closing(open_sink(tmp_path / "data")) as sink, pytest.raises(InvariantViolation):
        sink.apply_skipped(1, 5)
