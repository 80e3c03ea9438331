"""How the process of a command begins and ends."""

import gc
import os
import subprocess
import sys

import pytest

from inorder.cli import app

CONFIG = "inorder.cli.commands.pipeline.config"


@pytest.mark.parametrize(
    ("arguments", "is_program", "expected"),
    [
        (["config", "--help"], True, [(CONFIG, False), "kept"]),
        (["config", "--help"], False, [(CONFIG, False)]),
        (["--help", "config"], True, ["kept"]),
    ],
    ids=["program", "in a process that does more", "no command"],
)
def test_no_cycles_are_searched_for_among_the_modules_of_a_command(
    arguments: list[str], is_program: bool, expected: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """That takes as long as the import of many modules, and finds nothing."""
    seen: list[object] = []
    monkeypatch.setattr(app, "import_module", lambda name: seen.append((name, gc.isenabled())))
    monkeypatch.setattr(app, "keep_loaded", lambda: seen.append("kept"))
    assert app.run_command(arguments, is_program=is_program) == 0
    assert seen == expected
    assert gc.isenabled()


@pytest.mark.process
@pytest.mark.parametrize("arguments", [["--version"], ["no-such-command"]], ids=["done", "failed"])
def test_the_interpreter_does_not_search_all_modules_for_cycles_at_the_end(arguments: list[str]) -> None:
    """That takes longer than the end of everything else. Exit code and output are those of the command."""
    program = (
        "import atexit, gc, sys\n"
        "from inorder.cli.app import main\n"
        "atexit.register(lambda: print('left:', len(gc.get_objects()) < 1000))\n"
        f"sys.argv = ['inorder', *{arguments}]\n"
        "main()\n"
    )
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert finished.stdout.endswith("left: True\n")
    assert finished.returncode == (0 if arguments == ["--version"] else 2)


PROGRAM = """
import atexit, os, sys, threading
from inorder.cli.app import run_program

leave = os._exit
os._exit = lambda code: (print("left at once", flush=True), leave(code))
atexit.register(print, "at exit")
{more}
sys.argv = ["inorder", "--version"]
run_program()
"""
WAIT = "threading.Thread(target=lambda: (threading.main_thread().join(), print('thread'))).start()"


def run_program(more: str = "") -> list[str]:
    """Run a command in a process of its own. Returns the lines that follow its output."""
    command = [sys.executable, "-c", PROGRAM.format(more=more)]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (finished.returncode, finished.stderr) == (0, "")
    return finished.stdout.splitlines()[1:]


@pytest.mark.process
def test_a_process_ends_without_releasing_all_objects_after_what_is_done_at_exit() -> None:
    assert run_program() == ["at exit", "left at once"]


@pytest.mark.process
def test_a_process_waits_for_threads_that_are_to_end_first() -> None:
    assert run_program(WAIT) == ["thread", "at exit"]


@pytest.mark.process
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a file that is always full")
def test_output_that_cannot_be_written_is_reported() -> None:
    command = [sys.executable, "-m", "inorder", "--version"]
    with open("/dev/full", "w") as full:
        finished = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert finished.returncode != 0
    assert "No space left on device" in finished.stderr
