"""Files in DATA as they will be: a dry run of a stage sees what the stages before it would have written.

Inside `predict_files`, the functions of this module tell the predicted changes. Outside of it nothing is predicted.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Any


class Change(Enum):
    """What is predicted for a file."""

    REMOVED = "removed"
    CHANGED = "changed"
    """It is written, with other bytes than now; also if it does not exist yet."""
    REWRITTEN = "rewritten"
    """It is written, perhaps with the same bytes as now."""


class PredictedFiles:
    """Predicted changes, by absolute path."""

    def __init__(self) -> None:
        self._changes: dict[str, Change] = {}
        self.is_rewriting_same = False
        """Whether files that are rewritten are assumed to keep their bytes."""
        self.notes: dict[str, Any] = {}
        """What else a stage would write, by name."""

    def add(self, path: str, change: Change) -> None:
        """Predict a change. It replaces an earlier one of the same file."""
        self._changes[path] = change

    def get(self, path: str) -> Change | None:
        """The change of a file; None: it stays as it is."""
        found = self._changes.get(path)
        return None if found is Change.REWRITTEN and self.is_rewriting_same else found

    def has_rewritten(self, folder: str) -> bool:
        """Whether a file below a folder is rewritten, perhaps with the same bytes."""
        return any(
            change is Change.REWRITTEN and path.startswith(f"{folder}/") for path, change in self._changes.items()
        )

    def is_written(self, path: str) -> bool:
        """Whether a file will be written, with whatever bytes."""
        return self._changes.get(path, Change.REMOVED) is not Change.REMOVED

    def list_below(self, folder: str) -> list[str]:
        """Files that will be written anywhere below a folder, relative to it, sorted."""
        start = f"{folder}/"
        return sorted(
            path[len(start) :]
            for path, change in self._changes.items()
            if change is not Change.REMOVED and path.startswith(start)
        )


_current: PredictedFiles | None = None


@contextmanager
def predict_files() -> Iterator[PredictedFiles]:
    """Let this module show predicted changes until the end of the block. They are added to the result."""
    global _current
    outer, _current = _current, PredictedFiles()
    try:
        yield _current
    finally:
        _current = outer


def get_predicted_notes() -> dict[str, Any] | None:
    """What stages would write besides files, by name; None: nothing is predicted now."""
    return None if _current is None else _current.notes


def is_predicting() -> bool:
    """Whether changes are predicted now."""
    return _current is not None


def get_predicted_change(path: str) -> Change | None:
    """The predicted change of a file; None: none is predicted."""
    return None if _current is None else _current.get(path)


def list_predicted(folder: str) -> list[str]:
    """Files that are predicted to be written anywhere below a folder, relative to it, sorted."""
    return [] if _current is None else _current.list_below(folder)


def will_be_written(path: str) -> bool:
    """Whether a file is predicted to be written, with whatever bytes."""
    return _current is not None and _current.is_written(path)
