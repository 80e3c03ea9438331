"""One attempt at one item: call the function and wrap the result or the error in an envelope."""

import threading
import traceback
from collections.abc import Callable
from math import ceil
from time import perf_counter, time
from types import TracebackType
from typing import Any, NamedTuple

import msgspec

from inorder.core.events import Envelope
from inorder.core.transitions import State
from inorder.errors import Category, Failure
from inorder.host.spelling import spell

from .base import Task
from .error_table import Classify, apply_mapping, categorize, get_own_category
from .memory_estimate import estimate_bytes, get_held_bytes
from .retry_after import RETRY_AFTER_S_MAX, find_retry_after_s

TRACEBACK_CHARACTERS_MAX = 8192
_HEAD_CHARACTERS = 2048
_TAIL_CHARACTERS = TRACEBACK_CHARACTERS_MAX - _HEAD_CHARACTERS
_FRAMES_MAX = 64
_CALLERS = (
    "inorder.engines.attempt",
    "inorder.engines.process.worker_main",
    "inorder.stage.worker",
    "inorder.stage.file_transfer",
)
SUCCESS = int(State.TERMINAL_SUCCESS)
SKIP = int(State.TERMINAL_SKIP)
FAIL = int(State.TERMINAL_FAIL)
_running = threading.local()


class Skip(NamedTuple):
    """Returned by a worker to skip an item: it needs no result, and the reason goes into the manifest.

    >>> Skip("not a text file").reason
    'not a text file'
    """

    reason: str
    value: Any = None


class ClassifiedFunction:
    """A function and the user's mapping of its exceptions. Both are sent to worker processes together."""

    def __init__(self, function: Callable[[Any], Any], classify: Classify) -> None:
        self._function = function
        self.classify = classify
        self.lookahead = getattr(function, "lookahead", None)

    def __call__(self, item: Any) -> Any:
        """Call the function."""
        return self._function(item)

    def __repr__(self) -> str:
        return str(getattr(self._function, "__qualname__", repr(self._function)))


def get_classify(function: Callable[[Any], Any]) -> Classify | None:
    """Return the user's mapping that goes with a function."""
    return function.classify if isinstance(function, ClassifiedFunction) else None


def begin_attempt(number: int) -> None:
    """Note which attempt at its item this thread begins; 0: none. An engine calls it before the function."""
    _running.number = number


def get_attempt() -> int:
    """Return the number of the attempt that runs on this thread, from 1; 0 outside an engine."""
    return getattr(_running, "number", 0)


def run_attempt(
    function: Callable[[Any], Any],
    task: Task,
    *,
    may_interrupt: bool = False,
    get_step: Callable[[], str] | None = None,
) -> Envelope:
    """Run one task. Everything that the function raises becomes a failure, except, with `may_interrupt`, a
    KeyboardInterrupt: the calling thread is then the one that Ctrl-C interrupts. `get_step` returns the step that the
    task is in."""
    began_ms = time() * 1000
    began_s = perf_counter()
    begin_attempt(task.attempt)
    try:
        value = function(task.item)
    except BaseException as error:
        if may_interrupt and isinstance(error, KeyboardInterrupt):
            raise
        elapsed_ms = (perf_counter() - began_s) * 1000
        failure = add_step(classify_error(error, get_classify(function)), "" if get_step is None else get_step())
        return Envelope(task.seq, task.attempt, FAIL, error, 0, failure, elapsed_ms, began_ms)
    finally:
        begin_attempt(0)
    elapsed_ms = (perf_counter() - began_s) * 1000
    outcome = SKIP if type(value) is Skip else SUCCESS
    size = estimate_bytes(value) + get_held_bytes(value)
    return Envelope(task.seq, task.attempt, outcome, value, size, None, elapsed_ms, began_ms)


def add_step(failure: Failure, step: str) -> Failure:
    """Add the step in which an item failed, if it has steps."""
    return msgspec.structs.replace(failure, step=step) if step else failure


def classify_error(error: BaseException, classify: Classify | None = None) -> Failure:
    """Turn an exception into a failure: whose fault it is, and whether another attempt can succeed.

    The user's mapping `classify` decides first, then the exception's own attributes, then the table.
    """
    wait_s = 0.0
    try:
        text = str(error)
        own_category = get_own_category(error)
        category, retryable = categorize(error)
        detail = format_traceback(error, getattr(error, "detail", "") if own_category is not None else "")
        message = f"{type(error).__name__}: {text}" if own_category is None else text
        wait_s = find_retry_after_s(error)
    except Exception:
        text = detail = "(the exception cannot be printed)"
        category, retryable = Category.UNKNOWN, False
        message = f"{type(error).__name__}: {text}"
    if not text:
        message = type(error).__name__
    if classify is not None:
        try:
            category, retryable = apply_mapping(classify, error) or (category, retryable)
        except BaseException as mistake:
            message += f" (classify was ignored: {type(mistake).__name__}: {mistake})"
    outage = escape_surrogates(_get_text(error, "outage"))
    if retryable and not outage and wait_s > RETRY_AFTER_S_MAX:
        retryable = False
        message += f" (not retried: the wait of {wait_s:g} s is longer than {RETRY_AFTER_S_MAX:g} s)"
    return Failure(
        category=category,
        message=escape_surrogates(message),
        retryable=retryable,
        detail=escape_surrogates(detail),
        # One more, because the clock of a run is truncated to milliseconds: no wait is shortened.
        wait_ms=ceil(wait_s * 1000) + 1 if retryable and wait_s else 0,
        stage=escape_surrogates(_get_text(error, "stage")),
        item_id=escape_surrogates(_get_text(error, "item_id")),
        outage=outage,
        budget=escape_surrogates(_get_text(error, "budget")),
    )


def _get_text(error: BaseException, name: str) -> str:
    """Return an attribute of an error that has a category of its own; empty: it has none."""
    try:
        value = getattr(error, name, "") if get_own_category(error) is not None else ""
    except Exception:
        return ""
    return value if isinstance(value, str) else ""


def format_traceback(error: BaseException, detail: Any = "") -> str:
    """Format the traceback of an exception, from the code of the user on, after the detail that it has itself. No
    values of variables are in it. At most `TRACEBACK_CHARACTERS_MAX` are kept: the beginning and the end."""
    known = getattr(error, "formatted_traceback", "")
    if known and isinstance(known, str):
        return known
    formatted = traceback.format_exception(type(error), error, _skip_callers(error.__traceback__), limit=-_FRAMES_MAX)
    text = "".join(formatted).rstrip("\n")
    if detail and isinstance(detail, str):
        text = f"{detail}\n\n{text}"
    left_out = len(text) - TRACEBACK_CHARACTERS_MAX
    if left_out <= 0:
        return text
    return f"{text[:_HEAD_CHARACTERS]}\n... ({left_out} characters left out) ...\n{text[-_TAIL_CHARACTERS:]}"


def _skip_callers(trace: TracebackType | None) -> TracebackType | None:
    """Skip the frames that called the function: they say nothing, and differ from engine to engine."""
    found = trace
    while found is not None and found.tb_frame.f_globals.get("__name__") in _CALLERS:
        found = found.tb_next
    return trace if found is None else found


def escape_surrogates(text: str) -> str:
    """Make text encodable as UTF-8: the name of a file may have bytes that are not."""
    return spell(text)
