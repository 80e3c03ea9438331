"""Readers of the library: what they are told of, and what is wrong with a library that is not one."""

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from inorder.errors import IntegrityError, OperatorError
from inorder.index.contents import read_chunk_text
from inorder.index.symbols import find_definitions
from inorder.library.connection import connect_library, library_path
from inorder.library.reader import LibraryReader
from inorder.library.rows import FileIdentity, FileResult, LibrarySource, decode_result, encode_result
from inorder.library.sink import LibrarySink
from inorder.library.whole.copying import export_search_copy
from inorder.library.whole.verify import verify_library
from tests.library.libraries import commit, describe, find, opened, reading, write
from tests.library.making import make_code, make_document, make_removal


def change(data: Path, *statements: str) -> None:
    """Change the database behind the back of the library."""
    with closing(sqlite3.connect(library_path(str(data)))) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


@pytest.mark.parametrize("page", [1, 2, 3, 1000])
def test_a_listing_in_pages_has_every_file_below_a_source_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: int
) -> None:
    monkeypatch.setattr("inorder.library.reader.PAGE", page)
    names = ["docs", "docs-x", "docs/a", "docs/b", "docs/b/c", "docs0", "docs~2/a"]
    write(tmp_path, *(make_document(name, "lamp") for name in names))
    with reading(tmp_path) as reader:
        assert [file.item_id for file in reader.list_files("docs")] == ["docs", "docs/a", "docs/b", "docs/b/c"]
        assert [file.item_id for file in reader.list_files()] == names


def test_files_are_listed_in_the_order_of_their_ids_below_a_source(tmp_path: Path) -> None:
    names = ["docs/b", "docs/a", "docs~2/a", "docs", "code/x"]
    write(tmp_path, *(make_document(name, "lamp") for name in names))
    with reading(tmp_path) as reader:
        assert [file.item_id for file in reader.list_files()] == sorted(names)
        assert [file.item_id for file in reader.list_files("docs")] == ["docs", "docs/a", "docs/b"]
        file = reader.get_file("docs/a")
        assert file is not None
        assert file.states["chunk"].settings == "s1"
        assert file.states["chunk"].input == file.states["doctags"].output
        assert [(each.step, each.run_id) for each in reader.read_details("docs/a")] == [
            ("doctags", "run"),
            ("chunk", "run"),
            ("index", "run"),
        ]
        assert reader.get_file("docs/none") is None


def test_files_are_found_by_their_content(tmp_path: Path) -> None:
    write(tmp_path, make_document("docs/a", "lamp"), make_document("docs/b", "lamp"), make_document("docs/c", "moon"))
    with reading(tmp_path) as reader:
        file = reader.get_file("docs/a")
        assert file is not None
        assert reader.find_by_sha256([file.sha256, b"\0" * 32]) == {file.sha256: ["docs/a", "docs/b"]}


def test_files_that_are_not_items_are_written_too(tmp_path: Path) -> None:
    with opened(tmp_path) as sink:
        sink.write_files([FileResult(FileIdentity("docs/x.xls", "", reason="no reader for .xls", size=9))])
        sink.write_files([FileResult(FileIdentity("docs/b\udcff", "", "/docs/b\udcff", reason="name"))][:0])
    with reading(tmp_path) as reader:
        assert reader.count_items() == {"not read: no reader for .xls": 1}


def test_sources_keep_their_names_and_settings_their_parts(tmp_path: Path) -> None:
    with opened(tmp_path) as sink:
        sink.put_source(LibrarySource("docs", "/old/docs"))
        sink.put_source(LibrarySource("docs~2", "/other/docs\udcff"))
        sink.put_source(LibrarySource("docs", "/new/docs"))
        sink.add_settings("chunk", "s1", {"size": "512"})
        commit(sink, make_document("docs/a.md", "lamp"))
        sink.publish()
    with reading(tmp_path) as reader:
        assert [(each.name, each.path) for each in reader.list_sources()] == [
            ("docs", "/new/docs"),
            ("docs~2", "/other/docs\udcff"),
        ]
        assert reader.read_settings("chunk", "s1") == {"size": "512"}
        assert reader.read_settings("chunk", "s2") == {}
    with closing(connect_library(str(tmp_path))) as connection:
        query = "SELECT location(kind, item_id, path) FROM files"
        assert connection.execute(query).fetchall() == [("/new/docs/a.md",)]


def test_symbols_and_chunks_are_found_by_name_and_id(tmp_path: Path) -> None:
    write(tmp_path, make_code("src/a.py", "def lamp(): pass", "lamp"), make_document("docs/a", "yellow"))
    with closing(connect_library(str(tmp_path))) as connection:
        [found] = find_definitions(connection, "lamp", 10, is_exact=True)
        assert found.item_id == "src/a.py"
        [chunk_id] = connection.execute("SELECT chunk_id FROM chunks WHERE text = 'yellow'").fetchone()
        assert read_chunk_text(connection, chunk_id).text == "yellow"
        plan = connection.execute(
            "EXPLAIN QUERY PLAN SELECT text FROM chunks JOIN files ON files.id = file WHERE chunk_id = ?", (chunk_id,)
        ).fetchall()
        assert "chunks_by_chunk_id" in str(plan)


def test_a_result_is_the_same_after_its_way_to_another_process() -> None:
    result = make_document("docs/a", "lamp", spec="hash:4")
    assert decode_result(encode_result(result)) == result


@pytest.mark.parametrize("is_damaged", [False, True])
def test_a_missing_library_is_one_line(tmp_path: Path, is_damaged: bool) -> None:
    if is_damaged:
        (tmp_path / "library.sqlite").write_bytes(b"not a database, but long enough to be read as one" * 99)
    with pytest.raises(IntegrityError if is_damaged else OperatorError) as caught:
        LibraryReader(str(tmp_path))
    assert "inorder run" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("PRAGMA user_version = 99", "newer version of inorder"),
        ("PRAGMA user_version = 0", "format 0"),
        ("PRAGMA application_id = 7", "not a library of inorder"),
    ],
)
def test_a_library_of_another_format_or_none_is_refused_by_readers_and_runs(
    tmp_path: Path, statement: str, message: str
) -> None:
    write(tmp_path, make_document("docs/a", "lamp"))
    change(tmp_path, statement)
    for open_ in (LibraryReader, LibrarySink):
        with pytest.raises(OperatorError, match=message) as caught:
            open_(str(tmp_path))
        assert "\n" not in str(caught.value)


def test_an_exchanged_library_does_not_hold_the_position_of_the_other_one(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for data, count in ((one, 3), (other, 5)):
        data.mkdir()
        with opened(data) as sink:
            commit(sink, *(make_document(f"docs/{number}", "lamp") for number in range(count)))
            position = sink.position()
    with closing(LibrarySink(str(one))) as sink:
        assert not sink.holds(position, ())
        assert sink.holds(sink.origin(), ())


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("UPDATE results SET data = x'00' WHERE key % 64 = 0", "its bytes are not those that were stored"),
        ("UPDATE results SET data = CAST(substr(data, 1, length(data) - 1) AS BLOB) WHERE key % 64 = 0", "its bytes"),
    ],
)
def test_a_damaged_result_is_noticed_when_it_is_read(tmp_path: Path, statement: str, message: str) -> None:
    write(tmp_path, make_document("docs/a", "lamp"))
    change(tmp_path, statement)
    with reading(tmp_path) as reader, pytest.raises(IntegrityError, match=message) as caught:
        reader.read_result("docs/a", "doctags")
    assert "docs/a" in str(caught.value)
    assert "inorder doctags" in str(caught.value)


@pytest.mark.parametrize("statement", ["UPDATE texts SET data = x'00'", "DELETE FROM texts"])
def test_a_damaged_text_is_noticed_by_a_search(tmp_path: Path, statement: str) -> None:
    write(tmp_path, make_document("docs/a", "lamp"))
    change(tmp_path, statement)
    with reading(tmp_path) as reader, pytest.raises(IntegrityError), reader.snapshot() as connection:
        connection.execute("SELECT text FROM chunks").fetchall()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("statement", "where"),
    [
        ("UPDATE results SET output = x'00' WHERE key % 64 = 0", "docs/a"),
        ("UPDATE results SET data = x'00' WHERE key % 64 = 1", "docs/a"),
        ("UPDATE texts SET data = x'00'", "docs/a"),
        ("UPDATE chunk_rows SET name = 'other'", "docs/a"),
        ("UPDATE symbols SET name = 'other'", "src/b.py"),
        ("DELETE FROM symbols", "src/b.py"),
        ("DELETE FROM chunk_rows", "docs/a"),
        ("DELETE FROM items", "table results"),
        ("DELETE FROM searchable", "table chunk_rows"),
        ("DELETE FROM term_blocks", "inverted index"),
        ("INSERT INTO hidden VALUES (1, 0, 1)", "inverted index"),
        ("DELETE FROM totals", "content hash"),
        ("UPDATE searchable SET language = 'fr'", "docs/a"),
        ("UPDATE vector_files SET name = 'library.vectors.0.f32'", "library.vectors.0.f32"),
        ("UPDATE vector_files SET dead = 1, count = 2", "vectors"),
    ],
)
def test_verify_finds_what_is_not_as_it_was_written(tmp_path: Path, statement: str, where: str) -> None:
    write(tmp_path, make_document("docs/a", "yellow lamp", spec="hash:4"), make_code("src/b.py", "lamp()", "lamp"))
    assert list(verify_library(str(tmp_path))) == []
    change(tmp_path, statement)
    findings = list(verify_library(str(tmp_path)))
    assert any(finding.where.startswith(where) for finding in findings), [str(each) for each in findings]
    assert all(finding.remedy for finding in findings)


def test_after_a_run_the_library_is_one_file_that_can_be_read_from_a_read_only_medium(tmp_path: Path) -> None:
    write(tmp_path, make_document("docs/a", "yellow lamp", spec="hash:4"))
    names = sorted(name for name in os.listdir(tmp_path) if not name.endswith((".lock", ".f32")))
    assert names == ["library.sqlite", "library.sums"]
    before = describe(tmp_path, "lamp")
    (tmp_path / "library.sqlite").chmod(0o444)
    tmp_path.chmod(0o555)
    try:
        assert describe(tmp_path, "lamp") == before
    finally:
        tmp_path.chmod(0o755)


@pytest.mark.process
def test_a_library_in_log_mode_without_a_log_is_read_from_a_read_only_medium(tmp_path: Path) -> None:
    with opened(tmp_path) as sink, reading(tmp_path):  # a reader that stays keeps the database in log mode
        commit(sink, make_document("docs/a", "yellow lamp"))
        sink.finish()
        sink.close()
        content = (tmp_path / "library.sqlite").read_bytes()
    data = tmp_path / "medium"
    data.mkdir()
    (data / "library.sqlite").write_bytes(content)
    program = (
        "import sys; sys.path[:0] = ['.']; from tests.library.libraries import find; print(find(sys.argv[1], 'lamp'))"
    )
    data.chmod(0o555)
    try:
        shown = subprocess.run([sys.executable, "-c", program, str(data)], capture_output=True, text=True, check=True)
    finally:
        data.chmod(0o755)
    assert "yellow lamp" in shown.stdout


def test_a_reader_sees_one_generation_whole_while_another_one_is_published(tmp_path: Path) -> None:
    write(tmp_path, make_document("docs/a", "yellow lamp"), make_document("docs/b", "yellow moon"))
    with opened(tmp_path) as sink, reading(tmp_path) as reader:
        with reader.snapshot() as connection:
            count = "SELECT COUNT(*) FROM chunks"
            assert connection.execute(count).fetchone() == (2,)
            commit(sink, make_removal("docs/a"), make_document("docs/b", "one", "two", "three"))
            sink.publish()
            assert connection.execute(count).fetchone() == (2,)
            assert {text for (text,) in connection.execute("SELECT text FROM chunks")} == {"yellow lamp", "yellow moon"}
            assert reader.read_generation().number == 1
        assert reader.read_generation().number == 2
        with reader.snapshot() as connection:
            assert {text for (text,) in connection.execute("SELECT text FROM chunks")} == {"one", "two", "three"}


@pytest.mark.slow
def test_the_log_is_emptied_while_a_reader_is_attached(tmp_path: Path) -> None:
    with opened(tmp_path) as sink, reading(tmp_path) as reader:
        text = os.urandom(2000).hex()
        largest = 0
        for number in range(40):
            commit(
                sink, *(make_document(f"docs/{number}/{at}", f"{text} {at}", steps=("doctags",)) for at in range(300))
            )
            reader.read_generation()
            largest = max(largest, os.stat(tmp_path / "library.sqlite-wal").st_size)
    assert largest < 64 * 2**20


@pytest.mark.slow
def test_a_copy_for_search_answers_as_the_library_and_cannot_be_written(tmp_path: Path) -> None:
    data, copy = tmp_path / "data", tmp_path / "copy"
    data.mkdir()
    write(data, make_document("docs/a", "yellow lamp", spec="hash:4"), make_code("src/b.py", "lamp()", "lamp"))
    with opened(data) as sink:
        commit(sink, make_document("docs/c", "lamp that nobody sees"))
    export_search_copy(str(data), str(copy))
    assert find(copy, "lamp") == find(data, "lamp")
    assert not [name for name in os.listdir(copy) if name.endswith(".new")]
    with reading(copy) as reader:
        assert list(reader.list_visible("doctags")) == []
    with pytest.raises(OperatorError, match="copy for search"):
        LibrarySink(str(copy))
    with pytest.raises(OperatorError, match="exists"):
        export_search_copy(str(data), str(copy))
