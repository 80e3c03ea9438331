"""The stage `export`, to a target in a file: after each run the target equals the index."""

import os
from pathlib import Path
from typing import Any

import pytest

from inorder.errors import InfrastructureError, OperatorError
from inorder.sinks.base import Position
from inorder.stage.contracts import StageOutcome
from inorder.stage.options import StageOptions
from inorder.stage.run import run_stage
from inorder.targets.base import TargetChanges
from inorder.targets.index_reader import IndexReader
from inorder.targets.registry import KINDS, TargetKind
from inorder.targets.stage import ExportSettings, make_stage
from tests.dataset.corpus import IDS, make_corpus, process
from tests.documents.stage_runs import StageRuns
from tests.targets.file_target import FileTarget, read_file


@pytest.fixture(autouse=True)
def file_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KINDS, "file", TargetKind("tests.targets.file_target", "a file"))


@pytest.fixture
def runs(tmp_path: Path) -> StageRuns:
    return make_corpus(tmp_path)


def export(runs: StageRuns, **settings: Any) -> StageOutcome:
    data = Path(runs.data)
    stage = make_stage(ExportSettings(to=f"file://{data.parent}/target.json", **settings))
    options = StageOptions(data=str(data), progress="none", policy="io", workers=2)
    assert stage.sinks is not None
    return run_stage(stage.plan([], data), stage.worker, options, sinks=stage.sinks(data))


def read_target(runs: StageRuns) -> dict[str, Any]:
    documents: dict[str, Any] = read_file(f"{Path(runs.data).parent}/target.json")["documents"]
    return documents


def test_the_target_holds_every_document_of_the_index(runs: StageRuns) -> None:
    outcome = export(runs)
    assert (outcome.succeeded, outcome.failed) == (3, 0)
    documents = read_target(runs)
    assert sorted(documents) == IDS
    reader = IndexReader(os.fspath(runs.data))
    assert [documents[each]["hash"] for each in IDS] == [each.hash for each in reader.list_documents("", 9)]
    chunks = documents["docs/note.md"]["chunks"]
    assert [chunk[0] for chunk in chunks] == list(range(len(chunks)))
    assert chunks[0][5] == "Note"
    assert all(chunk[10] for chunk in chunks)
    assert reader.read_layout().dimensions == 16
    reader.close()


def test_a_second_export_has_nothing_to_do(runs: StageRuns) -> None:
    export(runs)
    assert export(runs).scheduled == 0


def test_only_changes_are_exported(runs: StageRuns) -> None:
    export(runs)
    before = read_target(runs)
    runs.write("docs/plain.txt", "Something else entirely.")
    runs.write("docs/new.md", "# New\n\nA new page.")
    (runs.docs / "note.md").unlink()
    process(runs)
    runs.index()
    outcome = export(runs)
    assert outcome.succeeded == 3
    after = read_target(runs)
    assert sorted(after) == ["docs/deep/page.html", "docs/new.md", "docs/plain.txt"]
    assert after["docs/deep/page.html"] == before["docs/deep/page.html"]
    assert "entirely" in after["docs/plain.txt"]["chunks"][0][9]


def test_a_document_that_the_target_lost_is_written_again(runs: StageRuns) -> None:
    export(runs)
    expected = read_target(runs)
    Path(f"{Path(runs.data).parent}/target.json").unlink()
    assert export(runs).succeeded == 3
    assert read_target(runs) == expected


def test_with_another_provider_every_document_is_written_again(runs: StageRuns) -> None:
    export(runs)
    runs.embed(dense="hash:32")
    runs.index()
    assert export(runs).succeeded == 3


def test_what_the_target_holds_is_removed_if_asked_for(runs: StageRuns) -> None:
    export(runs)
    assert export(runs, recreate=True).succeeded == 3


def test_an_export_that_was_stopped_is_not_resumed_but_does_the_rest(
    runs: StageRuns, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = FileTarget.write

    def write_the_first_and_fail(target: FileTarget, changes: TargetChanges, position: Position) -> None:
        write(target, changes._replace(written=changes.written[:1]), position)
        if changes.written:
            raise InfrastructureError("the server is gone")

    with monkeypatch.context() as patch:
        patch.setattr(FileTarget, "write", write_the_first_and_fail)
        with pytest.raises(InfrastructureError, match="the server is gone"):
            export(runs)
    assert sorted(read_target(runs)) == IDS[:1]
    outcome = export(runs)
    assert (outcome.resumed_at, outcome.scheduled) == (None, 2)
    assert sorted(read_target(runs)) == IDS


def test_without_an_index_nothing_is_connected(tmp_path: Path) -> None:
    stage = make_stage(ExportSettings(to=f"file://{tmp_path}/target.json"))
    assert stage.sinks is not None
    with pytest.raises(OperatorError, match="no index"):
        stage.sinks(tmp_path)
    assert not (tmp_path / "target.json").exists()


def test_an_unknown_target_is_refused() -> None:
    with pytest.raises(OperatorError, match=r"unknown target 'tape://user@drive'; valid targets:.*file://"):
        make_stage(ExportSettings(to="tape://user:secret@drive"))
