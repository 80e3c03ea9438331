"""One attempt at one item: call the function and wrap the result or the error in an envelope."""

import traceback
from collections.abc import Callable
from time import perf_counter
from typing import Any, NamedTuple

from inorder.core.events import Envelope
from inorder.core.transitions import State
from inorder.errors import Category, Failure

from .base import Task
from .memory_estimate import estimate_bytes

SUCCESS = int(State.TERMINAL_SUCCESS)
SKIP = int(State.TERMINAL_SKIP)
FAIL = int(State.TERMINAL_FAIL)

_MISSING_INPUT = (FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError)
_DETERMINISTIC = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    ImportError,
    LookupError,
    MemoryError,
    NameError,
    NotImplementedError,
    RecursionError,
    SyntaxError,
    SystemExit,
    TypeError,
    ValueError,
)
_CATEGORIES = frozenset(category.value for category in Category)


class Skip(NamedTuple):
    """Returned by a worker to skip an item: it needs no result, and the reason goes into the manifest.

    >>> Skip("not a text file").reason
    'not a text file'
    """

    reason: str
    value: Any = None


def run_attempt(function: Callable[[Any], Any], task: Task, *, may_interrupt: bool = False) -> Envelope:
    """Run one task. Everything that the function raises becomes a failure, except, with `may_interrupt`, a
    KeyboardInterrupt: the calling thread is then the one that Ctrl-C interrupts."""
    began_s = perf_counter()
    try:
        value = function(task.item)
    except BaseException as error:
        if may_interrupt and isinstance(error, KeyboardInterrupt):
            raise
        elapsed_ms = (perf_counter() - began_s) * 1000
        return Envelope(task.seq, task.attempt, FAIL, error, 0, classify_error(error), elapsed_ms)
    elapsed_ms = (perf_counter() - began_s) * 1000
    outcome = SKIP if type(value) is Skip else SUCCESS
    return Envelope(task.seq, task.attempt, outcome, value, estimate_bytes(value), None, elapsed_ms)


def classify_error(error: BaseException) -> Failure:
    """Turn an exception into a failure: whose fault it is, and whether another attempt can succeed.

    An exception may say so itself with attributes `category` and `retryable`. Otherwise a wrong input and a plain bug
    are not retried, an error of the network or the disk is, and so is an unknown one.
    """
    try:
        text = str(error)
        category, retryable = _find_category(error)
        detail = _format_detail(error)
        message = text if _has_category(error) else f"{type(error).__name__}: {text}"
    except Exception:
        text = detail = "(the exception cannot be printed)"
        category, retryable = Category.UNKNOWN, True
        message = f"{type(error).__name__}: {text}"
    if not text:
        message = type(error).__name__
    return Failure(
        category=category, message=escape_surrogates(message), retryable=retryable, detail=escape_surrogates(detail)
    )


def _has_category(error: BaseException) -> bool:
    """Whether the exception names its own category; then its text is the whole message."""
    return getattr(error, "category", None) in _CATEGORIES


def _format_detail(error: BaseException) -> str:
    detail = getattr(error, "detail", "") if _has_category(error) else ""
    return detail if detail and isinstance(detail, str) else "".join(traceback.format_exception(error, limit=-8))


def escape_surrogates(text: str) -> str:
    """Make text encodable as UTF-8: the name of a file may have bytes that are not."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _find_category(error: BaseException) -> tuple[Category, bool]:
    own = getattr(error, "category", None)
    if isinstance(own, str) and own in _CATEGORIES:
        return Category(own), getattr(error, "retryable", False) is True
    if isinstance(error, _MISSING_INPUT):
        return Category.INPUT, False
    if isinstance(error, ConnectionError | TimeoutError):
        return Category.PROVIDER, True
    if isinstance(error, OSError):
        return Category.IO, True
    if isinstance(error, _DETERMINISTIC):
        return Category.RUNTIME, False
    return Category.UNKNOWN, True
