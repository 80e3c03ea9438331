"""A run that waits for one item, seen from outside."""

import contextlib
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import CommandLine
from tests.support.misbehaviour import wait_until

pytestmark = [pytest.mark.req("STL-1"), pytest.mark.process]


def live_state(cli: CommandLine) -> dict[str, Any]:
    latest = cli.run("inspect", "--json").json["stages"][0]["latest_run"]
    return (latest or {}).get("live") or {}


@pytest.mark.parametrize(("door", "policy"), [("option", "cpu"), ("variable", "io"), ("profile", "io")])
def test_inspect_names_the_item_that_a_live_run_waits_for(cli: CommandLine, door: str, policy: str) -> None:
    cli.sources("one")
    cli.held("1.txt")
    cli.source("2.txt", "three")
    if door == "profile":
        cli.write("inorder.toml", "[profile.watched]\nstall_warning_s = 0.2\n")
    arguments = {"option": ("--set", "stall_warning_s=0.2"), "profile": ("--profile", "watched")}.get(door, ())
    environment = {"INORDER_STALL_WARNING_S": "0.2"} if door == "variable" else {}
    running = cli.start(
        "stage", "jobs:count", "sources", "--workers", "2", "--policy", policy, *arguments, **environment
    )
    cli.is_held("1.txt", committed=1)
    found: list[dict[str, Any]] = []

    def is_named() -> bool:
        live = live_state(cli)
        found[:] = [live["head"]] if live.get("is_stalled") and live["head"] is not None else []
        return bool(found) and found[0]["state"] == "running" and found[0].get("item_id") == "1.txt"

    assert wait_until(is_named)
    [head] = found
    assert (head["seq"], head["running_s"] > 0) == (1, True)
    assert head["worker"] in (0, 1)
    assert head["progress"]["note"] == "page"
    shown = cli.run("inspect").out
    assert "waiting for  1.txt, running on worker" in shown
    assert "page 31 of 900" in shown
    cli.let_go("1.txt")
    ended = cli.end_of(running)
    assert ended.code == 0
    assert "] no commit for " in ended.err
    assert "waiting for 1.txt" in ended.err
    assert "warning: nothing was committed for" in ended.err
    [path] = (cli.data / "telemetry").iterdir()
    events = [json.loads(line)["event"] for line in path.read_text().splitlines()]
    assert "stalled" in events
    assert cli.run("inspect", "--json").json["stages"][0]["latest_run"]["live"] is None


@pytest.mark.parametrize("has_run_before", [False, True])
def test_the_very_first_item_is_named_too(cli: CommandLine, has_run_before: bool) -> None:
    """While nothing is committed, the manifest has no row of the run."""
    if has_run_before:
        cli.sources("one")
        assert cli.stage("count").code == 0
        (cli.folder / "sources" / "0.txt").unlink()
    cli.held("0.txt")
    running = cli.start("stage", "jobs:count", "sources", "--workers", "1", "--set", "stall_warning_s=0.2")
    cli.is_held("0.txt")
    assert wait_until(lambda: "waiting for  0.txt, running" in cli.run("inspect").out)
    latest = cli.run("inspect", "--json").json["stages"][0]["latest_run"]
    assert (latest["state"], latest["run_id"]) == ("running", latest["live"]["run_id"])
    cli.let_go("0.txt")
    assert cli.end_of(running).code == 0


def test_no_stall_is_announced_if_it_is_switched_off(cli: CommandLine) -> None:
    shown = cli.run("config", "show", "--set", "stall_warning_s=0", "--json").json["options"]["stall_warning_s"]
    assert shown == {"value": 0.0, "origin": "command line"}


def list_workers(pid: int) -> list[int]:
    """The worker processes of a command."""
    children = [child for path in Path(f"/proc/{pid}/task").glob("*/children") for child in path.read_text().split()]
    return [int(child) for child in children if "spawn_main" in describe_process(child)]


def describe_process(pid: str) -> str:
    """The command line of a process; empty if it has ended."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/cmdline").read_text()
    return ""


@pytest.mark.req("HBT-1")
def test_the_item_of_a_stopped_worker_process_is_done_by_another(cli: CommandLine) -> None:
    cli.held("0.txt")
    running = cli.start("stage", "jobs:count", "sources", "--workers", "1", "--policy", "cpu", "--set", "lease_s=5")
    cli.is_held("0.txt")
    [worker] = list_workers(running.pid)
    os.kill(worker, signal.SIGSTOP)
    cli.is_held("0.txt")
    assert worker not in list_workers(running.pid)
    cli.let_go("0.txt")
    assert cli.end_of(running).code == 0
    assert cli.calls() == ["0.txt", "0.txt"]
    assert (cli.row("0.txt")["status"], cli.row("0.txt")["attempts"]) == ("success", 1)


@pytest.mark.req("HBT-1", "RTY-4")
def test_a_worker_process_that_is_stopped_before_its_first_item_is_replaced(cli: CommandLine) -> None:
    """The time limit is that of an item. It does not count the start of the process, so no item fails for it."""
    cli.sources("one", "two")
    limits = ("--timeout-s", "60", "--set", "lease_s=5")
    running = cli.start("stage", "jobs:count", "sources", "--workers", "1", "--policy", "cpu", *limits)
    stopped: list[int] = []

    def stop() -> bool:
        stopped[:] = list_workers(running.pid)
        return bool(stopped)

    assert wait_until(stop)
    os.kill(stopped[0], signal.SIGSTOP)
    assert cli.calls() == [], "it was stopped while it starts"
    assert cli.end_of(running).code == 0
    assert cli.calls() == ["0.txt", "1.txt"]
    assert [(row["status"], row["attempts"]) for row in cli.rows()] == [("success", 1)] * 2
    assert describe_process(str(stopped[0])) == ""


@pytest.mark.parametrize(
    ("stage", "limit_s"), [("doctags", 300.0), ("chunk", 300.0), ("embed", 3600.0), ("index", 60.0)]
)
def test_every_built_in_stage_has_a_time_limit(cli: CommandLine, stage: str, limit_s: float) -> None:
    shown = cli.run("config", "show", "--stage", stage, "--json").json["options"]["timeout_s"]
    assert shown == {"value": limit_s, "origin": "default"}
