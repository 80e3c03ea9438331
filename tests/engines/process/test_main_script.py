"""Functions, items and results of a program's main script, in its worker processes, which do not import it."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

PROGRAM = """
import dataclasses
import inorder

print("imported")
FACTOR = 3


@dataclasses.dataclass
class Point:
    x: int


class TooFar(Exception):
    pass


def scale(point):
    if point.x > 2:
        raise TooFar(point.x)
    return Point(point.x * FACTOR)


found = list(inorder.imap(scale, map(Point, range(4)), workers=2, errors="yield"))
assert found[:3] == [Point(0), Point(3), Point(6)], found
assert type(found[3].__cause__) is TooFar, found
"""


@pytest.mark.req("API-1")
@pytest.mark.parametrize("how", ["script", "standard input", "module", "command"])
def test_a_program_without_a_main_guard_runs_once(how: str, tmp_path: Path) -> None:
    path = tmp_path / "program_without_guard.py"
    path.write_text(PROGRAM)
    arguments = {
        "script": [str(path)],
        "standard input": ["-"],
        "module": ["-m", path.stem],
        "command": ["-c", PROGRAM],
    }[how]
    done = subprocess.run(
        [sys.executable, *arguments], cwd=tmp_path, input=PROGRAM, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr, done.returncode) == ("imported\n", "", 0)
