"""Rows that are the same run after run are written once: a line stands for them, and readers see the rows."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from inorder.sinks import packed_lines
from inorder.sinks.manifest import ManifestSink
from inorder.stage.manifest import repeated
from inorder.stage.manifest.item_status import ItemStatuses
from inorder.stage.manifest.reader import read_line_at, read_lines
from inorder.stage.unchanged import spliced_manifest
from tests.stage.jobs import Place
from tests.stage.unchanged.pipeline import Pipeline

pytestmark = pytest.mark.req("RUN-7", "STL-1")
NAMES = [f"{number:03}" for number in range(100, 140)]


@pytest.fixture
def pipeline(place: Place, monkeypatch: pytest.MonkeyPatch) -> Pipeline:
    """A pipeline with 40 items that has run twice."""
    monkeypatch.setattr(spliced_manifest, "REPEATED_MIN", 10)
    for name in NAMES:
        place.source(name, f"text of {name}")
    made = Pipeline(place)
    made.finds_edits = True
    made.run()
    assert len(made.list_written()) == len(NAMES)
    made.run()
    assert len(made.list_written()) == 1
    return made


def decode(lines: list[bytes]) -> list[dict[str, Any]]:
    return [msgspec.json.decode(line) for line in lines]


def test_a_run_without_changes_writes_one_line_and_has_a_row_per_item(pipeline: Pipeline) -> None:
    rows = pipeline.list_runs()[-1]
    for _ in range(3):
        assert pipeline.run().skipped == len(NAMES)
        [line] = decode(pipeline.list_written())
        assert (line["doc_id"], line["status"], line["seq"], line["count"]) == (
            "__repeated__",
            "repeated",
            0,
            len(NAMES),
        )
        assert len(line["pieces"]) == 1
    assert pipeline.list_runs()[1:] == [rows] * 4


def test_rows_that_are_repeated_are_read_a_few_at_a_time(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are as many as all items, and one piece."""
    pipeline.run()
    sizes: list[int] = []
    read_text = ManifestSink.read_text

    def note(sink: ManifestSink, offset: int, size: int) -> bytes:
        sizes.append(size)
        return read_text(sink, offset, size)

    monkeypatch.setattr(ManifestSink, "read_text", note)
    for module in (repeated, spliced_manifest):
        monkeypatch.setattr(module, "_BLOCK_BYTES", 1000)
    pipeline.run()
    assert sizes == [], "nothing needs to be known of rows that all are repeated"
    for name in ("101", "139"):
        (pipeline.place.sources / name).unlink()
    for _ in range(3):
        pipeline.run()
    assert max(sizes) <= 1000
    assert [row["seq"] for row in decode(pipeline.list_runs()[-1])] == list(range(len(NAMES) - 2))


def test_rows_that_lie_apart_after_changes_are_named_in_order(pipeline: Pipeline) -> None:
    for name in ("105", "110", "120"):
        pipeline.place.source(name, "another text")
        pipeline.run()
    for name in ("101", "103"):
        (pipeline.place.sources / name).unlink()
    pipeline.place.source("100a", "new")
    pipeline.run()
    pipeline.run()
    names = sorted({*NAMES, "100a"} - {"101", "103"})
    rows = decode(pipeline.list_runs()[-1])
    assert [row["doc_id"] for row in rows] == names
    assert [row["seq"] for row in rows] == list(range(len(names)))
    assert {row["status"] for row in rows} == {"skip"}
    assert {row["status"] for row in decode(pipeline.list_written())} == {"repeated"}
    written = decode(pipeline.list_runs()[-1])
    pipeline.forget()
    pipeline.run()
    assert decode(pipeline.list_written()) == written


def test_rows_in_very_many_pieces_are_written_again_in_one(pipeline: Pipeline) -> None:
    for name in NAMES[2::4]:
        pipeline.place.source(name, "another text")
    pipeline.run()
    found = [row["status"] for row in decode(pipeline.list_written())]
    assert (found.count("repeated"), found.count("success"), found.count("skip")) == (11, 10, 0)
    pipeline.run()
    assert [row["status"] for row in decode(pipeline.list_written())] == ["skip"] * len(NAMES)
    rows = pipeline.list_runs()[-1]
    pipeline.run()
    assert len(pipeline.list_written()) == 1
    assert pipeline.list_runs()[-1] == rows


def test_the_rows_are_found_when_they_are_packed(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed_lines, "_LEAST_BYTES", 1)
    rows = pipeline.list_runs()[-1]
    pipeline.run()
    assert Path(f"{pipeline.data}/manifests/second.jsonl.zst").exists()
    pipeline.place.source("120", "another text")
    pipeline.run()
    pipeline.run()
    assert pipeline.list_runs()[2] == rows
    assert [row["doc_id"] for row in decode(pipeline.list_runs()[-1])] == NAMES


def test_the_status_of_an_item_leads_to_the_row_itself(pipeline: Pipeline) -> None:
    manifest = f"{pipeline.data}/manifests/second.jsonl"
    pipeline.run()
    status = ItemStatuses.read(manifest).get("120")
    assert status is not None
    assert (status.status, status.is_satisfied, status.made == status.latest) == ("success", True, True)
    made = read_line_at(manifest, status.made).row
    assert made is not None
    assert (made.doc_id, made.status) == ("120", "success")


def test_a_line_that_stands_for_nothing_is_reported_as_damaged(pipeline: Pipeline) -> None:
    pipeline.run()
    manifest = Path(f"{pipeline.data}/manifests/second.jsonl")
    text = manifest.read_bytes()
    start = text.rindex(b'"pieces":[[') + len(b'"pieces":[[')
    manifest.write_bytes(text[:start] + b"9" + text[start:])
    lines = list(read_lines(str(manifest)))
    assert [line.row is None for line in lines].count(True) == 1
    assert lines[-1].end == manifest.stat().st_size
