"""The fields that steps add to their rows, and what telemetry has of them."""

import io
from pathlib import Path
from statistics import median_low

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import inorder
from inorder.documents import parquet
from inorder.documents.convert import parts
from inorder.documents.embed.providers.base import BatchTally
from inorder.documents.embed.providers.hashing import HashProvider
from inorder.documents.embed.step import describe_call
from tests.documents.pdf_files import draw_lines, draw_pdf
from tests.documents.stage_runs import StageRuns
from tests.documents.workspace import PROSE

FILES = {"markdown": "guide.md", "text": "note.txt"}


@pytest.fixture
def runs(tmp_path: Path) -> StageRuns:
    made = StageRuns(tmp_path)
    made.write("docs/guide.md", "# Guide\n\n" + PROSE * 30 + "\n\n## Lamps\n\n" + PROSE * 6)
    made.write("docs/note.txt", PROSE * 9)
    return made


@pytest.mark.req("RUN-16")
def test_a_row_of_chunk_has_the_sizes_of_its_chunks(runs: StageRuns) -> None:
    runs.run(tokens_max=100, dense="none")
    row = runs.rows("chunk")["docs/guide.md"]
    sizes = sorted(chunk.tokens for chunk in inorder.open(runs.data).get("docs/guide.md").chunks)
    assert len(sizes) > 3
    assert (row["chunks"], row["tokens"]) == (len(sizes), sum(sizes))
    assert (row["tokens_p50"], row["tokens_p95"]) == (median_low(sizes), sizes[-1])
    assert row["empty_chunks"] == 0


@pytest.mark.slow
@pytest.mark.req("RUN-16")
def test_a_row_of_embed_has_the_provider_and_the_norms(runs: StageRuns) -> None:
    runs.run()
    dense = runs.rows("embed")["docs/note.txt"]
    assert (dense["family"], dense["provider"], dense["dimensions"]) == ("dense", "static/2", 256)
    assert dense["norms"] == {"min": 1.0, "avg": 1.0, "max": 1.0}
    assert dense["vectors"] == len(inorder.open(runs.data).get("docs/note.txt").chunks)


@pytest.mark.slow
@pytest.mark.req("RUN-10")
def test_telemetry_has_vectors_norms_batches_and_time(runs: StageRuns) -> None:
    snapshot = runs.snapshot(runs.run(tokens_max=100))
    found = snapshot["groups"]
    assert set(found) == {"markdown", "text"}
    vectors = {name: runs.rows("embed")[f"docs/{file}"]["vectors"] for name, file in FILES.items()}
    for name, group in found.items():
        assert (group["items"], group["vectors"], group["batches"]) == (1, vectors[name], 1)
        assert group["norms"] == pytest.approx(vectors[name])
        assert group["exec_ms"] >= group["provider_ms"] > 0
    assert snapshot["measures"]["vectors"] == sum(vectors.values())


@pytest.mark.req("RUN-10")
@pytest.mark.parametrize(
    ("spec", "attributes", "model"),
    [("hash:64", {}, "64"), ("openai:http://h/v1#small", {"model": "small", "device": "server"}, "small")],
)
def test_telemetry_of_a_document_tells_provider_model_device_and_batch(
    spec: str, attributes: dict[str, str], model: str
) -> None:
    provider = HashProvider(64)
    if attributes:
        provider.__dict__.update(attributes, batches=BatchTally())
        for texts in (30, 34):
            provider.batches.add(texts)  # type: ignore[attr-defined]
    assert describe_call(spec, provider, 2, {"min": 0.5, "avg": 0.75, "max": 1.0}, 12.5) == {
        "provider": spec.partition(":")[0],
        "model": model,
        "device": attributes.get("device", "cpu"),
        "vectors": 2,
        "norms": 1.5,
        "batches": 2 if attributes else 1,
        "batch_size": "32" if attributes else "2",
        "provider_ms": 12.5,
    }


@pytest.mark.req("RUN-10")
def test_pages_are_counted_once_also_for_a_pdf_that_is_read_in_parts(
    runs: StageRuns, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "LARGE_BYTES", 0)
    for name, pages in (("long.pdf", 7), ("short.pdf", 2)):
        (runs.docs / name).write_bytes(draw_pdf(*(draw_lines(f"Page {number}") for number in range(pages))))
    outcome = runs.doctags(split_pages=3)
    assert outcome.counts.failed == 0
    snapshot = runs.snapshot(outcome)
    assert snapshot["groups"]["pdf"]["pages"] == 9
    assert snapshot["pages_per_s"] > 0


@pytest.mark.slow
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
    monkeypatch.setattr(parquet, "ROW_GROUP_BYTES", 32 * 1024)
    monkeypatch.setattr(parquet, "ROW_GROUP_BYTES_MAX", 64 * 1024)
    vectors = np.eye(300, dtype=np.float32)
    file = io.BytesIO()
    parquet.write_table(file, pa.table({"chunk_id": [str(n) for n in range(300)], "vector": vectors.tolist()}))
    assert pq.read_metadata(file).num_row_groups > 3
    table = pq.read_table(file)
    assert table["chunk_id"].to_pylist() == [str(n) for n in range(300)]
    assert table["vector"].to_pylist() == vectors.tolist()
