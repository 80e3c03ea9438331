"""`pytest --fast`: the tests for the inner loop, without those that start a process.

A test that starts a process is marked `@pytest.mark.process`; whole folders are listed in `FOLDERS`. With `--fast` such
tests are deselected, and one that starts a process without the mark fails with a line that says so.
"""

import _posixsubprocess
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

TESTS = Path(__file__).parents[1]
FOLDERS = ("crash", "mutants", "ray")
"""Crashes, copies of the source with bugs in them, and clusters: all of these start processes, or take long."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--fast", action="store_true", help="leave out tests that start a process or take long")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "process: starts a process; left out with --fast")
    config.addinivalue_line(
        "markers", "slow: takes more than a tenth of a second of processor time; left out with --fast"
    )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With `--fast`, do not even import the tests of these folders."""
    return True if config.getoption("--fast") and _is_in_folders(collection_path) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--fast"):
        return
    left_out = [item for item in items if is_left_out(item)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if not is_left_out(item)]


def is_left_out(item: pytest.Item) -> bool:
    return any(item.get_closest_marker(name) for name in ("process", "slow")) or _is_in_folders(item.path)


def _is_in_folders(path: Path) -> bool:
    return any(path.is_relative_to(TESTS / folder) for folder in FOLDERS)


@pytest.fixture(autouse=True)
def no_process_in_a_fast_test(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """With `--fast`, fail a test that starts a process."""
    started: list[str] = []
    if request.config.getoption("--fast"):
        refuse = _refuse_process(started)
        monkeypatch.setattr(_posixsubprocess, "fork_exec", refuse)
        monkeypatch.setattr(subprocess, "_fork_exec", refuse)
        monkeypatch.setattr(os, "fork", refuse)
    yield
    assert not started, "this test starts a process: mark it with @pytest.mark.process"


def _refuse_process(started: list[str]) -> Callable[..., NoReturn]:
    def refuse(*arguments: Any, **options: Any) -> NoReturn:
        started.append("process")
        raise OSError("a test under --fast may not start a process")

    return refuse
