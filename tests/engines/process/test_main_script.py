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


PROMPT = """\
import inorder

factor = 3
def scale(number):
    return number * factor

list(inorder.imap(scale, range(4), workers=2))
factor = 5
list(inorder.imap(scale, range(4), workers=2))
def scale(number):
    return -number

list(inorder.imap(scale, range(4), workers=2))
list(inorder.imap(lambda number: 1 / (number - factor), [7], workers=1))
with inorder.Executor(workers=1) as executor:
    executor.submit(scale, 4).result()

"""


@pytest.mark.req("API-1")
def test_a_function_of_an_interactive_session_runs_as_it_is_at_that_moment(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-i", "-q"], cwd=tmp_path, input=PROMPT, capture_output=True, text=True, check=False
    )
    said = ["[0, 3, 6, 9]", "[0, 5, 10, 15]", "[0, -1, -2, -3]", "[0.5]", "-4"]
    assert done.stdout.splitlines() == said, done.stderr
    assert done.stderr.replace(">>> ", "").replace("... ", "").strip() == ""


NOTEBOOK = '''
import ast, asyncio, inspect, sys, types

CELLS = [
    """
import dataclasses, inorder

@dataclasses.dataclass
class Point:
    x: int
""",
    """
def scale(point):
    return Point(point.x * factor)

factor = 3
list(inorder.imap(scale, map(Point, range(3)), workers=2))
""",
    """
factor = 5
[result async for result in inorder.imap(scale, map(Point, range(3)), workers=2)]
""",
    """
async def wait(number):
    await asyncio.sleep(0)
    return number * factor

import asyncio
[result async for result in inorder.imap(wait, range(3))]
""",
]


async def main():
    """Run cells as kernels of notebooks do: in a module in place of __main__, on a running event loop."""
    user = sys.modules["__main__"] = types.ModuleType("__main__")
    for number, cell in enumerate(CELLS):
        tree = ast.parse(cell)
        if isinstance(tree.body[-1], ast.Expr):
            tree.body[-1] = ast.Assign([ast.Name("Out", ast.Store())], tree.body[-1].value)
            ast.fix_missing_locations(tree)
        code = compile(tree, f"<cell {number}>", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        found = eval(code, vars(user))
        if inspect.isawaitable(found):
            await found
        print(vars(user).get("Out"))


asyncio.run(main())
'''


@pytest.mark.req("API-1")
def test_a_function_of_a_notebook_runs_with_the_cells_before_it(tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(NOTEBOOK)
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == [
        "None",
        "[Point(x=0), Point(x=3), Point(x=6)]",
        "[Point(x=0), Point(x=5), Point(x=10)]",
        "[0, 5, 10]",
    ], done.stderr
    assert done.stderr == ""
