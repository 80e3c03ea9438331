"""Two runs on one DATA at once: the second is turned away at once, and the first does not notice."""

import platform
import subprocess
import sys
from typing import Any

import pytest

from inorder.cli.commands.mend import verify
from inorder.cli.data_dir import DataDirectory
from inorder.errors import BusyError
from inorder.host.lock import Lock
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


def held_elsewhere(cli: CommandLine) -> Lock:
    """A lock that is held, by a process on another machine as its file says."""
    path = cli.data / "locks" / "count.lock"
    path.parent.mkdir(parents=True)
    lock = Lock(str(path), "it")
    path.write_text("process 1 on another-machine since 2026-01-01T00:00:00+00:00\n")
    return lock


def test_a_lock_of_another_machine_is_believed(cli: CommandLine) -> None:
    lock = held_elsewhere(cli)
    said = DataDirectory(str(cli.data)).describe_holder("count")
    assert "in use by process 1 on another-machine since 2026" in said
    lock.release()
    assert DataDirectory(str(cli.data)).describe_holder("count") == ""


def test_a_lock_of_a_process_that_is_gone_is_not_even_tried(cli: CommandLine) -> None:
    lock = held_elsewhere(cli)
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    (cli.data / "locks" / "count.lock").write_text(f"process {gone.pid} on {platform.node()} since then\n")
    assert DataDirectory(str(cli.data)).describe_holder("count") == ""
    lock.release()


def test_no_run_can_start_while_data_is_verified(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    cli.sources("one")
    assert cli.stage("count").code == 0
    seen = []

    def look(root: str, names: object) -> list[Any]:
        with pytest.raises(BusyError, match="in use"):
            DataDirectory(root).lock("count")
        seen.append(root)
        return []

    monkeypatch.setattr(verify, "find_orphans", look)
    assert cli.run_in_process("verify").code == 0
    assert seen == [".inorder"]
    DataDirectory(str(cli.data)).lock("count").release()
