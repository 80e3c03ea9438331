"""Two runs on one DATA at once: the second is turned away at once, and the first does not notice."""

import platform

import pytest

from tests.support.command_line import CommandLine

pytestmark = [pytest.mark.req("CLI-3"), pytest.mark.process]


@pytest.fixture
def busy(cli: CommandLine) -> CommandLine:
    """A cli at which a run is held at its second item."""
    cli.sources("one")
    cli.held("1.txt")
    cli.source("2.txt", "three")
    cli.start("stage", "jobs:count", "sources", "--workers", "1")
    cli.is_held("1.txt", committed=1)
    return cli


def test_the_second_is_told_who_has_it_and_the_first_is_unharmed(busy: CommandLine) -> None:
    [first] = busy.started
    ended = busy.stage("count")
    assert (ended.code, ended.out) == (5, "")
    [line] = ended.err.splitlines()
    assert f"in use by process {first.pid} on {platform.node()} since 20" in line
    busy.let_go("1.txt")
    assert busy.end_of(first).code == 0
    assert [row["status"] for row in busy.rows()] == ["success"] * 3
    assert busy.run("verify").code == 0


@pytest.mark.parametrize("command", ["retry", "verify"])
def test_commands_that_need_peace_are_turned_away_too(busy: CommandLine, command: str) -> None:
    ended = busy.run(command)
    assert ended.code == 5
    assert f"process {busy.started[0].pid}" in ended.err


def test_commands_that_only_look_may_look_meanwhile(busy: CommandLine) -> None:
    inspected = busy.run("inspect", "--json").json["stages"][0]
    assert inspected["latest_run"]["state"] == "running"
    assert f"process {busy.started[0].pid}" in inspected["warnings"][0]
    assert [row["doc_id"] for row in busy.run("manifest", "--json").json["rows"]] == ["__config__", "0.txt"]
    assert busy.run("failures").code == 0
    planned = busy.run("plan", "--json").json
    assert planned["stages"]["count"] == {"process": 2, "skip": 1, "depends": 0, "remove": 0, "fail": 0}


def test_a_run_whose_process_has_died_does_not_lock_anybody_out(busy: CommandLine) -> None:
    [first] = busy.started
    first.kill()
    first.wait()
    busy.source("1.txt", "two words")
    assert busy.run("inspect", "--json").json["stages"][0]["latest_run"]["state"] == "interrupted"
    assert busy.stage("count").code == 0
