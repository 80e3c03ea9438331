"""How the process of a command ends."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import atexit, sys, threading
from inorder.cli.app import run_program

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
