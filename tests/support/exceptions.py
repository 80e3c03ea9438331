"""Exceptions of every kind that a worker raises, by name, with the category and the retry that each should get."""

import errno
import http.client
import io
import socket
import ssl
import subprocess
import urllib.error
from collections.abc import Callable
from email.message import Message
from types import SimpleNamespace
from typing import Any, NamedTuple

import inorder


class Custom(Exception):
    """Of a class that no library knows."""


class Declared(Custom):
    """Says itself that it passes."""

    retryable = True


class ResponseError(Custom):
    """Has a response, like the errors of `requests` and `httpx`."""

    def __init__(self, status: int, headers: dict[str, str] | None = None) -> None:
        super().__init__(status)
        self.response = SimpleNamespace(status_code=status, headers=headers or {})


class StatusError(Custom):
    """Has a status itself, like the errors of `aiohttp`."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def http_error(status: int, **headers: str) -> urllib.error.HTTPError:
    message = Message()
    for name, value in headers.items():
        message[name.replace("_", "-")] = value
    return urllib.error.HTTPError("http://server", status, "told so", message, io.BytesIO())


def foreign(name: str, base: type[Exception] = Exception) -> Exception:
    """An exception of a library that need not be installed."""
    module, _, last = name.rpartition(".")
    error: Exception = type(last, (base,), {"__module__": module})("from elsewhere")
    return error


class Kind(NamedTuple):
    """One kind of exception."""

    make: Callable[[], BaseException]
    category: str
    is_retried: bool


def _statuses() -> dict[str, Kind]:
    kinds: dict[str, Kind] = {}
    for status in (408, 425, 429, 500, 503, 599, 400, 401, 403, 404, 410, 422, 451):
        is_retried = status in (408, 425, 429) or status >= 500
        makers: dict[str, Callable[[int], BaseException]] = {
            "urllib": http_error,
            "response": ResponseError,
            "status": StatusError,
        }
        for name, make in makers.items():
            kinds[f"{name} {status}"] = Kind(lambda make=make, status=status: make(status), "provider", is_retried)
    return kinds


def _network() -> dict[str, Kind]:
    errors: dict[str, Callable[[], BaseException]] = {
        "refused": lambda: ConnectionRefusedError("refused"),
        "broken pipe": lambda: BrokenPipeError("gone"),
        "slow": lambda: TimeoutError("slow"),
        "no name": lambda: socket.gaierror(socket.EAI_AGAIN, "no name"),
        "short": lambda: http.client.IncompleteRead(b"", 9),
        "disconnected": lambda: http.client.RemoteDisconnected("gone"),
        "url refused": lambda: urllib.error.URLError(ConnectionRefusedError("refused")),
        "url in words": lambda: urllib.error.URLError("no host given"),
        "requests": lambda: foreign("requests.exceptions.ConnectionError", OSError),
        "httpx": lambda: foreign("httpx.NetworkError"),
        "aiohttp": lambda: foreign("aiohttp.client_exceptions.ClientConnectionError"),
    }
    return {name: Kind(make, "provider", True) for name, make in errors.items()}


KINDS: dict[str, Kind] = {
    **_statuses(),
    **_network(),
    "certificate": Kind(lambda: ssl.SSLCertVerificationError("self-signed"), "provider", False),
    "url certificate": Kind(
        lambda: urllib.error.URLError(ssl.SSLCertVerificationError("self-signed")), "provider", False
    ),
    "missing": Kind(lambda: FileNotFoundError(errno.ENOENT, "no file", "a.pdf"), "input", False),
    "forbidden": Kind(lambda: PermissionError(errno.EACCES, "no entry", "a.pdf"), "input", False),
    "busy": Kind(lambda: BlockingIOError("later"), "io", True),
    "too many files": Kind(lambda: OSError(errno.EMFILE, "too many open files"), "io", True),
    "stale": Kind(lambda: OSError(errno.ESTALE, "stale handle"), "io", True),
    "no network": Kind(lambda: OSError(errno.ENETUNREACH, "no network"), "io", True),
    "not seekable": Kind(lambda: io.UnsupportedOperation("seek"), "io", False),
    "disk quota": Kind(lambda: OSError(errno.EFBIG, "too large"), "io", False),
    "bare OSError": Kind(lambda: OSError("cannot identify image file"), "io", False),
    "program": Kind(lambda: subprocess.CalledProcessError(3, ["convert"]), "runtime", False),
    "slow program": Kind(lambda: subprocess.TimeoutExpired(["convert"], 9), "timeout", False),
    "operator": Kind(lambda: inorder.OperatorError("no model was named"), "config", False),
    "memory": Kind(lambda: MemoryError("full"), "runtime", False),
    "gpu memory": Kind(lambda: foreign("torch.OutOfMemoryError", RuntimeError), "runtime", False),
    "import": Kind(lambda: ModuleNotFoundError("tokenizers"), "runtime", False),
    "bug": Kind(lambda: KeyError("title"), "runtime", False),
    "exit": Kind(lambda: SystemExit(429), "runtime", False),
    "custom": Kind(lambda: Custom("?"), "unknown", False),
    "runtime": Kind(lambda: RuntimeError("?"), "unknown", False),
    "several": Kind(lambda: ExceptionGroup("several", [ConnectionError("a")]), "unknown", False),
    "declared": Kind(lambda: Declared("again"), "unknown", True),
    "stage error": Kind(lambda: inorder.StageError("no", category="provider"), "provider", False),
    "retryable stage error": Kind(lambda: inorder.StageError("no", category="io", retryable=True), "io", True),
}
BRIEF = [name for name in KINDS if not name.endswith(("408", "425", "500", "599", "400", "401", "403", "410", "451"))]
"""Enough of them for tests that run each in a worker."""


def raise_kind(name: str) -> Any:
    """The function of a worker: raise what is named."""
    raise KINDS[name].make()


def give_up_on_network(error: BaseException) -> tuple[str, bool] | None:
    """A user's mapping: no connection is tried again, every `Custom` is."""
    if isinstance(error, Custom):
        return "io", True
    return ("config", False) if isinstance(error, ConnectionError) else None


def answer_nonsense(error: BaseException) -> Any:
    """A mapping that is wrong."""
    return ("weather", True)


def raise_again(error: BaseException) -> tuple[str, bool] | None:
    """A mapping that fails."""
    raise LookupError("not in my table")
