"""The driver is killed or stopped: no process of it stays on the nodes, and the run can be resumed."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ray.machines import Machines, supervisors_of
from tests.stage.jobs import tree
from tests.support.command_line import GUARD_S, CommandLine
from tests.support.misbehaviour import Endings

TEXTS = ["one", "one two", "hold", "one two three", "five", "six more", "seven"]


@pytest.fixture
def cli(tmp_path: Path) -> Iterator[CommandLine]:
    cli = CommandLine(tmp_path)
    yield cli
    cli.close()


def on(machines: Machines) -> list[str]:
    return ["--engine", "ray", "--set", f"ray_address={machines.address}", "--workers", "2", "--json"]


def undisturbed(cli: CommandLine) -> tuple[Any, Any]:
    """The result of an uninterrupted run on this machine."""
    cli.sources(*(text if text != "hold" else "two words" for text in TEXTS))
    assert cli.stage("hasty").code == 0
    lasting = cli.lasting()
    cli.put_aside()
    return lasting


def held(cli: CommandLine, machines: Machines) -> tuple["subprocess.Popen[str]", Endings]:
    """A run whose worker is at the third item, and its processes on the nodes."""
    cli.sources(*TEXTS)
    cli.held("2.txt")
    program = cli.start("stage", "jobs:hasty", "sources", *on(machines))
    cli.is_held("2.txt", committed=2)
    supervisors = supervisors_of(machines.staying)
    assert len(supervisors) == 2
    return program, Endings([*supervisors, *(pid for pids in supervisors.values() for pid in pids)])


def assert_resumes(cli: CommandLine, where: list[str], expected: tuple[Any, Any]) -> None:
    """The same command resumes the run, with the same result."""
    cli.source("2.txt", "two words")
    resumed = cli.stage("hasty", *where)
    assert (resumed.code, resumed.json["resumed_at"]) == (0, 2), resumed.err
    rows, outputs = cli.lasting()
    assert (rows[1:], outputs) == (expected[0][1:], expected[1])
    assert [row["seq"] for row in cli.rows()] == list(range(len(TEXTS)))
    assert cli.calls().count("0.txt") == cli.calls().count("1.txt") == 1
    assert [name for name in tree(cli.data) if name.startswith(".staging/")] == []


@pytest.mark.req("JRN-7")
@pytest.mark.parametrize("goes_on", ["on nodes", "at home"])
def test_a_run_whose_driver_is_killed_leaves_no_process_behind_and_resumes(
    machines: Machines, cli: CommandLine, goes_on: str
) -> None:
    expected = undisturbed(cli)
    program, endings = held(cli, machines)
    program.send_signal(signal.SIGKILL)
    assert cli.end_of(program).code == -signal.SIGKILL
    assert endings.come(), "a process outlived the driver"
    assert_resumes(cli, on(machines) if goes_on == "on nodes" else ["--json"], expected)


@pytest.mark.req("CAN-2")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_run_stopped_by_a_signal_resumes_with_the_same_result(
    machines: Machines, cli: CommandLine, number: signal.Signals, code: int
) -> None:
    expected = undisturbed(cli)
    program, endings = held(cli, machines)
    program.send_signal(number)
    ended = cli.end_of(program)
    assert ended.code == code, ended.err
    assert (ended.json["stop_kind"], ended.json["stop_signal"]) == ("cancelled", number)
    assert (ended.json["succeeded"], ended.json["cancelled"]) == (2, 5)
    assert "run the same command again to resume" in ended.err
    assert "Traceback" not in ended.err
    assert endings.come(), "a process outlived the driver"
    assert_resumes(cli, on(machines), expected)


def test_an_interrupt_at_the_terminal_harms_no_cluster_that_the_run_has_started_itself(cli: CommandLine) -> None:
    """Ctrl-C goes to every process of the group. Without an address, Ray's own processes are in it."""
    cli.sources("one", "two")
    cli.held("2.txt")
    command = ["stage", "jobs:patient", "sources", "--workers", "1", "--engine", "ray", "--json"]
    program = cli.start(*command, in_group=True)
    cli.is_held("2.txt")
    os.killpg(program.pid, signal.SIGINT)
    assert program.stderr is not None
    assert any("stopping" in line for line in program.stderr)
    cli.let_go("2.txt")
    ended = cli.end_of(program)
    assert (ended.code, ended.json["succeeded"], ended.json["failed"]) == (0, 3, 0)


JOURNALED = """
import os, signal, sys
from inorder import RayOptions, RunOptions, imap
from tests.support.misbehaviour import stay_a_while

address, journal, last = sys.argv[1:]
options = RunOptions(ray=RayOptions(address=address))
iteration = imap(stay_a_while, range(60), where="ray", workers=2, journal=journal, options=options)
print(iteration.position, flush=True)
for number in iteration:
    print(number, flush=True)
    if number == int(last):
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.req("JRN-7")
def test_an_iteration_with_a_journal_resumes(machines: Machines, tmp_path: Path) -> None:
    def live(last: int) -> tuple[int, list[int]]:
        command = [sys.executable, "-c", JOURNALED, machines.address, str(tmp_path / "journal"), str(last)]
        root = Path(__file__).parents[2]
        ended = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=GUARD_S, check=False)
        assert ended.returncode == (-signal.SIGKILL if last >= 0 else 0), ended.stderr
        position, *numbers = map(int, ended.stdout.split())
        return position, numbers

    assert live(20) == (0, list(range(21)))
    assert live(35) == (20, list(range(20, 36)))
    assert live(-1) == (35, list(range(35, 60)))
