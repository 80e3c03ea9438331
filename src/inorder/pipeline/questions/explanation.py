"""What a run would do with one file, step by step, and what happened to it last."""

import os
from contextlib import closing
from datetime import datetime
from typing import Literal
from urllib.parse import unquote_to_bytes

import msgspec

from inorder.code.rules import CODE_IGNORE_FILES, IGNORED
from inorder.host.spelling import find_spelled
from inorder.library.opening import has_library
from inorder.library.reader import FileFailure, KnownFile, LibraryReader, StepDetails
from inorder.pipeline.outcome import FileClass, RunOutcome
from inorder.pipeline.plan import FilePlan, PlannedFile
from inorder.pipeline.remedies import is_encrypted
from inorder.pipeline.sources.classify import ARCHIVE, CODE, DOCUMENT, PART, FileKind
from inorder.pipeline.sources.names import KnownSource, SourcePart, find_part
from inorder.pipeline.steps import PipelineSettings, StepTable
from inorder.stage.sources import IGNORE_FILE, is_address, quote_id

from .exclusion import find_exclusion
from .reasons import SKIP, ReasonFinder, StepForecast

ExplainedClass = FileClass | Literal["ignored", "unknown", "archive", "folder"]
_PART_MARK = "/%"
"""What follows the id of a long PDF in the ids of its parts."""


class LatestResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a step did with a file last."""

    status: Literal["made", "failed"]
    run_id: str
    at: str = ""
    """When the run began."""
    duration_ms: float = 0.0
    category: str = ""
    message: str = ""
    traceback: str = ""
    attempts: int = 1


class StepExplanation(StepForecast, frozen=True, kw_only=True):
    """What would happen to a file in a step, and what happened to it last."""

    latest: LatestResult | None = None


class FileExplanation(msgspec.Struct, frozen=True, kw_only=True):
    """What a run would do with a file."""

    item_id: str
    file_class: ExplainedClass = msgspec.field(name="class")
    reason: str = ""
    copy_of: str = ""
    parts: int = 0
    """How many parts of a long PDF an interrupted run has left."""
    steps: list[StepExplanation] = []


def explain_file(path: str, settings: PipelineSettings, data: str) -> FileExplanation:
    """Return what a run over its source would do with a file, a member of an archive or an object, by its path,
    address or id. Nothing is written. Raises OperatorError if the source is not there."""
    data = os.path.abspath(data)
    if not has_library(data):
        return FileExplanation(item_id="", file_class="unknown", reason=f"there is no library in {data}")
    with closing(LibraryReader(data)) as library:
        return _Explainer(settings, library, data).explain(find_spelled(path))


class _Explainer:
    def __init__(self, settings: PipelineSettings, library: LibraryReader, data: str) -> None:
        self._settings = settings
        self._table = StepTable(settings)
        self._library = library
        self._data = data
        self._reasons = ReasonFinder(self._table, library)
        self._sources = [KnownSource(each.name, each.path) for each in library.list_sources()]

    def explain(self, path: str) -> FileExplanation:
        path = path.partition(_PART_MARK)[0]
        part = self._find_part(path)
        if part is None:
            names = ", ".join(each.name for each in self._sources)
            reason = f"it lies in no source of this DATA; sources: {names or 'none'}"
            return FileExplanation(item_id="", file_class="unknown", reason=reason)
        item_id = part.prefix
        planned = self._plan(part)
        known = self._library.get_file(item_id)
        found = planned.get(item_id)
        if found is not None:
            return self._describe(found)
        if known is not None:
            return self._describe_known(known)
        return self._describe_unknown(part, sum(each.startswith(f"{item_id}/") for each in planned))

    def _find_part(self, path: str) -> SourcePart | None:
        """The part that a path, an address or an id means."""
        return find_part(path, self._sources) or self._find_by_id(path)

    def _find_by_id(self, item_id: str) -> SourcePart | None:
        for source in self._sources:
            name = quote_id(source.name)
            if item_id == name or item_id.startswith(f"{name}/"):
                below = os.fsdecode(unquote_to_bytes(item_id.removeprefix(name)[1:]))
                return SourcePart(source.name, source.location, below)
        return None

    def _plan(self, part: SourcePart) -> dict[str, PlannedFile]:
        """What would be done at this path, by id."""
        found: list[PlannedFile] = []
        known = self._library.get_file(part.prefix)
        original = self._find_by_id(known.copy_of) if known is not None and known.copy_of else None
        parts = {self._find_compared(each) for each in (part, original) if each is not None}
        plan = FilePlan(
            self._settings, sorted(parts), self._library, RunOutcome(), data=self._data, observe=found.append
        )
        with closing(plan):
            plan.compare()
            for _ in plan.make_items(lambda fact: None, lambda step, digest, parts: None):
                pass
        return {each.item_id: each for each in found}

    def _find_compared(self, part: SourcePart) -> SourcePart:
        """What is compared to find out about a part: the archive that a member lies in, the listing of an object, or
        the part itself."""
        if is_address(part.location):
            return part._replace(below="")
        names = part.below.split("/")
        for length in range(1, len(names)):
            below = "/".join(names[:length])
            if os.path.isfile(os.path.join(part.location, below)):
                return part._replace(below=below)
        return part

    def _describe(self, planned: PlannedFile) -> FileExplanation:
        reason = planned.reason
        if reason == IGNORED:
            rule = self._find_rule(planned.item_id) or reason
            return FileExplanation(item_id=planned.item_id, file_class="ignored", reason=rule)
        kind, known = planned.kind, planned.known
        if planned.file_class == "removed":
            known = self._library.get_file(planned.item_id)
            reason = "it is no longer there"
        steps = []
        if kind is not None and kind.role and planned.file_class not in ("copy", "not read"):
            forecasts = self._reasons.describe(kind, planned.path, known, planned.due)
            steps = self._explain_steps(kind, known, {each.step: each for each in forecasts})
        return FileExplanation(
            item_id=planned.item_id,
            file_class=planned.file_class,
            reason=reason,
            copy_of=planned.copy_of,
            parts=self._count_parts(planned.item_id),
            steps=steps,
        )

    def _find_rule(self, item_id: str) -> str:
        part = self._find_by_id(item_id)
        return "" if part is None else find_exclusion(part, self._data, CODE_IGNORE_FILES)

    def _count_parts(self, item_id: str) -> int:
        below = self._library.list_files(item_id)
        return sum(row.parent == item_id and FileKind.parse(row.kind).role == PART for row in below)

    def _describe_known(self, known: KnownFile) -> FileExplanation:
        """A file with nothing to do."""
        kind = FileKind.parse(known.kind)
        file_class: ExplainedClass = "unchanged"
        reason = known.reason
        if known.copy_of:
            file_class, reason = "copy", ""
        elif known.reason:
            file_class = "ignored" if reason == IGNORED else "not read"
            reason = (self._find_rule(known.item_id) if reason == IGNORED else "") or reason
        elif known.is_failed:
            file_class = "failed"
        elif kind.role == ARCHIVE:
            file_class, reason = "archive", "an archive: its members are files of their own"
        steps = [] if file_class in ("copy", "not read") else self._explain_steps(kind, known, {})
        return FileExplanation(
            item_id=known.item_id, file_class=file_class, reason=reason, copy_of=known.copy_of, steps=steps
        )

    def _describe_unknown(self, part: SourcePart, members: int) -> FileExplanation:
        """A path that the library does not know and a run would not read."""
        path = os.path.join(part.location, part.below) if part.below else part.location
        excluded = "" if is_address(path) else find_exclusion(part, self._data, (IGNORE_FILE,))
        file_class: ExplainedClass = "unknown"
        if is_address(path):
            reason = "there is no such object, or it is not listed"
        elif os.path.isdir(path) and not excluded:
            file_class, reason = "folder", "a folder; `inorder plan` lists what would be done with its files"
        elif members:
            file_class, reason = "archive", "an archive: its members are files of their own"
        elif os.path.lexists(path):
            file_class, reason = "ignored", excluded or "no rule admits it"
        else:
            reason = f"no such file or directory: {path}"
        return FileExplanation(item_id=part.prefix, file_class=file_class, reason=reason)

    # ---- Steps

    def _explain_steps(
        self, kind: FileKind, known: KnownFile | None, due: dict[str, StepForecast]
    ) -> list[StepExplanation]:
        if kind.role not in (DOCUMENT, CODE, ARCHIVE):
            return []
        details = {} if known is None else {each.step: each for each in self._library.read_details(known.item_id)}
        failure = None if known is None else self._library.find_failure(known.item_id)
        steps = []
        for step in self._table.list_steps(kind):
            latest = _describe_latest(details.get(step.name), failure, step.name)
            forecast = due.get(step.name)
            if forecast is None:
                reason = self._find_reason_to_skip(step.name, known, failure)
                forecast = StepForecast(step=step.name, verdict=SKIP, reason=reason)
            steps.append(StepExplanation(**msgspec.structs.asdict(forecast), latest=latest))
        return steps

    def _find_reason_to_skip(self, step: str, known: KnownFile | None, failure: FileFailure | None) -> str:
        state = None if known is None else known.states.get(step)
        if failure is not None and failure.step == step:
            changes = "the file or the passwords change" if is_encrypted(failure.message) else "the file changes"
            return f"it failed, and is not tried again until {changes}, or `inorder retry` asks for it"
        if state is None or state.output is None:
            return f"there is nothing to work on: {failure.step} has failed" if failure else "it is not asked for"
        return "its input and settings are unchanged"


def _describe_latest(details: StepDetails | None, failure: FileFailure | None, step: str) -> LatestResult | None:
    at = "" if details is None or not details.began_at else _format_time(details.began_at)
    if failure is not None and failure.step == step:
        return LatestResult(
            status="failed",
            run_id=failure.run_id,
            at=at,
            duration_ms=0.0 if details is None else details.duration_ms,
            category=failure.category,
            message=failure.message,
            traceback=failure.detail,
            attempts=failure.attempts,
        )
    if details is None:
        return None
    return LatestResult(status="made", run_id=details.run_id, at=at, duration_ms=details.duration_ms)


def _format_time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).astimezone().isoformat(timespec="seconds")
