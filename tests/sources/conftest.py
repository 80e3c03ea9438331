from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sources.bucket import Bucket, make_bucket


@pytest.fixture
def bucket(tmp_path: Path) -> Iterator[Bucket]:
    yield from make_bucket(tmp_path)
