"""A site that is made once, and clients for it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from inorder.serve.app import make_app
from inorder.serve.options import ServeOptions
from tests.serve.site import Site, make_site

ADDRESS = "http://127.0.0.1:8765"
TOKEN = "a-token-of-many-characters"


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return make_site(tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="session")
def client(site: Site) -> Iterator[TestClient]:
    """A client of a server that wants no token."""
    with TestClient(make_app(ServeOptions(data=(str(site.data),))), ADDRESS, follow_redirects=False) as client:
        yield client


@pytest.fixture
def guarded(site: Site) -> TestClient:
    """A client without a token, of a server that wants one."""
    return make_client(site.data, token=TOKEN)


def make_client(*data: Path, address: str = ADDRESS, **options: object) -> TestClient:
    app = make_app(ServeOptions(data=tuple(map(str, data)), **options))  # type: ignore[arg-type]
    return TestClient(app, address, follow_redirects=False, client=("127.0.0.1", 50000))
