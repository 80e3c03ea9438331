"""Runs over a web server in a thread of the test."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.sources.bucket import Bucket


class WebServer(ThreadingHTTPServer):
    """Serves pages, with headers and statuses that a test sets."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), PageHandler)
        self.pages: dict[str, bytes] = {}
        self.headers: dict[str, str] = {}
        self.statuses: list[int] = []
        """Answered first, before the page itself."""
        self.gets: list[str] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class PageHandler(BaseHTTPRequestHandler):
    server: WebServer

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self.server.gets.append(self.path)
        self.wfile.write(self._answer())

    def _answer(self) -> bytes:
        page = self.server.pages.get(self.path)
        status = self.server.statuses.pop(0) if self.server.statuses else 200 if page is not None else 404
        body = page if page is not None and status == 200 else b""
        self.send_response(status)
        for name, value in self.server.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        return body

    def log_message(self, *arguments: Any) -> None:
        pass


@pytest.fixture
def web() -> Iterator[WebServer]:
    server = WebServer()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    server.pages["/page.md"] = b"# Lamps\n"
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("headers", "reads"),
    [({"ETag": '"1"'}, 1), ({"Last-Modified": "Wed, 01 Jul 2020 10:00:00 GMT"}, 1), ({}, 3)],
)
def test_a_page_is_read_once_as_long_as_it_is_the_same(
    bucket: Bucket, web: WebServer, headers: dict[str, str], reads: int
) -> None:
    web.headers = headers
    for _ in range(2):
        assert bucket.run("doctags", f"{web.address}/page.md").code == 0
    assert len(web.gets) == reads
    assert list(bucket.documents()) == ["page.md"]


@pytest.mark.slow
@pytest.mark.parametrize("headers", [{"ETag": '"1"'}, {}])
def test_a_page_that_has_changed_is_read_again(bucket: Bucket, web: WebServer, headers: dict[str, str]) -> None:
    web.headers = headers
    assert bucket.run("doctags", f"{web.address}/page.md").code == 0
    web.pages["/page.md"] = b"# Horns\n"
    web.headers = headers and {"ETag": '"2"'}
    assert bucket.run("doctags", f"{web.address}/page.md").code == 0
    assert b"Horns" in bucket.documents()["page.md"]


@pytest.mark.slow
def test_a_page_that_is_gone_deletes_nothing(bucket: Bucket, web: WebServer) -> None:
    assert bucket.run("doctags", f"{web.address}/page.md").code == 0
    web.pages.clear()
    ended = bucket.run("doctags", f"{web.address}/page.md")
    assert ended.code == 2
    assert "no such object" in ended.stderr
    assert list(bucket.documents()) == ["page.md"]


@pytest.mark.slow
def test_a_server_that_does_not_answer_is_no_mistake_of_the_operator(
    bucket: Bucket, web: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inorder.sources.fetching._BACKOFF_S", 0.0)
    web.server_close()
    ended = bucket.run("doctags", f"{web.address}/page.md")
    assert ended.code == 1
    assert "the store failed" in ended.stderr


@pytest.mark.slow
def test_a_busy_server_is_asked_again(bucket: Bucket, web: WebServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inorder.sources.fetching._BACKOFF_S", 0.0)
    web.headers = {"ETag": '"1"'}
    web.statuses = [503, 429, 200, 500]
    assert bucket.run("doctags", f"{web.address}/page.md").code == 0
    assert list(bucket.documents()) == ["page.md"]
