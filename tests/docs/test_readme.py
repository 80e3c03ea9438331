"""The README shows what really happens: its examples are run, and their output is compared."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, read

pytestmark = pytest.mark.process


def block(language: str) -> str:
    [found] = re.findall(rf"^```{language}\n(.*?)^```$", read("README.md"), re.DOTALL | re.MULTILINE)
    return str(found)


def without_numbers_that_vary(output: str) -> str:
    return re.sub(r"process \d+", "process N", re.sub(r"in \d+\.\d s", "in N s", output))


def run(command: list[str], folder: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("INORDER_")}
    finished = subprocess.run(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    return finished.stdout


def test_the_python_example_prints_what_is_shown(tmp_path: Path) -> None:
    (tmp_path / "squares.py").write_text(block("python"), encoding="utf-8")
    printed = run([sys.executable, "squares.py"], tmp_path)
    assert without_numbers_that_vary(printed) == without_numbers_that_vary(block("text"))


def test_the_commands_print_what_is_shown(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples" / "sample", tmp_path / "examples" / "sample")
    commands = re.findall(r"^\$ inorder (.*)\n((?:(?!\$ ).*\n)*)", block("console"), re.MULTILINE)
    assert commands
    for command, shown in commands:
        printed = run([sys.executable, "-m", "inorder", *shlex.split(command)], tmp_path)
        assert without_numbers_that_vary(printed) == without_numbers_that_vary(shown), command


@pytest.mark.parametrize("picture", ["order", "comparison"])
def test_pictures_have_a_light_and_a_dark_form(picture: str) -> None:
    assert f'srcset="docs/images/{picture}-dark.svg"' in read("README.md")
    assert f'src="docs/images/{picture}-light.svg"' in read("README.md")
