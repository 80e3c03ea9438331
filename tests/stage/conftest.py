"""What the tests of stages share."""

from pathlib import Path

import pytest

from tests.stage.jobs import Place


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)
