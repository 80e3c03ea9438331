"""Why a step would run, in words: for `plan` and `explain`."""

from collections.abc import Sequence
from itertools import groupby
from typing import Literal

import msgspec

from inorder.library.reader import KnownFile, LibraryReader
from inorder.pipeline.due import Due
from inorder.pipeline.names import CHUNK, DOCTAGS
from inorder.pipeline.sources.classify import FileKind
from inorder.pipeline.steps import StepTable
from inorder.stage.sources import is_address

Verdict = Literal["process", "depends", "skip"]
PROCESS: Verdict = "process"
DEPENDS: Verdict = "depends"
SKIP: Verdict = "skip"
_MADE = {DOCTAGS: "if the document changes", CHUNK: "if the chunks change"}
"""When a step runs that reads the result of one that is made again."""
_CHANGED = {DOCTAGS: "the document has changed", CHUNK: "the chunks have changed"}


class ChangedPart(msgspec.Struct, frozen=True):
    """A part of the settings of a step that has changed."""

    was: str
    """Empty: there was none."""
    now: str = msgspec.field(name="is")


class StepForecast(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a step would run, and why."""

    step: str
    verdict: Verdict
    reason: str
    changed: dict[str, ChangedPart] = {}
    """The parts of its settings that have changed."""


class ReasonFinder:
    """Finds out why steps are due."""

    def __init__(self, table: StepTable, library: LibraryReader | None) -> None:
        self._table = table
        self._library = library

    def describe(self, kind: FileKind, path: str, known: KnownFile | None, due: Sequence[Due]) -> list[StepForecast]:
        """Return why each step that is due runs, or may run. `known` is what the library knows of the file."""
        return [self._describe(kind, path, known, each) for each in due]

    def _describe(self, kind: FileKind, path: str, known: KnownFile | None, due: Due) -> StepForecast:
        step = due.step.name
        if due.reason == "settings" and due.present is not None:
            changed = self._find_changed(kind, step, due.present.settings)
            named = ", ".join(changed)
            reason = f"its settings have changed{f': {named}' if named else ''}"
            return StepForecast(step=step, verdict=PROCESS, reason=reason, changed=changed)
        if due.reason == "depends":
            return StepForecast(step=step, verdict=DEPENDS, reason=_MADE.get(due.step.reads, "if its input changes"))
        if due.reason == "input" and not due.step.reads and is_address(path):
            return StepForecast(step=step, verdict=DEPENDS, reason="if the content of the object has changed")
        if due.reason == "failed" and known is not None:
            return StepForecast(step=step, verdict=PROCESS, reason=f"it failed before: {self.find_error(known)}")
        texts = {
            "new": "it has no result yet",
            "forced": "all steps are asked for",
            "answers": "a model is still to read some of its pages",
            "input": _CHANGED.get(due.step.reads, "the content has changed"),
        }
        return StepForecast(step=step, verdict=PROCESS, reason=texts.get(due.reason, due.reason))

    def _find_changed(self, kind: FileKind, step: str, before: str) -> dict[str, ChangedPart]:
        """The parts of the settings of a step that are not what they were."""
        was = {} if self._library is None else self._library.read_settings(step, before)
        now = self._table.describe_settings(kind)[step][1]
        names = sorted(was.keys() | now.keys()) if was else ()
        return {
            name: ChangedPart(was.get(name, ""), now.get(name, "")) for name in names if was.get(name) != now.get(name)
        }

    def find_error(self, known: KnownFile) -> str:
        """Return why a step has failed for a file, in one line."""
        failure = None if self._library is None else self._library.find_failure(known.item_id)
        return "" if failure is None else f"{failure.step}: {' '.join(failure.message.split())}"


def join_forecasts(forecasts: Sequence[StepForecast]) -> str:
    """Return what happens to a file in one line. Steps that run for the same reason are named together."""
    if all(each.reason == "it has no result yet" for each in forecasts):
        return ", ".join(each.step for each in forecasts)
    parts = []
    for reason, group in groupby(forecasts, key=lambda each: each.reason):
        parts.append(f"{', '.join(each.step for each in group)}: {reason}")
    return "; ".join(parts)
