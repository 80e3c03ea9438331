"""An index after a power loss at any moment of a run: readers find the old state or the new one, whole, and a draft
that was synced can be resumed."""

import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from inorder.index.connection import open_index
from inorder.index.drafts.draft import IndexSink
from inorder.index.drafts.publishing import draft_path, publish, published_path
from inorder.index.matrix_file import MatrixFile
from inorder.index.rows import DOCUMENT, ChunkRow, FileRows, encode_rows
from inorder.index.schema import read_meta
from inorder.index.verify import find_problems
from inorder.sinks.base import Entry, Position
from tests.index.documents import add_document
from tests.index.test_draft import skip, success
from tests.support.recorded_disk import LostPower, RecordedDisk
from tests.support.sqlite_calls import SqliteCalls
from tests.support.system_calls import SystemCalls


def document(seq: int, text: str) -> Entry:
    """The document `doc`, whose chunk has this text and a vector."""
    chunk = ChunkRow(f"doc-0-{text}", "section", "", "doc", 0, len(text), "", text)
    rows = FileRows(
        item_id="doc",
        kind=DOCUMENT,
        path="doc",
        language="",
        lines=0,
        note="",
        sha256=text,
        cfg_hash="cfg",
        chunks=[chunk],
    )
    entry = success(seq, "doc")
    entry.payload.delivery = encode_rows(rows)
    return entry


class Update(NamedTuple):
    """An index that was published, updated and published again, with the system calls of the update."""

    before: dict[str, bytes]
    events: list[tuple[object, ...]]
    synced_at: int
    """The event after which the draft was synced at `position`."""
    position: Position
    published_at: int
    hashes: tuple[str, str]
    """The content hash before and after."""


def read_index(data: Path) -> str:
    """The content hash of an index that is whole."""
    connection = sqlite3.connect(published_path(str(data)))
    try:
        assert list(find_problems(connection)) == []
        matrix = MatrixFile(connection, str(data))
        assert matrix.name
        assert matrix.find_problem() == ""
        assert not matrix.is_altered()
        return read_meta(connection, "content_hash")
    finally:
        connection.close()


def is_complete(data: Path) -> bool:
    """Whether the next run publishes the draft."""
    sink = IndexSink(str(data))
    before = read_index(data)
    sink.origin()
    return read_index(data) != before


@pytest.fixture
def update(tmp_path: Path) -> Iterator[Update]:
    data = tmp_path / "data"
    add_document(data, "doc", "lamp")
    sink = IndexSink(str(data))
    sink.roll_back(Position(), ())
    sink.apply([success(0, "a"), success(1, "b"), document(2, "lamp")])
    sink.close()
    publish(str(data))
    old = read_index(data)
    add_document(data, "doc", "wick")
    before = {str(path.relative_to(data)): path.read_bytes() for path in data.rglob("*") if path.is_file()}
    with pytest.MonkeyPatch.context() as patch:
        calls = SystemCalls(patch, data)
        SqliteCalls(calls, patch)
        sink = IndexSink(str(data))
        sink.roll_back(sink.origin(), ())
        sink.apply([skip(0), success(1, "b", "wick two")])
        position = sink.apply([document(2, "wick")])
        sink.sync()
        synced_at = len(calls.events)
        sink.complete()
        sink.close()
        publish(str(data))
        published_at = len(calls.events)
    yield Update(before, calls.events, synced_at, position, published_at, (old, read_index(data)))
    open_index.cache_clear()


def restore(lost: LostPower, folder: Path) -> Path:
    open_index.cache_clear()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    lost.restore(folder)
    return folder


@pytest.mark.slow
@pytest.mark.req("IDX-2", "IDX-3")
def test_readers_find_the_old_index_or_the_new_one_and_a_synced_draft_is_held(update: Update, tmp_path: Path) -> None:
    old, new = update.hashes
    found = set()
    phases = (update.synced_at, update.published_at)
    disk = RecordedDisk(update.events, update.before)
    for lost in disk.lose_power(samples=1, phase=lambda moment: str([moment >= end for end in phases])):
        data = restore(lost, tmp_path / "found")
        content = read_index(data)
        assert content in ((new,) if lost.moment >= update.published_at else (old, new)), lost.description
        found.add(content)
        if content == old and lost.moment >= update.synced_at:
            sink = IndexSink(str(data))
            is_held = sink.holds(update.position, ())
            sink.close()
            assert is_held or is_complete(data), lost.description
    assert found == {old, new}


@pytest.mark.slow
@pytest.mark.req("IDX-2", "IDX-3")
def test_the_next_run_publishes_a_draft_that_was_complete_and_ends_with_the_same_index(
    update: Update, tmp_path: Path
) -> None:
    old, new = update.hashes
    published = 0
    for lost in RecordedDisk(update.events, update.before).lose_power(samples=0):
        data = restore(lost, tmp_path / "found")
        sink = IndexSink(str(data))
        sink.roll_back(sink.origin(), ())
        published += read_index(data) == new
        if read_index(data) == old:
            sink.apply([skip(0), success(1, "b", "wick two")])
            sink.apply([document(2, "wick")])
            sink.complete()
        sink.close()
        publish(str(data))
        assert read_index(data) == new, lost.description
        assert not Path(draft_path(str(data))).exists()
        assert len(list(data.glob("index.vectors.*"))) == 1, lost.description
    assert published
