"""NumPy starts no threads in the processes of a run."""

import subprocess
import sys

import pytest

from tests.support.command_line import clean_environment


@pytest.mark.process
@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted in /proc")
@pytest.mark.parametrize(("threads", "expected"), [(None, "1"), ("1", "1"), ("2", "2")])
def test_the_environment_decides_or_else_there_is_one_thread(threads: str | None, expected: str) -> None:
    program = (
        "import os\n"
        "from inorder.host.blas import limit_blas_threads\n"
        "limit_blas_threads()\n"
        "import numpy\n"
        "print(os.environ['OPENBLAS_NUM_THREADS'], len(os.listdir('/proc/self/task')))\n"
    )
    environment = {name: value for name, value in clean_environment().items() if name != "OPENBLAS_NUM_THREADS"}
    environment |= {} if threads is None else {"OPENBLAS_NUM_THREADS": threads}
    command = [sys.executable, "-c", program]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=True)
    assert ended.stdout.startswith(expected)
    assert ended.stdout.split()[-1] == "1" or threads == "2"
