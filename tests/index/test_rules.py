"""What an index keeps, takes away and does again, and the order of its answers: each rule by a small index made in this
process."""

import sqlite3
from pathlib import Path

import pytest

from inorder.cli.pipeline import BASE
from inorder.code import parse
from inorder.index.hits import Filters
from inorder.index.parse_marks import is_marked, mark_parsing
from inorder.index.query import parse_query
from inorder.index.ranking import retrieval
from inorder.index.ranking.retrieval import Searcher
from inorder.index.schema import read_meta
from inorder.index.symbols import CodeLocation, list_symbols, look_up
from inorder.library.connection import connect_library
from inorder.library.whole.verify import verify_library
from inorder.pipeline.steps import PipelineSettings
from tests.documents.workspace import PROSE
from tests.pipeline.folders import FolderRuns


@pytest.fixture
def runs(tmp_path: Path) -> FolderRuns:
    return FolderRuns(tmp_path, dense="none")


def opened(runs: FolderRuns) -> sqlite3.Connection:
    return connect_library(str(runs.data))


def files_of(runs: FolderRuns) -> dict[str, str]:
    """The kind of every file in the index."""
    return dict(opened(runs).execute("SELECT item_id, kind FROM files ORDER BY item_id").fetchall())


def found(runs: FolderRuns, question: str, mode: str = "lexical", **filters: str) -> list[str]:
    hits = Searcher(opened(runs), str(runs.data)).search(parse_query(question), mode, 10, Filters(**filters))
    return [hit.item_id for hit in hits]


def names(runs: FolderRuns, question: str) -> list[str]:
    return [place.name for place in look_up(opened(runs), parse_query(question), 10)]


# ---- what stays and what goes


@pytest.mark.slow
@pytest.mark.req("IDX-3")
def test_indexing_another_source_keeps_what_is_there(runs: FolderRuns) -> None:
    runs.write("a/one.py", "ONE = 1\n")
    runs.write("b/two.py", "TWO = 2\n")
    runs.run("a")
    runs.run("b")
    assert list(files_of(runs)) == ["a/one.py", "b/two.py"]
    (runs.folder / "a" / "one.py").unlink()
    runs.run("b")
    assert list(files_of(runs)) == ["a/one.py", "b/two.py"]
    runs.run("a")
    assert list(files_of(runs)) == ["b/two.py"]


@pytest.mark.req("IDX-3")
def test_a_source_whose_name_begins_like_another_is_another(runs: FolderRuns) -> None:
    runs.write("lib/one.py", "ONE = 1\n")
    runs.write("lib2/two.py", "TWO = 2\n")
    runs.run("lib2")
    runs.run("lib")
    assert list(files_of(runs)) == ["lib/one.py", "lib2/two.py"]


@pytest.mark.req("IDX-3")
def test_a_file_that_is_gone_leaves_no_row_in_any_table(runs: FolderRuns) -> None:
    runs.write("a/one.py", "import os\n\n\ndef one():\n    return os.getcwd()\n")
    runs.write("a/two.txt", "two\n")
    runs.run("a")
    (runs.folder / "a" / "one.py").unlink()
    runs.run("a")
    connection = opened(runs)
    counts = {
        table: connection.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0]
        for table in ("files", "chunks", "symbols", "imports", "calls")
    }
    assert counts == {"files": 1, "chunks": 1, "symbols": 0, "imports": 0, "calls": 0}
    assert list(verify_library(str(runs.data))) == []
    assert found(runs, "getcwd") == []


def test_a_document_is_not_indexed_as_code_too(runs: FolderRuns) -> None:
    runs.write("docs/note.md", PROSE)
    runs.run("docs")
    assert files_of(runs) == {"docs/note.md": "document"}


def test_data_below_a_source_is_left_out_and_its_neighbours_are_not(runs: FolderRuns) -> None:
    runs.write("data-notes/a.txt", "beside\n")
    runs.write("data/own.txt", "inside\n")
    runs.run(".")
    [name] = files_of(runs)
    assert name.endswith("/data-notes/a.txt")


@pytest.mark.slow
@pytest.mark.req("IDX-3")
def test_another_grammar_does_a_file_again(runs: FolderRuns, monkeypatch: pytest.MonkeyPatch) -> None:
    runs.write("a/one.py", "ONE = 1\n")
    runs.run("a")
    assert runs.run("a").steps == {}
    monkeypatch.setattr("inorder.code.grammars.grammar_version", lambda language: "another")
    assert runs.run("a").steps["index"].files == 1


@pytest.mark.slow
@pytest.mark.req("RUN-17")
def test_a_document_that_is_none_any_more_leaves_the_index(runs: FolderRuns) -> None:
    for name in "abc":
        runs.write(f"docs/{name}.md", f"# Title {name}\n\nWords of {name}.\n")
    runs.run()
    (runs.docs / "b.md").write_bytes(b"\0\1\2\3" * 100)
    outcome = runs.run()
    assert list(files_of(runs)) == ["docs/a.md", "docs/c.md"]
    assert (outcome.counts.failed, outcome.counts.unchanged) == (1, 2)


@pytest.mark.req("RUN-17")
def test_a_copy_that_becomes_a_document_of_its_own_is_indexed(runs: FolderRuns) -> None:
    for name in "ae":
        runs.write(f"docs/{name}.md", "# Title\n\nThe same words.\n")
    runs.run()
    assert list(files_of(runs)) == ["docs/a.md"]
    runs.write("docs/e.md", "# Its own\n\nText.\n")
    runs.run()
    assert list(files_of(runs)) == ["docs/a.md", "docs/e.md"]


# ---- vectors


@pytest.mark.slow
@pytest.mark.req("DOC-4", "IDX-5")
def test_another_dense_provider_replaces_the_vectors_of_the_index(runs: FolderRuns) -> None:
    runs.write("docs/note.md", PROSE)
    runs.change_settings(dense="static")
    runs.run("docs")
    assert read_meta(opened(runs), "vectors_width") == "256"
    runs.change_settings(dense="hash:64")
    runs.run("docs")
    assert (read_meta(opened(runs), "vectors_width"), read_meta(opened(runs), "vectors_provider")) == ("64", "hash:64")
    assert found(runs, "lamp", "dense") == ["docs/note.md"]


@pytest.mark.req("IDX-5")
def test_vectors_of_a_removed_document_leave_the_matrix(runs: FolderRuns) -> None:
    for name in ("a.md", "b.md"):
        runs.write(f"docs/{name}", f"{PROSE} {name}")
    runs.change_settings(dense="hash:64")
    runs.run("docs")
    assert read_meta(opened(runs), "vectors_count") == "2"
    (runs.folder / "docs" / "b.md").unlink()
    runs.change_settings(dense="hash:64")
    runs.run("docs")
    assert read_meta(opened(runs), "vectors_count") == "1"


# ---- the order of answers


def indexed_in_two_runs(runs: FolderRuns, text: str) -> None:
    """Five files that match equally well; the last ones of them were there first, so their rows come first."""
    for names_ in ("ed", "cba"):
        for name in names_:
            runs.write(f"a/{name}.txt", f"{text} {name}\n")
        runs.run("a")


@pytest.mark.req("IDX-3", "IDX-5")
@pytest.mark.parametrize("filters", [{}, {"path": "a/*"}], ids=["all", "filtered"])
def test_equal_scores_are_ordered_by_item_before_the_list_is_cut(
    runs: FolderRuns, monkeypatch: pytest.MonkeyPatch, filters: dict[str, str]
) -> None:
    indexed_in_two_runs(runs, "keeper of the lamp")
    monkeypatch.setattr(retrieval, "LIST_MAX", 3)
    assert found(runs, "lamp", **filters)[:3] == ["a/a.txt", "a/b.txt", "a/c.txt"]


@pytest.mark.slow
def test_hits_of_equal_score_are_ordered_by_item_and_number(runs: FolderRuns) -> None:
    indexed_in_two_runs(runs, "lamp")
    searcher = Searcher(opened(runs), str(runs.data))
    hits = searcher.search(parse_query("lamp"), "lexical", 4, Filters())
    assert [hit.item_id for hit in hits] == ["a/a.txt", "a/b.txt", "a/c.txt", "a/d.txt"]
    assert {hit.ranks["lexical"] for hit in hits} == {1}


@pytest.mark.slow
def test_places_of_calls_and_definitions_are_ordered_by_file_and_line(runs: FolderRuns) -> None:
    for name in ("z", "y", "a"):  # one run each: the rows of `a` come last
        runs.write(f"a/{name}.py", "def twin():\n    pass\n\n\ntwin()\ntwin(); twin()\n")
        runs.run("a")
    connection = opened(runs)

    def places(question: str) -> list[tuple[str, int]]:
        return [(place.item_id, place.line) for place in look_up(connection, parse_query(question), 4)]

    assert places("def:twin") == [("a/a.py", 1), ("a/y.py", 1), ("a/z.py", 1)]
    assert places("ref:twin") == [("a/a.py", 5), ("a/a.py", 6), ("a/a.py", 6), ("a/y.py", 5)]


def test_a_file_that_calls_a_name_in_two_ways_is_listed_once(runs: FolderRuns) -> None:
    runs.write("a/one.py", "twin()\nTwin()\ntwins()\n")
    runs.run("a")
    assert names(runs, "ref:TWIN") == ["twin", "Twin"]


# ---- names


def test_an_underscore_in_a_name_stands_for_itself(runs: FolderRuns) -> None:
    runs.write(
        "a/one.py", "import my_lib\nimport my2lib.x\n\n\ndef read_it():\n    pass\n\n\ndef readXit():\n    pass\n"
    )
    runs.write("a/s_b.py", "def inner():\n    pass\n")
    runs.write("a/sxb.py", "def outer():\n    pass\n")
    runs.run("a")
    assert names(runs, "sym:read_") == ["read_it"]
    assert names(runs, "imports:my_lib") == ["my_lib"]
    assert [place.name for place in list_symbols(opened(runs), "s_b.py")] == ["inner"]


def test_a_percent_sign_in_a_name_stands_for_itself(runs: FolderRuns) -> None:
    runs.write("a/one.py", "def read_it():\n    pass\n")
    runs.run("a")
    assert names(runs, "sym:r%") == []


def test_a_query_by_name_gives_as_many_places_as_were_asked_for(runs: FolderRuns) -> None:
    runs.write("a/one.py", "twin()\ntwin()\ntwin()\n")
    runs.run("a")
    connection = opened(runs)
    assert [len(look_up(connection, parse_query("ref:twin"), count)) for count in (1, 2, 3, 4)] == [1, 2, 3, 3]


def test_calls_within_a_definition_include_those_of_its_last_line(runs: FolderRuns) -> None:
    runs.write("a/one.py", "def outer():\n    first()\n    last()\n\n\nbeyond()")
    runs.run("a")
    [outer] = look_up(opened(runs), parse_query("def:outer"), 10)
    from inorder.index.symbols import find_calls_in

    def calls(place: CodeLocation) -> list[str]:
        return [call.name for call in find_calls_in(opened(runs), place)]

    assert calls(outer) == ["first", "last"]
    assert names(runs, "ref:beyond") == ["beyond"]


# ---- parsing


def test_a_good_parse_leaves_no_mark_for_the_next_attempt(tmp_path: Path) -> None:
    marker = str(tmp_path / "parsing-a.py")
    with mark_parsing(marker):
        assert is_marked(marker)
    assert not is_marked(marker)


def test_a_grammar_has_a_time_limit_and_a_limit_of_memory() -> None:
    assert 0 < PipelineSettings().timeouts_s["index"] <= 60
    assert 0 < (BASE.memory_bytes_max or 0) <= 4 * 2**30


@pytest.mark.slow
@pytest.mark.parametrize(("size", "is_parsed"), [(2_000_000, True), (2_000_001, False)])
def test_the_largest_file_that_is_parsed_has_exactly_the_limit(size: int, is_parsed: bool) -> None:
    line = b"# " + b"w" * 897 + b"\n"
    data = line * 2221 + b"def one():\n    pass\n" + b"\n" * 200
    found_ = parse.parse("a.py", data + b"\n" * (size - len(data)))
    assert bool(found_.symbols) == is_parsed
    assert ("larger than" in found_.note) != is_parsed
