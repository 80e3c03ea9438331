"""Send one request to a server, and classify its errors.

A request ends in one of three ways: with the body of the response, with `RetryableError` (another attempt may succeed),
or with an error that is final. Redirects are not followed: they could send the key to another server.
"""

import base64
import http.client
import os
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from email.message import Message
from typing import IO, Any
from urllib.parse import unquote

from inorder.engines.error_table import RETRYABLE_STATUSES
from inorder.engines.retry_after import parse_retry_after
from inorder.errors import OperatorError, StageError
from inorder.host.credentials import Credentials, add_parameters

KEY_VARIABLE = "INORDER_API_KEY"
_READ_BYTES = 64 * 1024
_MESSAGE_BYTES = 300
_KEY_REFUSED = {401, 403}
_WRONG_ADDRESS = {301, 302, 303, 307, 308, 404, 405}


class RetryableError(Exception):
    """The attempt failed, but the next one may succeed. `wait_s` is the server's `Retry-After`, if it sent one."""

    def __init__(self, message: str, wait_s: float | None = None) -> None:
        super().__init__(message)
        self.wait_s = wait_s


class RefusedError(OperatorError):
    """The server refuses every request: the key or the address is wrong. `outage` is the server."""

    category = "config"
    retryable = False

    def __init__(self, message: str, outage: str) -> None:
        super().__init__(message)
        self.outage = outage

    def __reduce__(self) -> tuple[Any, ...]:
        return RefusedError, (str(self), self.outage)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> None:
        """Refuse every redirect."""
        return


_OPENER = urllib.request.build_opener(_NoRedirects)


def make_authorization(credentials: Credentials) -> dict[str, str]:
    """The header for a user and password from the address of a server, or else for the key from the environment."""
    if credentials.user or credentials.password is not None:
        pair = f"{unquote(credentials.user)}:{unquote(credentials.password or '')}"
        return {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}
    key = os.environ.get(KEY_VARIABLE)
    return {"Authorization": f"Bearer {key}"} if key else {}


def post(
    url: str, body: bytes, headers: Mapping[str, str], timeout_s: float, bytes_max: int, secrets: tuple[str, ...]
) -> bytes:
    """The body of the response. `secrets` are parameters of the URL that no message has. `timeout_s` is for the whole
    request, however slowly the response arrives."""
    until_s = time.monotonic() + timeout_s
    content_type = {"Content-Type": "application/json"}
    request = urllib.request.Request(add_parameters(url, secrets), body, {**content_type, **headers}, method="POST")
    try:
        with _OPENER.open(request, timeout=max(timeout_s, 0.001)) as response:
            return _read(response, until_s, bytes_max)
    except urllib.error.HTTPError as error:
        with error:
            raise _translate_error(url, secrets, error) from None
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise RetryableError(f"cannot reach {url}: {reason or type(reason).__name__}") from None


def _read(response: http.client.HTTPResponse, until_s: float, bytes_max: int) -> bytes:
    announced = response.length
    parts: list[bytes] = []
    size = 0
    while part := response.read1(_READ_BYTES):
        parts.append(part)
        size += len(part)
        if size > bytes_max:
            raise StageError(f"the response is longer than {bytes_max} bytes", category="provider")
        if time.monotonic() > until_s:
            raise RetryableError("the response did not end in time")
    if announced is not None and size < announced:
        raise RetryableError(f"the response ended after {size} of {announced} bytes")
    return b"".join(parts)


def _translate_error(url: str, secrets: tuple[str, ...], error: urllib.error.HTTPError) -> Exception:
    try:
        message = " ".join(error.read(_MESSAGE_BYTES).decode("utf-8", "replace").split())
    except (OSError, http.client.HTTPException):
        message = ""
    for secret in secrets:  # a server may repeat the address
        message = message.replace(secret.partition("=")[2] or secret, "***")
    summary = f"{url} returned {error.code}" + (f": {message}" if message else "")
    if error.code in _KEY_REFUSED:
        return RefusedError(f"{summary}; set the environment variable {KEY_VARIABLE} to a valid key", url)
    if error.code in _WRONG_ADDRESS:
        return RefusedError(f"{summary}; check the address of the provider", url)
    if error.code in RETRYABLE_STATUSES:
        return RetryableError(summary, parse_retry_after(error.headers))
    return StageError(summary, category="provider")
