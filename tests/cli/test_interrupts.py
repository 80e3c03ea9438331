"""Signals: a run that is interrupted stops, says so, and is gone on with by running the same again."""

import os
import signal
import subprocess

import pytest

from tests.support.command_line import CommandLine, CommandResult
from tests.support.python_path import prepend_path

pytestmark = [pytest.mark.req("CAN-2"), pytest.mark.req("CLI-3"), pytest.mark.process]

TEXTS = ["one", "one two", "hold", "one two three", "five"]
HELD_AT_START = """
import os
import sys

if "--multiprocessing-fork" in sys.orig_argv:
    os.write(os.open("started", os.O_WRONLY), b".")
    os.read(os.open("go", os.O_RDONLY), 1)
"""
"""A module that Python imports when it starts, in which worker processes wait."""


def undisturbed(cli: CommandLine) -> object:
    """What a run leaves that nobody interrupts."""
    cli.sources(*(text if text != "hold" else "two words" for text in TEXTS))
    assert cli.stage("count").code == 0
    lasting = cli.lasting()
    cli.put_aside()
    return lasting


def interrupted(cli: CommandLine, stage: str, *numbers: signal.Signals, policy: str = "io") -> CommandResult:
    """A run that gets these signals while its worker is at the third item, each once the one before is heard."""
    cli.sources(*TEXTS)
    cli.held("2.txt")
    program = cli.start("stage", f"jobs:{stage}", "sources", "--workers", "1", "--json", "--policy", policy)
    cli.is_held("2.txt", committed=2)
    heard = ""
    for number in numbers:
        program.send_signal(number)
        heard += heard_from(program)
    ended = cli.end_of(program)
    return ended._replace(err=heard + ended.err)


def heard_from(program: "subprocess.Popen[str]") -> str:
    """What the program says until it has heard a signal."""
    assert program.stderr is not None
    said = ""
    while "stopping" not in said.rpartition("\n")[0].rpartition("\n")[2]:
        line = program.stderr.readline()
        assert line, "it ended without a word"
        said += line
    return said


@pytest.mark.parametrize("policy", ["io", "cpu"])
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_stops_a_run_and_the_same_again_brings_it_to_the_same_end(
    cli: CommandLine, number: signal.Signals, code: int, policy: str
) -> None:
    expected = undisturbed(cli)
    ended = interrupted(cli, "hasty", number, policy=policy)
    assert ended.code == code
    outcome = ended.json
    assert (outcome["stop_kind"], outcome["stop_signal"]) == ("cancelled", number)
    assert (outcome["succeeded"], outcome["cancelled"]) == (2, 3)
    assert "run the same command again to resume" in ended.err
    assert [row["doc_id"] for row in cli.rows()] == ["0.txt", "1.txt"]

    cli.source("2.txt", "two words")
    resumed = cli.stage("hasty", "--json")
    assert (resumed.code, resumed.json["resumed_at"]) == (0, 2)
    assert "\n  resumed after 2 items\n" in resumed.err
    rows, outputs = cli.lasting()
    # What was interrupted had another grace and other sources: the row of its configuration says so.
    assert (rows[1:], outputs) == (expected[0][1:], expected[1])
    assert cli.calls().count("0.txt") == cli.calls().count("1.txt") == 1


def test_work_under_way_ends_within_its_grace_and_counts(cli: CommandLine) -> None:
    """The worker may have got some of the next items too, but never all of them."""
    cli.sources("one", "two", "hold", *["more"] * 100)
    cli.held("2.txt")
    program = cli.start("stage", "jobs:patient", "sources", "--workers", "1", "--json")
    cli.is_held("2.txt")
    program.send_signal(signal.SIGINT)
    assert "Ctrl-C again" in heard_from(program)
    cli.let_go("2.txt")
    ended = cli.end_of(program)
    done = [row["doc_id"] for row in cli.rows()]
    assert (ended.code, ended.json["succeeded"], ended.json["cancelled"]) == (130, len(done), 103 - len(done))
    assert done == sorted(f"{number}.txt" for number in range(103))[: len(done)]
    assert "2.txt" in done


@pytest.mark.parametrize("policy", ["io", "cpu"])
def test_a_second_interrupt_ends_the_grace_and_the_run_can_still_be_gone_on_with(cli: CommandLine, policy: str) -> None:
    ended = interrupted(cli, "patient", signal.SIGINT, signal.SIGINT, policy=policy)
    assert (ended.code, ended.json["succeeded"], ended.json["cancelled"]) == (130, 2, 3)
    assert "stopping now" in ended.err
    cli.source("2.txt", "two words")
    assert cli.stage("patient").code == 0
    assert [row["doc_id"] for row in cli.rows()] == [f"{number}.txt" for number in range(5)]


def test_an_interrupt_at_the_terminal_reaches_the_workers_too_and_harms_none(cli: CommandLine) -> None:
    """Ctrl-C goes to every process of the group. Workers have sessions of their own."""
    cli.sources("one", "two")
    cli.held("2.txt")
    command = ["stage", "jobs:patient", "sources", "--workers", "1", "--policy", "cpu", "--json"]
    program = cli.start(*command, in_group=True)
    cli.is_held("2.txt")
    os.killpg(program.pid, signal.SIGINT)
    heard_from(program)
    cli.let_go("2.txt")
    ended = cli.end_of(program)
    assert (ended.code, ended.json["succeeded"], ended.json["failed"]) == (0, 3, 0)


def test_an_interrupt_at_the_terminal_while_workers_start_prints_no_traceback(cli: CommandLine) -> None:
    cli.sources(*["one"] * 100)
    cli.write("sitecustomize.py", HELD_AT_START)
    ends = []
    for name in ("started", "go"):
        os.mkfifo(cli.folder / name)
        ends.append(os.open(cli.folder / name, os.O_RDWR))
    started, go = ends
    command = ["stage", "jobs:patient", "sources", "--workers", "2", "--policy", "cpu", "--json"]
    program = cli.start(*command, in_group=True, PYTHONPATH=prepend_path(cli.folder))
    assert [os.read(started, 1) for _ in range(2)] == [b".", b"."]
    os.killpg(program.pid, signal.SIGINT)
    heard = heard_from(program)
    os.write(go, b"..")
    ended = cli.end_of(program)
    for end in ends:
        os.close(end)
    assert "Traceback" not in heard + ended.err
    assert (ended.code, ended.json["failed"], ended.json["stop_kind"]) == (130, 0, "cancelled")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_before_the_run_has_begun_ends_with_the_same_code(
    cli: CommandLine, number: signal.Signals, code: int
) -> None:
    os.mkfifo(cli.source_folder / "0.txt")
    program = cli.start("stage", "jobs:count", "sources")
    with open(cli.source_folder / "0.txt", "w", encoding="ascii"):  # opens once the plan is being made
        program.send_signal(number)
        ended = cli.end_of(program)
    assert ended.code == code
    assert ended.err.strip() == f"inorder: received {number.name}; run the same command again to resume"
