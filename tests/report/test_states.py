"""The state of a run as the report shows it: running, finished, stopped, killed, failed."""

import signal
from typing import Any

import pytest

from tests.report.reading import report_of
from tests.support.command_line import CommandLine
from tests.support.misbehaviour import wait_until

pytestmark = [pytest.mark.req("VIS-1"), pytest.mark.process]


def start_held(cli: CommandLine) -> Any:
    """A run whose worker is at the third of four items."""
    cli.sources("one", "one two", "hold", "one two three")
    cli.held("2.txt")
    program = cli.start("stage", "jobs:chatty", "sources", "--workers", "1")
    cli.is_held("2.txt", committed=2)
    return program


def test_a_finished_run_is_counted_item_by_item(cli: CommandLine) -> None:
    cli.sources("one", "fail input", "skip nothing in it", "warn odd page", "fail io")
    assert cli.stage_in_process("count").code == 3
    found = report_of(cli)
    [run] = found["runs"]
    assert run["state"] == "finished"
    assert run["counts"] == {"total": 5, "succeeded": 2, "skipped": 1, "failed": 2, "adopted": 0}
    assert [(row["item_id"], row["category"], row["attempts"]) for row in run["failures"]["rows"]] == [
        ("1.txt", "input", 1),
        ("4.txt", "io", 1),
    ]
    assert "StageError" in run["failures"]["rows"][0]["traceback"]
    assert [(row["text"], row["count"]) for row in run["skips"]["rows"]] == [("nothing in it", 1)]
    assert [(row["text"], row["example"]) for row in run["warnings"]["rows"]] == [("odd page", "3.txt")]
    verdict = found["verdict"]
    assert verdict["level"] == "attention"
    assert "2 failed items" in verdict["sentence"]
    assert verdict["command"].startswith("inorder retry --data ")


def test_a_run_without_failures_is_fine(cli: CommandLine) -> None:
    cli.sources("one", "two")
    assert cli.stage_in_process("count").code == 0
    found = report_of(cli)
    assert found["verdict"]["level"] == "good"
    assert found["verdict"]["sentence"].startswith("All fine: count in ")


def test_a_live_run_is_running_and_names_what_it_waits_for(cli: CommandLine) -> None:
    program = start_held(cli)
    assert wait_until(lambda: report_of(cli)["runs"][0]["waiting_for"].startswith("2.txt, running on worker 0"))
    found = report_of(cli)
    [run] = found["runs"]
    assert run["state"] == "running"
    assert run["counts"]["total"] == 4
    assert run["counts"]["succeeded"] == 2
    assert found["verdict"]["state"] == "running"
    assert found["verdict"]["sentence"].startswith("The run of count goes on: 2 of 4 items are done")
    assert found["verdict"]["details"][0].startswith("It waits for 2.txt")
    cli.let_go("2.txt")
    assert cli.end_of(program).code == 0
    assert report_of(cli)["runs"][0]["state"] == "finished"


def test_a_killed_run_is_told_from_a_live_one_and_from_a_resumed_one(cli: CommandLine) -> None:
    program = start_held(cli)
    assert wait_until(lambda: report_of(cli)["runs"][0]["counts"]["total"] == 4)
    program.send_signal(signal.SIGKILL)
    cli.end_of(program)
    found = report_of(cli)
    [run] = found["runs"]
    assert run["state"] == "killed"
    assert run["state_text"].startswith("was killed at about 20")
    assert run["counts"]["succeeded"] == 2
    assert run["mark_counts"]["killed"] == 1
    assert found["verdict"]["level"] == "bad"
    assert "2 of 4 items are done and safe" in found["verdict"]["sentence"]
    assert found["verdict"]["command"] == "inorder stage jobs:chatty sources --workers 1"
    (cli.source_folder / "2.txt").write_text("let go")
    assert cli.run("stage", "jobs:chatty", "sources", "--workers", "1").code == 0
    [run] = report_of(cli)["runs"]
    assert run["state"] == "finished"
    assert run["counts"]["succeeded"] == 4
    assert [part["resumed_at"] for part in run["parts"]] == [None, 2]
    assert (run["mark_counts"]["killed"], run["mark_counts"]["resumed"]) == (1, 1)


def test_a_run_that_its_error_budget_stopped_says_so(cli: CommandLine) -> None:
    cli.sources("fail input", "one")
    cli.stage_in_process("count", "--error-budget", "0")
    found = report_of(cli)
    [run] = found["runs"]
    assert run["state"] == "stopped"
    assert "error budget" in run["state_text"]
    assert found["verdict"]["level"] == "attention"


def test_a_run_that_raised_says_what(cli: CommandLine) -> None:
    cli.sources("one")
    cli.run("stage", "jobs:breaking", "sources")
    [run] = report_of(cli)["runs"]
    assert run["state"] == "failed"
    assert "the list was cut off" in run["state_text"]


def test_a_run_is_chosen_by_the_start_of_its_id(cli: CommandLine) -> None:
    cli.sources("one")
    cli.stage_in_process("count")
    cli.source("1.txt", "two")
    cli.stage_in_process("count")
    first, second = (row["run_id"] for row in cli.lines() if row["status"] == "config")
    [run] = report_of(cli, "--run", first[:10])["runs"]
    assert (run["run_id"], run["counts"]["succeeded"], run["is_latest"]) == (first, 1, False)
    [run] = report_of(cli)["runs"]
    assert (run["run_id"], run["counts"]["skipped"]) == (second, 1)
    unknown = cli.run("report", "--run", "nosuch")
    assert unknown.code == 2
    assert "the run 'nosuch' is not in DATA; the latest runs: " in unknown.err
