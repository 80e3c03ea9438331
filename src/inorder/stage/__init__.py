"""Stages: a plan of items, a worker that processes one item, and the runner that all stages share.

What a stage is made of is in `inorder` itself. These are the public names beside it.
"""

from typing import TYPE_CHECKING

from inorder.lazy_names import make_getattr

if TYPE_CHECKING:
    from inorder.stage.contracts import ItemResult, StageErrorSummary

__all__ = ["ItemResult", "StageErrorSummary"]

if not TYPE_CHECKING:  # type checkers shall report a name that does not exist
    __getattr__ = make_getattr(__name__, dict.fromkeys(__all__, "inorder.stage.contracts"))


def __dir__() -> list[str]:
    return sorted(__all__)
