"""One attempt at one item: call the function, and put whatever happens into an envelope."""

import sys
import traceback
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any

from inorder.core.events import Envelope
from inorder.core.retry import Category, Failure
from inorder.core.states import State

from .base import Task

SUCCESS = int(State.TERMINAL_SUCCESS)
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
_MEASURED_DEPTH_MAX = 4
_MEASURED_ENTRIES_MAX = 1000


def attempt(function: Callable[[Any], Any], task: Task) -> Envelope:
    """Run one task. Nothing the function raises gets out, except the interrupt of the user."""
    began_s = perf_counter()
    try:
        value = function(task.item)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        elapsed_ms = (perf_counter() - began_s) * 1000
        return Envelope(task.seq, task.attempt, FAIL, error, 0, failure_of(error), elapsed_ms)
    elapsed_ms = (perf_counter() - began_s) * 1000
    return Envelope(task.seq, task.attempt, SUCCESS, value, payload_bytes(value), None, elapsed_ms)


def failure_of(error: BaseException) -> Failure:
    """Whose fault an exception is, and whether trying again can help.

    An exception may say so itself with attributes `category` and `retryable`. Otherwise: what is wrong with the input
    or is a plain bug will be wrong again; trouble of the network and the disk may pass; the unknown gets a chance.
    """
    detail = "".join(traceback.format_exception(error, limit=-8))
    message = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    category, retryable = _classify(error)
    return Failure(category=category, message=message, retryable=retryable, detail=detail)


def _classify(error: BaseException) -> tuple[Category, bool]:
    said = getattr(error, "category", None)
    if isinstance(said, str) and said in Category.__members__.values():
        return Category(said), bool(getattr(error, "retryable", False))
    if isinstance(error, _MISSING_INPUT):
        return Category.INPUT, False
    if isinstance(error, ConnectionError | TimeoutError):
        return Category.PROVIDER, True
    if isinstance(error, OSError):
        return Category.IO, True
    if isinstance(error, _DETERMINISTIC):
        return Category.RUNTIME, False
    return Category.UNKNOWN, True


def payload_bytes(value: Any, depth: int = 0) -> int:
    """About how much memory a result holds. Looks a bounded way into containers and takes the rest to be alike."""
    size = sys.getsizeof(value, 64)
    if isinstance(value, str | bytes | bytearray | int | float) or value is None:
        return size
    buffer_bytes = getattr(value, "nbytes", None)
    if isinstance(buffer_bytes, int):
        return size + buffer_bytes
    if depth >= _MEASURED_DEPTH_MAX:
        return size
    if isinstance(value, Mapping):
        return size + _entries_bytes([entry for pair in _head(value.items()) for entry in pair], len(value) * 2, depth)
    if isinstance(value, list | tuple | set | frozenset):
        return size + _entries_bytes(_head(value), len(value), depth)
    fields = getattr(value, "__dict__", None)
    if isinstance(fields, dict):
        return size + _entries_bytes(list(fields.values()), len(fields), depth)
    return size


def _head(values: Any) -> list[Any]:
    return [value for value, _ in zip(values, range(_MEASURED_ENTRIES_MAX), strict=False)]


def _entries_bytes(sample: list[Any], count: int, depth: int) -> int:
    if not sample:
        return 0
    return sum(payload_bytes(entry, depth + 1) for entry in sample) * count // len(sample)
