"""Runs a command line in this process, with its own current directory, environment, streams and imported stages.

For commands that read only: nothing in them needs a process of its own. Signals, crashes, terminals and what happens at
the end of the interpreter do; those tests start the installed command.
"""

import contextlib
import importlib
import io
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from inorder.cli import output
from inorder.cli.app import run_command

READ_ONLY = frozenset(
    "plan explain failures inspect manifest journal verify search symbols graph eval config show export report".split()  # noqa: SIM905
)


def is_read_only(arguments: Sequence[str]) -> bool:
    return bool(arguments) and (arguments[0] in READ_ONLY or arguments[-1] in ("--help", "--version"))


def run_in_process(arguments: Sequence[str], folder: Path, environment: Mapping[str, str]) -> tuple[int, str, str]:
    """The exit code, stdout and stderr."""
    results = io.BytesIO()
    out = io.TextIOWrapper(results, encoding="utf-8", write_through=True)
    err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with (
        _surroundings(folder, environment, results),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        code = run_command(arguments)
    return code, results.getvalue().decode(), err.buffer.getvalue().decode()  # type: ignore[attr-defined]


@contextlib.contextmanager
def _surroundings(folder: Path, environment: Mapping[str, str], results: io.BytesIO) -> Iterator[None]:
    before, path, variables, hook = Path.cwd(), list(sys.path), dict(os.environ), sys.excepthook
    modules = set(sys.modules)
    output._claimed.append(results)  # stdout counts as claimed: file descriptors are not touched
    try:
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        importlib.invalidate_caches()
        yield
    finally:
        output._claimed.clear()
        os.environ.clear()
        os.environ.update(variables)
        os.chdir(before)
        sys.path[:] = path
        sys.excepthook = hook
        for name in set(sys.modules) - modules:
            file = getattr(sys.modules[name], "__file__", None)
            if file is not None and Path(file).is_relative_to(folder):
                del sys.modules[name]
