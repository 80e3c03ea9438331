"""A reader of a store: ids of every kind, content that is checked, and a database that is closed under it."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from inorder.core.transitions import State
from inorder.errors import IntegrityError
from inorder.stage.contracts import StageError
from inorder.stage.store.database import StoreReader, close_readers, open_store, store_path
from inorder.stage.store.inputs import StoredInput
from inorder.stage.store.reading import read_many
from inorder.stage.store.sink import StoreSink
from tests.sinks.harnesses import make_stored_entry

pytestmark = pytest.mark.req("DAT-1")

IDS = ("b/\udcff", "a/%41?#", "b/1", "c/ä", "b/2", "a/\udcfe x", "b")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with a store, at a path with odd characters."""
    data = tmp_path / "50%41?x=1#y \udcff"
    data.mkdir()
    sink = StoreSink(str(data), "stage", removes_failed=True)
    sink.roll_back(sink.origin(), ())
    entries = enumerate(IDS)
    sink.apply([make_stored_entry(item_id, seq, State.TERMINAL_SUCCESS, item_id[:1]) for seq, item_id in entries])
    sink.close()
    return data


def test_items_are_found_by_the_beginning_of_any_id(data: Path) -> None:
    reader = open_store(str(data), "stage")
    assert reader is not None
    assert [item.item_id for item in reader.iterate()] == sorted(
        IDS, key=lambda name: ("\udcff" in name or "\udcfe" in name, name)
    )
    assert [item.item_id for item in reader.iterate("b/")] == ["b/1", "b/2", "b/\udcff"]
    assert [item.item_id for item in reader.iterate("b/", "b/1")] == ["b/2", "b/\udcff"]
    assert [item.item_id for item in reader.iterate("b/", "b/\udcff")] == []
    assert reader.count("a/") == 2
    for item_id in IDS:
        found = reader.read(item_id)
        assert found is not None
        assert (found[0].item_id, found[1]) == (item_id, item_id[:1].encode())


def test_the_contents_of_many_items_are_read_at_once(data: Path) -> None:
    reader = open_store(str(data), "stage")
    assert reader is not None
    found = reader.read_all([*IDS, "missing"])
    assert found == {item_id: reader.read(item_id) for item_id in IDS}
    sources = [StoredInput(str(data), "stage", item_id, item_id, 1, found[item_id][0].sha256) for item_id in IDS]
    assert [*read_many(sources)] == [item_id[:1].encode() for item_id in IDS]
    assert [*read_many([])] == []
    with_content = [*sources, replace(sources[0], content=b"known")]
    assert [*read_many(with_content)][-1] == b"known"
    with pytest.raises(StageError, match="changed while it was read"):
        [*read_many([replace(sources[0], sha256="0" * 64)])]


def test_a_reader_that_was_closed_opens_the_database_again(data: Path) -> None:
    reader = open_store(str(data), "stage")
    assert reader is not None
    assert reader.count() == len(IDS)
    close_readers()
    assert reader.count() == len(IDS)
    reader.close()


@pytest.mark.process
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot copy a process")
def test_a_copy_of_the_process_opens_the_database_again(data: Path) -> None:
    reader = open_store(str(data), "stage")
    child = os.fork()
    if not child:
        os._exit(open_store(str(data), "stage") is reader)
    assert os.waitpid(child, 0)[1] == 0
    assert open_store(str(data), "stage") is reader


def test_content_of_another_item_is_refused(data: Path) -> None:
    with closing(sqlite3.connect(store_path(str(data), "stage"))) as connection, connection:
        connection.execute("UPDATE items SET content = x'7a'")
    with (
        closing(StoreReader(store_path(str(data), "stage"))) as reader,
        pytest.raises(
            IntegrityError, match=r"table `items`, 'b/1': a stored result differs from what was written; run"
        ),
    ):
        reader.read("b/1")
