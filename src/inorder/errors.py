"""The exceptions of inorder. Each class stands for one kind of cause and sets the exit code of the command line.

* `ItemError`: one item failed; the run continued without it.
* `StageError`: the work on one item failed, with a category; a worker or a step raises it.
* `InfrastructureError`: the machine, the disk or the cluster failed. The items are not the cause: run again.
* `OperatorError`: a bad option or a bad plan; the message says which.
* `BusyError`: another run holds what this one needs. Wait for it, or stop it.
* `IntegrityError`: the data on disk is not what was written there. Nothing was changed.
* `InvariantViolation`: a bug in inorder, with a snapshot of the run.

All of them are `InorderError`. This is the lowest layer: it imports nothing else of the package.
"""

from enum import StrEnum
from functools import partial
from typing import Any

import msgspec

__all__ = [
    "BusyError",
    "Category",
    "Failure",
    "InfrastructureError",
    "InorderError",
    "IntegrityError",
    "InvariantViolation",
    "ItemError",
    "OperatorError",
    "ReadError",
    "StageError",
    "SyncError",
]


class InorderError(Exception):
    """The base class of every exception that inorder raises on purpose. `exit_code` is that of the command line.

    >>> issubclass(ItemError, InorderError), issubclass(OperatorError, InorderError)
    (True, True)
    """

    exit_code = 1


class Category(StrEnum):
    """The kind of a failure, as written to the manifest.

    >>> Category("io") is Category.IO
    True
    """

    INPUT = "input"
    CONFIG = "config"
    RUNTIME = "runtime"
    TIMEOUT = "timeout"
    IO = "io"
    PROVIDER = "provider"
    UNKNOWN = "unknown"


NON_RETRYABLE: frozenset[Category] = frozenset({Category.INPUT, Category.CONFIG, Category.TIMEOUT})
"""Categories in which a retry cannot succeed; they fail at once, whatever the failure's own flag says."""


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """Why an attempt failed.

    >>> Failure(category=Category.IO, message="connection reset", retryable=True).may_succeed_later
    True
    """

    category: Category
    message: str
    retryable: bool = False
    detail: str = ""
    """The traceback in the worker, bounded, or what else is known. It may differ from run to run."""
    wait_ms: int = 0
    """The least wait before the next attempt, as a server asked for; 0: the backoff alone."""
    stage: str = ""
    item_id: str = ""
    """Where it happened, of a `StageError`."""
    step: str = ""
    """The step that the item was in (`StageContext.begin_step`); empty: it has none."""
    outage: str = ""
    """The server that is down or refuses requests, if that is the cause and not the item."""
    budget: str = ""
    """The limit on tokens or money that is reached, if that is the cause: the run stops, and can be resumed."""

    @property
    def is_outage(self) -> bool:
        """Whether the run is to wait for a server."""
        return bool(self.outage) and self.may_succeed_later

    @property
    def may_succeed_later(self) -> bool:
        """Whether another attempt can succeed."""
        return self.retryable and self.category not in NON_RETRYABLE


class ItemError(InorderError):
    """One item failed for good. `__cause__` is the exception that the function raised, if it raised one.

    It has the item's `seq`, the `item` itself, the `category` and `message` of the failure, whether it was `retryable`,
    the number of `attempts`, and the `traceback` in the worker as text, at most 8,192 characters of it.

    >>> failure = Failure(category=Category.INPUT, message="not a number")
    >>> error = ItemError(7, "seven", failure, attempts=1)
    >>> error.seq, error.item, error.category.value
    (7, 'seven', 'input')
    """

    exit_code = 3

    def __init__(
        self, seq: int, item: Any, failure: Failure, attempts: int, cause: BaseException | None = None
    ) -> None:
        super().__init__(f"item {seq} failed ({failure.category.value}, attempt {attempts}): {failure.message}")
        self.seq = seq
        self.item = item
        self.category = failure.category
        self.message = failure.message
        self.retryable = failure.retryable
        self.attempts = attempts
        self.traceback = failure.detail
        self.__cause__ = cause
        self._failure = failure

    def __reduce__(self) -> tuple[Any, ...]:
        return ItemError, (self.seq, self.item, self._failure, self.attempts)  # its cause is not pickled


class StageError(InorderError):
    """Raised by a worker to fail its item with a category, and to say whether a retry can succeed, and when:
    `retry_after_s` is the least wait before it.

    >>> error = StageError("the server is busy", category="provider", retryable=True)
    >>> error.category, error.retryable
    ('provider', True)

    Raises:
        ValueError: `category` is not one of `Category`.
    """

    formatted_traceback = ""
    """Replaces the traceback, if it is not empty: for an error that was translated."""

    def __init__(
        self,
        message: str,
        *,
        category: str = "runtime",
        retryable: bool = False,
        detail: str = "",
        stage: str = "",
        item_id: str = "",
        retry_after_s: float = 0.0,
        outage: str = "",
        budget: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.category = Category(category).value
        self.retryable = retryable
        self.detail = detail
        self.stage = stage
        self.item_id = item_id
        self.retry_after_s = retry_after_s
        self.outage = outage
        self.budget = budget

    def __reduce__(self) -> tuple[Any, ...]:
        names = ("category", "retryable", "detail", "stage", "item_id", "retry_after_s", "outage", "budget")
        return partial(StageError, **{name: getattr(self, name) for name in names}), (self.message,)


class ReadError(InorderError):
    """A file cannot be read: damaged, encrypted, or of another kind. A retry cannot succeed.

    >>> from inorder.plugins import ReadError
    >>> ReadError("not a lamp").category
    'input'
    """

    category = "input"
    retryable = False


class InfrastructureError(InorderError):
    """The machine, the disk or the cluster failed. What is committed stays committed; the run can be repeated.

    >>> InfrastructureError("no space left on device").exit_code
    1
    """

    exit_code = 1


class SyncError(InfrastructureError):
    """The disk did not confirm a write. Data that was written may be readable and still not durable.

    >>> issubclass(SyncError, InfrastructureError)
    True
    """


class OperatorError(InorderError, ValueError):
    """A bad option or a bad plan. The message says which. It is also a `ValueError`.

    >>> isinstance(OperatorError("workers must be at least 1"), ValueError)
    True
    """

    exit_code = 2


def require(condition: bool, message: str) -> None:
    """Raise `OperatorError` unless `condition` holds."""
    if not condition:
        raise OperatorError(message)


class BusyError(OperatorError):
    """Another process holds a lock that this run needs.

    >>> BusyError("DATA is in use by process 4711").exit_code
    5
    """

    exit_code = 5


class IntegrityError(InorderError):
    """A journal or a dataset is damaged. The message says where; nothing was changed.

    >>> IntegrityError("checksum mismatch at offset 96").exit_code
    6
    """

    exit_code = 6


class InvariantViolation(InorderError):
    """An invariant of the kernel does not hold: a bug in inorder or in an engine. `snapshot` has the kernel's state.

    >>> str(InvariantViolation("seq 3 was committed twice"))
    'seq 3 was committed twice'
    """

    exit_code = 6

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
        self.snapshot: Any = None

    def __str__(self) -> str:
        if self.snapshot is None:
            return self.message
        return f"{self.message} | snapshot: {msgspec.json.encode(self.snapshot).decode()}"


def __dir__() -> list[str]:
    return sorted(__all__)
