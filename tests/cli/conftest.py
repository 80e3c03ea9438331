"""What the tests of the command line share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.desk import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    yield desk
    desk.close()
