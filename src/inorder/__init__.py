"""inorder: compute in parallel, commit in order, lose nothing, repeat nothing.

>>> import inorder
>>> list(inorder.imap(abs, [-1, -2, -3], workers=2))
[1, 2, 3]
"""

from typing import TYPE_CHECKING

from inorder.lazy_names import make_getattr
from inorder.version import __version__

if TYPE_CHECKING:
    from inorder.dataset.dataset import Dataset
    from inorder.dataset.dataset import open as open
    from inorder.engines.ray.options import RayOptions
    from inorder.errors import (
        BusyError,
        Category,
        Failure,
        InfrastructureError,
        InorderError,
        IntegrityError,
        ItemError,
        OperatorError,
        StageError,
    )
    from inorder.executor import Executor
    from inorder.index.hits import Hit
    from inorder.iteration import Imap, imap
    from inorder.runtime.limits import Budgets, Windows
    from inorder.runtime.run_options import RunOptions
    from inorder.stage.context import StageContext
    from inorder.stage.contracts import Barrier, Skip, Stage, StageHooks, StageOutcome, StagePlan, WorkItem
    from inorder.stage.options import StageOptions
    from inorder.stage.run import run_stage

__all__ = [
    "Barrier",
    "Budgets",
    "BusyError",
    "Category",
    "Dataset",
    "Executor",
    "Failure",
    "Hit",
    "Imap",
    "InfrastructureError",
    "InorderError",
    "IntegrityError",
    "ItemError",
    "OperatorError",
    "RayOptions",
    "RunOptions",
    "Skip",
    "Stage",
    "StageContext",
    "StageError",
    "StageHooks",
    "StageOptions",
    "StageOutcome",
    "StagePlan",
    "Windows",
    "WorkItem",
    "__version__",
    "imap",
    "run_stage",
]
# Without `open`: `from inorder import *` shadows no builtin.

if not TYPE_CHECKING:  # type checkers shall report a name that does not exist
    __getattr__ = make_getattr(
        __name__,
        {
            "Barrier": "inorder.stage.contracts",
            "Budgets": "inorder.runtime.limits",
            "BusyError": "inorder.errors",
            "Category": "inorder.errors",
            "Dataset": "inorder.dataset.dataset",
            "Executor": "inorder.executor",
            "Failure": "inorder.errors",
            "Hit": "inorder.index.hits",
            "Imap": "inorder.iteration",
            "InfrastructureError": "inorder.errors",
            "InorderError": "inorder.errors",
            "IntegrityError": "inorder.errors",
            "ItemError": "inorder.errors",
            "OperatorError": "inorder.errors",
            "RayOptions": "inorder.engines.ray.options",
            "RunOptions": "inorder.runtime.run_options",
            "Skip": "inorder.stage.contracts",
            "Stage": "inorder.stage.contracts",
            "StageContext": "inorder.stage.context",
            "StageError": "inorder.errors",
            "StageHooks": "inorder.stage.contracts",
            "StageOptions": "inorder.stage.options",
            "StageOutcome": "inorder.stage.contracts",
            "StagePlan": "inorder.stage.contracts",
            "Windows": "inorder.runtime.limits",
            "WorkItem": "inorder.stage.contracts",
            "imap": "inorder.iteration",
            "open": "inorder.dataset.dataset",
            "run_stage": "inorder.stage.run",
        },
        former={
            "Chunk": "inorder.dataset",
            "DatasetDocument": "inorder.dataset",
            "DenseVector": "inorder.dataset",
            "ExportOutcome": "inorder.dataset",
            "InvariantViolation": "inorder.errors",
            "Lane": "inorder.lanes",
            "LaneConfig": "inorder.lanes",
            "LaneManager": "inorder.lanes",
            "LexicalTerms": "inorder.dataset",
            "Outcome": "inorder.lanes",
            "Rows": "inorder.dataset",
            "SearchAnswer": "inorder.dataset",
            "SearchWhere": "inorder.dataset",
            "SparseTerms": "inorder.dataset",
            "StageErrorSummary": "inorder.stage",
        },
    )


def __dir__() -> list[str]:
    return sorted([*__all__, "open"])
