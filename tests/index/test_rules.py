"""What an index keeps, takes away and does again, and the order of its answers: each rule by a small index made in this
process."""

import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from inorder.code import discovery, parse
from inorder.index import stage
from inorder.index.connection import open_index
from inorder.index.hits import Filters
from inorder.index.query import parse_query
from inorder.index.ranking import retrieval
from inorder.index.ranking.retrieval import Searcher
from inorder.index.schema import read_meta
from inorder.index.symbols import CodeLocation, list_symbols, look_up
from inorder.index.vectors import copying, documents, row_chunks
from inorder.index.vectors.copying import StoredRows
from inorder.index.vectors.matrix import VectorMatrix
from inorder.index.verify import find_problems
from inorder.index.worker import work
from inorder.stage.context import StageContext
from inorder.stage.options import StageOptions
from inorder.stage.store.database import close_readers, open_store
from tests.dataset.chunk_store import StageStore
from tests.documents.stage_runs import StageRuns
from tests.documents.workspace import PROSE
from tests.index.published import list_names


@pytest.fixture
def runs(tmp_path: Path) -> StageRuns:
    return StageRuns(tmp_path)


def opened(runs: StageRuns) -> sqlite3.Connection:
    open_index.cache_clear()
    return open_index(str(runs.data / "index.sqlite"))


def files_of(runs: StageRuns) -> dict[str, str]:
    """The kind of every file in the index."""
    return dict(opened(runs).execute("SELECT item_id, kind FROM files ORDER BY item_id").fetchall())


def found(runs: StageRuns, question: str, mode: str = "lexical", **filters: str) -> list[str]:
    hits = Searcher(opened(runs), str(runs.data)).search(parse_query(question), mode, 10, Filters(**filters))
    return [hit.item_id for hit in hits]


def names(runs: StageRuns, question: str) -> list[str]:
    return [place.name for place in look_up(opened(runs), parse_query(question), 10)]


def embedded(runs: StageRuns, **settings: Any) -> None:
    runs.doctags()
    runs.chunk()
    runs.embed(**settings)


# ---- what stays and what goes


@pytest.mark.req("IDX-3")
def test_indexing_another_source_keeps_what_is_there(runs: StageRuns) -> None:
    runs.write("a/one.py", "ONE = 1\n")
    runs.write("b/two.py", "TWO = 2\n")
    runs.index("a")
    runs.index("b")
    assert list(files_of(runs)) == ["a/one.py", "b/two.py"]
    (runs.folder / "a" / "one.py").unlink()
    runs.index("b")
    assert list(files_of(runs)) == ["a/one.py", "b/two.py"]
    runs.index("a")
    assert list(files_of(runs)) == ["b/two.py"]


@pytest.mark.req("IDX-3")
def test_a_source_whose_name_begins_like_another_is_another(runs: StageRuns) -> None:
    runs.write("lib/one.py", "ONE = 1\n")
    runs.write("lib2/two.py", "TWO = 2\n")
    runs.index("lib2")
    runs.index("lib")
    assert list(files_of(runs)) == ["lib/one.py", "lib2/two.py"]


@pytest.mark.req("IDX-3")
def test_a_file_that_is_gone_leaves_no_row_in_any_table(runs: StageRuns) -> None:
    runs.write("a/one.py", "import os\n\n\ndef one():\n    return os.getcwd()\n")
    runs.write("a/two.txt", "two\n")
    runs.index("a")
    (runs.folder / "a" / "one.py").unlink()
    runs.index("a")
    connection = opened(runs)
    counts = {
        table: connection.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0]
        for table in ("files", "chunks", "symbols", "imports", "calls")
    }
    assert counts == {"files": 1, "chunks": 1, "symbols": 0, "imports": 0, "calls": 0}
    assert list(find_problems(connection)) == []
    assert found(runs, "getcwd") == []


def test_a_document_is_not_indexed_as_code_too(runs: StageRuns) -> None:
    runs.write("docs/note.md", PROSE)
    embedded(runs)
    runs.index("docs")
    assert files_of(runs) == {"docs/note.md": "document"}


def test_data_below_a_source_is_left_out_and_its_neighbours_are_not(runs: StageRuns) -> None:
    runs.write("data-notes/a.txt", "beside\n")
    runs.write("data/own.txt", "inside\n")
    runs.index(".")
    [name] = files_of(runs)
    assert name.endswith("/data-notes/a.txt")


@pytest.mark.req("IDX-3")
def test_another_grammar_does_a_file_again(runs: StageRuns, monkeypatch: pytest.MonkeyPatch) -> None:
    runs.write("a/one.py", "ONE = 1\n")
    runs.index("a")
    runs.index("a")
    assert runs.done("index") == set()
    monkeypatch.setattr("inorder.code.grammars.grammar_version", lambda language: "another")
    runs.index("a")
    assert runs.done("index") == {"a/one.py"}


# ---- vectors


@pytest.mark.req("DOC-4", "IDX-5")
def test_another_dense_provider_replaces_the_vectors_of_the_index(runs: StageRuns) -> None:
    runs.write("docs/note.md", PROSE)
    embedded(runs)
    runs.index("docs")
    assert read_meta(opened(runs), "vectors_width") == "256"
    embedded(runs, dense="hash:64")
    runs.index("docs")
    assert (read_meta(opened(runs), "vectors_width"), read_meta(opened(runs), "vectors_provider")) == ("64", "hash:64")
    assert found(runs, "lamp", "dense") == ["docs/note.md"]


@pytest.mark.req("IDX-5")
def test_vectors_of_two_providers_are_never_in_one_matrix(runs: StageRuns) -> None:
    from inorder.documents.embed.stored import pack_dense, unpack_dense

    for name in ("a.md", "b.md", "c.md"):
        runs.write(f"docs/{name}", f"{PROSE} {name}")
    embedded(runs, dense="hash:64")
    store = open_store(str(runs.data), "embed")
    stored = None if store is None else store.read("dense/docs/b.md")
    assert stored is not None
    vectors = unpack_dense(stored[1])
    close_readers()
    StageStore(runs.data, "embed").put_content(
        "dense/docs/b.md", pack_dense(vectors.ids, vectors.matrix, "other", "onnx:other")
    )
    runs.index("docs")
    connection = opened(runs)
    chunks = VectorMatrix(connection, str(runs.data)).chunks
    query = "SELECT item_id FROM chunks JOIN files ON files.id = file WHERE chunks.id = ?"
    rows = [connection.execute(query, (int(chunk),)).fetchone() for chunk in chunks]
    assert rows == [("docs/a.md",), ("docs/c.md",)]
    assert read_meta(connection, "vectors_provider") == "hash:64"


@pytest.mark.req("IDX-5")
def test_vectors_of_a_removed_document_leave_the_matrix(runs: StageRuns) -> None:
    for name in ("a.md", "b.md"):
        runs.write(f"docs/{name}", f"{PROSE} {name}")
    embedded(runs, dense="hash:64")
    runs.index("docs")
    assert read_meta(opened(runs), "vectors_count") == "2"
    (runs.folder / "docs" / "b.md").unlink()
    embedded(runs, dense="hash:64")
    runs.index("docs")
    assert read_meta(opened(runs), "vectors_count") == "1"


@pytest.mark.req("IDX-5")
def test_chunks_and_vectors_are_read_few_at_a_time(runs: StageRuns, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory does not grow with the number of documents."""
    for module in (documents, row_chunks):
        monkeypatch.setattr(module, "BLOCK_ROWS", 3)
    blocks: list[int] = []
    find_rows = StoredRows.find_rows

    def note(self: Any, chunks: Any) -> Any:
        blocks.append(len(chunks))
        return find_rows(self, chunks)

    monkeypatch.setattr(StoredRows, "find_rows", note)
    for number in range(9):
        runs.write(f"docs/{number}.md", f"{PROSE} {number}")
    embedded(runs, dense="hash:64")
    runs.index("docs")
    assert read_meta(opened(runs), "vectors_count") == "9"
    for number in (1, 4, 5):
        runs.write(f"docs/{number}.md", f"{PROSE} other {number}")
    embedded(runs, dense="hash:64")
    runs.index("docs")
    matrix = VectorMatrix(opened(runs), str(runs.data))
    query = "SELECT item_id FROM chunks JOIN files ON files.id = file WHERE chunks.id = ?"
    rows = [opened(runs).execute(query, (int(chunk),)).fetchone()[0] for chunk in matrix.chunks]
    assert rows == [f"docs/{number}.md" for number in range(9)]
    assert max(blocks) <= 2 * 3


@pytest.mark.req("IDX-5")
def test_vectors_that_have_not_changed_are_copied_few_at_a_time(
    runs: StageRuns, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old file is not mapped into memory: a process is charged for every page of it that was read."""
    monkeypatch.setattr(copying, "_COPIED_ROWS", 2)
    monkeypatch.delattr(copying.np, "memmap")
    for number in range(9):
        runs.write(f"docs/{number}.md", f"{PROSE} {number}")
    embedded(runs, dense="hash:64")
    runs.index("docs")
    copied: list[int] = []
    read = StoredRows.read

    def note(self: Any, rows: Any) -> Any:
        for found in read(self, rows):
            copied.append(len(found.chunks))
            yield found

    monkeypatch.setattr(StoredRows, "read", note)
    for number in (3, 4):
        (runs.folder / "docs" / f"{number}.md").unlink()
    runs.write("docs/7.md", f"{PROSE} other")
    embedded(runs, dense="hash:64")
    runs.index("docs")
    assert copied == [2, 1, 2, 1]
    assert not list(find_problems(opened(runs)))
    found = list_names(opened(runs)), read_meta(opened(runs), "content_hash")
    assert len(found[0]) == 1
    runs.data = runs.folder / "fresh"
    embedded(runs, dense="hash:64")
    runs.index("docs")
    assert (list_names(opened(runs)), read_meta(opened(runs), "content_hash")) == found


# ---- the order of answers


def indexed_in_two_runs(runs: StageRuns, text: str) -> None:
    """Five files that match equally well; the last ones of them were there first, so their rows come first."""
    for names_ in ("ed", "cba"):
        for name in names_:
            runs.write(f"a/{name}.txt", f"{text} {name}\n")
        runs.index("a")


@pytest.mark.req("IDX-3", "IDX-5")
@pytest.mark.parametrize("filters", [{}, {"path": "a/*"}], ids=["all", "filtered"])
def test_equal_scores_are_ordered_by_item_before_the_list_is_cut(
    runs: StageRuns, monkeypatch: pytest.MonkeyPatch, filters: dict[str, str]
) -> None:
    indexed_in_two_runs(runs, "keeper of the lamp")
    monkeypatch.setattr(retrieval, "LIST_MAX", 3)
    assert found(runs, "lamp", **filters)[:3] == ["a/a.txt", "a/b.txt", "a/c.txt"]


def test_hits_of_equal_score_are_ordered_by_item_and_number(runs: StageRuns) -> None:
    indexed_in_two_runs(runs, "lamp")
    searcher = Searcher(opened(runs), str(runs.data))
    hits = searcher.search(parse_query("lamp"), "lexical", 4, Filters())
    assert [hit.item_id for hit in hits] == ["a/a.txt", "a/b.txt", "a/c.txt", "a/d.txt"]
    assert {hit.ranks["lexical"] for hit in hits} == {1}


def test_places_of_calls_and_definitions_are_ordered_by_file_and_line(runs: StageRuns) -> None:
    for name in ("z", "y", "a"):  # one run each: the rows of `a` come last
        runs.write(f"a/{name}.py", "def twin():\n    pass\n\n\ntwin()\ntwin(); twin()\n")
        runs.index("a")
    connection = opened(runs)

    def places(question: str) -> list[tuple[str, int]]:
        return [(place.item_id, place.line) for place in look_up(connection, parse_query(question), 4)]

    assert places("def:twin") == [("a/a.py", 1), ("a/y.py", 1), ("a/z.py", 1)]
    assert places("ref:twin") == [("a/a.py", 5), ("a/a.py", 6), ("a/a.py", 6), ("a/y.py", 5)]


def test_a_file_that_calls_a_name_in_two_ways_is_listed_once(runs: StageRuns) -> None:
    runs.write("a/one.py", "twin()\nTwin()\ntwins()\n")
    runs.index("a")
    assert names(runs, "ref:TWIN") == ["twin", "Twin"]


# ---- names


def test_an_underscore_in_a_name_stands_for_itself(runs: StageRuns) -> None:
    runs.write(
        "a/one.py", "import my_lib\nimport my2lib.x\n\n\ndef read_it():\n    pass\n\n\ndef readXit():\n    pass\n"
    )
    runs.write("a/s_b.py", "def inner():\n    pass\n")
    runs.write("a/sxb.py", "def outer():\n    pass\n")
    runs.index("a")
    assert names(runs, "sym:read_") == ["read_it"]
    assert names(runs, "imports:my_lib") == ["my_lib"]
    assert [place.name for place in list_symbols(opened(runs), "s_b.py")] == ["inner"]


def test_a_percent_sign_in_a_name_stands_for_itself(runs: StageRuns) -> None:
    runs.write("a/one.py", "def read_it():\n    pass\n")
    runs.index("a")
    assert names(runs, "sym:r%") == []


def test_a_query_by_name_gives_as_many_places_as_were_asked_for(runs: StageRuns) -> None:
    runs.write("a/one.py", "twin()\ntwin()\ntwin()\n")
    runs.index("a")
    connection = opened(runs)
    assert [len(look_up(connection, parse_query("ref:twin"), count)) for count in (1, 2, 3, 4)] == [1, 2, 3, 3]


def test_calls_within_a_definition_include_those_of_its_last_line(runs: StageRuns) -> None:
    runs.write("a/one.py", "def outer():\n    first()\n    last()\n\n\nbeyond()")
    runs.index("a")
    [outer] = look_up(opened(runs), parse_query("def:outer"), 10)
    from inorder.index.symbols import find_calls_in

    def calls(place: CodeLocation) -> list[str]:
        return [call.name for call in find_calls_in(opened(runs), place)]

    assert calls(outer) == ["first", "last"]
    assert names(runs, "ref:beyond") == ["beyond"]


# ---- parsing


def parsed_rows(runs: StageRuns, text: str) -> list[str]:
    """The notes of two attempts at one file."""
    path = runs.write("a/one.py", text)
    context = StageContext("index", StageOptions(data=runs.data), {})
    os.makedirs(f"{runs.data}/.staging/index", exist_ok=True)
    [item] = list(stage.IndexItems(stage.Roots([path]), str(runs.data)))
    context.item = item
    notes = []
    for _ in range(2):
        work(item, context)
        notes.append(context.warnings[-1] if context.warnings else "")
    return notes


def test_a_good_parse_leaves_no_mark_for_the_next_attempt(runs: StageRuns) -> None:
    assert parsed_rows(runs, "def one():\n    pass\n") == ["", ""]


def test_a_parse_that_did_not_end_makes_the_next_attempt_go_without_a_grammar(
    runs: StageRuns, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(path: str, data: bytes) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(parse, "parse", broken)
        with pytest.raises(KeyboardInterrupt):
            parsed_rows(runs, "def one():\n    pass\n")
    assert parsed_rows(runs, "def one():\n    pass\n")[0] == "its grammar crashed or took too long: cut by lines"


def test_a_grammar_has_a_time_limit_and_a_limit_of_memory() -> None:
    assert 0 < stage.stage.options.timeout_s <= 60
    assert 0 < (stage.stage.options.memory_bytes_max or 0) <= 4 * 2**30


@pytest.mark.parametrize(("size", "is_parsed"), [(2_000_000, True), (2_000_001, False)])
def test_the_largest_file_that_is_parsed_has_exactly_the_limit(size: int, is_parsed: bool) -> None:
    line = b"# " + b"w" * 897 + b"\n"
    data = line * 2221 + b"def one():\n    pass\n" + b"\n" * 200
    found_ = parse.parse("a.py", data + b"\n" * (size - len(data)))
    assert bool(found_.symbols) == is_parsed
    assert ("larger than" in found_.note) != is_parsed


@pytest.mark.parametrize(("size", "is_indexed"), [(5_000_000, True), (5_000_001, False)])
def test_the_largest_file_that_is_indexed_has_exactly_the_limit(tmp_path: Path, size: int, is_indexed: bool) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"0123456\n" * 625_000 + b"\n" * (size - 5_000_000))
    [found_] = discovery.discover(stage.Roots([path]))
    assert (found_.skip == "") == is_indexed
