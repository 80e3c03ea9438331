"""Limits of a request: its size, its time, and clients that are slow.

A client that sends its header slowly, or does not read the answer, would hold a connection for ever. Uvicorn
limits idle connections only, so the two other limits are here.
"""

import asyncio
from typing import Any

import anyio
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from inorder.serve.options import ANSWER_S_MAX, BODY_BYTES_MAX, HEADER_S_MAX, SEND_S_MAX

from .answers import make_refusal


class RequestLimits:
    """Refuses a body, ends a request that takes too long, and one whose client reads nothing."""

    def __init__(self, app: ASGIApp, answer_s_max: float = ANSWER_S_MAX, send_s_max: float = SEND_S_MAX) -> None:
        self._app = app
        self._answer_s_max = answer_s_max
        self._send_s_max = send_s_max

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if _has_body(Headers(scope=scope)):
            await make_refusal(413, "a request must not have a body")(scope, receive, send)
            return
        is_started = False
        deadline = anyio.CancelScope(deadline=anyio.current_time() + self._answer_s_max)

        async def send_in_time(message: Message) -> None:
            nonlocal is_started
            is_started = True
            deadline.deadline = float("inf")  # from here on, each part has its own limit
            with anyio.fail_after(self._send_s_max):
                await send(message)

        with deadline:
            await self._app(scope, receive, send_in_time)
        if deadline.cancelled_caught and not is_started:
            message = f"the request took longer than {self._answer_s_max:.0f} s"
            await make_refusal(503, message)(scope, receive, send)


def _has_body(headers: Headers) -> bool:
    length = headers.get("content-length", "0")
    return "transfer-encoding" in headers or not length.isdecimal() or int(length) > BODY_BYTES_MAX


class TimedProtocol(H11Protocol):
    """HTTP/1.1 that disconnects a client whose header does not arrive in time."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Start to wait for the first header."""
        super().connection_made(transport)
        self._watch_header()

    def data_received(self, data: bytes) -> None:
        """Stop to wait if the header is complete."""
        super().data_received(data)
        self._watch_header()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop to wait."""
        self._stop_watching()
        super().connection_lost(exc)

    def _watch_header(self) -> None:
        is_answering = self.cycle is not None and not self.cycle.response_complete
        if is_answering:
            self._stop_watching()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(HEADER_S_MAX, self._disconnect)

    def _stop_watching(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _disconnect(self) -> None:
        self._deadline = None
        is_answering = self.cycle is not None and not self.cycle.response_complete
        if not is_answering:
            self.transport.close()
