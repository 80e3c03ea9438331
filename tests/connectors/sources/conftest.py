from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.connectors.sources.s3_faults import FaultyS3, serve_s3
from tests.sources.bucket import Bucket


@pytest.fixture(scope="session")
def server() -> Iterator[FaultyS3]:
    pytest.importorskip("s3fs", reason="`make test-connectors` installs the package s3fs")
    pytest.importorskip("moto", reason="`make test-connectors` installs the package moto")
    with serve_s3() as server:
        yield server


@pytest.fixture
def s3(server: FaultyS3) -> FaultyS3:
    """The server with an empty bucket."""
    server.reset()
    return server


@pytest.fixture
def place(s3: FaultyS3, tmp_path: Path) -> Bucket:
    """A folder for DATA, with the environment of the server."""
    return Bucket(tmp_path, s3.environment)
