"""The stages of documents, run as a user runs them, on folders that change."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import inorder
from inorder.documents.chunk.step import HISTOGRAM
from inorder.report.contents import TOKEN_BOUNDS
from inorder.stage.manifest.rows import VOLATILE_FIELDS
from tests.documents.workspace import PROSE, Workspace
from tests.support.command_line import GUARD_S

pytestmark = pytest.mark.process

STAGES = ("doctags", "chunk", "embed")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    workspace = Workspace(tmp_path)
    workspace.write("guide.md", "# Guide\n\n" + PROSE * 60 + "\n\n## Lamps\n\n" + PROSE * 50)
    workspace.write("notes/one.txt", PROSE * 20)
    workspace.write("page.html", f"<html><body><h1>Rota</h1><p>{PROSE * 5}</p></body></html>")
    return workspace


def names(*documents: str) -> list[str]:
    return [f"docs/{document}" for document in documents]


def embed_outcomes(documents: Iterable[str]) -> dict[str, str]:
    """What `embed` does for these."""
    return {f"dense/{name}": "success" for name in documents}


@pytest.mark.req("DOC-1", "DOC-2", "DOC-3", "CLI-1")
def test_a_folder_becomes_documents_chunks_and_vectors(workspace: Workspace) -> None:
    outcome = workspace.run()
    assert [stage["stage"] for stage in outcome["stages"]] == [*STAGES, "index"]
    documents = names("guide.md", "page.html", "notes/one.txt")
    assert workspace.done("doctags") == dict.fromkeys(documents, "success")
    assert workspace.done("chunk") == dict.fromkeys(documents, "success")
    assert workspace.done("embed") == {**embed_outcomes(documents), "__corpus__": "success"}
    [guide, *_] = workspace.rows("doctags")
    assert {"pages", "blocks", "tables", "figures", "engine", "bytes_in", "bytes_out"} <= set(guide)


@pytest.mark.req("DOC-4")
def test_the_second_run_does_nothing(workspace: Workspace) -> None:
    workspace.run()
    before = workspace.outputs()
    outcome = workspace.run()
    assert [(stage["succeeded"], stage["failed"]) for stage in outcome["stages"]] == [(0, 0)] * 4
    assert workspace.outputs() == before


@pytest.mark.req("DOC-4")
def test_a_changed_document_redoes_itself_and_the_statistics_and_nothing_else(workspace: Workspace) -> None:
    workspace.run()
    workspace.write("notes/one.txt", PROSE * 20 + "Something new.")
    workspace.run()
    [changed] = names("notes/one.txt")
    assert workspace.done("doctags") == {changed: "success"}
    assert workspace.done("chunk") == {changed: "success"}
    assert workspace.done("embed") == {**embed_outcomes([changed]), "__corpus__": "success"}


@pytest.mark.req("DOC-4")
def test_a_document_that_was_only_touched_redoes_nothing(workspace: Workspace) -> None:
    workspace.run()
    os.utime(workspace.docs / "guide.md", (1, 1))
    workspace.run()
    assert [workspace.done(stage) for stage in STAGES] == [{}, {}, {}]


@pytest.mark.req("DOC-4")
def test_another_chunk_size_redoes_chunks_and_vectors_but_reads_no_document(workspace: Workspace) -> None:
    workspace.run()
    workspace.run("run", "docs", "--tokens-max", "100")
    documents = names("guide.md", "page.html", "notes/one.txt")
    assert workspace.done("doctags") == {}
    assert workspace.done("chunk") == dict.fromkeys(documents, "success")
    cut = names("guide.md", "notes/one.txt")  # the other one is a single chunk, as before
    assert set(workspace.done("embed")) == {*embed_outcomes(cut), "__corpus__"}


@pytest.mark.req("DOC-4")
def test_another_dense_provider_redoes_dense_vectors_their_totals_and_nothing_else(workspace: Workspace) -> None:
    workspace.run()
    workspace.run("run", "docs", "--dense", "hash:64")
    assert (workspace.done("doctags"), workspace.done("chunk")) == ({}, {})
    redone = {f"dense/{name}" for name in names("guide.md", "page.html", "notes/one.txt")}
    assert set(workspace.done("embed")) == {*redone, "__corpus__"}


@pytest.mark.req("DOC-4")
def test_a_renamed_and_a_deleted_document_are_reconciled_in_every_stage(workspace: Workspace) -> None:
    workspace.run()
    (workspace.docs / "page.html").unlink()
    (workspace.docs / "guide.md").rename(workspace.docs / "handbook.md")
    workspace.run()
    old, new, gone = names("guide.md", "handbook.md", "page.html")
    wanted = {new: "success", old: "gone", gone: "gone"}
    assert workspace.done("doctags") == wanted
    assert workspace.done("chunk") == wanted
    vectors = {f"dense/{name}": how for name, how in wanted.items()}
    assert workspace.done("embed") == {**vectors, "__corpus__": "success"}
    assert not [path for path in workspace.outputs() if "guide" in path or "page.html" in path]


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
    (tmp_path / "fresh").mkdir()
    fresh = Workspace(tmp_path / "fresh")
    for path in workspace.docs.rglob("*"):
        if path.is_file():
            fresh.write(str(path.relative_to(workspace.docs)), path.read_text(encoding="utf-8"))
    fresh.run("run", "docs", "--tokens-max", "64", expected=3)
    assert workspace.outputs() == fresh.outputs()


@pytest.mark.req("DOC-3", "DOC-4")
def test_without_vectors_documents_are_found_by_their_words(workspace: Workspace) -> None:
    workspace.run()
    workspace.run("run", "docs", "--dense", "none")
    gone = {f"dense/{name}": "gone" for name in names("guide.md", "page.html", "notes/one.txt")}
    assert workspace.done("embed") == {**gone, "__corpus__": "success"}
    data = inorder.open(workspace.data)
    answer = data.search("rota")
    assert (answer.mode, [hit.item_id for hit in answer.hits]) == ("lexical", names("page.html"))
    assert {row.doc_id for row in data.vectors("lexical")} == {*names("guide.md", "page.html", "notes/one.txt")}
    again = workspace.run("run", "docs", "--dense", "none")
    assert [stage["succeeded"] for stage in again["stages"]] == [0] * 4


@pytest.mark.req("DOC-4")
def test_what_cannot_be_read_any_more_leaves_nothing_behind(workspace: Workspace) -> None:
    workspace.run()
    (workspace.docs / "guide.md").rename(workspace.docs / "guide.pdf")
    (workspace.docs / "notes" / "one.txt").write_bytes(b"\x89PNG\r\n\x1a\n")
    outcome = workspace.run(expected=3)
    assert outcome["stages"][0]["failed"] == 1
    assert {path.split("/")[-1].split(".")[0] for path in workspace.outputs()} == {"page", "__corpus__"}


@pytest.mark.req("RUN-4")
@pytest.mark.parametrize(
    ("arguments", "hash_seed"),
    [(("--workers", "1"), "0"), (("--workers", "5"), "1"), (("--workers", "2", "--schedule", "sjf"), "random")],
)
def test_the_outputs_do_not_depend_on_how_they_were_made(
    workspace: Workspace, arguments: list[str], hash_seed: str
) -> None:
    outcome = workspace.run("run", "docs", *arguments, policy="cpu", PYTHONHASHSEED=hash_seed)
    assert sum(stage["failed"] for stage in outcome["stages"]) == 0
    again = Workspace.__new__(Workspace)
    again.folder, again.docs, again.data = workspace.folder, workspace.docs, workspace.folder / "again"
    again.run(PYTHONHASHSEED="7")
    assert again.outputs() == workspace.outputs()
    for stage in STAGES:
        assert [stable_fields(row, workspace) for row in workspace.rows(stage)] == [
            stable_fields(row, again) for row in again.rows(stage)
        ]


def stable_fields(row: dict[str, Any], workspace: Workspace) -> str:
    kept = {name: value for name, value in row.items() if name not in VOLATILE_FIELDS}
    return json.dumps(kept).replace(str(workspace.data), "DATA")


@pytest.mark.req("DOC-2", "DOC-3")
def test_every_table_says_in_its_footer_what_it_is(workspace: Workspace) -> None:
    workspace.run("run", "docs")
    inorder.open(workspace.data).export(workspace.folder / "out", format="files")
    for folder, kind in (("chunks", "chunks"), ("vectors/dense", "dense")):
        footer = pq.read_schema(workspace.folder / "out" / folder / "docs" / "guide.md.parquet").metadata
        assert (footer[b"inorder.schema"], footer[b"inorder.schema_version"]) == (f"inorder.{kind}".encode(), b"1")
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
    assert set(workspace.done("doctags")) == {*names("guide.md", "page.html", "notes/one.txt"), "docs~2/guide.md"}
    workspace.run("run", "more")
    assert workspace.done("doctags") == {"more/x.md": "success"}
    assert workspace.done("chunk") == {"more/x.md": "success"}


def test_data_may_lie_among_the_documents(workspace: Workspace) -> None:
    workspace.data = workspace.docs / "data"
    workspace.run()
    workspace.run()
    assert [workspace.done(stage) for stage in STAGES] == [{}, {}, {}]


def test_the_classes_in_which_chunks_are_shown_are_those_in_which_they_are_counted() -> None:
    assert HISTOGRAM == TOKEN_BOUNDS


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("run", "nowhere"), "no such file or directory: "),
        (("run", "docs", "--tokens-max", "none"), "--tokens-max must be a whole number from 1 to 1000000"),
        (("run", "docs", "--tokens-max", "10", "--tokens-min", "11"), "tokens_min must be at most tokens_max"),
        (("run", "docs", "--tokenizer", "bytes"), "tokenizer must be 'words' or 'hf:PATH', got 'bytes'"),
        (("run", "docs", "--tokenizer", "hf:/nowhere.json"), "cannot read the tokenizer /nowhere.json"),
        (("run", "docs", "--dense", "gpt"), "unknown provider 'gpt'"),
        (("embed", "--dense", "onnx:/nowhere"), "/nowhere"),
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
    assert not (workspace.data / "vectors").exists()


def test_a_document_is_explained_through_all_stages(workspace: Workspace) -> None:
    workspace.write("a.md", PROSE)
    workspace.write("b.md", PROSE)
    workspace.run()
    ended = subprocess.run(
        [sys.executable, "-m", "inorder", "explain", "docs/a.md", "--data", str(workspace.data), "--json"],
        cwd=workspace.folder,
        capture_output=True,
        text=True,
        timeout=GUARD_S,
        check=True,
    )
    said = [(one["stage"], one["item_id"], one["verdict"]) for one in json.loads(ended.stdout)["stages"]]
    assert said == [
        ("doctags", "docs/a.md", "skip"),
        ("chunk", "docs/a.md", "skip"),
        ("embed", "dense/docs/a.md", "skip"),
        ("index", "docs/a.md", "skip"),
    ]
