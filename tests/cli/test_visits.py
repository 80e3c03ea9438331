"""One visit per document: a run of all stages makes what the stages make one by one, with the workers of the first."""

import json
from errno import ENOSPC
from pathlib import Path
from typing import Any

import pytest

from inorder.engines import pool
from inorder.engines.process.idle import IdleProcesses
from inorder.engines.process.worker_process import WorkerProcess
from inorder.index.drafts.publishing import publish
from inorder.stage import file_stat
from inorder.stage.store import prepared
from inorder.stage.store.database import open_store
from inorder.stage.store.prepared import PreparedResults
from tests.support.command_line import CommandLine

pytestmark = [pytest.mark.process, pytest.mark.req("DAT-3")]

STAGES = ("doctags", "chunk", "embed")
VOLATILE = ("duration_s", "traceback")


@pytest.fixture
def docs(cli: CommandLine) -> CommandLine:
    folder = cli.folder / "docs"
    folder.mkdir()
    for number in range(4):
        (folder / f"{number}.md").write_text(f"# Title {number}\n\nWords of document {number}.\n")
    return cli


def run(cli: CommandLine, command: str, data: str) -> None:
    sources = ["docs"] if command in ("run", "doctags", "index") else []
    result = cli.run_in_process(command, *sources, "--data", data, "--workers", "1", "-q")
    assert result.code in (0, 3), result.err


def read_rows(data: Path) -> dict[tuple[str, str], object]:
    """Every row of every store, without the paths of inputs, which begin with DATA."""
    found: dict[tuple[str, str], object] = {}
    for stage in STAGES:
        store = open_store(str(data), stage)
        assert store is not None
        for item in store.iterate():
            found[stage, item.item_id] = item._replace(input_path="", find_dictionary=None), store.read(item.item_id)
    return found


def read_manifests(data: Path) -> list[dict[str, Any]]:
    """Every row of an item, without what may differ from run to run."""
    lines = [
        line
        for stage in (*STAGES, "index")
        for line in (data / "manifests" / f"{stage}.jsonl").read_text().replace(str(data), "DATA").splitlines()
    ]
    rows = [json.loads(line) for line in lines]
    return [{name: row[name] for name in row if name not in VOLATILE} for row in rows if row["status"] != "config"]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """What each worker process that is started loads first."""
    found: list[bytes] = []
    start = WorkerProcess.__init__

    def start_counted(process: WorkerProcess, function_pickle: bytes, *limits: Any) -> None:
        found.append(function_pickle)
        start(process, function_pickle, *limits)

    monkeypatch.setattr(WorkerProcess, "__init__", start_counted)
    return found


@pytest.mark.req("STL-1")
def test_a_run_after_one_change_starts_a_process_for_it_and_one_for_the_corpus(
    docs: CommandLine, started: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_stat, "RACY_NS", -(10**12))
    monkeypatch.setattr(pool, "ALONE_S", 10**6)
    command = ["run", "docs", "--workers", "2", "-q"]
    assert docs.run_in_process(*command).code == 0
    started.clear()
    assert docs.run_in_process(*command).code == 0
    assert started == [], "nothing has changed"
    (docs.folder / "docs" / "2.md").write_text("# Other\n\nOther words.\n")
    assert docs.run_in_process(*command).code == 0
    assert len(started) == 2
    assert all(b"LoadedAhead" in each for each in started), "both were started before they were needed"


def test_a_run_of_all_stages_makes_the_same_as_each_stage_alone(docs: CommandLine, started: list[bytes]) -> None:
    run(docs, "run", "together")
    assert len(started) == 2, "one for the documents, one for the statistics of the corpus"
    for stage in (*STAGES, "index"):
        run(docs, stage, "apart")
    together, apart = docs.folder / "together", docs.folder / "apart"
    rows = read_rows(together)
    assert len(rows) == 4 + 4 + 4 + 1
    for key, (item, content) in read_rows(apart).items():
        found, other = rows[key]
        assert (found, other[1]) == (item, content[1])
    assert read_manifests(together) == read_manifests(apart)
    assert not (together / ".staging" / "prepared.sqlite").exists()


def test_no_log_files_of_stores_are_left(docs: CommandLine) -> None:
    run(docs, "run", "data")
    expected = [name for stage in STAGES for name in (f"{stage}.sqlite", f"{stage}.sqlite.store.lock")]
    assert sorted(path.name for path in (docs.folder / "data" / "store").iterdir()) == sorted(expected)


def test_results_that_were_lost_are_computed_by_their_own_stage(
    docs: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PreparedResults, "take", lambda *_: None)
    run(docs, "run", "together")
    for stage in (*STAGES, "index"):
        run(docs, stage, "apart")
    assert read_manifests(docs.folder / "together") == read_manifests(docs.folder / "apart")


def test_a_change_of_one_document_is_followed_to_the_index(docs: CommandLine) -> None:
    run(docs, "run", "data")
    (docs.folder / "docs" / "1.md").write_text("# Other\n\nOther words.\n")
    run(docs, "run", "data")
    rows = read_manifests(docs.folder / "data")
    again = [row["doc_id"] for row in rows if row["status"] == "success"]
    assert [again.count(name) for name in ("docs/0.md", "docs/1.md", "dense/docs/1.md")] == [3, 6, 2]
    store = open_store(str(docs.folder / "data"), "chunk")
    assert store is not None
    found = store.read("docs/1.md")
    assert found is not None
    assert b"Other words." in found[1]


@pytest.mark.req("CLI-3")
def test_data_that_cannot_be_used_is_one_clear_line(docs: CommandLine) -> None:
    (docs.folder / "data").write_text("a file")
    result = docs.run_in_process("run", "docs", "--data", "data", "-q")
    assert result.code == 2
    assert "DATA cannot be used: data is not a directory; choose another directory with --data" in result.err


def test_without_room_for_prepared_results_the_stages_make_their_own(
    docs: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: PreparedResults) -> None:
        raise OSError(ENOSPC, "no space left on device")

    monkeypatch.setattr(prepared, "_MEMORY_BYTES", -1)
    monkeypatch.setattr(PreparedResults, "_create", refuse)
    run(docs, "run", "together")
    assert len(read_rows(docs.folder / "together")) == 4 + 4 + 4 + 1


def test_the_worker_processes_of_a_run_end_while_its_last_stage_finishes(
    docs: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted: list[object] = []
    kill = IdleProcesses.kill

    def note_kill(idle: IdleProcesses) -> None:
        noted.append("killed")
        kill(idle)

    def note_publish(data: str) -> None:
        noted.append("finishes")
        publish(data)

    monkeypatch.setattr(IdleProcesses, "kill", note_kill)
    monkeypatch.setattr("inorder.index.stage.publish", note_publish)
    run(docs, "run", "data")
    assert noted == ["killed", "finishes", "killed"]
    assert docs.run("verify", "--data", "data").code == 0
