"""Runs over a web server in a thread of the test."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from inorder.sources import web as web_requests
from tests.sources.bucket import Bucket


class WebServer(ThreadingHTTPServer):
    """Serves pages, with headers and statuses that a test sets."""

    def __init__(self, place: tuple[str, int] = ("127.0.0.1", 0)) -> None:
        super().__init__(place, PageHandler)
        self.daemon_threads = True
        self.pages: dict[str, bytes] = {}
        self.headers: dict[str, str] = {}
        self.statuses: list[int] = []
        """Answered first, before the page itself."""
        self.gets: list[str] = []
        self.redirect = ""
        """Where every request is sent; empty: nowhere."""
        self.is_slow = False
        """Whether a page is sent byte by byte, and never to its end."""
        self.is_over = threading.Event()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class PageHandler(BaseHTTPRequestHandler):
    server: WebServer

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self.server.gets.append(self.path)
        body = self._answer()
        while self.server.is_slow and not self.server.is_over.wait(0.01):
            self.wfile.write(b"x")
        self.wfile.write(body)

    def _answer(self) -> bytes:
        page = self.server.pages.get(self.path)
        if self.server.redirect:
            self.send_response(302)
            self.send_header("Location", f"{self.server.redirect}{self.path}")
            self.end_headers()
            return b""
        status = self.server.statuses.pop(0) if self.server.statuses else 200 if page is not None else 404
        body = page if page is not None and status == 200 else b""
        self.send_response(status)
        for name, value in self.server.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(1_000_000 if self.server.is_slow else len(body)))
        self.end_headers()
        return body

    def log_message(self, *arguments: Any) -> None:
        pass


@contextmanager
def serving(server: WebServer) -> Iterator[WebServer]:
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.is_over.set()
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def web() -> Iterator[WebServer]:
    with serving(WebServer()) as server:
        server.pages["/page.md"] = b"# Lamps\n"
        yield server


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


@pytest.mark.req("ROB-1")
def test_a_page_that_is_sent_byte_by_byte_fails_its_file_alone(
    bucket: Bucket, web: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inorder.sources.web.WINDOW_S", 0.3)
    web.headers, web.is_slow = {"ETag": '"1"'}, True
    ended = bucket.run("doctags", f"{web.address}/page.md")
    assert ended.code == 3
    [failure] = bucket.command("failures", "--json").stdout.splitlines()
    assert "fewer than 1,000 bytes per second arrived in 0.3 s" in failure
    assert "--set fetch_bytes_per_s_min=N" in failure
    assert len(web.gets) == 1


@pytest.mark.req("ROB-1")
def test_a_listing_does_not_wait_for_a_page_that_is_sent_byte_by_byte(
    bucket: Bucket, web: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inorder.sources.web.WINDOW_S", 0.3)
    web.is_slow = True  # and without a version, so that the listing reads it
    ended = bucket.run("doctags", f"{web.address}/page.md")
    assert ended.code == 1
    assert "fewer than 1,000 bytes per second arrived" in ended.stderr


@pytest.mark.req("ROB-1")
def test_the_least_rate_can_be_set(bucket: Bucket, web: WebServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inorder.sources.web.WINDOW_S", 0.3)
    web.headers, web.is_slow = {"ETag": '"1"'}, True
    arguments = ("--set", "fetch_bytes_per_s_min=1", "--timeout-s", "1", "--retries", "0")
    ended = bucket.command("doctags", f"{web.address}/page.md", "--policy", "io", *arguments)
    assert ended.code == 3
    assert "(timeout): step 'doctags' took longer than 1 s" in ended.stderr


@pytest.fixture
def public(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every name is resolved to this machine, and 127.0.0.2 counts as public."""
    resolve = socket.getaddrinfo

    def getaddrinfo(host: str, *arguments: Any, **options: Any) -> Any:
        return resolve("127.0.0.1" if "example" in host else host, *arguments, **options)

    monkeypatch.setattr("socket.getaddrinfo", getaddrinfo)
    judge = web_requests._is_public
    monkeypatch.setattr(web_requests, "_is_public", lambda address: address == "127.0.0.2" or judge(address))


REFUSED = "the address leads to a loopback or private one; if that is wanted, add --set fetch_private=true"


@pytest.mark.req("ROB-1")
@pytest.mark.usefixtures("public")
def test_a_public_name_does_not_lead_to_this_machine(bucket: Bucket, web: WebServer) -> None:
    address = f"http://docs.example.com:{web.server_port}/page.md"
    ended = bucket.run("doctags", address)
    assert ended.code == 2
    assert REFUSED in ended.stderr
    assert web.gets == []
    assert bucket.run("doctags", address, "--set", "fetch_private=true").code == 0


@pytest.mark.req("ROB-1")
@pytest.mark.parametrize(
    "number",
    [
        "::1",
        "::ffff:127.0.0.1",
        "::127.0.0.1",
        "::ffff:0:7f00:1",
        "64:ff9b::7f00:1",
        "64:ff9b::a01:203",
        "64:ff9b:1::7f00:1",
        "2002:7f00:1::1",
        "2002:c0a8:101::",
        "2001:0:7f00:1::80ff:fffe",
        "fe80::1%2",
        "fec0::1",
        "fd00::1",
        "ff02::1",
    ],
)
def test_a_public_name_does_not_lead_to_a_machine_of_this_network_by_a_number_of_ipv6(
    bucket: Bucket, web: WebServer, monkeypatch: pytest.MonkeyPatch, number: str
) -> None:
    resolved = (socket.AF_INET6, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (number, web.server_port, 0, 0))
    monkeypatch.setattr("socket.getaddrinfo", lambda *arguments, **options: [resolved])
    ended = bucket.run("doctags", f"http://docs.example.com:{web.server_port}/page.md")
    assert ended.code == 2
    assert REFUSED in ended.stderr
    assert web.gets == []


@pytest.mark.req("ROB-1")
@pytest.mark.usefixtures("public")
def test_a_redirect_of_a_public_address_does_not_lead_to_this_machine(bucket: Bucket, web: WebServer) -> None:
    outside = WebServer(("127.0.0.2", 0))
    outside.redirect = web.address
    with serving(outside):
        address = f"http://127.0.0.2:{outside.server_port}/page.md"
        ended = bucket.run("doctags", address)
        assert ended.code == 2
        assert REFUSED in ended.stderr
        assert web.gets == []
        assert bucket.run("doctags", address, "--set", "fetch_private=true").code == 0


@pytest.mark.req("ROB-1")
@pytest.mark.usefixtures("public")
def test_an_archive_at_a_public_address_does_not_lead_to_this_machine(bucket: Bucket, web: WebServer) -> None:
    ended = bucket.run("doctags", f"zip://http://docs.example.com:{web.server_port}/a.zip")
    assert ended.code == 2
    assert REFUSED in ended.stderr
    assert web.gets == []


@pytest.mark.parametrize(
    ("address", "is_local"),
    [
        ("http://localhost:8000/a", True),
        ("http://wiki/a", True),
        ("http://files.corp.internal/a", True),
        ("http://10.1.2.3/a", True),
        ("http://[::1]:80/a", True),
        ("http://[::ffff:127.0.0.1]/a", True),
        ("http://[::ffff:8.8.8.8]/a", False),
        ("http://[64:ff9b::7f00:1]/a", True),
        ("http://[64:ff9b::808:808]/a", False),
        ("http://[2002:a01:203::1]/a", True),
        ("http://[2002:808:808::1]/a", False),
        ("http://[fe80::1%25eth0]/a", True),
        ("http://169.254.169.254/a", True),
        ("http://docs.example.com/a", False),
        ("http://8.8.8.8/a", False),
        ("http://[2606:4700::1111]/a", False),
    ],
)
def test_whoever_names_a_machine_of_his_own_may_read_from_it(address: str, is_local: bool) -> None:
    assert web_requests.has_local_host(address) == is_local
