"""An endpoint: from a request to parameters of a declared type, to a result of a declared type, to JSON."""

from collections.abc import Callable
from functools import cache
from typing import Annotated, Any, Generic, TypeVar

import anyio
import msgspec
from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response

from inorder.errors import InfrastructureError, IntegrityError, OperatorError
from inorder.host.spelling import encode_spelled
from inorder.serve.catalog import Catalog
from inorder.serve.problems import NotFound, RequestError

P = TypeVar("P", bound=msgspec.Struct)
_ENCODER = msgspec.json.Encoder(enc_hook=str)
_THREADS_MAX = 2
"""Requests that are computed at the same time. Those that read one index take turns; more threads would compete for the
interpreter."""
_SLOW_THREADS_MAX = 8
"""The same for requests that wait for a child process or read whole files, so that no search waits for them."""
_STATUS = {OperatorError: 400, IntegrityError: 500, InfrastructureError: 503}

DataName = Annotated[str, msgspec.Meta(max_length=255, description="Name of the DATA; default: the first one.")]
ItemId = Annotated[
    str, msgspec.Meta(min_length=1, max_length=4096, description="Id of a document or source file, as hits have it.")
]


class DataParams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Parameters that every endpoint about one DATA has."""

    data: DataName = ""


class ItemParams(DataParams, frozen=True, kw_only=True):
    """Which document or source file."""

    id: ItemId


class Endpoint(msgspec.Struct, Generic[P], frozen=True):
    """An endpoint and what it is documented with."""

    path: str
    summary: str
    params: type[P]
    result: Any
    """The type of the result, or the media type of an answer that is not JSON."""
    answer: Callable[[Catalog, P], Any]
    """Called in a thread. Returns the result, or a response."""
    is_slow: bool = False
    """Whether it waits for a child process, or reads whole files."""


class ApiHandler:
    """Answers requests to endpoints."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._threads: dict[bool, anyio.CapacityLimiter] = {}

    async def answer(self, endpoint: Endpoint[Any], request: Request) -> Response:
        """Answer one request."""
        if not self._threads:
            counts = {False: _THREADS_MAX, True: _SLOW_THREADS_MAX}
            self._threads = {is_slow: anyio.CapacityLimiter(count) for is_slow, count in counts.items()}
        try:
            params = read_params(endpoint.params, request)
            return await run_sync(
                self._run, endpoint, params, abandon_on_cancel=True, limiter=self._threads[endpoint.is_slow]
            )
        except (RequestError, OperatorError, InfrastructureError, IntegrityError) as error:
            return make_error(error)

    def _run(self, endpoint: Endpoint[Any], params: Any) -> Response:
        """Compute the answer and encode it, both in the thread."""
        result = endpoint.answer(self._catalog, params)
        return result if isinstance(result, Response) else make_json(result)


def read_params(kind: type[P], request: Request) -> P:
    """The parameters of a request. Raises RequestError with a message that names the wrong one."""
    if any("\x00" in value for _, value in request.query_params.multi_items()):
        raise RequestError("a parameter contains a NUL character")
    given: dict[str, Any] = dict(request.query_params)
    given |= {name: request.query_params.getlist(name) for name in _list_repeated(kind) if name in given}
    try:
        return msgspec.convert(given, kind, strict=False)
    except msgspec.ValidationError as error:
        raise RequestError(f"wrong parameter: {error}") from None


@cache
def _list_repeated(kind: type[msgspec.Struct]) -> list[str]:
    """The parameters that may be given several times."""
    return [field.encode_name for field in msgspec.structs.fields(kind) if field.default_factory is list]


def make_json(result: Any, status: int = 200) -> Response:
    """A result as JSON."""
    return Response(encode_spelled(_ENCODER, result), status, media_type="application/json")


def make_error(error: Exception) -> Response:
    """An error as JSON, in one line."""
    if isinstance(error, RequestError):
        status = error.status
    else:
        status = next(code for kind, code in _STATUS.items() if isinstance(error, kind))
        is_missing = str(error).startswith(("no index", "no document", "no chunks"))
        status = NotFound.status if is_missing else status
    return make_json({"error": " ".join(str(error).split())}, status)
