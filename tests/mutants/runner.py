"""Run tests, or the simulator, against a changed copy of the package, several hundred times.

Starting an interpreter and importing pytest takes longer than most of these tests. So one process imports it, and
everything else that is not part of the package, and forks a child for each run. The copy of the source consists of hard
links, with the compiled files, so that only the changed file is compiled. Of the plugins of pytest, a child loads those
that the tests need.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import traceback
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
TIMEOUT_S = 110
_PRELOADED = (
    "asyncio",
    "hypothesis",
    "hypothesis.strategies",
    "msgspec",
    "multiprocessing.spawn",
    "numpy",
    "pytest",
    "_pytest.pytester",
    "pytest_timeout",
    "rich",
    "sqlite3",
    "typer",
)
_PLUGINS = ("-p", "pytest_timeout", "-p", "no:unraisableexception")


class Run(NamedTuple):
    """How a run ended, and what it printed."""

    code: int
    output: str


def link_source(place: Path) -> Path:
    """Make a copy of the source of hard links. A file must be replaced there, never written."""
    copy = place / "src"
    shutil.copytree(ROOT / "src", copy, ignore=shutil.ignore_patterns("*.pyc.*"), copy_function=_link_or_copy)
    return copy


def _link_or_copy(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another filesystem
        shutil.copy2(source, target)


@contextlib.contextmanager
def replaced(file: Path, old: str, new: str) -> Iterator[None]:
    """Replace a piece of a file in such a copy for a while."""
    compiled = list((file.parent / "__pycache__").glob(f"{file.stem}.*"))
    originals = [(path, ROOT / "src" / path.relative_to(_find_copy(file))) for path in (file, *compiled)]
    text = file.read_text(encoding="utf-8").replace(old, new)
    for path, _ in originals:
        path.unlink()
    file.write_text(text, encoding="utf-8")
    try:
        yield
    finally:
        file.unlink()
        for path, original in originals:
            if original.exists():
                _link_or_copy(str(original), str(path))


def _find_copy(file: Path) -> Path:
    return next(folder for folder in file.parents if folder.name == "src")


class ForkServer:
    """A process that runs pytest or the simulator in forked children, one at a time."""

    def __init__(self) -> None:
        command = [sys.executable, "-c", "from tests.mutants.runner import serve; serve()"]
        self._process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        )

    def run_tests(self, source: Path, place: Path, *arguments: str) -> Run:
        """Run pytest with these arguments and the package from `source`. `place` is for its output."""
        return self._run("pytest", source, place, [*_PLUGINS, "--basetemp", str(place / "temporary"), *arguments])

    def run_simulator(self, source: Path, place: Path, *arguments: str) -> Run:
        """Run `python -m inorder.sim` with these arguments in the same way."""
        return self._run("inorder.sim.__main__", source, place, arguments)

    def _run(self, module: str, source: Path, place: Path, arguments: Sequence[str]) -> Run:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        output = place / "output.txt"
        job = {"module": module, "source": str(source), "output": str(output), "arguments": arguments}
        self._process.stdin.write(f"{json.dumps(job)}\n")
        self._process.stdin.flush()
        code = int(self._process.stdout.readline())
        return Run(code, output.read_text(encoding="utf-8", errors="replace"))

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def serve() -> None:
    """Run a job per line of stdin, and print the exit code of each."""
    for module in _PRELOADED:
        with contextlib.suppress(ImportError):
            __import__(module)
    assert not any(name == "inorder" or name.startswith("inorder.") for name in sys.modules)
    for line in sys.stdin:
        job = json.loads(line)
        child = os.fork()
        if not child:
            _run_job(job)
        print(_wait(child), flush=True)


def _wait(child: int) -> int:
    """The exit code of the child; negative for a signal. It is killed if it takes too long."""

    def kill(*_: object) -> None:
        os.killpg(child, signal.SIGKILL)

    signal.signal(signal.SIGALRM, kill)
    signal.alarm(TIMEOUT_S)
    _, status = os.waitpid(child, 0)
    signal.alarm(0)
    return os.waitstatus_to_exitcode(status)


def _run_job(job: dict[str, Any]) -> None:
    os.setsid()
    with open(job["output"], "wb") as output, open(os.devnull, "rb") as nothing:
        for number, file in enumerate((nothing, output, output)):
            os.dup2(file.fileno(), number)
    code = 70
    try:
        os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
        os.environ["PYTHONPATH"] = job["source"]
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        sys.dont_write_bytecode = True
        sys.path.insert(0, job["source"])
        code = int(import_module(job["module"]).main(job["arguments"]))
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
