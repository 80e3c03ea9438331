"""Lexical vectors: the terms of the published index and their weights, as rows, columns and exports."""

import json
import sqlite3
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import inorder
from inorder.dataset.reader import open_data
from inorder.dataset.terms import IndexChangedError
from inorder.index.chunk_terms import summarize_terms
from inorder.index.lexical.analysis import analyze
from inorder.library.connection import library_path
from inorder.library.opening import find_index
from tests.dataset.corpus import make_corpus, make_runs
from tests.documents.workspace import PROSE
from tests.pipeline.folders import FolderRuns

pytestmark = [pytest.mark.req("DOC-3", "DAT-2"), pytest.mark.slow]
CODE = "def sound_horn(times):\n    return 'fog' * times\n"


@pytest.fixture
def runs(tmp_path: Path) -> FolderRuns:
    runs = make_corpus(tmp_path)
    runs.write("src/horn.py", CODE)
    runs.run("docs", "src")
    return runs


def test_documents_and_code_have_their_terms_in_the_order_of_ids(runs: FolderRuns) -> None:
    rows = list(inorder.open(runs.data).vectors("lexical"))
    ids = [(row.doc_id, row.number) for row in rows]
    assert ids == sorted(ids)
    assert {row.doc_id for row in rows} == {
        "docs/deep/page.html",
        "docs/note.md",
        "docs/plain.txt",
        "src/horn.py",
    }
    [horn] = [row for row in rows if row.doc_id == "src/horn.py"]
    assert {"horn", "sound", "sound_horn", "fog"} <= horn.terms.keys()
    assert list(horn.terms) == sorted(horn.terms)


def test_the_weights_of_a_question_order_chunks_as_a_search_does(runs: FolderRuns) -> None:
    data = inorder.open(runs.data)
    words = PROSE.split()[:6]
    terms = {term for word in words for term in analyze(word, "en")}
    answer = data.search(" ".join(words), mode="lexical", where={"only": "document"})
    found = {
        (row.doc_id, row.chunk_id): sum(row.terms.get(term, 0.0) for term in terms) for row in data.vectors("lexical")
    }
    scores = [found[hit.item_id, hit.chunk_id] for hit in answer.hits]
    assert len(scores) > 1
    assert all(score > after - 1e-6 for score, after in pairwise(scores))


def test_weights_are_the_same_after_an_update_and_after_a_first_run(runs: FolderRuns, tmp_path: Path) -> None:
    runs.write("docs/note.md", "# Tides\n\nThe tide turns at noon.\n")
    (runs.docs / "plain.txt").unlink()
    runs.run("docs", "src")
    fresh = make_runs(tmp_path / "fresh")
    for path in ("docs/note.md", "docs/deep/page.html", "src/horn.py"):
        fresh.write(path, (runs.folder / path).read_text())
    fresh.run("docs", "src")
    rows = list(inorder.open(runs.data).vectors("lexical"))
    assert rows == list(inorder.open(fresh.data).vectors("lexical"))
    assert {row.doc_id for row in rows} == {"docs/deep/page.html", "docs/note.md", "src/horn.py"}


@pytest.mark.parametrize("format_", ["parquet", "jsonl", "files"])
def test_an_export_has_the_rows_and_is_kept_until_a_file_changes(
    runs: FolderRuns, tmp_path: Path, format_: str
) -> None:
    data, out = inorder.open(runs.data), tmp_path / "out"
    data.export(out, "vectors", format_)
    rows = list(data.vectors("lexical"))
    assert read_rows(out, format_) == [(row.chunk_id, pytest.approx(row.terms)) for row in rows]
    again = data.export(out, "vectors", format_).tables["vectors/lexical"]
    assert (again.written, again.kept) == (0, 4 if format_ == "files" else 1)
    runs.write("src/horn.py", CODE.replace("fog", "bell"))
    runs.run("docs", "src")
    changed = data.export(out, "vectors", format_).tables["vectors/lexical"]
    assert changed.written > 0, "the weights of every chunk depend on all of them"
    assert read_rows(out, format_) == [(row.chunk_id, pytest.approx(row.terms)) for row in data.vectors("lexical")]


def read_rows(out: Path, format_: str) -> list[tuple[str, dict[str, float]]]:
    paths = sorted((out / "vectors/lexical").rglob("*.*"))
    paths = [path for path in paths if path.is_file()]
    if format_ == "jsonl":
        rows = [json.loads(line) for path in paths for line in path.read_text().splitlines()]
    else:
        rows = [row for path in paths for row in pq.read_table(path).to_pylist()]
    return [(row["chunk_id"], dict(zip(row["terms"], row["weights"], strict=True))) for row in rows]


def test_shards_of_terms_are_those_of_any_earlier_export(runs: FolderRuns, tmp_path: Path) -> None:
    data = inorder.open(runs.data)
    small, whole = tmp_path / "small", tmp_path / "whole"
    outcome = data.export(small, "vectors", shard_bytes=1024)
    assert outcome.tables["vectors/lexical"].written > 1
    data.export(whole, "vectors")
    assert read_rows(small, "parquet") == read_rows(whole, "parquet")
    metadata = pq.read_schema(whole / "vectors/lexical/part-00000.parquet").metadata
    assert metadata[b"inorder.terms"] == str(len(data.statistics())).encode()
    formula = [metadata[f"inorder.{name}".encode()] for name in ("k1", "b", "document_headings", "code_headings")]
    assert formula == [b"1.2", b"0.75", b"0.5", b"1.5"]


def test_a_change_of_one_file_changes_the_shards_of_all(runs: FolderRuns, tmp_path: Path) -> None:
    data, out = inorder.open(runs.data), tmp_path / "out"
    shards = data.export(out, "vectors", shard_bytes=1024).tables["vectors/lexical"].written
    runs.write("src/horn.py", CODE.replace("fog", "bell"))
    runs.run("docs", "src")
    changed = data.export(out, "vectors", shard_bytes=1024).tables["vectors/lexical"]
    assert (changed.written, changed.kept) == (shards, 0)
    assert read_rows(out, "parquet") == [(row.chunk_id, pytest.approx(row.terms)) for row in data.vectors("lexical")]


def test_an_index_that_is_published_meanwhile_is_seen_by_the_next_iteration(runs: FolderRuns) -> None:
    rows = inorder.open(runs.data).vectors("lexical")
    before = list(rows)
    reading = iter(rows)
    found = [next(reading)]
    runs.write("src/horn.py", CODE.replace("fog", "bell"))
    (runs.docs / "plain.txt").unlink()
    runs.run("docs", "src")  # nobody waits for whoever reads rows
    assert found + list(reading) == before
    assert list(rows) != before


def test_terms_are_read_from_the_index_and_not_from_texts(runs: FolderRuns) -> None:
    rows = inorder.open(runs.data).vectors("lexical")
    before = list(rows)
    with closing(sqlite3.connect(library_path(str(runs.data)))) as connection, connection:
        connection.execute("DELETE FROM texts")
    assert list(rows) == before


def test_terms_are_loaded_in_any_order(runs: FolderRuns) -> None:
    with open_data(str(runs.data)) as reader:
        wanted = {found.doc_id: found for found in reader.terms.read_all()}
        for doc_id in ["src/horn.py", "docs/missing.md", "docs/note.md", "docs/note.md", "src/z.py", *wanted]:
            assert reader.terms.load(doc_id) == wanted.get(doc_id)
            assert reader.terms.has(doc_id) == (doc_id in wanted)


def test_terms_are_of_the_generation_of_the_reader_or_refused(runs: FolderRuns) -> None:
    data = str(runs.data)
    with open_data(data) as early, open_data(data) as late:
        before = list(early.terms.read_all())
        assert next(late.terms.iterate()).doc_id == before[0].doc_id
        runs.write("docs/new.md", "# Horns\n\nThe horn sounds in fog.\n")  # removes nothing that was listed
        runs.run("docs", "src")
        assert list(early.terms.read_all()) == before
        with pytest.raises(IndexChangedError):
            late.terms.load(before[0].doc_id)


def test_without_an_index_the_command_that_makes_one_is_named(tmp_path: Path) -> None:
    runs = FolderRuns(tmp_path, dense="hash:16", commands=("doctags", "chunk", "embed"))
    runs.write("docs/a.md", "# Tide\n\nThe tide turns.\n")
    runs.run()
    data = inorder.open(runs.data)
    with pytest.raises(inorder.OperatorError, match=r"no lexical vectors in .*; run `inorder index SRC` first"):
        data.vectors("lexical")
    with pytest.raises(inorder.OperatorError, match="no index in"):
        data.statistics()
    assert list(data.export(tmp_path / "out", "vectors").tables) == ["vectors/dense"]


@pytest.mark.req("RUN-16")
def test_the_totals_of_the_family_are_those_of_its_rows(runs: FolderRuns) -> None:
    data = inorder.open(runs.data)
    sizes = sorted(len(row.terms) for row in data.vectors("lexical"))
    found = summarize_terms(find_index(str(runs.data)))
    assert (found["documents"], found["vectors"], found["terms"]) == (4, len(sizes), len(data.statistics()))
    assert found["nnz"]["avg"] == pytest.approx(sum(sizes) / len(sizes), abs=1e-4)
    assert found["nnz"]["p99"] == sizes[-1]
