"""A server of vectors on this machine that misbehaves as the test says, and the time its client lives in."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

from inorder.documents.embed.providers.base import Matrix
from inorder.documents.embed.providers.hashing import HashProvider
from inorder.documents.embed.providers.server import ServerProvider, open_server
from inorder.models.limits import ServerLimits

GUARD_S = 60.0
DIMENSIONS = 8
Step = Callable[["Handler", list[str]], None]


def true_rows(texts: list[str]) -> Matrix:
    """What a good server makes of these texts."""
    return HashProvider(DIMENSIONS).embed(texts)


class Handler(BaseHTTPRequestHandler):
    """One request: the next step of the script, and a good answer when there is none left."""

    script: "Script"

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        texts = asked["inputs"] if "inputs" in asked else asked["input"]
        step = self.script.arrives(self.path, dict(self.headers), asked, texts)
        self.is_counted = True
        try:
            step(self, texts)
        finally:
            self.leave()

    def leave(self) -> None:
        """Is not counted any more. Before the answer is sent: who has it may ask again at once."""
        if self.is_counted:
            self.is_counted = False
            self.script.leaves()

    def answer(self, body: bytes, status: int = 200, headers: dict[str, str] | None = None) -> None:
        self.send_response_only(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.leave()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the script remembers."""


class Script:
    """What the server does next, and what it has seen."""

    def __init__(self, *steps: Step, otherwise: "Step | None" = None) -> None:
        self._lock = threading.Lock()
        self._steps = list(steps)
        self.otherwise = otherwise or well
        """What it does when no step is left."""
        self._arrived = threading.Semaphore(0)
        self.texts: list[list[str]] = []
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.bodies: list[dict[str, Any]] = []
        self.in_flight = self.in_flight_max = 0

    def arrives(self, path: str, headers: dict[str, str], body: dict[str, Any], texts: list[str]) -> Step:
        with self._lock:
            self.paths.append(path)
            self.headers.append(headers)
            self.bodies.append(body)
            self.texts.append(texts)
            self.in_flight += 1
            self.in_flight_max = max(self.in_flight_max, self.in_flight)
            step = self._steps.pop(0) if self._steps else self.otherwise
        self._arrived.release()
        return step

    def leaves(self) -> None:
        with self._lock:
            self.in_flight -= 1

    def has_requests(self, count: int = 1) -> None:
        """Go on once so many more requests have come."""
        for _ in range(count):
            assert self._arrived.acquire(timeout=GUARD_S), "no request came"


# ---- Steps


def well(handler: Handler, texts: list[str]) -> None:
    """As it should be, though not of unit length."""
    rows = (3.0 * true_rows(texts)).tolist()
    if handler.path.endswith("/embed"):
        handler.answer(json.dumps(rows).encode())
    else:  # OpenAI's protocol numbers the vectors, and promises no order
        data = [{"index": number, "embedding": row} for number, row in enumerate(rows)]
        handler.answer(json.dumps({"data": data[::-1]}).encode())


def status(code: int, body: bytes = b"no", **headers: str) -> Step:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda handler, texts: handler.answer(body, code, named)


def refusing(part: str, code: int) -> Step:
    """Refuse every request that has a text with this part."""
    return lambda handler, texts: (
        handler.answer(b"no", code) if any(part in text for text in texts) else well(handler, texts)
    )


def saying(body: bytes) -> Step:
    return lambda handler, texts: handler.answer(body)


def rows(values: list[list[float]]) -> Step:
    return saying(json.dumps(values).encode())


def cut_before_the_answer(handler: Handler, texts: list[str]) -> None:
    handler.connection.shutdown(socket.SHUT_RDWR)


def cut_in_the_middle(handler: Handler, texts: list[str]) -> None:
    handler.answer(b"[[0.1, 0.2", headers={"Content-Length": "1000"})
    handler.connection.shutdown(socket.SHUT_RDWR)


def held_by(gate: threading.Event) -> Step:
    """Answer once the gate is open."""

    def hold(handler: Handler, texts: list[str]) -> None:
        assert gate.wait(3 * GUARD_S), "the gate was never opened"
        well(handler, texts)

    return hold


# ---- The server and its client


class _Server(ThreadingHTTPServer):
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that has gone away is what some tests are about."""


@contextmanager
def serving(script: Script) -> Iterator[str]:
    """The server, for as long as the block lasts; its address."""
    server = _Server(("127.0.0.1", 0), type("ScriptedHandler", (Handler,), {"script": script}))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class StillTime:
    """Passes only where the client waits; remembers how long it did."""

    def __init__(self) -> None:
        self.now_s = 1000.0
        self.waits: list[float] = []

    def clock(self) -> float:
        return self.now_s

    def wait(self, seconds: float) -> None:
        self.waits.append(round(seconds, 6))
        self.now_s += seconds


def client(address: str, time: StillTime | None = None, kind: str = "tei", **limits: Any) -> ServerProvider:
    """A provider behind this server; on the machine's own clock unless a time is given."""
    where = address if kind == "tei" else f"{address}/v1#a-model"
    if time is None:
        return open_server(kind, where, ServerLimits(**limits))
    return open_server(kind, where, ServerLimits(**limits), time.clock, time.wait)


def assert_true(given: Matrix, texts: list[str]) -> None:
    np.testing.assert_allclose(given, true_rows(texts), atol=1e-6)
