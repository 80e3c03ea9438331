"""What a store answered instead of an object, in words of ours.

Exceptions of the packages behind fsspec may contain credentials, such as the id of an access key or a signed URL. So
neither their messages nor their tracebacks are shown: a problem has its kind, the error code and the HTTP status.
"""

from collections.abc import Iterator
from typing import Any, Literal

from inorder.engines.error_table import RETRYABLE_STATUSES, categorize, find_status
from inorder.engines.retry_after import find_retry_after_s, parse_retry_after
from inorder.errors import InfrastructureError, InorderError, OperatorError
from inorder.stage.contracts import StageError

from .web import RefusedAddress, SlowResponse

ProblemKind = Literal["missing", "denied", "changed", "transient", "slow", "refused", "other"]

_DENIED = frozenset(
    {
        "AuthenticationException",
        "ClientAuthenticationError",
        "DefaultCredentialsError",
        "NoCredentialsError",
        "PartialCredentialsError",
    }
)
"""Classes of errors about credentials, in the packages of several stores."""
_TRANSIENT = frozenset(
    {
        "ClientConnectionError",
        "ClientPayloadError",
        "ConnectionClosedError",
        "ConnectTimeoutError",
        "EndpointConnectionError",
        "HTTPClientError",
        "IncompleteReadError",
        "ReadTimeoutError",
        "ResponseParserError",
        "SSHException",
        "ServiceRequestError",
        "ServiceResponseError",
    }
)
"""Classes of errors after which the same request may succeed."""
_TRANSIENT_CODES = frozenset(
    {"SlowDown", "Throttling", "ThrottlingException", "RequestTimeout", "InternalError", "ServiceUnavailable"}
)
_DENIED_CODES = frozenset(
    {"AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken", "Forbidden"}
)


class RemoteProblem(InorderError):
    """A request to a store failed."""

    def __init__(self, kind: ProblemKind, address: str, reason: str, retry_after_s: float = 0.0) -> None:
        super().__init__(f"{address}: {reason}")
        self.kind = kind
        self.address = address
        self.reason = reason
        self.retry_after_s = retry_after_s

    def to_stage_error(self) -> StageError:
        """Return the failure of an item that needs the object. The content never came, so the file is not to blame:
        it keeps its results, and the next run asks again."""
        is_transient = self.kind == "transient"
        return StageError(str(self), category="provider", retryable=is_transient, retry_after_s=self.retry_after_s)

    def to_listing_error(self) -> InorderError:
        """The failure of a run whose sources cannot be listed."""
        if self.kind in ("missing", "denied", "refused"):
            return OperatorError(f"cannot list {self}")
        return InfrastructureError(f"cannot list {self}; nothing was changed, run the same command again")


def translate_problem(error: BaseException, address: str) -> RemoteProblem:
    """The problem that an exception of a store stands for."""
    if isinstance(error, RemoteProblem):
        return error
    chain = list(_follow_causes(error))
    for each in chain:
        if isinstance(each, RefusedAddress):
            return RemoteProblem("refused", address, f"{each}; if that is wanted, add --set fetch_private=true")
        if isinstance(each, SlowResponse):
            return RemoteProblem("slow", address, f"{each}; a slower server needs --set fetch_bytes_per_s_min=N")
    names = {base.__name__ for each in chain for base in type(each).__mro__}
    code, status, wait_s = _find_code(chain), _find_http_status(chain), _find_wait_s(chain)
    detail = ", ".join([*([code] if code else []), *([f"HTTP {status}"] if status else [])])
    if status == 412 or code == "PreconditionFailed":
        return RemoteProblem("changed", address, CHANGED)
    is_transient = not status and names & _TRANSIENT and not names & _DENIED
    if code in _TRANSIENT_CODES or status in RETRYABLE_STATUSES or is_transient:
        return RemoteProblem("transient", address, f"the store failed ({detail or type(error).__name__})", wait_s)
    if code in _DENIED_CODES or status in (401, 403) or names & {*_DENIED, "PermissionError"}:
        return RemoteProblem(
            "denied", address, f"access denied ({detail or type(error).__name__}); check the credentials"
        )
    if status in (404, 410) or "FileNotFoundError" in names:
        return RemoteProblem("missing", address, "no such object or bucket")
    if not status and categorize(error)[1]:
        return RemoteProblem("transient", address, f"the store failed ({detail or type(error).__name__})", wait_s)
    return RemoteProblem("other", address, f"it cannot be read ({detail or type(error).__name__})")


CHANGED = "it changed after it was listed; run again to process it as it is now"


def _follow_causes(error: BaseException) -> Iterator[BaseException]:
    found: BaseException | None = error
    for _ in range(5):
        if found is None:
            return
        yield found
        found = found.__cause__ or found.__context__


def _find_code(chain: list[BaseException]) -> str:
    """The error code of an S3 response."""
    for error in chain:
        response: Any = getattr(error, "response", None)
        if isinstance(response, dict):
            code = str(response.get("Error", {}).get("Code", ""))
            if code.isalpha():
                return code
    return ""


def _find_http_status(chain: list[BaseException]) -> int | None:
    for error in chain:
        response: Any = getattr(error, "response", None)
        if isinstance(response, dict):
            status = response.get("ResponseMetadata", {}).get("HTTPStatusCode")
            if isinstance(status, int) and status >= 400:
                return status
        found = find_status(error)
        if found is not None:
            return found
    return None


def _find_wait_s(chain: list[BaseException]) -> float:
    for error in chain:
        response: Any = getattr(error, "response", None)
        if isinstance(response, dict):
            headers = response.get("ResponseMetadata", {}).get("HTTPHeaders", {})
            wait_s = parse_retry_after({name.title(): value for name, value in headers.items()})
            if wait_s is not None:
                return wait_s
            continue
        if wait_s := find_retry_after_s(error):
            return wait_s
    return 0.0
