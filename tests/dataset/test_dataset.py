"""`inorder.open`: documents, chunks, vectors and search in Python."""

import asyncio
import sqlite3
import threading
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import inorder
from inorder.dataset.results import LibraryResults
from inorder.library.rows import SPARSE, FileResult, make_step_result
from inorder.library.values import SparseVectors
from tests.dataset.chunk_store import make_chunk_result
from tests.dataset.corpus import IDS, make_corpus
from tests.library.libraries import commit, opened, write
from tests.library.making import make_removal
from tests.pipeline.folders import FolderRuns

pytestmark = pytest.mark.req("DAT-2")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> FolderRuns:
    return make_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture
def data(runs: FolderRuns) -> inorder.Dataset:
    return inorder.open(runs.data)


def test_documents_come_in_the_order_of_their_ids_in_every_form(data: inorder.Dataset) -> None:
    documents = list(data.documents())
    assert [document.doc_id for document in documents] == IDS
    page, note, plain = documents
    assert "| day | who |\n| --- | --- |\n| 1 | a\\|b |" in page.markdown
    assert note.markdown.startswith(
        "# Note\n\nThe *tide* is in [the table](https://example.org/tide).\n\n- one\n  - two\n"
    )
    assert note.text.startswith("Note\n\nThe tide is in the table.")
    assert note.doctags.startswith("<doctag><title>Note</title>")
    assert '"schema_name":"DoclingDocument"' in note.json
    assert (plain.name, plain.mimetype, plain.page_count, len(plain.input_sha256)) == ("plain", "text/plain", 0, 64)


def test_chunks_are_ranges_of_the_text_of_their_document(data: inorder.Dataset) -> None:
    chunks = list(data.chunks())
    note = data.get("docs/note.md")
    assert [chunk for chunk in chunks if chunk.doc_id == note.doc_id] == note.chunks
    assert len(note.chunks) > 3
    assert all(note.text[chunk.start : chunk.end].strip() == chunk.text for chunk in note.chunks)
    assert [chunk.doc_id for chunk in chunks] == sorted(chunk.doc_id for chunk in chunks)


def test_every_chunk_has_its_vectors(data: inorder.Dataset) -> None:
    ids = [(chunk.doc_id, chunk.chunk_id, chunk.number) for chunk in data.chunks()]
    dense = list(data.vectors("dense"))
    assert [row[:3] for row in dense] == ids
    assert {row.vector.shape for row in dense} == {(16,)}
    lexical = list(data.vectors("lexical"))
    assert [row[:3] for row in lexical] == ids
    assert all(row.terms for row in lexical)


@pytest.mark.parametrize("table", ["documents", "chunks", "dense", "lexical"])
def test_batches_hold_the_same_rows_as_records_whatever_their_size(data: inorder.Dataset, table: str) -> None:
    rows = data.documents() if table == "documents" else data.chunks() if table == "chunks" else data.vectors(table)
    small, large = list(rows.batches(1)), list(rows.batches())
    assert len(large) == 1
    assert len(small) >= 3
    assert pa.Table.from_batches(small) == pa.Table.from_batches(large)
    assert small[0].schema == rows.schema
    assert pa.table(rows) == pa.Table.from_batches(large)  # the Arrow PyCapsule interface
    assert [row["doc_id"] for row in large[0].to_pylist()] == [row.doc_id for row in rows]


def test_columns_of_vectors_hold_the_numbers(data: inorder.Dataset) -> None:
    [batch] = data.vectors("dense").batches()
    expected = np.stack([row.vector for row in data.vectors("dense")])
    assert np.array_equal(np.stack(batch["vector"].to_numpy(zero_copy_only=False)), expected)
    assert batch.schema.metadata[b"inorder.dimensions"] == b"16"
    [batch] = data.vectors("lexical").batches()
    terms = [dict(zip(row["terms"], row["weights"], strict=True)) for row in batch.to_pylist()]
    assert terms == [row.terms for row in data.vectors("lexical")]


def test_the_statistics_count_the_chunks_with_each_term(data: inorder.Dataset) -> None:
    table = data.statistics()
    counts = dict(zip(table["term"].to_pylist(), table["chunks"].to_pylist(), strict=True))
    assert counts["rota"] == sum("rota" in row.terms for row in data.vectors("lexical")) == 1
    assert int(table.schema.metadata[b"inorder.chunks"]) == sum(1 for _ in data.chunks())


def test_rows_are_read_one_document_at_a_time(data: inorder.Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[str] = []
    load = LibraryResults.load

    def count(reader: LibraryResults, doc_id: str) -> Any:
        loaded.append(doc_id)
        return load(reader, doc_id)

    monkeypatch.setattr(LibraryResults, "load", count)
    assert next(iter(data.chunks())).doc_id == IDS[0]
    assert loaded == IDS[:1]
    next(data.vectors("dense").batches(1))
    assert loaded == IDS[:1] * 2


def test_sparse_vectors_are_read_and_exported(tmp_path: Path) -> None:
    store = tmp_path / "data"
    store.mkdir()
    write(store, add_sparse(make_chunk_result("a", "x", "y"), [2, 0]), add_sparse(make_chunk_result("b", "z"), [2]))
    data = inorder.open(store)
    expected = [("a", 0, [1, 5], [0.5, 2.0]), ("a", 1, [], []), ("b", 0, [1, 5], [0.5, 2.0])]
    rows = list(data.vectors("sparse"))
    assert [(row.doc_id, row.number, row.indices.tolist(), row.weights.tolist()) for row in rows] == expected
    data.export(tmp_path / "out", "vectors")
    table = pq.read_table(tmp_path / "out/vectors/sparse/part-00000.parquet")
    assert [tuple(row.values()) for row in table.drop_columns("chunk_id").to_pylist()] == expected
    files = tmp_path / "files"
    data.export(files, "vectors", "files")
    assert pq.read_schema(files / "vectors/sparse/a.parquet").metadata[b"inorder.vocabulary"] == b"10"
    assert pq.read_table(files / "vectors/sparse/a.parquet")["indices"].to_pylist() == [[1, 5], []]


def add_sparse(result: FileResult, counts: list[int]) -> FileResult:
    """The same document with sparse vectors of so many terms."""
    [chunk] = result.steps
    indices, weights = (np.array(each * (sum(counts) // 2)) for each in ([1, 5], [0.5, 2.0]))
    vectors = SparseVectors("terms", 10, counts, indices.astype("<i4").tobytes(), weights.astype("<f4").tobytes())
    result.steps.append(make_step_result(SPARSE, "cfg", chunk.output, msgspec.msgpack.encode(vectors)))
    return result


@pytest.mark.req("SEA-4")
def test_search_answers_as_the_command_line_does_and_in_an_event_loop(data: inorder.Dataset) -> None:
    answer = data.search("rota", k=2, mode="lexical", where={"path": "*.html"})
    assert [hit.item_id for hit in answer.hits] == ["docs/deep/page.html"]
    assert asyncio.run(data.search_async("rota", k=2, mode="lexical", where={"path": "*.html"})) == answer
    with pytest.raises(inorder.OperatorError, match="unknown condition folder; conditions: path, language, kind, only"):
        data.search("rota", where={"folder": "x"})
    with pytest.raises(inorder.OperatorError, match="k must be between 1 and 1000"):
        data.search("rota", k=0)


def test_a_document_is_found_by_id_path_or_a_unique_ending(runs: FolderRuns, data: inorder.Dataset) -> None:
    for text in ("docs/deep/page.html", str(runs.docs / "deep/page.html"), "page.html", "deep/page.html"):
        assert data.find(text).doc_id == "docs/deep/page.html"
    with pytest.raises(inorder.OperatorError, match=r"no document 'docs/noet.md' in .*; did you mean 'docs/note.md'"):
        data.get("docs/noet.md")
    with pytest.raises(inorder.OperatorError, match=r"did you mean 'docs/plain.txt'"):
        data.find("Plain.tx")


def test_an_ending_of_two_documents_is_refused(tmp_path: Path) -> None:
    runs = FolderRuns(tmp_path, commands=("doctags",))
    for folder in ("a", "b"):
        runs.write(f"docs/{folder}/same.txt", f"text {folder}")
    runs.run()
    with pytest.raises(inorder.OperatorError, match=r"end with 'same.txt': 'docs/a/same.txt', 'docs/b/same.txt'; give"):
        inorder.open(runs.data).find("same.txt")


def test_what_is_missing_is_named_with_the_command_that_makes_it(tmp_path: Path) -> None:
    with pytest.raises(
        inorder.OperatorError, match=r"no DATA directory at .*nowhere; run `inorder run SRC --data DIR`"
    ):
        inorder.open(tmp_path / "nowhere")
    data = inorder.open(tmp_path)
    for ask, message in (
        (data.documents, "no library in .*; make one with `inorder run SRC`"),
        (lambda: data.get("a"), "no library in"),
        (lambda: data.vectors("bm25"), "the family of vectors must be one of dense, sparse, lexical"),
        (lambda: data.search("tide"), "no index in"),
    ):
        with pytest.raises(inorder.OperatorError, match=message):
            ask()


def test_results_of_steps_that_were_left_out_are_named_with_their_command(tmp_path: Path) -> None:
    runs = FolderRuns(tmp_path, commands=("doctags",))
    runs.write("docs/a.md", "The lamp is lit.")
    runs.run()
    data = inorder.open(runs.data)
    for ask, message in (
        (data.chunks, "no chunks in .*; run `inorder chunk` first"),
        (data.vectors, "no dense vectors in .*; run `inorder embed` first"),
        (lambda: data.search("lamp"), "no index in .*; make one with `inorder index` or `inorder run SRC`"),
    ):
        with pytest.raises(inorder.OperatorError, match=message):
            ask()


def test_a_closed_dataset_answers_no_more(runs: FolderRuns) -> None:
    with inorder.open(runs.data) as data:
        assert next(iter(data.chunks())).doc_id == IDS[0]
    data.close()
    with pytest.raises(inorder.OperatorError, match="is closed"):
        data.chunks()


@pytest.mark.slow
def test_an_open_iteration_neither_blocks_a_run_nor_sees_what_it_changes(tmp_path: Path) -> None:
    runs = make_corpus(tmp_path)
    data = inorder.open(runs.data)
    rows = iter(data.documents())
    assert next(rows).doc_id == "docs/deep/page.html"
    runs.write("docs/note.md", "# Changed\n\nbody")
    runs.write("docs/zzz.txt", "new")
    (runs.docs / "plain.txt").unlink()
    runs.run()
    rest = {document.doc_id: document.text for document in rows}
    assert "Changed\n\nbody" not in rest.values()
    assert "docs/zzz.txt" not in rest
    documents = {document.doc_id: document.text for document in data.documents()}
    assert list(documents) == ["docs/deep/page.html", "docs/note.md", "docs/zzz.txt"]
    assert documents["docs/note.md"] == "Changed\n\nbody"


def test_a_reader_sees_what_is_published_while_a_run_has_the_library_open(tmp_path: Path) -> None:
    runs = make_corpus(tmp_path)
    data = inorder.open(runs.data)
    with opened(runs.data) as sink:
        commit(sink, make_removal("docs/note.md"))
        assert {chunk.doc_id for chunk in data.chunks()} == set(IDS)
        sink.publish()
        assert {chunk.doc_id for chunk in data.chunks()} == {"docs/deep/page.html", "docs/plain.txt"}


def test_many_threads_read_one_dataset(data: inorder.Dataset) -> None:
    expected = [chunk.chunk_id for chunk in data.chunks()]
    found: list[list[str]] = []
    threads = [
        threading.Thread(target=lambda: found.append([chunk.chunk_id for chunk in data.chunks()])) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4


def test_a_damaged_row_is_refused_by_name(tmp_path: Path) -> None:
    runs = make_corpus(tmp_path)
    with sqlite3.connect(runs.data / "library.sqlite") as writer:
        writer.execute(
            "UPDATE results SET data = zeroblob(length(data)) WHERE key = (SELECT items.id * 64 + steps.id FROM items "
            "JOIN steps WHERE item_id = 'docs/plain.txt' AND name = 'chunk')"
        )
    with pytest.raises(inorder.IntegrityError, match=r"library.sqlite: docs/plain.txt, step chunk: its bytes"):
        list(inorder.open(runs.data).chunks())
