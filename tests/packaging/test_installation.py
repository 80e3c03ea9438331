"""What `make dist` builds is installed into clean environments, and indexes and searches the sample there.

Nothing is left to this checkout: the environment has no other package, and no variable that names a source.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.packaging.conftest import ROOT

pytestmark = pytest.mark.req("PKG-1")
QUESTION = "when should the fog horn be started"
BROKEN_FILES = 3
WITHOUT_MODULE = "without its compiled module"
GUARD_S = 600
PROGRAM = """
import inorder
def double(number):
    return 2 * number
if __name__ == "__main__":
    print(inorder.__file__)
    print(list(inorder.imap(double, range(5), workers=2)))
    print(list(inorder.imap(double, range(5), workers=2, where="threads")))
"""


class Installation:
    """A clean virtual environment with inorder."""

    def __init__(self, folder: Path, interpreter: str, wheelhouse: Path, *, has_compiler: bool = True) -> None:
        self.folder = folder
        self._wheelhouse = wheelhouse
        self._python = folder / "venv" / "bin" / "python"
        nothing = folder / "nothing"
        nothing.mkdir()
        self._environment = {
            "PATH": os.environ["PATH"] if has_compiler else str(nothing),
            "HOME": str(folder),
            "LANG": "C.UTF-8",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_CONFIG_FILE": os.devnull,
        }
        self.call(interpreter, "-m", "venv", str(folder / "venv"))

    def install(self, what: str, *options: str) -> None:
        """Install a file, or a name, with what it needs to index documents."""
        self.python(
            *("-m", "pip", "install", "--quiet", "--no-index", "--no-compile", "--find-links", str(self._wheelhouse)),
            *(*options, f"{what}[ingest]"),
        )

    def call(self, *arguments: str, codes: tuple[int, ...] = (0,)) -> str:
        """Run a program, and return what it prints to stdout."""
        ended = subprocess.run(
            arguments, cwd=self.folder, env=self._environment, capture_output=True, text=True, timeout=GUARD_S
        )
        assert ended.returncode in codes, ended.stdout + ended.stderr
        return ended.stdout

    def python(self, *arguments: str) -> str:
        """Run the interpreter of the environment."""
        return self.call(str(self._python), *arguments)

    def inorder(self, *arguments: str, codes: tuple[int, ...] = (0,)) -> str:
        """Run the command of the environment."""
        return self.call(str(self._python.with_name("inorder")), *arguments, codes=codes)

    def remove_compiled_module(self) -> None:
        """Remove what the compiler has made."""
        [module] = (self.folder / "venv").glob("lib/*/site-packages/inorder/**/*.so")
        module.unlink()

    def run_demo(self) -> dict[str, Any]:
        """Index the sample and search it, and use processes and threads. Returns what does not depend on how inorder
        was installed."""
        program = self.folder / "program.py"
        program.write_text(PROGRAM)
        place, *doubled = self.python(str(program)).splitlines()
        assert place.startswith(str(self.folder / "venv"))
        assert doubled == ["[0, 2, 4, 6, 8]"] * 2
        data = f"data-{len(list(self.folder.glob('data-*')))}"
        sample = str(ROOT / "examples" / "sample")
        counts = json.loads(self.inorder("run", sample, "--data", data, "--json", codes=(3,)))
        found = json.loads(self.inorder("search", QUESTION, "-k", "3", "--data", data, "--json"))
        assert counts["counts"]["failed"] == BROKEN_FILES
        return {"counts": counts["counts"], "hits": [(hit["path"], hit["score"]) for hit in found["hits"]]}

    @property
    def has_compiled_module(self) -> bool:
        """Whether the command says that it has its compiled module."""
        return WITHOUT_MODULE not in self.inorder("--version")


@pytest.fixture(scope="module")
def answers() -> Iterator[list[dict[str, Any]]]:
    """What the demo said in each environment: it has to be the same in all of them."""
    found: list[dict[str, Any]] = []
    yield found
    assert all(each == found[0] for each in found)


def find_distribution(pattern: str) -> Path:
    """A file that `make dist` has built."""
    [path] = (ROOT / "dist").glob(pattern)
    return path


def test_the_source_distribution_is_compiled_where_there_is_a_compiler(
    tmp_path: Path, interpreter: str, wheelhouse: Path, answers: list[dict[str, Any]]
) -> None:
    installed = Installation(tmp_path, interpreter, wheelhouse)
    installed.install(str(find_distribution("*.tar.gz")))
    assert installed.has_compiled_module
    answers.append(installed.run_demo())


def test_the_source_distribution_is_installed_without_a_compiler(
    tmp_path: Path, interpreter: str, wheelhouse: Path, answers: list[dict[str, Any]]
) -> None:
    installed = Installation(tmp_path, interpreter, wheelhouse, has_compiler=False)
    installed.install(str(find_distribution("*.tar.gz")))
    assert not installed.has_compiled_module
    answers.append(installed.run_demo())


def test_pip_takes_the_wheel_of_this_platform_where_it_fits_and_the_other_one_elsewhere(
    tmp_path: Path, interpreter: str, wheelhouse: Path, answers: list[dict[str, Any]]
) -> None:
    installed = Installation(tmp_path, interpreter, wheelhouse, has_compiler=False)
    tag = installed.python("-c", "import sys; print('cp%d%d' % sys.version_info[:2])").strip()
    fits = bool(list((ROOT / "dist").glob(f"*-{tag}-{tag}-*.whl")))
    installed.install("inorder", "--find-links", str(ROOT / "dist"), "--only-binary", "inorder")
    assert installed.has_compiled_module == fits
    answers.append(installed.run_demo())
    if fits:
        installed.remove_compiled_module()
        assert not installed.has_compiled_module
        answers.append(installed.run_demo())


def test_the_wheel_for_any_platform_works_without_compiled_code(
    tmp_path: Path, interpreter: str, wheelhouse: Path, answers: list[dict[str, Any]]
) -> None:
    installed = Installation(tmp_path, interpreter, wheelhouse)
    installed.install(str(find_distribution("*-py3-none-any.whl")))
    assert not installed.has_compiled_module
    answers.append(installed.run_demo())


@pytest.mark.req("PLG-1")
def test_the_example_of_plug_ins_is_installed_beside_it(tmp_path: Path, interpreter: str, wheelhouse: Path) -> None:
    installed = Installation(tmp_path, interpreter, wheelhouse)
    installed.install(str(find_distribution("*-py3-none-any.whl")))
    shutil.copytree(ROOT / "examples" / "plugin", tmp_path / "plugin")
    installed.python("-m", "pip", "install", "--quiet", "--no-index", "--find-links", str(wheelhouse), "./plugin")
    listed = json.loads(installed.inorder("plugins", "--json"))["plugins"]
    assert {each["kind"] for each in listed} == {"readers", "providers", "rerankers", "sources", "targets", "steps"}
    assert {(each["package"], each["version"], each["problem"]) for each in listed} == {
        ("inorder-lighthouse", "1.0", None)
    }
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "north.lamp").write_text("The lamp of the north tower is trimmed at dusk.")
    installed.inorder("run", "docs", "--dense", "letters", "--steps", "redact")
    assert "north.lamp" in installed.inorder("search", "trimmed at dusk")
