"""What the tests of the command line share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from inorder.cli.options import SHARED
from tests.support.command_line import CommandLine


@pytest.fixture
def cli(tmp_path: Path) -> Iterator[CommandLine]:
    cli = CommandLine(tmp_path)
    yield cli
    cli.close()


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own, where nothing is said of any option."""
    monkeypatch.chdir(tmp_path)
    for option in SHARED.values():
        monkeypatch.delenv(option.variable, raising=False)
    monkeypatch.delenv("INORDER_PROFILE", raising=False)
    return tmp_path
