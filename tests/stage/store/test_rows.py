"""The rows of a store: what is stored once for all of them, dictionaries, and stores of an earlier schema."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest

from inorder.core.transitions import State
from inorder.errors import InfrastructureError, IntegrityError
from inorder.sinks.base import Entry
from inorder.stage.store.codec import SAMPLES
from inorder.stage.store.database import StoreReader, store_path
from inorder.stage.store.sink import StoreSink
from tests.sinks.harnesses import make_stored_entry

pytestmark = pytest.mark.req("DAT-1")


def make_text(number: int) -> str:
    return f"Lamp {number} of the street was lit at dusk, and lamp {number * 7919 % 1000} was not. " * 3


def make_entry(seq: int, item_id: str = "", path: str = "") -> Entry:
    """A success with an input at a path."""
    item_id = item_id or f"docs/{seq:04}.md"
    entry = make_stored_entry(item_id, seq, State.TERMINAL_SUCCESS, make_text(seq))
    item = msgspec.structs.replace(entry.item.item, inputs={"text": path or f"/sources/{item_id}"}, cfg_hash="c")
    extras = {"characters": len(make_text(seq)), "language": "en", "seq": seq}
    return msgspec.structs.replace(
        entry,
        item=entry.item._replace(item=item),
        payload=entry.payload._replace(
            extras=extras,
            input_sha256=sha256(b"%d" % seq).hexdigest(),
            stored=entry.payload.stored._replace(codec=0, content=make_text(seq).encode()),
        ),
    )


@pytest.fixture
def sink(tmp_path: Path) -> Iterator[StoreSink]:
    made = StoreSink(str(tmp_path), "stage", removes_failed=True)
    made.roll_back(made.origin(), ())
    yield made
    made.close()


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[StoreReader]:
    with closing(StoreReader(store_path(str(tmp_path), "stage"))) as found:
        yield found


def query(data: Path, statement: str) -> list[Any]:
    with closing(sqlite3.connect(store_path(str(data), "stage"))) as connection, connection:
        return connection.execute(statement).fetchall()


def test_results_get_smaller_once_there_are_enough_for_a_dictionary(
    sink: StoreSink, reader: StoreReader, tmp_path: Path
) -> None:
    sink.apply([make_entry(seq) for seq in range(SAMPLES - 1)])
    before = reader.get("docs/0000.md")
    assert query(tmp_path, "SELECT count(*) FROM dictionaries") == [(0,)]
    sink.apply([make_entry(seq) for seq in range(SAMPLES - 1, SAMPLES + 9)])
    sink.apply([make_entry(seq) for seq in range(SAMPLES + 9, SAMPLES + 19)])
    for column in ("content", "extras"):
        [(early,)] = query(tmp_path, f"SELECT avg(length({column})) FROM items WHERE rowid < {SAMPLES}")
        [(late,)] = query(tmp_path, f"SELECT avg(length({column})) FROM items WHERE rowid >= {SAMPLES}")
        assert late < early / 2
    assert reader.get("docs/0000.md") == before
    for seq in (0, SAMPLES - 1, SAMPLES, SAMPLES + 18):
        found = reader.read(f"docs/{seq:04}.md")
        assert found is not None
        assert found[1].decode() == make_text(seq)
        assert found[0].extras == make_entry(seq).payload.extras


def test_a_store_that_is_opened_again_goes_on_with_its_dictionaries(
    sink: StoreSink, reader: StoreReader, tmp_path: Path
) -> None:
    sink.apply([make_entry(seq) for seq in range(SAMPLES)])
    sink.close()
    again = StoreSink(str(tmp_path), "stage", removes_failed=True)
    again.roll_back(again.origin(), ())
    again.apply([make_entry(0)])
    again.close()
    assert query(tmp_path, "SELECT codec, typeof(extras) FROM items WHERE item_id = 'docs/0000.md'") == [(2, "blob")]
    assert query(tmp_path, "SELECT count(*) FROM dictionaries") == [(2,)]
    assert query(tmp_path, "SELECT count(*) FROM origins") == [(1,)]


@pytest.mark.parametrize(
    ("item_id", "path"),
    [
        ("docs/a.md", "/sources/docs/a.md"),
        ("dense/docs/a.md", "/data/chunk/docs/a.md"),
        ("docs/a.md", "/elsewhere/b.md"),
        ("docs/a.md", "docs/a.md"),
        ("a.md", "/sources/docs/a.md"),
        ("a.md", "/sources/extra.md"),
        ("docs/\udcff", "/sources/\udcfe/docs/\udcff"),
        ("docs/ä", "/sources/docs/ä"),
        ("docs/a.md", ""),
    ],
)
def test_the_path_of_the_input_is_read_as_it_was_written(
    sink: StoreSink, reader: StoreReader, item_id: str, path: str
) -> None:
    entry = make_entry(0, item_id, path or "/")
    if not path:
        entry = msgspec.structs.replace(
            entry, item=entry.item._replace(item=msgspec.structs.replace(entry.item.item, inputs={}))
        )
    sink.apply([entry])
    found = reader.get(item_id)
    assert found is not None
    assert (found.item_id, found.input_path, found.folder) == (item_id, path, "loud")
    assert (found.cfg_hash, found.input_sha256) == ("c", sha256(b"0").hexdigest())


def test_removed_items_keep_the_path_of_their_input(sink: StoreSink, reader: StoreReader) -> None:
    sink.apply([make_entry(0), make_stored_entry("docs/0000.md", 1, State.TERMINAL_FAIL)])
    assert reader.list_removed() == [("docs/0000.md", "loud", "/sources/docs/0000.md")]
    assert reader.count() == 0


def test_a_dictionary_that_is_lost_is_named(sink: StoreSink, reader: StoreReader, tmp_path: Path) -> None:
    sink.apply([make_entry(seq) for seq in range(SAMPLES)])
    query(tmp_path, "DELETE FROM dictionaries")
    found = reader.get("docs/0000.md")
    assert found is not None
    with pytest.raises(IntegrityError, match="table `dictionaries` has no dictionary 3; remove the file and run"):
        _ = found.extras


def test_a_transaction_that_failed_leaves_nothing_behind(sink: StoreSink, reader: StoreReader, tmp_path: Path) -> None:
    def fail(action: int, table: str | None, *_: object) -> int:
        is_position = action == sqlite3.SQLITE_INSERT and table == "inorder_position"
        return sqlite3.SQLITE_DENY if is_position else sqlite3.SQLITE_OK

    sink._connection.set_authorizer(fail)
    with pytest.raises((InfrastructureError, ValueError)):
        sink.apply([make_entry(0)])
    sink._connection.set_authorizer(None)
    sink.apply([make_entry(0)])
    found = reader.get("docs/0000.md")
    assert found is not None
    assert found.cfg_hash == "c"
    assert query(tmp_path, "SELECT number FROM origins") == [(1,)]
