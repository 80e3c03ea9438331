"""What the tests of the watch share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.command_line import CommandLine


@pytest.fixture
def cli(tmp_path: Path) -> Iterator[CommandLine]:
    cli = CommandLine(tmp_path)
    yield cli
    cli.close()
