"""Which exceptions of workers are retried: the table that decides, and what overrides it.

The first of these that decides is used:

1. The user's own mapping (`classify=` of `imap` and `StageOptions`).
2. The attributes `category` and `retryable` of the exception, as `StageError` has them.
3. `RULES`, from the first to the last. Only errors of the network and of a busy machine are retried.

Classes are named, not imported: a worker that does not use `requests` should not load it, and a subclass is found by
the names of its bases.
"""

import errno
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from inorder.errors import Category

Classify = Callable[[BaseException], tuple[str, bool] | None]
"""A user's mapping of exceptions: returns the category and whether to retry, or None to leave it to the table."""

RETRYABLE_STATUSES = frozenset({408, 425, 429, *range(500, 600)})
"""HTTP statuses after which the same request may succeed: timeout, too early, too many requests, server errors."""
TRANSIENT_ERRNOS = frozenset(
    {
        errno.EAGAIN,
        errno.EBUSY,
        errno.EHOSTDOWN,
        errno.EHOSTUNREACH,
        errno.EINTR,
        errno.EIO,
        errno.EMFILE,
        errno.ENETDOWN,
        errno.ENETRESET,
        errno.ENETUNREACH,
        errno.ENFILE,
        errno.ENOBUFS,
        errno.ENOLCK,
        errno.ESTALE,
        errno.ETXTBSY,
    }
)
"""Errors of the operating system that may pass: a resource is busy or used up for now, or the network is down."""
_CATEGORIES = frozenset(category.value for category in Category)
_STATUS_PATHS = (
    ("response", "status_code"),
    ("response", "status"),
    ("status_code",),
    ("status",),
    ("code",),
)
"""Where HTTP libraries keep the status of a response, seen from the exception."""


class ErrorRule(NamedTuple):
    """One row of the table."""

    source: str
    """What the row is about, for the documentation."""
    category: Category
    is_retryable: bool
    classes: tuple[str, ...] = ()
    """Names of classes; those outside of `builtins` with their module."""
    matches: Callable[[BaseException], bool] | None = None
    """Decides instead of `classes`, or in addition to them."""

    def applies_to(self, error: BaseException, names: Iterable[str]) -> bool:
        """Whether this row is about the exception, whose class and bases have these `names`."""
        if self.classes and not any(name in self.classes for name in names):
            return False
        return self.matches is None or self.matches(error)


def find_status(error: BaseException) -> int | None:
    """Find the HTTP status of the response that an exception is about."""
    if isinstance(error, SystemExit):  # its code is that of a process
        return None
    for path in _STATUS_PATHS:
        value: Any = error
        for name in path:
            value = getattr(value, name, None)
        if isinstance(value, int) and 400 <= value <= 599:
            return int(value)
    return None


RULES: tuple[ErrorRule, ...] = (
    ErrorRule(
        "HTTP status 408, 425, 429 or 5xx",
        Category.PROVIDER,
        True,
        matches=lambda error: find_status(error) in RETRYABLE_STATUSES,
    ),
    ErrorRule("any other HTTP status 4xx", Category.PROVIDER, False, matches=lambda error: bool(find_status(error))),
    ErrorRule(
        "a certificate that cannot be verified",
        Category.PROVIDER,
        False,
        ("ssl.SSLCertVerificationError", "requests.exceptions.SSLError"),
    ),
    ErrorRule(
        "the network: a connection, a name or a response fails or takes too long",
        Category.PROVIDER,
        True,
        (
            "ConnectionError",
            "TimeoutError",
            "socket.gaierror",
            "ssl.SSLError",
            "http.client.BadStatusLine",
            "http.client.IncompleteRead",
            "urllib.error.URLError",
            "urllib3.exceptions.NewConnectionError",
            "urllib3.exceptions.ProtocolError",
            "urllib3.exceptions.TimeoutError",
            "requests.exceptions.ChunkedEncodingError",
            "requests.exceptions.ConnectionError",
            "requests.exceptions.Timeout",
            "httpx.NetworkError",
            "httpx.RemoteProtocolError",
            "httpx.TimeoutException",
            "aiohttp.client_exceptions.ClientConnectionError",
            "aiohttp.client_exceptions.ClientPayloadError",
        ),
    ),
    ErrorRule(
        "a path that cannot be read",
        Category.INPUT,
        False,
        ("FileNotFoundError", "NotADirectoryError", "IsADirectoryError", "PermissionError"),
    ),
    ErrorRule("a resource that is busy", Category.IO, True, ("BlockingIOError", "InterruptedError")),
    ErrorRule(
        "an error of the system that may pass",
        Category.IO,
        True,
        ("OSError",),
        matches=lambda error: getattr(error, "errno", None) in TRANSIENT_ERRNOS,
    ),
    ErrorRule("any other error of the system", Category.IO, False, ("OSError",)),
    ErrorRule("a wrong option or address", Category.CONFIG, False, ("inorder.errors.OperatorError",)),
    ErrorRule("a program that took too long", Category.TIMEOUT, False, ("subprocess.TimeoutExpired",)),
    ErrorRule("a program that failed", Category.RUNTIME, False, ("subprocess.SubprocessError",)),
    ErrorRule(
        "memory of the machine or of a GPU",
        Category.RUNTIME,
        False,
        ("MemoryError", "torch.OutOfMemoryError", "torch.cuda.OutOfMemoryError"),
    ),
    ErrorRule("a module or model that cannot be imported", Category.RUNTIME, False, ("ImportError",)),
    ErrorRule(
        "a bug, or an input that the code cannot process",
        Category.RUNTIME,
        False,
        (
            "ArithmeticError",
            "AssertionError",
            "AttributeError",
            "LookupError",
            "NameError",
            "NotImplementedError",
            "RecursionError",
            "SyntaxError",
            "SystemExit",
            "TypeError",
            "ValueError",
        ),
    ),
    ErrorRule("any other exception", Category.UNKNOWN, False),
)
"""Consulted from the first to the last. The last one applies to everything."""


def find_rule(error: BaseException) -> ErrorRule:
    """Find the row of the table for an exception. A `URLError` is judged by the exception that it wraps."""
    names = _class_names(error)
    reason = getattr(error, "reason", None)
    if "urllib.error.URLError" in names and isinstance(reason, BaseException) and find_status(error) is None:
        return find_rule(reason)
    return next(rule for rule in RULES if rule.applies_to(error, names))


def get_own_category(error: BaseException) -> Category | None:
    """Return the category that the exception itself names, if it is one."""
    own = getattr(error, "category", None)
    return Category(own) if isinstance(own, str) and own in _CATEGORIES else None


def categorize(error: BaseException) -> tuple[Category, bool]:
    """Return the category of an exception and whether it is retried, by its own attributes and the table."""
    category, retryable = get_own_category(error), getattr(error, "retryable", None)
    if category is not None:
        return category, retryable is True
    rule = find_rule(error)
    return rule.category, retryable if isinstance(retryable, bool) else rule.is_retryable


def apply_mapping(classify: Classify, error: BaseException) -> tuple[Category, bool] | None:
    """Ask the user's mapping. Raises TypeError if its answer has the wrong form."""
    answer: Any = classify(error)
    if answer is None:
        return None
    if isinstance(answer, tuple) and len(answer) == 2:
        category, retryable = answer
        if isinstance(category, str) and category in _CATEGORIES and isinstance(retryable, bool):
            return Category(category), retryable
    raise TypeError(f"it must return (category, retryable) or None, got {answer!r:.80}")


def _class_names(error: BaseException) -> list[str]:
    return [
        base.__qualname__ if base.__module__ == "builtins" else f"{base.__module__}.{base.__qualname__}"
        for base in type(error).__mro__
    ]
