"""Whose fault it is, and the exit code that says so.

* `ItemError`: one item failed; the run went on without it.
* `InfrastructureError`: the machine, the disk or the cluster failed; nothing is wrong with the items, run again.
* `OperatorError`: a bad option or a bad plan; it says which.
* `InvariantViolation`: a bug of ours, with a snapshot of the run.
"""

from typing import Any

from inorder.core.invariants import IllegalTransition, InvariantViolation
from inorder.core.options import OperatorError
from inorder.core.retry import Category, Failure

__all__ = ["Category", "IllegalTransition", "InfrastructureError", "InvariantViolation", "ItemError", "OperatorError"]


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
        return ItemError, (self.seq, self.item, self._failure, self.attempts)


class InfrastructureError(Exception):
    """The world under the run gave way. What is committed stays committed; the same run can be repeated."""

    exit_code = 1
