"""Whose fault it is, and the exit code that says so.

* `ItemError`: one item failed; the run went on without it.
* `InfrastructureError`: the machine, the disk or the cluster failed; nothing is wrong with the items, run again.
* `OperatorError`: a bad option or a bad plan; it says which.
* `BusyError`: another run has what this one needs; it is the operator's to wait or to stop it.
* `IntegrityError`: what is on the disk is not what was written there; nothing is done with it.
* `InvariantViolation`: a bug of ours, with a snapshot of the run.
"""

from typing import Any

from inorder.core.invariants import IllegalTransition, InvariantViolation
from inorder.core.options import OperatorError
from inorder.core.retry import Category, Failure

__all__ = [
    "BusyError",
    "Category",
    "IllegalTransition",
    "InfrastructureError",
    "IntegrityError",
    "InvariantViolation",
    "ItemError",
    "OperatorError",
]


class ItemError(Exception):
    """One item failed for good. `cause` is the exception the function raised, where there was one."""

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
        self.__cause__ = cause
        self._failure = failure

    def __reduce__(self) -> tuple[Any, ...]:
        said = (self.category.value, self.message, self.retryable, self._failure.detail)
        return _item_error, (self.seq, self.item, said, self.attempts)


def _item_error(seq: int, item: Any, said: tuple[str, str, bool, str], attempts: int) -> ItemError:
    """An error that has travelled. Its cause has not."""
    category, message, retryable, detail = said
    failure = Failure(category=Category(category), message=message, retryable=retryable, detail=detail)
    return ItemError(seq, item, failure, attempts)


class InfrastructureError(Exception):
    """The world under the run gave way. What is committed stays committed; the same run can be repeated."""

    exit_code = 1


class SyncError(InfrastructureError):
    """The disk could not be made to keep something. What a later run reads of it may be nowhere but in memory."""


class BusyError(OperatorError):
    """Somebody else holds what this run must have to itself."""

    exit_code = 5


class IntegrityError(Exception):
    """A journal or a dataset is damaged. It says where; nothing was changed."""

    exit_code = 6
