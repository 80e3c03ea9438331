"""How the process of a command ends."""

import subprocess
import sys

import pytest


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
