"""Manifests with compressed rows: every command reads them as before, and every run appends to them."""

import json
from pathlib import Path

import pytest

import inorder
from inorder.host.filesystem import SystemFilesystem
from inorder.serve.statuses import open_table
from inorder.sinks import packed_lines
from inorder.sinks.packed_lines import pack_lines
from tests.stage.jobs import STAGE, Place
from tests.stage.store.jobs import StoreWorker, run_stored
from tests.stage.workers import obey
from tests.support.command_line import CommandLine

pytestmark = pytest.mark.req("RUN-7")

TEXTS = ("one", "one two", "fail input", "skip no words", "bare")
COMMANDS = (
    ("manifest", "--jsonl"),
    ("manifest", "--last-run", "--jsonl"),
    ("failures", "--json"),
    ("verify", "--json"),
)


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pack from the first row on, in this process."""
    monkeypatch.setattr(packed_lines, "_LEAST_BYTES", 1)
    monkeypatch.setattr(packed_lines, "_FRAME_BYTES", 500)


def pack(cli: CommandLine) -> Path:
    """Pack the rows as the end of a long run does."""
    path = cli.data / "manifests" / "count.jsonl"
    pack_lines(SystemFilesystem(), str(path), "count", pytest.fail)
    [head] = path.read_text().splitlines()
    assert json.loads(head)["doc_id"] == "__packed__"
    return path


def ask_all(cli: CommandLine) -> list[object]:
    found = [cli.run(*command) for command in COMMANDS]
    return [*((each.code, each.out) for each in found), cli.run("inspect", "--json").json["stages"]]


@pytest.mark.process
def test_commands_and_runs_find_the_rows_of_all_runs(cli: CommandLine) -> None:
    cli.sources(*TEXTS)
    assert cli.stage("count").code == 3
    before = ask_all(cli)
    pack(cli)
    assert ask_all(cli) == before
    assert cli.run("explain", "src/1").out
    assert cli.stage("count").code == 3
    rows = [json.loads(line) for line in cli.run("manifest", "--jsonl").out.splitlines()]
    assert [row["status"] for row in rows].count("config") == 2
    assert [row["doc_id"] for row in rows[:6]] == [row["doc_id"] for row in rows[6:]]
    before = ask_all(cli)
    assert cli.run("verify").code == 0
    pack(cli)
    assert ask_all(cli) == before


def test_outputs_of_items_that_left_the_plan_are_found_in_compressed_rows(tmp_path: Path) -> None:
    place = Place(tmp_path)
    items = [place.item(name) for name in "abc"]

    def run(count: int) -> inorder.StageOutcome:
        plan = inorder.StagePlan(STAGE, items[:count], retires=lambda *_: True)
        return inorder.run_stage(plan, obey, place.options(policy="io"))

    assert run(3).succeeded == 3
    path = place.data / "loud" / "c.txt"
    assert path.exists()
    assert run(2).skipped == 3
    assert not path.exists()


def test_a_server_reads_compressed_rows_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place(tmp_path)
    place.source("a", "text")
    run_stored(place, place.data, StoreWorker())
    table = open_table(str(place.data), STAGE)
    assert table.find("a") is not None
    monkeypatch.setattr(table, "_reset", lambda: pytest.fail("all rows are read again"))
    found = table.find("a")
    assert found is not None
    assert found[0].status == "success"
    assert table.list_items("", 10, "", "")[1] == 1


@pytest.mark.process
def test_damage_to_compressed_rows_is_found(cli: CommandLine) -> None:
    cli.sources(*TEXTS)
    assert cli.stage("count").code == 3
    packed = Path(f"{pack(cli)}.zst")
    packed.write_bytes(packed.read_bytes()[:-9])
    found = cli.run("verify", "--json")
    [problem] = [each for each in found.json["problems"] if each["kind"] == "altered"]
    assert (found.code, problem["path"]) == (6, "manifests/count.jsonl.zst")
    assert "restore it from a backup" in problem["message"]
    ended = cli.run("failures")
    assert (ended.code, len(ended.err.splitlines())) == (6, 1)


def test_a_run_compresses_its_rows_at_its_end_and_the_next_one_goes_on(tmp_path: Path) -> None:
    place = Place(tmp_path)
    for name in "abc":
        place.source(name, "text")
    assert run_stored(place, place.data, StoreWorker()).succeeded == 3
    [manifest] = (place.data / "manifests").glob("*.jsonl")
    assert json.loads(manifest.read_text())["bytes"] > 500
    assert run_stored(place, place.data, StoreWorker()).skipped == 3
    with packed_lines.open_lines(str(manifest)) as lines:
        found = [json.loads(line) for line in lines]
    assert [row["status"] for row in found] == ["config", *["success"] * 3, "config", *["skip"] * 3]
