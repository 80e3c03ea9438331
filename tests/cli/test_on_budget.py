"""`on_budget` and `cancel_grace_s`, on the command line, in the environment and in a profile."""

import os

import pytest

from tests.support.command_line import CommandLine

pytestmark = [pytest.mark.req("CAN-4", "REA-1"), pytest.mark.process]

STAGE = """
import threading
import inorder

has_begun = threading.Event()

def work(item):
    if item.item_id == "bad":
        has_begun.wait()
        raise ValueError("this one is bad")
    has_begun.set()
    with open("gates/slow.here", "w") as here:
        here.write("here")
    with open("gates/slow.go") as go:
        go.read()

def plan(sources, data):
    return inorder.StagePlan("count", [inorder.WorkItem(item_id=name) for name in ("bad", "slow")])

race = inorder.Stage(name="count", plan=plan, worker=work)
"""
NAMED = "still running in threads, which cannot be killed: slow"
RUN = ("stage", "races:race", "sources", "--workers", "2", "--error-budget", "0")


@pytest.fixture
def race(cli: CommandLine) -> CommandLine:
    cli.write("races.py", STAGE)
    for end in ("here", "go"):
        os.mkfifo(cli.gates / f"slow.{end}")
    return cli


@pytest.mark.parametrize("door", ["command line", "environment", "profile"])
def test_drain_waits_for_a_running_item_whatever_the_grace(race: CommandLine, door: str) -> None:
    race.write("inorder.toml", "[profile.gentle]\non_budget = 'drain'\ncancel_grace_s = 0\n")
    arguments = {
        "command line": ["--set", "on_budget=drain", "--set", "cancel_grace_s=0"],
        "environment": [],
        "profile": ["--profile", "gentle"],
    }[door]
    variables = {"INORDER_ON_BUDGET": "drain", "INORDER_CANCEL_GRACE_S": "0"} if door == "environment" else {}
    program = race.start(*RUN, *arguments, **variables)
    race.is_held("slow", committed=1)
    race.let_go("slow")
    ended = race.end_of(program)
    assert ended.code == 4
    assert "waiting for running items" in ended.err
    assert NAMED not in ended.err


@pytest.mark.parametrize("door", ["command line", "environment", "profile"])
def test_stop_names_the_thread_that_outlasts_the_grace(race: CommandLine, door: str) -> None:
    race.write("inorder.toml", "[profile.short]\ncancel_grace_s = 0\n")
    arguments = {
        "command line": ["--set", "on_budget=stop", "--set", "cancel_grace_s=0"],
        "environment": [],
        "profile": ["--profile", "short"],
    }[door]
    variables = {"INORDER_CANCEL_GRACE_S": "0"} if door == "environment" else {}
    program = race.start(*RUN, *arguments, **variables)
    race.is_held("slow")
    ended = race.end_of(program)
    assert ended.code == 4
    assert f"warning: {NAMED}" in ended.err
