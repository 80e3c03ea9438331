"""Runs over documents as a user makes them, on folders that change."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import inorder
from inorder.documents.chunk.step import HISTOGRAM
from inorder.pipeline.outcome import FileCounts
from inorder.report.contents import TOKEN_BOUNDS
from inorder.stage.manifest.rows import VOLATILE_FIELDS
from tests.documents.workspace import PROSE, STEPS, Workspace
from tests.support.command_line import GUARD_S

pytestmark = pytest.mark.process

DOCUMENTS = {"docs/guide.md", "docs/page.html", "docs/notes/one.txt"}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    workspace = Workspace(tmp_path)
    workspace.write("guide.md", "# Guide\n\n" + PROSE * 60 + "\n\n## Lamps\n\n" + PROSE * 50)
    workspace.write("notes/one.txt", PROSE * 20)
    workspace.write("page.html", f"<html><body><h1>Rota</h1><p>{PROSE * 5}</p></body></html>")
    return workspace


def count_files(outcome: dict[str, Any]) -> FileCounts:
    return FileCounts(**outcome["counts"])


def count_steps(outcome: dict[str, Any]) -> dict[str, int]:
    """How many files each step has made a result of."""
    return {step: totals["files"] for step, totals in outcome["steps"].items() if totals["files"]}


@pytest.mark.req("DOC-1", "DOC-2", "DOC-3", "CLI-1")
def test_a_folder_becomes_documents_chunks_and_vectors(workspace: Workspace) -> None:
    outcome = workspace.run()
    assert (count_files(outcome), outcome["documents"]) == (FileCounts(new=3), 3)
    assert count_steps(outcome) == dict.fromkeys(STEPS, 3)
    for step in STEPS:
        assert workspace.done(step) == DOCUMENTS
    guide = workspace.rows("doctags")["docs/guide.md"]
    assert {"pages", "blocks", "tables", "figures", "engine", "bytes_in", "bytes_out"} <= set(guide)


@pytest.mark.req("DOC-4")
def test_the_second_run_does_nothing(workspace: Workspace) -> None:
    workspace.run()
    before = workspace.outputs()
    outcome = workspace.run()
    assert (count_files(outcome), outcome["steps"]) == (FileCounts(unchanged=3), {})
    assert workspace.outputs() == before


@pytest.mark.req("DOC-4")
def test_a_changed_document_redoes_itself_and_nothing_else(workspace: Workspace) -> None:
    workspace.run()
    workspace.write("notes/one.txt", PROSE * 20 + "Something new.")
    assert count_files(workspace.run()) == FileCounts(changed=1, unchanged=2)
    for step in STEPS:
        assert workspace.done(step) == {"docs/notes/one.txt"}


@pytest.mark.req("DOC-4")
def test_a_document_that_was_only_touched_redoes_nothing(workspace: Workspace) -> None:
    workspace.run()
    os.utime(workspace.docs / "guide.md", (1, 1))
    outcome = workspace.run()
    assert (count_files(outcome), outcome["steps"]) == (FileCounts(unchanged=3), {})


@pytest.mark.req("DOC-4")
def test_another_chunk_size_redoes_chunks_and_vectors_but_reads_no_document(workspace: Workspace) -> None:
    workspace.run()
    outcome = workspace.run("run", "docs", "--tokens-max", "100")
    # one of them is a single chunk, as before
    assert count_steps(outcome) == {"chunk": 3, "index": 2, "embed:dense": 2}
    assert workspace.done("embed:dense") == {"docs/guide.md", "docs/notes/one.txt"}


@pytest.mark.req("DOC-4")
def test_another_dense_provider_redoes_dense_vectors_and_nothing_else(workspace: Workspace) -> None:
    workspace.run()
    assert count_steps(workspace.run("run", "docs", "--dense", "hash:64")) == {"embed:dense": 3}


@pytest.mark.req("DOC-4")
def test_a_renamed_and_a_deleted_document_are_reconciled_in_every_step(workspace: Workspace) -> None:
    workspace.run()
    (workspace.docs / "page.html").unlink()
    (workspace.docs / "guide.md").rename(workspace.docs / "handbook.md")
    assert count_files(workspace.run()) == FileCounts(new=1, unchanged=1, removed=2)
    assert set(workspace.files()) == {"docs/handbook.md", "docs/notes/one.txt"}
    hits = inorder.open(workspace.data).search("rota lamps", mode="lexical").hits
    assert {hit.item_id for hit in hits} == {"docs/handbook.md", "docs/notes/one.txt"}


@pytest.mark.req("DOC-4")
def test_after_any_changes_data_is_what_a_run_from_scratch_would_have_made(
    workspace: Workspace, tmp_path: Path
) -> None:
    workspace.run()
    workspace.write("notes/two.md", "# Two\n\n" + PROSE * 9)
    workspace.write("guide.md", "# Guide\n\n" + PROSE * 12)
    workspace.write("page.html", "\0\1\2")
    (workspace.docs / "notes" / "one.txt").unlink()
    workspace.run("run", "docs", "--tokens-max", "64", expected=3)
    fresh = Workspace(tmp_path)
    fresh.data = tmp_path / "fresh"
    fresh.run("run", "docs", "--tokens-max", "64", expected=3)
    assert workspace.outputs() == fresh.outputs()


@pytest.mark.req("DOC-3", "DOC-4")
def test_without_vectors_documents_are_found_by_their_words(workspace: Workspace) -> None:
    workspace.run()
    workspace.run("run", "docs", "--dense", "none")
    assert not [name for name in workspace.outputs() if name.startswith("embed")]
    data = inorder.open(workspace.data)
    answer = data.search("rota")
    assert (answer.mode, [hit.item_id for hit in answer.hits]) == ("lexical", ["docs/page.html"])
    assert {row.doc_id for row in data.vectors("lexical")} == DOCUMENTS
    assert workspace.run("run", "docs", "--dense", "none")["steps"] == {}


@pytest.mark.req("DOC-4")
def test_what_cannot_be_read_any_more_leaves_nothing_behind(workspace: Workspace) -> None:
    workspace.run()
    (workspace.docs / "guide.md").rename(workspace.docs / "guide.pdf")
    (workspace.docs / "notes" / "one.txt").write_bytes(b"\x89PNG\r\n\x1a\n")
    outcome = workspace.run(expected=3)
    assert count_files(outcome) == FileCounts(unchanged=1, failed=1, not_read=1, removed=1)
    assert {name.partition(" ")[2] for name in workspace.outputs()} == {"docs/page.html", ""}


@pytest.mark.req("RUN-4")
@pytest.mark.parametrize(
    ("arguments", "hash_seed"),
    [(("--workers", "1"), "0"), (("--workers", "5"), "1"), (("--workers", "2", "--set", "schedule=sjf"), "random")],
)
def test_the_outputs_do_not_depend_on_how_they_were_made(
    workspace: Workspace, arguments: list[str], hash_seed: str
) -> None:
    outcome = workspace.run("run", "docs", *arguments, policy="cpu", PYTHONHASHSEED=hash_seed)
    assert count_files(outcome).failed == 0
    again = Workspace(workspace.folder)
    again.data = workspace.folder / "again"
    again.run(PYTHONHASHSEED="7")
    assert again.outputs() == workspace.outputs()
    for step in STEPS:
        assert [*map(stable_fields, workspace.rows(step).values())] == [*map(stable_fields, again.rows(step).values())]


def stable_fields(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in VOLATILE_FIELDS}


@pytest.mark.req("DOC-2", "DOC-3")
def test_every_table_says_in_its_footer_what_it_is(workspace: Workspace) -> None:
    workspace.run("run", "docs")
    inorder.open(workspace.data).export(workspace.folder / "out", format="files")
    for folder, kind, version in (("chunks", "chunks", b"2"), ("vectors/dense", "dense", b"1")):
        footer = pq.read_schema(workspace.folder / "out" / folder / "docs" / "guide.md.parquet").metadata
        assert (footer[b"inorder.schema"], footer[b"inorder.schema_version"]) == (f"inorder.{kind}".encode(), version)
        assert len(footer[b"inorder.cfg_hash"]) == 32


def test_documents_of_other_sources_stay_and_the_same_name_below_two_roots_is_two_documents(
    workspace: Workspace,
) -> None:
    other = workspace.folder / "other" / "docs"
    other.mkdir(parents=True)
    (other / "guide.md").write_text("# Another guide\n", encoding="utf-8")
    (workspace.folder / "more").mkdir()
    (workspace.folder / "more" / "x.md").write_text("# X\n", encoding="utf-8")
    workspace.run("run", "docs", "other/docs")
    assert workspace.done("doctags") == {*DOCUMENTS, "docs~2/guide.md"}
    assert count_files(workspace.run("run", "more")) == FileCounts(new=1)
    assert set(workspace.files()) == {*DOCUMENTS, "docs~2/guide.md", "more/x.md"}


def test_data_may_lie_among_the_documents(workspace: Workspace) -> None:
    workspace.data = workspace.docs / "data"
    workspace.run()
    assert count_files(workspace.run()) == FileCounts(unchanged=3)


def test_the_classes_in_which_chunks_are_shown_are_those_in_which_they_are_counted() -> None:
    assert HISTOGRAM == TOKEN_BOUNDS


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("run", "nowhere"), "no such file or directory: "),
        (("run", "docs", "--tokens-max", "none"), "--tokens-max must be a whole number from 1 to 1000000"),
        (("run", "docs", "--tokens-max", "10", "--set", "tokens_min=11"), "tokens_min must be at most tokens_max"),
        (("run", "docs", "--set", "tokenizer=bytes"), "tokenizer must be 'words' or 'hf:PATH', got 'bytes'"),
        (("run", "docs", "--set", "tokenizer=hf:/nowhere.json"), "cannot read the tokenizer /nowhere.json"),
        (("run", "docs", "--dense", "gpt"), "unknown provider 'gpt'"),
        (("run", "docs", "--dense", "onnx:/nowhere"), "/nowhere"),
        (("run",), "missing argument 'SRC...'"),
    ],
)
def test_wrong_usage_is_one_line_before_anything_is_done(
    workspace: Workspace, arguments: list[str], complaint: str
) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "inorder", *arguments, "--data", str(workspace.data)],
        cwd=workspace.folder,
        capture_output=True,
        text=True,
        timeout=GUARD_S,
        check=False,
    )
    assert ended.returncode == 2, ended.stderr
    assert complaint in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not workspace.data.exists()
