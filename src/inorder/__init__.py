"""inorder: compute in parallel, commit in order, lose nothing, repeat nothing.

for result in inorder.imap(function, items, workers=8, policy="cpu", timeout_s=30, retries=2):
    ...
"""

from typing import TYPE_CHECKING, Any

from inorder.core.retry import Category
from inorder.errors import (
    BusyError,
    InfrastructureError,
    IntegrityError,
    InvariantViolation,
    ItemError,
    OperatorError,
)
from inorder.iteration import imap

if TYPE_CHECKING:
    from inorder.lanes import Lane, LaneConfig, LaneManager, Outcome

__version__ = "0.1.0"

__all__ = [
    "BusyError",
    "Category",
    "InfrastructureError",
    "IntegrityError",
    "InvariantViolation",
    "ItemError",
    "Lane",
    "LaneConfig",
    "LaneManager",
    "OperatorError",
    "Outcome",
    "imap",
]

_LANES = {"Lane", "LaneConfig", "LaneManager", "Outcome"}


def __getattr__(name: str) -> Any:
    """Lanes are loaded when they are first asked for: who only iterates in one thread does not pay for them."""
    if name in _LANES:
        import inorder.lanes

        return getattr(inorder.lanes, name)
    raise AttributeError(f"module 'inorder' has no attribute {name!r}")
