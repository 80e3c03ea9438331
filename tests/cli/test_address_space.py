"""Worker processes whose address space is limited: by an option, or by the shell."""

import os
import subprocess
import sys

import pytest

from tests.support.command_line import CommandLine

pytestmark = [
    pytest.mark.process,
    pytest.mark.req("ROB-1", "CLI-3"),
    pytest.mark.skipif(sys.platform == "darwin", reason="macOS does not limit the address space"),
]


def test_a_limit_below_what_a_worker_needs_is_one_line(cli: CommandLine) -> None:
    cli.sources("one")
    ended = cli.run("run", "sources", "--data", "out", "--set", "memory_bytes_max=1", "--quiet")
    assert ended.code == 1
    said = ended.err.splitlines()[-1]
    assert said.startswith("inorder: cannot start a worker process: memory_bytes_max is 1, and a worker needs ")
    assert said.endswith(" MiB before its first item")
    assert "Traceback" not in ended.err


def test_a_limit_of_the_shell_below_that_of_the_option_holds(cli: CommandLine) -> None:
    """A worker has 4 GiB by default, and no process may raise its own limit."""
    cli.sources("one", "two")
    command = f"ulimit -v 3000000; {sys.executable} -m inorder run sources --data out --workers 1"
    ended = subprocess.run(
        command, shell=True, cwd=cli.folder, env=dict(os.environ), capture_output=True, text=True, check=False
    )
    assert (ended.returncode, "Traceback" in ended.stderr) == (0, False)
    assert "2 files: 2 new" in ended.stderr
