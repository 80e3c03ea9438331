"""inorder: compute in parallel, commit in order, lose nothing, repeat nothing.

for result in inorder.imap(function, items, workers=8, policy="cpu", timeout_s=30, retries=2):
    ...
"""

import importlib
from typing import TYPE_CHECKING, Any

from inorder.engines.ray.options import RayOptions
from inorder.errors import (
    BusyError,
    Category,
    InfrastructureError,
    IntegrityError,
    InvariantViolation,
    ItemError,
    OperatorError,
)
from inorder.iteration import imap
from inorder.version import __version__

if TYPE_CHECKING:
    from inorder.lanes import Lane, LaneConfig, LaneManager, Outcome
    from inorder.stage.contracts import (
        Barrier,
        Configurable,
        Skip,
        Stage,
        StageError,
        StageErrorSummary,
        StageHooks,
        StageOptions,
        StageOutcome,
        StagePlan,
        WorkItem,
    )
    from inorder.stage.run import run_stage

importlib.import_module("inorder.index")  # reserves its files in DATA, in this process and in workers

__all__ = [
    "Barrier",
    "BusyError",
    "Category",
    "Configurable",
    "InfrastructureError",
    "IntegrityError",
    "InvariantViolation",
    "ItemError",
    "Lane",
    "LaneConfig",
    "LaneManager",
    "OperatorError",
    "Outcome",
    "RayOptions",
    "Skip",
    "Stage",
    "StageError",
    "StageErrorSummary",
    "StageHooks",
    "StageOptions",
    "StageOutcome",
    "StagePlan",
    "WorkItem",
    "__version__",
    "imap",
    "run_stage",
]

_LATER = {
    "inorder.lanes": ("Lane", "LaneConfig", "LaneManager", "Outcome"),
    "inorder.stage.contracts": (
        "Barrier",
        "Configurable",
        "Skip",
        "Stage",
        "StageError",
        "StageErrorSummary",
        "StageHooks",
        "StageOptions",
        "StageOutcome",
        "StagePlan",
        "WorkItem",
    ),
    "inorder.stage.run": ("run_stage",),
}


def __getattr__(name: str) -> Any:
    """Lanes and stages are loaded when they are first asked for: who only iterates does not pay for them."""
    for module, names in _LATER.items():
        if name in names:
            return getattr(importlib.import_module(module), name)
    raise AttributeError(f"module 'inorder' has no attribute {name!r}")
