"""One server for all tests, and a database per test."""

import itertools
from collections.abc import Iterator

import pytest

from inorder.host.credentials import hide_credentials
from tests.connectors.postgres.server import PostgresServer

_numbers = itertools.count()


@pytest.fixture(scope="session")
def server() -> Iterator[PostgresServer]:
    pytest.importorskip("pgserver", reason="`make test-connectors` installs the package pgserver")
    running = PostgresServer()
    yield running
    running.close()


@pytest.fixture
def database(server: PostgresServer) -> str:
    """The name of a new database."""
    name = f"test_{next(_numbers)}"
    server.create_database(name)
    return name


@pytest.fixture
def address(server: PostgresServer, database: str) -> str:
    """The address of a new database."""
    return hide_credentials(server.address(database))
