"""One request to a server, and what to make of a bad answer.

A request ends in one of three ways: with the bytes of a good answer, with `Trouble` (another attempt may help), or with
an error that says whose fault it is. Redirects are not followed: they would carry the key to somebody else.
"""

import email.utils
import http.client
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from datetime import UTC
from email.message import Message
from typing import IO

from inorder.errors import OperatorError
from inorder.stage.contracts import StageError

KEY_VARIABLE = "INORDER_API_KEY"
_PIECE_BYTES = 64 * 1024
_SAID_BYTES = 300
_MAY_PASS = {408, 425, 429}
_KEY_REFUSED = {401, 403}
_WRONG_ADDRESS = {301, 302, 303, 307, 308, 404, 405}


class Trouble(Exception):
    """This attempt failed and the next may not. `wait_s` is how long the server asked to be left alone."""

    def __init__(self, message: str, wait_s: float | None = None) -> None:
        super().__init__(message)
        self.wait_s = wait_s


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> None:
        """Whatever it is, no."""
        return


_OPENER = urllib.request.build_opener(_NoRedirects)


def post(url: str, body: bytes, headers: Mapping[str, str], timeout_s: float, bytes_max: int) -> bytes:
    """The answer to one request. `timeout_s` is for all of it, however slowly the answer drips in."""
    until_s = time.monotonic() + timeout_s
    request = urllib.request.Request(url, body, {"Content-Type": "application/json", **headers}, method="POST")
    try:
        with _OPENER.open(request, timeout=max(timeout_s, 0.001)) as response:
            return _read(response, until_s, bytes_max)
    except urllib.error.HTTPError as error:
        with error:
            raise _verdict(url, error) from None
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise Trouble(f"{url} cannot be reached: {reason or type(reason).__name__}") from None


def _read(response: http.client.HTTPResponse, until_s: float, bytes_max: int) -> bytes:
    announced = response.length
    pieces: list[bytes] = []
    size = 0
    while piece := response.read1(_PIECE_BYTES):
        pieces.append(piece)
        size += len(piece)
        if size > bytes_max:
            raise StageError(f"the answer is longer than {bytes_max} bytes", category="provider")
        if time.monotonic() > until_s:
            raise Trouble("the answer did not end in time")
    if announced is not None and size < announced:
        raise Trouble(f"the answer broke off after {size} of {announced} bytes")
    return b"".join(pieces)


def _verdict(url: str, error: urllib.error.HTTPError) -> Exception:
    try:
        said = " ".join(error.read(_SAID_BYTES).decode("utf-8", "replace").split())
    except (OSError, http.client.HTTPException):
        said = ""
    story = f"{url} answered {error.code}" + (f": {said}" if said else "")
    if error.code in _KEY_REFUSED:
        return OperatorError(f"{story}; put a valid key into the environment variable {KEY_VARIABLE}")
    if error.code in _WRONG_ADDRESS:
        return OperatorError(f"{story}; check the address of the provider")
    if error.code in _MAY_PASS or error.code >= 500:
        return Trouble(story, _retry_after_s(error.headers))
    return StageError(story, category="provider")


def _retry_after_s(headers: Message) -> float | None:
    """What the header asks for: seconds, or a date. A date is read against the server's own clock if it shows one."""
    asked = (headers.get("Retry-After") or "").strip()
    if asked.isascii() and asked.isdecimal():
        return float(asked)
    until_s, now_s = _seconds(asked), _seconds(headers.get("Date") or "")
    if until_s is None:
        return None
    return max(0.0, until_s - (time.time() if now_s is None else now_s))


def _seconds(date: str) -> float | None:
    try:
        moment = email.utils.parsedate_to_datetime(date)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
