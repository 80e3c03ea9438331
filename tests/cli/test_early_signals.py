"""Signals before a run has begun and after it has ended, and streams that were closed before the program began."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command_line import CommandLine

pytestmark = [pytest.mark.process]
SIGNALS = [(signal.SIGINT, 130), (signal.SIGTERM, 143)]
EVERYWHERE = """
import importlib.abc, os, sys

number, module = int(sys.argv[1]), sys.argv[2]

class Sender(importlib.abc.MetaPathFinder):
    '''Sends the signal when this module is about to be imported.'''
    def find_spec(self, name, path, target=None):
        if name == module:
            os.kill(os.getpid(), number)

sys.meta_path.insert(0, Sender())
from inorder.__main__ import main
sys.argv[1:] = sys.argv[3:]
main()
"""
"""The program, which gets a signal while it imports a module."""
IN_A_DESTRUCTOR = """
import os, signal, sys
import inorder.cli.command_group as group
from inorder.__main__ import main

class Dying:
    def __del__(self):
        os.kill(os.getpid(), int(sys.argv[1]))

def invoke(arguments):
    Dying()
    print("it goes on")
    return 0

group.invoke = invoke
main()
"""
"""The same in a destructor, where Python prints an exception and goes on."""
AT_THE_END = """
import atexit, os, signal, sys
import inorder.cli.command_group as group
from inorder.__main__ import main

atexit.register(lambda: os.kill(os.getpid(), int(sys.argv[1])))
group.invoke = lambda arguments: 3
main()
"""


def run_script(script: str, *arguments: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)], capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.req("CAN-2", "CLI-3")
@pytest.mark.parametrize(
    "module", ["inorder.cli.app", "typer", "inorder.cli.commands.make.run", "inorder.pipeline.run"]
)
@pytest.mark.parametrize(("number", "code"), SIGNALS)
def test_a_signal_during_an_import_ends_the_program_in_one_line(
    number: signal.Signals, code: int, module: str, tmp_path: Path
) -> None:
    (tmp_path / "a.md").write_text("text")
    ended = run_script(EVERYWHERE, int(number), module, "run", tmp_path, "--data", tmp_path / "data")
    assert ended.stderr == f"inorder: received {number.name}; run the same command again to resume\n"
    assert (ended.returncode, ended.stdout) == (code, "")


@pytest.mark.req("CAN-2", "CLI-3")
@pytest.mark.parametrize(("number", "code"), SIGNALS)
def test_a_signal_in_a_destructor_is_not_lost(number: signal.Signals, code: int) -> None:
    ended = run_script(IN_A_DESTRUCTOR, int(number))
    assert ended.stderr == f"inorder: received {number.name}; run the same command again to resume\n"
    assert (ended.returncode, ended.stdout) == (code, "")


@pytest.mark.req("CAN-2", "CLI-3")
@pytest.mark.parametrize("number", [number for number, _ in SIGNALS])
def test_a_signal_after_the_command_has_ended_does_not_change_its_code(number: signal.Signals) -> None:
    ended = run_script(AT_THE_END, int(number))
    assert (ended.returncode, ended.stdout, ended.stderr) == (3, "", "")


CLOSED = [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"]


@pytest.mark.req("ROB-1")
@pytest.mark.parametrize("closed", CLOSED)
def test_a_run_whose_streams_are_closed_processes_every_file(cli: CommandLine, closed: str) -> None:
    cli.sources("one", "two", "three")
    command = f"{sys.executable} -m inorder run sources --data out --workers 2 --json --force {closed}"
    ended = subprocess.run(command, shell=True, cwd=cli.folder, env=dict(os.environ), check=False, timeout=120)
    assert ended.returncode == 0
    assert cli.run("failures", "--data", "out").code == 0


ITERATION = """
import inorder, sys

def double(item):
    print("printed")
    return item * 2

with open(sys.argv[1], "w") as file:
    file.write(repr(list(inorder.imap(double, range(6), workers=2))))
"""


@pytest.mark.req("ROB-1")
@pytest.mark.parametrize("closed", CLOSED)
def test_no_item_is_blamed_for_a_stream_that_was_closed_before(closed: str, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(ITERATION)
    command = f"{sys.executable} script.py result {closed}"
    ended = subprocess.run(command, shell=True, cwd=tmp_path, env=dict(os.environ), check=False, timeout=120)
    assert ended.returncode == 0
    assert (tmp_path / "result").read_text() == "[0, 2, 4, 6, 8, 10]"
