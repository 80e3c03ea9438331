"""inorder: compute in parallel, commit in order, lose nothing, repeat nothing.

>>> import inorder
>>> list(inorder.imap(abs, [-1, -2, -3], workers=2))
[1, 2, 3]
"""

import importlib
from typing import TYPE_CHECKING, Any

from inorder.errors import (
    BusyError,
    Category,
    Failure,
    InfrastructureError,
    InorderError,
    IntegrityError,
    InvariantViolation,
    ItemError,
    OperatorError,
    StageError,
)
from inorder.version import __version__

if TYPE_CHECKING:
    from inorder.dataset.dataset import Dataset, SearchWhere, open
    from inorder.dataset.document import DatasetDocument
    from inorder.dataset.export.options import ExportOutcome
    from inorder.dataset.rows import Rows
    from inorder.dataset.tables import DenseVector, LexicalTerms, SparseTerms
    from inorder.documents.chunk.chunks import Chunk
    from inorder.engines.ray.options import RayOptions
    from inorder.index.hits import Hit
    from inorder.index.search import SearchAnswer
    from inorder.iteration import Imap, imap
    from inorder.lanes import Lane, LaneConfig, LaneManager, Outcome
    from inorder.runtime.limits import Budgets, Windows
    from inorder.stage.context import StageContext
    from inorder.stage.contracts import (
        Barrier,
        Skip,
        Stage,
        StageErrorSummary,
        StageHooks,
        StageOutcome,
        StagePlan,
        WorkItem,
    )
    from inorder.stage.options import StageOptions
    from inorder.stage.run import run_stage

__all__ = [
    "Barrier",
    "Budgets",
    "BusyError",
    "Category",
    "Chunk",
    "Dataset",
    "DatasetDocument",
    "DenseVector",
    "ExportOutcome",
    "Failure",
    "Hit",
    "Imap",
    "InfrastructureError",
    "InorderError",
    "IntegrityError",
    "InvariantViolation",
    "ItemError",
    "Lane",
    "LaneConfig",
    "LaneManager",
    "LexicalTerms",
    "OperatorError",
    "Outcome",
    "RayOptions",
    "Rows",
    "SearchAnswer",
    "SearchWhere",
    "Skip",
    "SparseTerms",
    "Stage",
    "StageContext",
    "StageError",
    "StageErrorSummary",
    "StageHooks",
    "StageOptions",
    "StageOutcome",
    "StagePlan",
    "Windows",
    "WorkItem",
    "__version__",
    "imap",
    "open",
    "run_stage",
]

_MODULE_OF = {
    "Chunk": "inorder.documents.chunk.chunks",
    "Dataset": "inorder.dataset.dataset",
    "DatasetDocument": "inorder.dataset.document",
    "DenseVector": "inorder.dataset.tables",
    "ExportOutcome": "inorder.dataset.export.options",
    "Hit": "inorder.index.hits",
    "LexicalTerms": "inorder.dataset.tables",
    "Rows": "inorder.dataset.rows",
    "SearchAnswer": "inorder.index.search",
    "SearchWhere": "inorder.dataset.dataset",
    "SparseTerms": "inorder.dataset.tables",
    "open": "inorder.dataset.dataset",
    "Imap": "inorder.iteration",
    "imap": "inorder.iteration",
    "RayOptions": "inorder.engines.ray.options",
    "Lane": "inorder.lanes",
    "LaneConfig": "inorder.lanes",
    "LaneManager": "inorder.lanes",
    "Outcome": "inorder.lanes",
    "Budgets": "inorder.runtime.limits",
    "Windows": "inorder.runtime.limits",
    "StageContext": "inorder.stage.context",
    "Barrier": "inorder.stage.contracts",
    "Skip": "inorder.stage.contracts",
    "Stage": "inorder.stage.contracts",
    "StageErrorSummary": "inorder.stage.contracts",
    "StageHooks": "inorder.stage.contracts",
    "StageOptions": "inorder.stage.options",
    "StageOutcome": "inorder.stage.contracts",
    "StagePlan": "inorder.stage.contracts",
    "WorkItem": "inorder.stage.contracts",
    "run_stage": "inorder.stage.run",
}
"""Names that are imported on first use: a program loads what it uses."""


if not TYPE_CHECKING:  # type checkers shall report a name that does not exist

    def __getattr__(name: str) -> Any:
        if name not in _MODULE_OF:
            raise AttributeError(f"module 'inorder' has no attribute {name!r}")
        return getattr(importlib.import_module(_MODULE_OF[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
