"""The manifests of the steps: what a run begins and ends with."""

import json
from pathlib import Path
from typing import Any

import pytest

from inorder.pipeline.outcome import FileCounts
from inorder.sinks import packed_lines
from inorder.sinks.packed_lines import open_lines
from inorder.stage.manifest.item_status import ItemStatuses

from .runs import Library, write

NOTE = "# {0}\n\nThe keeper of {0} lights the lamp at dusk.\n"
MANIFESTS = ("doctags", "chunk", "index", "embed-dense")


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    root = tmp_path / "docs"
    write(root, **{"ash.md": NOTE.format("ash"), "oak.md": NOTE.format("oak"), "x.pdf": b"%PDF-1.4\nbroken"})
    return root


def read_manifest(library: Library, step: str) -> list[dict[str, Any]]:
    lines = (library.data / "manifests" / f"{step}.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def list_ids(library: Library, step: str) -> list[str]:
    return [row["doc_id"] for row in read_manifest(library, step)]


@pytest.mark.slow
@pytest.mark.req("RUN-7")
def test_a_run_begins_with_its_configuration_and_ends_with_its_counts_in_files(docs: Path, tmp_path: Path) -> None:
    library = Library(tmp_path / "data")
    outcome = library.run(docs)
    assert outcome.counts == FileCounts(new=2, failed=1)
    assert list_ids(library, "doctags") == ["__config__", "docs/ash.md", "docs/oak.md", "docs/x.pdf", "__run__"]
    for step in MANIFESTS:
        rows = read_manifest(library, step)
        assert (rows[0]["run_id"], rows[-1]["run_id"]) == (outcome.run_id, outcome.run_id)
        assert rows[-1]["counts"] == {
            "new": 2,
            "changed": 0,
            "unchanged": 0,
            "copies": 0,
            "failed": 1,
            "not_read": 0,
            "removed": 0,
        }
    assert [
        status.doc_id for status in ItemStatuses.read(str(library.data / "manifests/doctags.jsonl")).failures()
    ] == ["docs/x.pdf"]


@pytest.mark.slow
@pytest.mark.req("RUN-7")
def test_a_run_with_nothing_to_do_has_no_rows(docs: Path, tmp_path: Path) -> None:
    library = Library(tmp_path / "data")
    library.run(docs)
    before = [list_ids(library, step) for step in MANIFESTS]
    library.run(docs)
    assert [list_ids(library, step) for step in MANIFESTS] == before


@pytest.mark.slow
@pytest.mark.req("RUN-7", "CAN-3")
def test_a_run_that_was_stopped_has_no_counts_and_the_next_one_has_them_once(docs: Path, tmp_path: Path) -> None:
    write(docs, **{"z.md": NOTE.format("z")})
    library = Library(tmp_path / "data")
    stopped = library.run(docs, error_budget=0)
    assert stopped.stop_kind == "error budget"
    assert "__run__" not in list_ids(library, "doctags")
    assert library.list_searchable() == ["docs/ash.md", "docs/oak.md"]
    outcome = library.run(docs)
    assert outcome.counts == FileCounts(new=1, unchanged=2, failed=1)
    ids = list_ids(library, "doctags")
    assert ids == ["__config__", "docs/ash.md", "docs/oak.md", "docs/x.pdf", "__config__", "docs/z.md", "__run__"]


@pytest.mark.slow
@pytest.mark.req("RUN-7")
def test_many_rows_are_compressed_and_the_next_run_adds_to_them(
    docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packed_lines, "_LEAST_BYTES", 1)
    library = Library(tmp_path / "data")
    library.run(docs)
    assert list_ids(library, "chunk") == ["__packed__"]
    write(docs, **{"elm.md": NOTE.format("elm")})
    library.run(docs)
    with open_lines(str(library.data / "manifests/chunk.jsonl")) as lines:
        ids = [json.loads(line)["doc_id"] for line in lines]
    assert [each for each in ids if not each.startswith("__")] == ["docs/ash.md", "docs/oak.md", "docs/elm.md"]
