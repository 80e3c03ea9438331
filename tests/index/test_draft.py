"""The draft of an index: readers never see it, and it is resumed after any interruption."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

from inorder.code.model import CallSite
from inorder.core.transitions import State
from inorder.errors import IntegrityError
from inorder.index.drafts import publishing
from inorder.index.drafts.draft import IndexSink
from inorder.index.drafts.publishing import draft_path, publish, published_path
from inorder.index.lexical import inversion
from inorder.index.lexical.postings import read_segments
from inorder.index.lexical.scoring import LexicalIndex, TermGroup
from inorder.index.rows import CODE, ChunkRow, FileRows, SymbolRow, count_terms, encode_rows
from inorder.index.schema import read_meta
from inorder.index.verify import find_problems
from inorder.sinks.base import Entry, Position
from inorder.stage.store.texts import TextReader
from tests.support.sqlite_calls import SqliteCalls
from tests.support.system_calls import SystemCalls

SUCCESS, SKIP = State.TERMINAL_SUCCESS, State.TERMINAL_SKIP


def rows(name: str, text: str = "def lamp(): pass") -> FileRows:
    return FileRows(
        item_id=name,
        kind=CODE,
        path=f"/src/{name}",
        language="python",
        lines=1,
        note="",
        sha256=f"sha of {text}",
        cfg_hash="cfg",
        chunks=[ChunkRow(f"{name} {text}", "function", "lamp", name, 1, 1, "lamp", text)],
        symbols=[SymbolRow("lamp", "lamp", "function", 1, 1, "def lamp()")],
        calls=[CallSite("lamp", "wick", 1, 1)],
    )


def success(seq: int, name: str, text: str | None = "def lamp(): pass") -> Entry:
    """A file that is brought, or, without a text, one that goes."""
    delivery = None if text is None else encode_rows(rows(name, text))
    task = SimpleNamespace(item=SimpleNamespace(item_id=name))
    return Entry(seq, SUCCESS, item=task, payload=SimpleNamespace(delivery=delivery))


def skip(seq: int) -> Entry:
    return Entry(seq, SKIP)


def begun(data: Path, *runs: Sequence[Entry]) -> IndexSink:
    sink = IndexSink(str(data))
    sink.roll_back(Position(), ())
    for entries in runs:
        sink.apply(entries)
    return sink


def built(data: Path, *runs: Sequence[Entry]) -> None:
    begun(data, *runs).close()
    publish(str(data))


def texts(data: Path) -> dict[str, str]:
    connection = sqlite3.connect(published_path(str(data)))
    rows = connection.execute("SELECT item_id, text FROM chunks JOIN files ON files.id = file").fetchall()
    found = {item_id: TextReader(connection).read(stored) for item_id, stored in rows}
    scores, _ = LexicalIndex(connection).score([TermGroup(("lamp",)), TermGroup(("wick",))])
    assert (scores > 0).sum() == len(found)
    assert list(find_problems(connection)) == []
    connection.close()
    return found


def content(data: Path) -> str:
    connection = sqlite3.connect(published_path(str(data)))
    found = read_meta(connection, "content_hash")
    connection.close()
    return found


@pytest.mark.req("IDX-2")
def test_files_are_brought_replaced_and_taken_away(tmp_path: Path) -> None:
    built(tmp_path, [success(0, "a"), success(1, "b")], [success(2, "c")])
    assert set(texts(tmp_path)) == {"a", "b", "c"}
    built(tmp_path, [skip(0)], [success(1, "b", "wick two"), success(2, "c", None)])
    assert texts(tmp_path) == {"a": "def lamp(): pass", "b": "wick two"}


@pytest.mark.req("IDX-3")
def test_the_content_hash_is_that_of_the_files_however_they_came(tmp_path: Path) -> None:
    for name in ("one", "two", "three"):
        (tmp_path / name).mkdir()
    built(tmp_path / "one", [success(0, "a"), success(1, "b"), success(2, "c")])
    built(tmp_path / "two", [success(0, "c")], [success(1, "a")], [success(2, "b")])
    built(tmp_path / "three", [success(0, "a", "wick"), success(1, "b"), success(2, "x")])
    built(tmp_path / "three", [success(0, "a"), skip(1), success(2, "c"), success(3, "x", None)])
    assert content(tmp_path / "one") == content(tmp_path / "two") == content(tmp_path / "three")
    built(tmp_path / "two", [success(0, "a", "wick")])
    assert content(tmp_path / "one") != content(tmp_path / "two")


@pytest.mark.req("IDX-3")
def test_readers_see_the_old_state_until_the_new_one_is_whole(tmp_path: Path) -> None:
    built(tmp_path, [success(0, "a")])
    sink = begun(tmp_path, [success(0, "b"), success(1, "a", None)])
    assert list(texts(tmp_path)) == ["a"]
    sink.close()
    assert list(texts(tmp_path)) == ["a"]
    publish(str(tmp_path))
    assert list(texts(tmp_path)) == ["b"]


def list_files(connection: sqlite3.Connection) -> list[str]:
    return [item_id for (item_id,) in connection.execute("SELECT item_id FROM files ORDER BY item_id")]


@pytest.mark.req("IDX-3")
def test_a_reader_keeps_its_state_while_another_one_is_published_and_sees_it_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reader begins while the changes are applied, when the database has its log already."""
    built(tmp_path, [success(0, "a")])
    begun(tmp_path, [success(0, "b"), success(1, "a", None)]).close()
    reader = sqlite3.connect(published_path(str(tmp_path)), isolation_level=None)
    merge = inversion.merge_segments
    seen = []

    def begin_to_read(connection: sqlite3.Connection) -> None:
        reader.execute("BEGIN")
        seen.append(list_files(reader))
        merge(connection)

    monkeypatch.setattr(inversion, "merge_segments", begin_to_read)
    monkeypatch.setattr(publishing, "_WAIT_S", 0.01)
    publish(str(tmp_path))
    seen.append(list_files(reader))
    reader.execute("ROLLBACK")
    assert seen == [["a"], ["a"]]
    assert list_files(reader) == ["b"]
    monkeypatch.undo()
    built(tmp_path, [success(0, "c")])
    assert list_files(reader) == ["b", "c"]
    reader.close()
    built(tmp_path, [success(0, "d")])
    assert [path.name for path in tmp_path.iterdir()] == ["index.sqlite"]


@pytest.mark.req("IDX-3")
def test_changes_of_an_index_that_is_gone_or_another_one_are_not_resumed(tmp_path: Path) -> None:
    data, other = tmp_path / "data", tmp_path / "other"
    data.mkdir()
    other.mkdir()
    built(data, [success(0, "a")])
    built(other, [success(0, "x")])
    sink = begun(data)
    reached = sink.apply([skip(0), success(1, "b")])
    sink.complete()
    sink.close()
    original = Path(published_path(str(data))).read_bytes()
    for found in (None, Path(published_path(str(other))).read_bytes(), original):
        Path(published_path(str(data))).unlink(missing_ok=True)
        if found is not None:
            Path(published_path(str(data))).write_bytes(found)
        again = IndexSink(str(data))
        assert again.holds(reached, ()) == (found == original)
        again.close()
        if found != original:
            with pytest.raises(IntegrityError, match="run `inorder index` again"):
                publish(str(data))
    IndexSink(str(data)).origin()
    assert set(texts(data)) == {"a", "b"}


@pytest.mark.req("IDX-2")
def test_changes_are_applied_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built(tmp_path, [success(0, "a")])
    sink = begun(tmp_path, [success(0, "a", "wick two"), success(1, "b")])
    sink.complete()
    sink.close()
    monkeypatch.setattr(publishing, "_remove_leftovers", lambda data: None)  # as if it were killed before
    publish(str(tmp_path))
    monkeypatch.undo()
    assert Path(draft_path(str(tmp_path))).exists()
    monkeypatch.setattr(publishing, "read_changes", lambda draft: pytest.fail("applied again"))
    IndexSink(str(tmp_path)).origin()
    assert texts(tmp_path) == {"a": "wick two", "b": "def lamp(): pass"}
    assert not Path(draft_path(str(tmp_path))).exists()


@pytest.mark.req("IDX-2")
def test_a_small_change_writes_little_of_a_large_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = [f"w{number}" for number in range(400)]
    entries = [success(seq, f"f{seq}", " ".join(["lamp", *words[seq % 200 :][:200]])) for seq in range(300)]
    built(tmp_path, entries)
    size = Path(published_path(str(tmp_path))).stat().st_size
    calls = SystemCalls(monkeypatch, tmp_path)
    SqliteCalls(calls, monkeypatch)
    built(tmp_path, [success(0, "f7", "another lamp")])
    written = sum(len(event[3]) for event in calls.events if event[0] == "write")
    monkeypatch.undo()
    assert written < size / 2
    assert texts(tmp_path)["f7"] == "another lamp"


def test_without_a_change_there_is_no_draft_and_nothing_is_published(tmp_path: Path) -> None:
    built(tmp_path, [success(0, "a")])
    before = Path(published_path(str(tmp_path))).stat()
    begun(tmp_path, [skip(0)], [skip(1)]).close()
    assert not Path(draft_path(str(tmp_path))).exists()
    publish(str(tmp_path))
    assert Path(published_path(str(tmp_path))).stat() == before


@pytest.mark.req("IDX-2", "JRN-7")
def test_a_draft_is_resumed_from_its_own_position(tmp_path: Path) -> None:
    built(tmp_path, [success(0, "a")])
    sink = begun(tmp_path, [skip(0)])
    reached = sink.apply([success(1, "b"), success(2, "c")])
    sink.apply([success(3, "d")])
    sink.close()
    again = IndexSink(str(tmp_path))
    assert again.holds(reached, ())
    again.roll_back(reached, ())
    again.apply([success(3, "d"), success(4, "e")])
    again.close()
    publish(str(tmp_path))
    assert set(texts(tmp_path)) == {"a", "b", "c", "d", "e"}


@pytest.mark.req("IDX-2", "JRN-7")
def test_a_first_run_is_resumed_with_the_words_that_were_not_inverted_yet(tmp_path: Path) -> None:
    sink = begun(tmp_path)
    reached = sink.apply([success(0, "a"), success(1, "b", "wick")])
    sink.close()
    again = IndexSink(str(tmp_path))
    assert again.holds(reached, ())
    again.roll_back(reached, ())
    again.apply([success(2, "c")])
    again.complete()
    again.close()
    publish(str(tmp_path))
    assert set(texts(tmp_path)) == {"a", "b", "c"}


def test_a_first_run_that_was_resumed_after_its_last_file_has_all_words(tmp_path: Path) -> None:
    begun(tmp_path, [success(0, "a"), success(1, "b", "wick")]).close()
    publish(str(tmp_path))
    assert set(texts(tmp_path)) == {"a", "b"}


def test_words_are_inverted_before_many_chunks_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    buffer = inversion.TermBuffer()
    buffer.add(1, count_terms(rows("f0")))
    monkeypatch.setattr(inversion, "BATCH_BYTES_MAX", 2 * buffer.size_bytes)
    monkeypatch.setattr(inversion, "SEGMENTS_MAX", 100)
    built(tmp_path, [success(seq, f"f{seq}") for seq in range(7)])
    assert len(texts(tmp_path)) == 7
    with closing(sqlite3.connect(published_path(str(tmp_path)))) as connection:
        assert [len(segment.chunks) for segment in read_segments(connection)] == [2, 2, 2, 1]


def test_the_id_of_a_removed_chunk_is_not_used_again(tmp_path: Path) -> None:
    built(tmp_path, [success(seq, f"f{seq}") for seq in range(9)])
    built(tmp_path, [success(0, "f8", None)])
    built(tmp_path, [success(0, "g")])
    assert len(texts(tmp_path)) == 9


def test_a_draft_that_was_begun_and_not_committed_is_created_again(tmp_path: Path) -> None:
    built(tmp_path, [success(0, "a")])
    sink = begun(tmp_path, [skip(0), skip(1)])
    before = sink.position()
    sink.apply([success(2, "lost")])
    sink.close()
    again = IndexSink(str(tmp_path))
    assert again.holds(before, ())
    again.roll_back(before, ())
    again.apply([success(2, "b")])
    again.close()
    publish(str(tmp_path))
    assert set(texts(tmp_path)) == {"a", "b"}


def test_a_position_whose_draft_is_gone_is_not_held(tmp_path: Path) -> None:
    sink = begun(tmp_path)
    reached = sink.apply([success(0, "a")])
    sink.close()
    Path(draft_path(str(tmp_path))).unlink()
    assert not IndexSink(str(tmp_path)).holds(reached, ())


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE chunks SET text = 'other'",
        "DELETE FROM symbols",
        "UPDATE calls SET data = X'90'",
        "UPDATE calls SET data = X'C1'",
        "UPDATE callees SET name = 'x'",
        "DELETE FROM callees",
        "UPDATE files SET sha256 = 'x'",
        "UPDATE meta SET value = 'x' WHERE name = 'content_hash'",
        "DELETE FROM files",
    ],
)
@pytest.mark.req("IDX-3")
def test_verify_finds_whatever_was_altered(tmp_path: Path, damage: str) -> None:
    built(tmp_path, [success(0, "a"), success(1, "b")])
    connection = sqlite3.connect(published_path(str(tmp_path)))
    connection.execute(damage)
    connection.commit()
    assert list(find_problems(connection))
    connection.close()
