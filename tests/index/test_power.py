"""An index after a power loss at any moment of a run: readers find the old state or the new one, whole, and a draft
that was synced can be resumed."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

from inorder.index.connection import open_index
from inorder.index.drafts.draft import IndexSink
from inorder.index.drafts.publishing import draft_path, publish, published_path
from inorder.index.rows import encode_rows
from inorder.index.vectors.update import FILES_MAX
from inorder.sinks.base import Entry, Position
from tests.index.documents import add_document, make_rows
from tests.index.published import Vectors, read_connected
from tests.index.test_draft import built, skip, success
from tests.support.recorded_disk import LostPower, RecordedDisk
from tests.support.sqlite_calls import SqliteCalls
from tests.support.system_calls import SystemCalls

OTHERS = {"rewritten": 0, "added": 9, "merged": 24}
"""How many documents there are beside the one that changes."""


def document(seq: int, text: str, name: str = "doc") -> Entry:
    """A document whose chunk has this text and a vector."""
    entry = success(seq, name)
    entry.payload.delivery = encode_rows(make_rows(name, text))
    return entry


class Update(NamedTuple):
    """An index that was published, updated and published again, with the system calls of the update."""

    before: dict[str, bytes]
    events: list[tuple[object, ...]]
    synced_at: int
    """The event after which the draft was synced at `position`."""
    position: Position
    published_at: int
    states: tuple[tuple[str, Vectors], tuple[str, Vectors]]
    """The content hash and the vectors before and after."""
    files: int
    """How many files with vectors there are after it."""


def read_index(data: Path) -> tuple[str, Vectors]:
    """The content hash of an index that is whole, and its vectors."""
    with closing(sqlite3.connect(published_path(str(data)))) as connection:
        return read_connected(connection, data)


def count_files(data: Path) -> int:
    """How many files with vectors there are."""
    return len(list(data.glob("index.vectors.*")))


def is_complete(data: Path) -> bool:
    """Whether the next run publishes the draft."""
    sink = IndexSink(str(data))
    before = read_index(data)
    sink.origin()
    return read_index(data) != before


@pytest.fixture(params=["rewritten", "added", "merged"])
def update(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Update]:
    """The new vector is written with all others, or alone, or with those of the runs before."""
    data = tmp_path / "data"
    others = [f"other{number}" for number in range(OTHERS[request.param])]
    add_document(data, "doc", "lamp")
    for name in others:
        add_document(data, name, name)
    documents = [document(2, "lamp"), *(document(3 + at, name, name) for at, name in enumerate(others))]
    built(data, [success(0, "a"), success(1, "b"), *documents])
    for name in others[: FILES_MAX if request.param == "merged" else 0]:
        add_document(data, name, f"not {name}")
        built(data, [document(0, f"not {name}", name)])
    old, files = read_index(data), count_files(data)
    assert files == (1 + FILES_MAX if request.param == "merged" else 1)
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
    states = old, read_index(data)
    assert count_files(data) == {"rewritten": 1, "added": 2, "merged": 2}[request.param]
    yield Update(before, calls.events, synced_at, position, published_at, states, count_files(data))
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
    old, new = update.states
    found = []
    phases = (update.synced_at, update.published_at)
    disk = RecordedDisk(update.events, update.before)
    for lost in disk.lose_power(samples=1, phase=lambda moment: str([moment >= end for end in phases])):
        data = restore(lost, tmp_path / "found")
        content = read_index(data)
        assert content in ((new,) if lost.moment >= update.published_at else (old, new)), lost.description
        found.append(content)
        if content == old and lost.moment >= update.synced_at:
            sink = IndexSink(str(data))
            is_held = sink.holds(update.position, ())
            sink.close()
            assert is_held or is_complete(data), lost.description
    assert old in found
    assert new in found


@pytest.mark.slow
@pytest.mark.req("IDX-2", "IDX-3")
def test_the_next_run_publishes_a_draft_that_was_complete_and_ends_with_the_same_index(
    update: Update, tmp_path: Path
) -> None:
    old, new = update.states
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
        assert count_files(data) == update.files, lost.description
    assert published
