"""One attempt at one item: call the function, and put whatever happens into an envelope."""

import traceback
from collections.abc import Callable
from time import perf_counter
from typing import Any, NamedTuple

from inorder.core.events import Envelope
from inorder.core.transitions import State
from inorder.errors import Category, Failure

from .base import Task
from .memory_estimate import payload_bytes

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


def attempt(function: Callable[[Any], Any], task: Task, *, may_interrupt: bool = False) -> Envelope:
    """Run one task. Nothing the function raises gets out, except the interrupt of the user where this is the thread
    that receives it."""
    began_s = perf_counter()
    try:
        value = function(task.item)
    except BaseException as error:
        if may_interrupt and isinstance(error, KeyboardInterrupt):
            raise
        elapsed_ms = (perf_counter() - began_s) * 1000
        return Envelope(task.seq, task.attempt, FAIL, error, 0, failure_of(error), elapsed_ms)
    elapsed_ms = (perf_counter() - began_s) * 1000
    outcome = SKIP if type(value) is Skip else SUCCESS
    return Envelope(task.seq, task.attempt, outcome, value, payload_bytes(value), None, elapsed_ms)


def failure_of(error: BaseException) -> Failure:
    """Whose fault an exception is, and whether trying again can help.

    An exception may say so itself with attributes `category` and `retryable`. Otherwise: what is wrong with the input
    or is a plain bug will be wrong again; trouble of the network and the disk may pass; the unknown gets a chance.
    """
    try:
        said = str(error)
        category, retryable = _classify(error)
        detail = _detail_of(error)
        message = said if _speaks_for_itself(error) else f"{type(error).__name__}: {said}"
    except Exception:
        said = detail = "(it cannot be printed)"
        category, retryable = Category.UNKNOWN, True
        message = f"{type(error).__name__}: {said}"
    if not said:
        message = type(error).__name__
    return Failure(category=category, message=as_text(message), retryable=retryable, detail=as_text(detail))


def _speaks_for_itself(error: BaseException) -> bool:
    """Whether an exception says whose fault it is: then its words are the whole message."""
    return getattr(error, "category", None) in _CATEGORIES


def _detail_of(error: BaseException) -> str:
    said = getattr(error, "detail", "") if _speaks_for_itself(error) else ""
    return said if said and isinstance(said, str) else "".join(traceback.format_exception(error, limit=-8))


def as_text(said: str) -> str:
    """Text that can be written anywhere: an undecodable file name in a message is not."""
    return said.encode("utf-8", "backslashreplace").decode("utf-8")


def _classify(error: BaseException) -> tuple[Category, bool]:
    said = getattr(error, "category", None)
    if isinstance(said, str) and said in _CATEGORIES:
        return Category(said), getattr(error, "retryable", False) is True
    if isinstance(error, _MISSING_INPUT):
        return Category.INPUT, False
    if isinstance(error, ConnectionError | TimeoutError):
        return Category.PROVIDER, True
    if isinstance(error, OSError):
        return Category.IO, True
    if isinstance(error, _DETERMINISTIC):
        return Category.RUNTIME, False
    return Category.UNKNOWN, True
