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
from collections.abc import Callable, Mapping
from email.message import Message
from typing import IO, Any, NamedTuple
from urllib.parse import unquote

from inorder.engines.error_table import RETRYABLE_STATUSES
from inorder.engines.retry_after import parse_retry_after
from inorder.errors import OperatorError, StageError, require
from inorder.host.credentials import Credentials, add_parameters, find_credentials
from inorder.host.regular_file import open_regular

KEY_VARIABLE = "INORDER_API_KEY"
_READ_BYTES = 64 * 1024
_ERROR_BYTES = 64 * 1024
_MESSAGE_CHARACTERS = 300
_KEY_BYTES = 4096
KEY_REFUSED = {401, 403}
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

    def __init__(self, message: str, outage: str, status: int = 0) -> None:
        super().__init__(message)
        self.outage = outage
        self.status = status

    def __reduce__(self) -> tuple[Any, ...]:
        return RefusedError, (str(self), self.outage, self.status)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> None:
        """Refuse every redirect."""
        return


_OPENER = urllib.request.build_opener(_NoRedirects)


def make_authorization(credentials: Credentials, key_file: str = "") -> dict[str, str]:
    """The header for a user and password from the address of a server, or else for the key from a file or from the
    environment."""
    if credentials.user or credentials.password is not None:
        pair = f"{unquote(credentials.user)}:{unquote(credentials.password or '')}"
        return {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}
    key = read_key(key_file) if key_file else os.environ.get(KEY_VARIABLE)
    return {"Authorization": f"Bearer {key}"} if key else {}


def read_key(path: str) -> str:
    """Return the first line of a file with a key."""
    try:
        with open_regular(path) as file:
            key = file.readline(_KEY_BYTES).decode("ascii").strip()
    except (OSError, ValueError) as error:
        raise OperatorError(f"cannot read a key from {path}: {getattr(error, 'strerror', None) or error}") from None
    require(bool(key) and key.isprintable(), f"{path} has no key in its first line")
    return key


class ServerAddress(NamedTuple):
    """Where requests to a server go."""

    url: str
    """Without credentials."""
    headers: Mapping[str, str]
    secrets: tuple[str, ...]
    """Parameters of the URL that no message has."""


def open_server_address(url: str, path: str = "", key_file: str = "") -> ServerAddress:
    """Return where requests to a path below a URL go, with the credentials of the URL, or the key in a file or in the
    environment. The query of the URL stays behind the path."""
    place, mark, query = url.partition("?")
    credentials = find_credentials(url)
    return ServerAddress(
        f"{place.rstrip('/')}{path}{mark}{query}", make_authorization(credentials, key_file), credentials.parameters
    )


def request(
    address: ServerAddress,
    body: bytes | None,
    timeout_s: float,
    bytes_max: int,
    note_headers: Callable[[Any], object] = lambda headers: None,
) -> bytes:
    """Send a request, which is a POST if it has a body, and return the body of the response. `timeout_s` is for the
    whole request, however slowly the response arrives. `note_headers` is given the headers of every response."""
    until_s = time.monotonic() + timeout_s
    url = address.url
    content_type = {} if body is None else {"Content-Type": "application/json"}
    sent = urllib.request.Request(add_parameters(url, address.secrets), body, {**content_type, **address.headers})
    try:
        with _OPENER.open(sent, timeout=max(timeout_s, 0.001)) as response:
            note_headers(response.headers)
            return _read(response, until_s, bytes_max)
    except urllib.error.HTTPError as error:
        with error:
            note_headers(error.headers)
            raise _translate_error(address, error) from None
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


def _translate_error(address: ServerAddress, error: urllib.error.HTTPError) -> Exception:
    url = address.url
    try:
        message = " ".join(error.read(_ERROR_BYTES).decode("utf-8", "replace").split())
    except (OSError, http.client.HTTPException):
        message = ""
    parameters = [each.partition("=")[2] or each for each in address.secrets]
    for secret in (*parameters, *(value.split()[-1] for value in address.headers.values())):
        message = message.replace(secret, "***")  # a server may repeat the address or the key
    message = message[:_MESSAGE_CHARACTERS]
    summary = f"{url} returned {error.code}" + (f": {message}" if message else "")
    if error.code in KEY_REFUSED:
        return RefusedError(f"{summary}; set the environment variable {KEY_VARIABLE} to a valid key", url, error.code)
    if error.code in _WRONG_ADDRESS:
        return RefusedError(f"{summary}; check the address of the provider", url, error.code)
    if error.code in RETRYABLE_STATUSES:
        return RetryableError(summary, parse_retry_after(error.headers))
    return StageError(summary, category="provider")
