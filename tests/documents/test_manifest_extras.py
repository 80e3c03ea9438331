"""The fields that document stages add to their rows, the totals of the corpus, and what telemetry has of them."""

import io
from pathlib import Path
from statistics import median_low
from uuid import UUID

import numpy as np
import pyarrow.parquet as pq
import pytest

import inorder
from inorder.documents import parquet
from inorder.documents.embed.totals import FamilyTotals, measure_table
from tests.documents.pdf_files import draw_lines, draw_pdf
from tests.documents.stage_runs import StageRuns
from tests.documents.workspace import PROSE


@pytest.fixture
def runs(tmp_path: Path) -> StageRuns:
    made = StageRuns(tmp_path)
    made.write("docs/guide.md", "# Guide\n\n" + PROSE * 30 + "\n\n## Lamps\n\n" + PROSE * 6)
    made.write("docs/note.txt", PROSE * 9)
    return made


@pytest.mark.req("RUN-16")
def test_a_row_of_chunk_has_the_sizes_of_its_chunks(runs: StageRuns) -> None:
    runs.doctags()
    runs.chunk(tokens_max=100)
    row = runs.rows("chunk")["docs/guide.md"]
    sizes = sorted(chunk.tokens for chunk in inorder.open(runs.data).get("docs/guide.md").chunks)
    assert len(sizes) > 3
    assert (row["tokens_p50"], row["tokens_p95"]) == (median_low(sizes), sizes[-1])
    assert row["empty_chunks"] == 0
    names = ("chunks_format", "row_group_count", "parquet_bytes")
    assert [row[name] for name in names] == ["store", None, None]


@pytest.mark.req("RUN-16")
def test_a_row_of_embed_has_the_format_and_the_norms(runs: StageRuns) -> None:
    for stage in (runs.doctags, runs.chunk, runs.embed):
        stage()
    rows = runs.rows("embed")
    dense = rows["dense/docs/note.txt"]
    assert dense["norms"] == {"min": 1.0, "avg": 1.0, "max": 1.0}
    names = ("vector_format", "row_group_count", "parquet_bytes")
    assert [dense[name] for name in names] == ["store", None, None]


@pytest.mark.req("RUN-16")
def test_the_row_of_the_corpus_has_totals_per_family(runs: StageRuns) -> None:
    runs.doctags()
    runs.chunk(tokens_max=100)
    runs.embed()
    corpus = runs.rows("embed")["__corpus__"]
    vectors = sum(row["vectors"] for name, row in runs.rows("embed").items() if name.startswith("dense/"))
    assert (corpus["documents"], corpus["chunks"]) == (2, vectors)
    assert corpus["families"] == {
        "dense": {
            "documents": 2,
            "vectors": vectors,
            "dimensions": 256,
            "providers": ["static/1"],
            "norms": {"min": 1.0, "avg": 1.0, "max": 1.0, "p95": 1.0, "p99": 1.0, "outliers": 0},
        }
    }


@pytest.mark.req("RUN-16")
def test_totals_follow_what_changes_and_nothing_is_redone_without_a_change(runs: StageRuns) -> None:
    for stage in (runs.doctags, runs.chunk):
        stage()
    runs.embed()
    runs.embed()
    assert runs.done("embed") == set()
    runs.embed(dense="hash:64")
    assert runs.rows("embed")["__corpus__"]["families"]["dense"]["providers"] == ["hash/1:64"]
    (runs.docs / "note.txt").unlink()
    for stage in (runs.doctags, runs.chunk):
        stage()
    runs.embed(dense="hash:64")
    assert runs.done("embed") == {"__corpus__"}
    assert runs.rows("embed")["__corpus__"]["documents"] == 1


@pytest.mark.req("RUN-10")
def test_telemetry_of_embed_has_vectors_norms_batches_and_time_per_family(runs: StageRuns) -> None:
    for stage in (runs.doctags, runs.chunk):
        stage()
    outcome = runs.embed()
    groups = runs.snapshot(outcome)["groups"]
    assert set(groups) == {"dense"}
    vectors = runs.rows("embed")["__corpus__"]["chunks"]
    assert (groups["dense"]["items"], groups["dense"]["vectors"], groups["dense"]["batches"]) == (2, vectors, 2)
    assert groups["dense"]["norms"] == pytest.approx(vectors)
    assert groups["dense"]["exec_ms"] >= groups["dense"]["provider_ms"] > 0


@pytest.mark.req("RUN-10")
@pytest.mark.parametrize(
    ("spec", "attributes", "model"),
    [("hash:64", {}, "64"), ("openai:http://h/v1#small", {"model": "small", "device": "server"}, "small")],
)
def test_an_item_of_embed_tells_provider_model_device_and_batch(
    runs: StageRuns, spec: str, attributes: dict[str, str], model: str
) -> None:
    from inorder.documents.embed import worker
    from inorder.documents.embed.providers.base import BatchTally
    from inorder.documents.embed.providers.hashing import HashProvider
    from inorder.stage.context import StageContext
    from inorder.stage.options import StageOptions

    provider = HashProvider(64)
    if attributes:
        provider.__dict__.update(attributes, batches=BatchTally())
        for texts in (30, 34):
            provider.batches.add(texts)  # type: ignore[attr-defined]
    context = StageContext("embed", StageOptions(data=runs.data), {})
    worker._report(context, spec, provider, [1.0, 0.5], 12.5)
    found = context.measures
    assert found.pop("provider_ms") == 12.5
    assert found == {
        "provider": spec.partition(":")[0],
        "model": model,
        "device": attributes.get("device", "cpu"),
        "vectors": 2,
        "norms": 1.5,
        "batches": 2 if attributes else 1,
        "batch_size": "32" if attributes else "2",
    }


@pytest.mark.req("RUN-10")
def test_pages_are_counted_once_also_for_a_pdf_that_is_read_in_parts(
    runs: StageRuns, monkeypatch: pytest.MonkeyPatch
) -> None:
    from inorder.documents.doctags import stage

    monkeypatch.setattr(stage, "LARGE_BYTES", 0)
    for name, pages in (("long.pdf", 7), ("short.pdf", 2)):
        (runs.docs / name).write_bytes(draw_pdf(*(draw_lines(f"Page {number}") for number in range(pages))))
    outcome = runs.doctags(split_pages=3)
    assert outcome.failed == 0
    snapshot = runs.snapshot(outcome)
    assert snapshot["groups"]["pdf"]["pages"] == 9
    assert snapshot["pages_per_s"] > 0


@pytest.mark.req("RUN-10")
def test_lines_of_source_code_are_counted(runs: StageRuns) -> None:
    runs.write("code/a.py", "import os\n\n\ndef f():\n    return os\n")
    runs.write("code/b.sh", "echo one\necho two\n")
    snapshot = runs.snapshot(runs.index("code"))
    assert (snapshot["measures"]["lines"], snapshot["groups"]["python"]["lines"]) == (7, 5)
    assert snapshot["lines_per_s"] > 0


MB = 2**20


@pytest.mark.parametrize(
    ("rows", "size", "wanted"),
    [(10_000, 20 * MB, 1), (50_000, 64 * MB, 1), (50_000, 65 * MB, 2), (100_000, 320 * MB, 10), (3, 900 * MB, 3)],
)
def test_row_groups_have_16_to_64_megabytes(rows: int, size: int, wanted: int) -> None:
    per_group = parquet.compute_row_group_rows(rows, size)
    groups = -(-rows // per_group)
    assert groups == wanted
    if rows > wanted:
        assert size <= 64 * MB or 16 * MB <= size * per_group / rows <= 64 * MB


def test_a_large_table_is_written_in_several_row_groups_and_read_back(monkeypatch: pytest.MonkeyPatch) -> None:
    from inorder.documents.embed.storage import write_dense

    monkeypatch.setattr(parquet, "ROW_GROUP_BYTES", 32 * 1024)
    monkeypatch.setattr(parquet, "ROW_GROUP_BYTES_MAX", 64 * 1024)
    vectors = np.eye(300, dtype=np.float32)
    file = io.BytesIO()
    write_dense(file, [str(n) for n in range(300)], vectors, "p", "s", "c")
    assert pq.read_metadata(file).num_row_groups > 3
    table = pq.read_table(file)
    assert table["chunk_id"].to_pylist() == [str(n) for n in range(300)]
    assert table["vector"].to_pylist() == vectors.tolist()


@pytest.mark.req("DOC-3", "RUN-16")
def test_totals_of_sparse_vectors_have_terms_and_norms(tmp_path: Path) -> None:
    rows = [([0, 5], [3.0, 4.0]), ([], []), ([7], [1.0])]
    assert measure_sparse(tmp_path, rows).summarize() == {
        "documents": 1,
        "vectors": 3,
        "providers": ["splade:x"],
        "nnz": {"avg": 1.0, "p95": 2, "p99": 2},
        "norms": {"min": 0.0, "avg": 2.0, "max": 5.0, "p95": 5.0, "p99": 5.0, "outliers": 0},
    }


def measure_sparse(folder: Path, rows: list[tuple[list[int], list[float]]]) -> FamilyTotals:
    from inorder.documents.embed.stored import pack_sparse
    from inorder.documents.layout import Result
    from inorder.stage.store.inputs import StoredInput

    vectors = [(np.array(terms, np.int32), np.array(weights, np.float32)) for terms, weights in rows]
    content = pack_sparse([str(UUID(int=number)) for number in range(len(rows))], vectors, "splade:x", 100)
    source = StoredInput(str(folder), "embed", "sparse/a", "embed/sparse/a", len(content), "", content)
    return measure_table("sparse", Result("a", source, len(content)))


@pytest.mark.req("DOC-3", "RUN-16")
def test_vectors_of_unusual_length_are_outliers(tmp_path: Path) -> None:
    lengths = [1.0, 1.1, 1.2, 1.0, 1.1, 9.0, 1.2, 1.1]
    norms = measure_sparse(tmp_path, [([1], [length]) for length in lengths]).summarize()["norms"]
    assert norms == {"min": 1.0, "avg": 2.0875, "max": 9.0, "p95": 9.0, "p99": 9.0, "outliers": 1}


@pytest.mark.req("DOC-3", "RUN-16")
def test_totals_without_documents_that_were_removed_are_those_of_the_rest(tmp_path: Path) -> None:
    parts = [measure_sparse(tmp_path, [([1, 2], [1.0, length]), ([3], [2.0])]) for length in (1.0, 1.5, 1.0, 7.0)]
    total, rest = FamilyTotals(), FamilyTotals()
    for part in parts:
        total.add(part)
    for part in parts[2:]:
        rest.add(part)
    for part in parts[:2]:
        total.add(part, times=-1)
    assert total == rest
    for part in parts[2:]:
        total.add(part, times=-1)
    assert total == FamilyTotals()
