"""The expected costs of items: in pages, blocks and chunks."""

from pathlib import Path

import pytest

import inorder
from inorder.documents.chunk import stage as chunk
from inorder.documents.cost import count_blocks, count_chunks, estimate_pages
from inorder.documents.doctags import stage as doctags
from inorder.documents.embed import stage as embed
from inorder.documents.layout import Result
from inorder.index.stage import stage as index
from inorder.stage.store.inputs import StoredInput
from tests.documents.stage_runs import StageRuns
from tests.documents.workspace import PROSE

LINEARIZED = b"%PDF-1.7\n1 0 obj\n<< /Linearized 1 /L 900000 /H [ 700 90 ] /O 3 /E 5000 /N 412 /T 899 >>\nendobj\n"


def costs(stage: inorder.Stage, runs: StageRuns, *sources: str) -> dict[str, float]:
    plan = stage.plan([runs.folder / name for name in sources or ("docs",)], runs.data)
    return {item.item_id: item.cost_hint for item in plan.items if isinstance(item, inorder.WorkItem)}


@pytest.fixture
def runs(tmp_path: Path) -> StageRuns:
    made = StageRuns(tmp_path)
    made.write("docs/long.txt", f"{PROSE * 30}\n\n" * 20)
    made.write("docs/short.txt", PROSE)
    return made


@pytest.mark.parametrize(
    ("kind", "head", "size", "pages"),
    [
        ("pdf", LINEARIZED, 900_000, 412),
        ("pdf", b"%PDF-1.4\n", 500_000, 10),
        ("pdf", b"%PDF-1.4\n<< /Linearized 1 >>", 500_000, 10),
        ("docx", b"PK", 150_000, 10),
        ("markdown", b"# N << /Linearized 1 /N 9 >>", 30_000, 10),
        ("text", b"", 0, 1),
    ],
)
def test_a_document_costs_its_pages(kind: str, head: bytes, size: int, pages: float) -> None:
    assert estimate_pages(kind, head, size) == pages


def test_the_cost_of_a_pdf_is_the_number_of_pages_that_it_states(runs: StageRuns) -> None:
    (runs.docs / "book.pdf").write_bytes(LINEARIZED)
    found = costs(doctags.make(doctags.DoctagsSettings(split_pages=0)), runs)
    assert (found["docs/book.pdf"], found["docs/short.txt"]) == (412, 1)
    assert 10 < found["docs/long.txt"] < 20


def test_later_stages_cost_what_earlier_ones_have_counted(runs: StageRuns) -> None:
    runs.doctags()
    blocks = {name: row["blocks"] for name, row in runs.rows("doctags").items()}
    assert costs(chunk.make(chunk.ChunkSettings()), runs) == blocks
    runs.chunk(tokens_max=100)
    chunks = {name: row["chunks"] for name, row in runs.rows("chunk").items()}
    assert chunks["docs/long.txt"] > 50
    found = costs(embed.make(embed.EmbedSettings()), runs)
    assert found.pop("__corpus__") == 1
    assert found == {f"dense/{name}": count for name, count in chunks.items()}
    runs.write("code/a.py", "x = 1\n" * 1000)
    assert costs(index, runs, "code") == chunks | {"code/a.py": 4.0}


def test_a_result_that_is_not_stored_yet_is_estimated_from_its_size_and_no_file_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("builtins.open", lambda *_, **__: pytest.fail("a file was opened"))
    source = StoredInput(str(tmp_path), "chunk", "a.md", "chunk/a.md", 20_000, "1" * 64, b"content")
    assert count_chunks(Result("a.md", source, 20_000)) == 10
    assert count_blocks(Result("a.md", source, 20_000)) == 80
