"""Limits of requests, and clients that are slow."""

import asyncio
import socket
from typing import Any

import anyio
import pytest
from starlette.responses import StreamingResponse
from starlette.testclient import TestClient
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from inorder.serve.options import QUESTION_CHARACTERS_MAX
from inorder.serve.security import limits
from inorder.serve.security.limits import RequestLimits, TimedProtocol

pytestmark = pytest.mark.req("VIS-2")


def test_a_question_has_a_limit(client: TestClient) -> None:
    assert client.get("/api/search", params={"q": "x" * QUESTION_CHARACTERS_MAX}).status_code == 200
    response = client.get("/api/search", params={"q": "x" * (QUESTION_CHARACTERS_MAX + 1)})
    assert response.status_code == 400
    assert str(QUESTION_CHARACTERS_MAX) in response.json()["error"]


@pytest.mark.parametrize(
    "headers", [{"content-length": "5"}, {"transfer-encoding": "chunked"}, {"content-length": "x"}]
)
def test_a_body_is_refused(client: TestClient, headers: dict[str, str]) -> None:
    response = client.request("GET", "/api/data", headers=headers, content=b"")
    assert response.status_code == 413


async def run_app(app: ASGIApp, send: Send) -> None:
    async def receive() -> Message:
        return {"type": "http.disconnect"}

    scope: Scope = {"type": "http", "method": "GET", "path": "/", "headers": [], "query_string": b""}
    await app(scope, receive, send)


def test_a_request_that_takes_too_long_is_answered_with_an_error() -> None:
    async def hang(scope: Scope, receive: Receive, send: Send) -> None:
        await anyio.sleep_forever()

    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    anyio.run(run_app, RequestLimits(hang, answer_s_max=0.0), send)
    assert sent[0]["status"] == 503


def test_a_client_that_reads_nothing_is_given_up() -> None:
    async def send(message: Message) -> None:
        await anyio.sleep_forever()

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    with pytest.raises(TimeoutError):
        anyio.run(run_app, RequestLimits(answer, send_s_max=0.0), send)


def test_a_stream_may_last_longer_than_an_answer() -> None:
    """The limit for an answer ends with its first byte."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        with anyio.CancelScope() as started:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            started.cancel()
        deadlines.append(anyio.current_effective_deadline())

    async def send(message: Message) -> None:
        pass

    deadlines: list[float] = []
    anyio.run(run_app, RequestLimits(answer, answer_s_max=60.0), send)
    assert deadlines == [float("inf")]


def test_a_client_whose_header_does_not_arrive_is_disconnected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "HEADER_S_MAX", 0.0)

    async def ask() -> bytes:
        import uvicorn

        config = uvicorn.Config(StreamingResponse(iter(())), http=TimedProtocol, lifespan="off", log_config=None)
        config.load()
        server_state: Any = uvicorn.Server(config).server_state
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: TimedProtocol(config, server_state, {}), "127.0.0.1", 0)
        async with server:
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            found = await reader.read()
            writer.close()
        return found

    assert asyncio.run(ask()) == b""


def test_a_port_in_use_is_named() -> None:
    from inorder.errors import OperatorError
    from inorder.serve.server import bind

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(OperatorError, match=f"port {port} is in use; choose another with --port"):
            bind("127.0.0.1", port)
