"""What is committed is durable; what is published is visible, as a whole."""

import os
from contextlib import closing
from pathlib import Path

import pytest

from inorder.library.connection import connect_library
from inorder.library.rows import FileIdentity, FileResult
from inorder.library.vectors import choose_compacted, choose_merged
from inorder.library.whole.verify import verify_library
from tests.library.libraries import commit, describe, find, opened, reading, write
from tests.library.making import make_code, make_document, make_removal


def list_ids(data: Path) -> list[str]:
    with reading(data) as reader:
        return list(reader.list_visible("index"))


def test_what_is_committed_is_not_visible_before_it_is_published(tmp_path: Path) -> None:
    with opened(tmp_path) as sink, reading(tmp_path) as reader:
        commit(sink, make_document("docs/a", "yellow lamp", spec="hash:4"))
        assert reader.read_generation().number == 0
        assert list(reader.list_visible("doctags")) == []
        assert reader.read_result("docs/a", "doctags") is None
        assert reader.read_result("docs/a", "embed:dense") is None
        assert find(tmp_path, "lamp") == []
        assert reader.get_file("docs/a") is not None
        assert sink.publish()
        assert reader.read_generation().number == 1
        assert reader.read_generation().published_at > 0
        assert list(reader.list_visible("doctags")) == ["docs/a"]
        assert [item for item, _, _ in find(tmp_path, "lamp")] == ["docs/a"]


@pytest.mark.slow
def test_a_changed_file_is_seen_as_it_was_until_its_change_is_published(tmp_path: Path) -> None:
    write(tmp_path, make_document("docs/a", "yellow lamp", spec="hash:4"))
    before = describe(tmp_path, "lamp", "moon")
    with opened(tmp_path) as sink:
        commit(sink, make_document("docs/a", "pale moon", "second part", spec="hash:4"))
        assert describe(tmp_path, "lamp", "moon") == before
        sink.publish()
        after = describe(tmp_path, "lamp", "moon")
    assert [item for item, text, _ in after["answers"][1]] == ["docs/a"]
    assert after["answers"][0] == []
    assert after["hash"] != before["hash"]


@pytest.mark.slow
def test_held_files_change_together_and_others_as_they_come(tmp_path: Path) -> None:
    write(tmp_path, make_document("docs/a", "yellow lamp"), make_document("docs/b", "yellow chair"))
    with opened(tmp_path) as sink:
        commit(sink, make_document("docs/a", "yellow", "lamp", settings="s2", is_held=True))
        commit(sink, make_document("docs/new", "yellow moon", settings="s2"))
        sink.publish()
        texts = {text for _, text, _ in find(tmp_path, "yellow")}
        assert texts == {"yellow lamp", "yellow chair", "yellow moon"}
        commit(sink, make_document("docs/b", "yellow", "chair", settings="s2", is_held=True))
        sink.publish()
        assert {text for _, text, _ in find(tmp_path, "yellow")} == texts
        sink.publish(with_held=True)
        found = find(tmp_path, "yellow")
        assert {(item, text) for item, text, _ in found} == {("docs/a", "yellow"), ("docs/new", "yellow moon")}
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    write(
        scratch,
        make_document("docs/new", "yellow moon", settings="s2"),
        make_document("docs/b", "yellow", "chair", settings="s2"),
        make_document("docs/a", "yellow", "lamp", settings="s2"),
    )
    questions = ("yellow", "lamp", "chair moon")
    assert describe(tmp_path, *questions) == describe(scratch, *questions)


def test_what_was_hidden_is_forgotten_when_it_is_visible(tmp_path: Path) -> None:
    write(tmp_path, make_document("docs/a", "yellow lamp"))
    with opened(tmp_path) as sink:
        commit(sink, make_document("docs/a", "pale lamp", settings="s2", is_held=True))
        commit(sink, make_document("docs/b", "another lamp"))
        sink.publish()
        sink.finish()
    with closing(connect_library(str(tmp_path))) as connection:
        assert connection.execute("SELECT COUNT(*) FROM hidden WHERE since > 0").fetchone() == (0,)
    describe(tmp_path)


def test_a_held_file_that_is_edited_in_the_meantime_is_published_as_it_is_now(tmp_path: Path) -> None:
    write(tmp_path, make_document("docs/a", "yellow lamp"))
    with opened(tmp_path) as sink:
        commit(sink, make_document("docs/a", "yellow", "lamp", settings="s2", is_held=True))
        commit(sink, make_document("docs/a", "edited lamp"))
        sink.publish()
        assert [text for _, text, _ in find(tmp_path, "lamp")] == ["edited lamp"]
        commit(sink, make_document("docs/a", "edited", "lamp", settings="s2", is_held=True))
        sink.publish()
        assert [text for _, text, _ in find(tmp_path, "lamp")] == ["edited lamp"]
        sink.publish(with_held=True)
        assert [text for _, text, _ in find(tmp_path, "lamp")] == ["lamp"]
        assert list(verify_library(str(tmp_path))) == []


@pytest.mark.slow
def test_a_change_of_provider_is_searched_as_a_whole(tmp_path: Path) -> None:
    names = [f"docs/{number}" for number in range(12)]
    write(tmp_path, *(make_document(name, f"lamp {name}", spec="hash:4") for name in names))
    with opened(tmp_path) as sink:
        for name in names:
            commit(sink, make_document(name, f"lamp {name}", spec="hash:8", settings="s2", is_held=True))
            commit(sink, make_document(f"{name}a", f"new {name}", spec="hash:8", settings="s2"))
            commit(sink, make_document(f"{name}b", f"new {name}", spec="hash:8", settings="s2"))
            sink.publish()
            assert describe_vectors(tmp_path) == ("hash:4", "12")
        sink.finish()
    assert describe_vectors(tmp_path) == ("hash:8", "36")
    describe(tmp_path)


def describe_vectors(data: Path) -> tuple[str, str]:
    """The provider of the vectors that are searched, and their number."""
    with closing(connect_library(str(data))) as connection:
        meta = dict(connection.execute("SELECT name, value FROM meta"))
    return meta["vectors_provider"], meta["vectors_count"]


def test_a_renamed_file_is_never_there_twice_nor_gone(tmp_path: Path) -> None:
    write(tmp_path, make_document("docs/old", "yellow lamp"))
    with opened(tmp_path) as sink:
        commit(sink, make_document("docs/new", "yellow lamp"))
        assert list_ids(tmp_path) == ["docs/old"]
        commit(sink, make_removal("docs/old"))
        assert list_ids(tmp_path) == ["docs/old"]
        sink.publish()
        assert list_ids(tmp_path) == ["docs/new"]
        assert len(find(tmp_path, "lamp")) == 1


def test_a_removed_file_owns_nothing(tmp_path: Path) -> None:
    write(tmp_path, make_document("docs/a", "lamp", spec="hash:4"), make_code("src/b.py", "def lamp(): pass", "lamp"))
    write(tmp_path, make_removal("docs/a"), make_removal("src/b.py"))
    with closing(connect_library(str(tmp_path))) as connection:
        tables = ("items", "states", "results", "texts", "searchable", "chunk_rows", "symbols", "imports", "pending")
        assert [connection.execute(f"SELECT COUNT(*) FROM {each}").fetchone()[0] for each in tables] == [0] * len(
            tables
        )
    found = describe(tmp_path)
    assert found["counts"] == {}
    assert found["hash"] == "0" * 64


def test_a_removed_file_that_comes_back_before_it_is_published_is_there(tmp_path: Path) -> None:
    write(tmp_path, make_document("docs/a", "lamp"))
    with opened(tmp_path) as sink:
        commit(sink, make_removal("docs/a"), make_document("docs/a", "moon"))
        sink.publish()
    assert [text for _, text, _ in find(tmp_path, "moon")] == ["moon"]
    describe(tmp_path)


def test_a_file_that_was_never_published_is_removed_at_once(tmp_path: Path) -> None:
    with opened(tmp_path) as sink:
        commit(sink, make_document("docs/a", "lamp"), make_removal("docs/a"))
        sink.publish()
        assert find(tmp_path, "lamp") == []
    describe(tmp_path)


def test_a_file_that_becomes_a_copy_loses_its_rows_and_keeps_its_facts(tmp_path: Path) -> None:
    write(tmp_path, make_document("docs/a", "lamp"), make_document("docs/b", "lamp"))
    write(tmp_path, FileResult(FileIdentity("docs/b", "document", copy_of="docs/a", size=4)))
    assert list_ids(tmp_path) == ["docs/a"]
    with reading(tmp_path) as reader:
        assert reader.list_copies() == [("docs/b", "docs/a")]
        assert reader.list_copies(["docs/b"]) == []
        found = reader.get_file("docs/b")
        assert found is not None
        assert found.states == {}
        assert reader.count_items() == {"read": 1, "copy": 1}
    describe(tmp_path)


def test_equal_output_leaves_what_is_there(tmp_path: Path) -> None:
    write(tmp_path, make_document("docs/a", "lamp", spec="hash:4"))
    with closing(connect_library(str(tmp_path))) as connection:
        before = connection.execute("SELECT id FROM results UNION SELECT id FROM searchable").fetchall()
    with opened(tmp_path) as sink:
        commit(sink, make_document("docs/a", "lamp", spec="hash:4"))
        assert not sink.publish()
    with closing(connect_library(str(tmp_path))) as connection:
        assert connection.execute("SELECT id FROM results UNION SELECT id FROM searchable").fetchall() == before


def test_chunks_that_are_made_again_without_an_index_leave_the_index_as_it_is(tmp_path: Path) -> None:
    write(tmp_path, make_document("docs/a", "yellow lamp"))
    write(tmp_path, make_document("docs/a", "yellow", "lamp", settings="s2", steps=("doctags", "chunk")))
    assert [text for _, text, _ in find(tmp_path, "lamp")] == ["yellow lamp"]
    with reading(tmp_path) as reader:
        chunks = reader.read_result("docs/a", "chunk")
    assert chunks is not None
    assert chunks.texts == ["yellow", "lamp"]
    describe(tmp_path)
    write(tmp_path, make_document("docs/a", "yellow", "lamp", settings="s2"))
    assert [text for _, text, _ in find(tmp_path, "lamp")] == ["lamp"]
    describe(tmp_path)


def test_vectors_of_other_chunks_are_not_searched(tmp_path: Path) -> None:
    write(tmp_path, make_document("docs/a", "yellow lamp", spec="hash:4"))
    write(tmp_path, make_document("docs/a", "pale moon", settings="s2"))
    with closing(connect_library(str(tmp_path))) as connection:
        assert dict(connection.execute("SELECT name, value FROM meta"))["vectors_count"] == "0"


@pytest.mark.slow
@pytest.mark.parametrize("spec", ["", "hash:4"])
def test_an_update_equals_a_build_from_scratch(tmp_path: Path, spec: str) -> None:
    texts = [f"lamp number {number} and word{number % 7}" for number in range(60)]
    updated, scratch = tmp_path / "updated", tmp_path / "scratch"
    updated.mkdir()
    scratch.mkdir()
    with opened(updated) as sink:
        for number, text in enumerate(texts):
            commit(sink, make_document(f"docs/{number}", text, "old part", spec=spec))
            if number % 4 == 0:
                sink.publish()
        sink.finish()
    with opened(updated) as sink:
        for number, text in enumerate(texts):
            if number % 3 == 0:
                commit(sink, make_removal(f"docs/{number}"))
            else:
                commit(sink, make_document(f"docs/{number}", text, f"part of {number % 5}", spec=spec))
            if number % 5 == 0:
                sink.publish()
        sink.finish()
    kept = [number for number in reversed(range(60)) if number % 3]
    write(
        scratch,
        *(make_document(f"docs/{number}", texts[number], f"part of {number % 5}", spec=spec) for number in kept),
    )
    questions = ("lamp word3", "part", "number 41")
    assert describe(updated, *questions) == describe(scratch, *questions)
    for question in questions:
        assert find(updated, question, "lexical") == find(scratch, question, "lexical")


@pytest.mark.slow
def test_files_with_vectors_stay_few(tmp_path: Path) -> None:
    with opened(tmp_path) as sink:
        for number in range(100):
            commit(sink, make_document(f"docs/{number}", f"lamp {number}", spec="hash:4"))
            sink.publish()
        assert len([name for name in os.listdir(tmp_path) if name.endswith(".f32")]) <= 18
        sink.finish()
    assert len([name for name in os.listdir(tmp_path) if name.endswith(".f32")]) <= 4
    describe(tmp_path)


def test_files_of_one_size_are_merged() -> None:
    assert choose_merged([]) == 0
    assert choose_merged([5] * 5) == 0
    assert choose_merged([5] * 6) == 6
    assert choose_merged([100, *[5] * 6]) == 6
    assert choose_merged([*[30] * 6, *[5] * 6]) == 12
    assert choose_merged([*[5] * 5, 1]) == 6
    assert choose_merged([*[50] * 5, 1]) == 0


def test_a_large_file_is_not_copied_to_keep_few_files() -> None:
    assert choose_compacted([], 4) == 0
    assert choose_compacted([9, 5, 3, 1], 4) == 0
    assert choose_compacted([1000, 1, 1, 1, 1], 4) == 4
    assert choose_compacted([1000, 4, 1, 1, 1], 4) == 3
    assert choose_compacted([1000, 400, 30, 2, 1], 4) == 2
    assert choose_compacted([4, 3, 2, 1, 1], 4) == 5
    assert choose_compacted([1000, 1, 1], 1) == 3


def test_a_lost_file_with_vectors_is_noticed_and_written_again(tmp_path: Path) -> None:
    write(tmp_path, make_document("docs/a", "yellow lamp", spec="hash:4"))
    before = describe(tmp_path)
    [name] = [name for name in os.listdir(tmp_path) if name.endswith(".f32")]
    os.unlink(tmp_path / name)
    [finding] = verify_library(str(tmp_path))
    assert "is missing" in finding.problem
    assert "inorder run" in finding.remedy
    write(tmp_path)
    assert describe(tmp_path) == before
