"""inorder: compute in parallel, commit in order, lose nothing, repeat nothing.

for result in inorder.imap(function, items, workers=8, timeout_s=30, retries=2):
    ...
"""

from inorder.core.retry import Category
from inorder.errors import InfrastructureError, InvariantViolation, ItemError, OperatorError
from inorder.iteration import imap
from inorder.lanes import Lane, LaneConfig, LaneManager, Outcome

__all__ = [
    "Category",
    "InfrastructureError",
    "InvariantViolation",
    "ItemError",
    "Lane",
    "LaneConfig",
    "LaneManager",
    "OperatorError",
    "Outcome",
    "imap",
]
