"""The stages of documents, run as a user runs them, on folders that change."""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from inorder.cli.commands.inspect import _BOUNDS
from inorder.documents.chunk.stage import HISTOGRAM
from inorder.documents.parquet import footer_of
from inorder.stage.freshness import REMOVED_FROM_PLAN
from inorder.stage.manifest.rows import VOLATILE_FIELDS

STAGES = ("doctags", "chunk", "embed")
PROSE = "The keeper lights the lamp at dusk, and notes the hour in the book. "


class Desk:
    """A folder with documents, and DATA beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.docs = folder / "docs"
        self.docs.mkdir()
        self.data = folder / "data"

    def write(self, name: str, text: str) -> None:
        path = self.docs / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def run(self, *arguments: str, expected: int = 0, policy: str = "io", **environment: str) -> dict[str, Any]:
        """`inorder run`, as a program of its own; what it says to programs. Threads begin sooner than processes."""
        command = (*(arguments or ("run", "docs")), "--policy", policy)
        ended = subprocess.run(
            [sys.executable, "-m", "inorder", *command, "--data", str(self.data), "--quiet", "--json"],
            cwd=self.folder,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        assert ended.returncode == expected, ended.stderr
        found: dict[str, Any] = json.loads(ended.stdout)
        return found

    def rows(self, stage: str) -> list[dict[str, Any]]:
        """Of the latest run."""
        lines = (self.data / "manifests" / f"{stage}.jsonl").read_text(encoding="utf-8").splitlines()
        found: list[dict[str, Any]] = []
        for row in map(json.loads, lines):
            found = [] if row["doc_id"] == "__config__" else [*found, row]
        return found

    def done(self, stage: str) -> dict[str, str]:
        """What the latest run has made or removed, by item."""
        said = {row["doc_id"]: row for row in self.rows(stage)}
        return {
            name: "gone" if row["reason"] == REMOVED_FROM_PLAN else row["status"]
            for name, row in said.items()
            if row["status"] != "skip" or row["reason"] == REMOVED_FROM_PLAN
        }

    def outputs(self) -> dict[str, bytes]:
        """Everything that was made."""
        found = {}
        for folder in ("doctags", "chunks", "vectors", "pages"):
            for path in sorted((self.data / folder).rglob("*")):
                if path.is_file():
                    found[str(path.relative_to(self.data))] = path.read_bytes()
        return found


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    desk = Desk(tmp_path)
    desk.write("guide.md", "# Guide\n\n" + PROSE * 60 + "\n\n## Lamps\n\n" + PROSE * 50)
    desk.write("notes/one.txt", PROSE * 20)
    desk.write("page.html", f"<html><body><h1>Rota</h1><p>{PROSE * 5}</p></body></html>")
    return desk


def names(*documents: str) -> list[str]:
    return [f"docs/{document}" for document in documents]


def embedded(documents: Iterable[str]) -> dict[str, str]:
    """What `embed` does for these."""
    return {f"{family}/{name}": "success" for name in documents for family in ("dense", "lexical")}


@pytest.mark.req("DOC-1", "DOC-2", "DOC-3", "CLI-1")
def test_a_folder_becomes_documents_chunks_and_vectors(desk: Desk) -> None:
    outcome = desk.run()
    assert [stage["stage"] for stage in outcome["stages"]] == [*STAGES, "index"]
    documents = names("guide.md", "page.html", "notes/one.txt")
    assert desk.done("doctags") == dict.fromkeys(documents, "success")
    assert desk.done("chunk") == dict.fromkeys(documents, "success")
    assert desk.done("embed") == {**embedded(documents), "__corpus__": "success"}
    [guide, *_] = desk.rows("doctags")
    assert {"pages", "blocks", "tables", "figures", "engine", "bytes_in", "bytes_out"} <= set(guide)


@pytest.mark.req("DOC-4")
def test_the_second_run_does_nothing(desk: Desk) -> None:
    desk.run()
    before = desk.outputs()
    outcome = desk.run()
    assert [(stage["succeeded"], stage["failed"]) for stage in outcome["stages"]] == [(0, 0)] * 4
    assert desk.outputs() == before


@pytest.mark.req("DOC-4")
def test_a_changed_document_redoes_itself_and_the_statistics_and_nothing_else(desk: Desk) -> None:
    desk.run()
    desk.write("notes/one.txt", PROSE * 20 + "Something new.")
    desk.run()
    [changed] = names("notes/one.txt")
    assert desk.done("doctags") == {changed: "success"}
    assert desk.done("chunk") == {changed: "success"}
    assert desk.done("embed") == {**embedded([changed]), "__corpus__": "success"}


@pytest.mark.req("DOC-4")
def test_a_document_that_was_only_touched_redoes_nothing(desk: Desk) -> None:
    desk.run()
    os.utime(desk.docs / "guide.md", (1, 1))
    desk.run()
    assert [desk.done(stage) for stage in STAGES] == [{}, {}, {}]


@pytest.mark.req("DOC-4")
def test_another_chunk_size_redoes_chunks_and_vectors_but_reads_no_document(desk: Desk) -> None:
    desk.run()
    desk.run("run", "docs", "--tokens-max", "100")
    documents = names("guide.md", "page.html", "notes/one.txt")
    assert desk.done("doctags") == {}
    assert desk.done("chunk") == dict.fromkeys(documents, "success")
    assert set(desk.done("embed")) == {*embedded(documents), "__corpus__"}


@pytest.mark.req("DOC-4")
def test_another_dense_provider_redoes_dense_vectors_and_nothing_else(desk: Desk) -> None:
    desk.run()
    desk.run("run", "docs", "--dense", "hash:64")
    assert (desk.done("doctags"), desk.done("chunk")) == ({}, {})
    assert set(desk.done("embed")) == {f"dense/{name}" for name in names("guide.md", "page.html", "notes/one.txt")}


@pytest.mark.req("DOC-4")
def test_a_renamed_and_a_deleted_document_are_reconciled_in_every_stage(desk: Desk) -> None:
    desk.run()
    (desk.docs / "page.html").unlink()
    (desk.docs / "guide.md").rename(desk.docs / "handbook.md")
    desk.run()
    old, new, gone = names("guide.md", "handbook.md", "page.html")
    wanted = {new: "success", old: "gone", gone: "gone"}
    assert desk.done("doctags") == wanted
    assert desk.done("chunk") == wanted
    families = {f"{family}/{name}": how for name, how in wanted.items() for family in ("dense", "lexical")}
    assert desk.done("embed") == {**families, "__corpus__": "success"}
    assert not [path for path in desk.outputs() if "guide" in path or "page.html" in path]


@pytest.mark.req("DOC-4")
def test_after_any_changes_data_is_what_a_run_from_scratch_would_have_made(desk: Desk, tmp_path: Path) -> None:
    desk.run()
    desk.write("notes/two.md", "# Two\n\n" + PROSE * 9)
    desk.write("guide.md", "# Guide\n\n" + PROSE * 12)
    desk.write("page.html", "\0\1\2")
    (desk.docs / "notes" / "one.txt").unlink()
    desk.run("run", "docs", "--tokens-max", "64", expected=3)
    (tmp_path / "fresh").mkdir()
    fresh = Desk(tmp_path / "fresh")
    for path in desk.docs.rglob("*"):
        if path.is_file():
            fresh.write(str(path.relative_to(desk.docs)), path.read_text(encoding="utf-8"))
    fresh.run("run", "docs", "--tokens-max", "64", expected=3)
    assert desk.outputs() == fresh.outputs()


@pytest.mark.req("DOC-4")
def test_the_statistics_are_those_of_the_terms_that_are_there(desk: Desk) -> None:
    desk.run()
    (desk.docs / "guide.md").unlink()
    desk.write("extra.txt", "Foghorn, foghorn! A second chunk it is not.")
    desk.run()
    path = desk.data / "vectors" / "__corpus__.parquet"
    found = {row["term"]: (row["chunks"], row["count"]) for row in pq.read_table(path).to_pylist()}
    counted: Counter[str] = Counter()
    held: Counter[str] = Counter()
    chunks = length = 0
    for table in (desk.data / "vectors" / "lexical").rglob("*.parquet"):
        for row in pq.read_table(table).to_pylist():
            chunks, length = chunks + 1, length + row["length"]
            counted.update(dict(zip(row["terms"], row["counts"], strict=True)))
            held.update(row["terms"])
    assert found == {term: (held[term], counted[term]) for term in counted}
    assert found["foghorn"] == (1, 2)
    footer = footer_of(path)
    assert (footer["chunks"], footer["length"]) == (str(chunks), str(length))


@pytest.mark.req("DOC-4")
def test_what_cannot_be_read_any_more_leaves_nothing_behind(desk: Desk) -> None:
    desk.run()
    (desk.docs / "guide.md").rename(desk.docs / "guide.pdf")
    (desk.docs / "notes" / "one.txt").write_bytes(b"\x89PNG\r\n\x1a\n")
    outcome = desk.run(expected=3)
    assert outcome["stages"][0]["failed"] == 1
    assert {path.split("/")[-1].split(".")[0] for path in desk.outputs()} == {"page", "__corpus__"}


@pytest.mark.req("RUN-4")
@pytest.mark.parametrize(
    ("arguments", "hash_seed"),
    [(("--workers", "1"), "0"), (("--workers", "5"), "1"), (("--workers", "2", "--schedule", "sjf"), "random")],
)
def test_the_outputs_do_not_depend_on_how_they_were_made(desk: Desk, arguments: list[str], hash_seed: str) -> None:
    outcome = desk.run("run", "docs", *arguments, policy="cpu", PYTHONHASHSEED=hash_seed)
    assert sum(stage["failed"] for stage in outcome["stages"]) == 0
    again = Desk.__new__(Desk)
    again.folder, again.docs, again.data = desk.folder, desk.docs, desk.folder / "again"
    again.run(PYTHONHASHSEED="7")
    assert again.outputs() == desk.outputs()
    for stage in STAGES:
        assert [steady(row, desk) for row in desk.rows(stage)] == [steady(row, again) for row in again.rows(stage)]


def steady(row: dict[str, Any], desk: Desk) -> str:
    kept = {name: value for name, value in row.items() if name not in VOLATILE_FIELDS}
    return json.dumps(kept).replace(str(desk.data), "DATA")


@pytest.mark.req("DOC-2")
def test_chunks_as_json_lines_take_the_place_of_those_in_parquet(desk: Desk) -> None:
    desk.run()
    rows = pq.read_table(desk.data / "chunks" / "docs" / "guide.md.parquet").to_pylist()
    vectors = {path: data for path, data in desk.outputs().items() if path.startswith("vectors/dense")}
    desk.run("run", "docs", "--format", "jsonl")
    head, *lines = (desk.data / "chunks" / "docs" / "guide.md.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(head)["schema"] == "inorder.chunks"
    assert [json.loads(line) for line in lines] == rows
    assert not list((desk.data / "chunks").rglob("*.parquet"))
    after = {path for path in desk.outputs() if path.startswith("vectors/dense")}
    assert after == set(vectors)


@pytest.mark.req("DOC-2", "DOC-3")
def test_every_table_says_in_its_footer_what_it_is(desk: Desk) -> None:
    desk.run()
    for folder, kind in (("chunks", "chunks"), ("vectors/dense", "dense"), ("vectors/lexical", "lexical")):
        footer = footer_of(desk.data / folder / "docs" / "guide.md.parquet")
        assert (footer["schema"], footer["schema_version"]) == (f"inorder.{kind}", "1")
        assert len(footer["cfg_hash"]) == 32


def test_documents_of_other_sources_stay_and_the_same_name_below_two_roots_is_two_documents(desk: Desk) -> None:
    other = desk.folder / "other" / "docs"
    other.mkdir(parents=True)
    (other / "guide.md").write_text("# Another guide\n", encoding="utf-8")
    (desk.folder / "more").mkdir()
    (desk.folder / "more" / "x.md").write_text("# X\n", encoding="utf-8")
    desk.run("run", "docs", "other/docs")
    assert set(desk.done("doctags")) == {*names("guide.md", "page.html", "notes/one.txt"), "docs~2/guide.md"}
    desk.run("run", "more")
    assert desk.done("doctags") == {"more/x.md": "success"}
    assert desk.done("chunk") == {"more/x.md": "success"}


def test_data_may_lie_among_the_documents(desk: Desk) -> None:
    desk.data = desk.docs / "data"
    desk.run()
    desk.run()
    assert [desk.done(stage) for stage in STAGES] == [{}, {}, {}]


def test_the_classes_in_which_chunks_are_shown_are_those_in_which_they_are_counted() -> None:
    assert HISTOGRAM == _BOUNDS


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("run", "nowhere"), "there is no"),
        (("run", "docs", "--tokens-max", "none"), "--tokens-max must be a whole number from 1 to 1000000"),
        (("run", "docs", "--tokens-max", "10", "--tokens-min", "11"), "tokens_min must be at most tokens_max"),
        (("run", "docs", "--tokenizer", "bytes"), "tokenizer must be 'words' or 'hf:PATH', got 'bytes'"),
        (("run", "docs", "--tokenizer", "hf:/nowhere.json"), "the tokenizer /nowhere.json cannot be read"),
        (("run", "docs", "--dense", "gpt"), "unknown provider 'gpt'"),
        (("run", "docs", "--dense", "none", "--no-lexical"), "at least one of dense, sparse and lexical"),
        (("embed", "--dense", "onnx:/nowhere"), "/nowhere"),
        (("run",), "Missing argument 'SRC...'"),
    ],
)
def test_wrong_usage_is_one_line_before_anything_is_done(desk: Desk, arguments: list[str], complaint: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "inorder", *arguments, "--data", str(desk.data)],
        cwd=desk.folder,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert ended.returncode == 2, ended.stderr
    assert complaint in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not (desk.data / "vectors").exists()


def test_a_document_is_explained_through_all_stages(desk: Desk) -> None:
    desk.write("a.md", PROSE)
    desk.write("b.md", PROSE)
    desk.run()
    ended = subprocess.run(
        [sys.executable, "-m", "inorder", "explain", "docs/a.md", "--data", str(desk.data), "--json"],
        cwd=desk.folder,
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    )
    said = [(one["stage"], one["item_id"], one["verdict"]) for one in json.loads(ended.stdout)["stages"]]
    assert said == [
        ("doctags", "docs/a.md", "skip"),
        ("chunk", "docs/a.md", "skip"),
        ("embed", "dense/docs/a.md", "skip"),
        ("embed", "lexical/docs/a.md", "skip"),
        ("index", "docs/a.md", "skip"),
    ]
