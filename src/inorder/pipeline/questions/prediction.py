"""What a run would do with every file. The plan of the run itself is asked, and nothing is written.

It is assumed that steps succeed: that a file cannot be read is known only if its listing says so, or if it failed
before and nothing has changed.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from inorder.code.rules import IGNORED
from inorder.library.opening import has_library
from inorder.library.reader import LibraryReader
from inorder.pipeline.names import READ
from inorder.pipeline.outcome import FileClass, RunOutcome
from inorder.pipeline.plan import FilePlan, PlannedFile
from inorder.pipeline.remedies import is_encrypted
from inorder.pipeline.sources.names import KnownSource, SourcePart, resolve_sources
from inorder.pipeline.steps import PipelineSettings, StepTable, list_passes
from inorder.stage.sources import is_address

from .reasons import ReasonFinder, StepForecast, join_forecasts

if TYPE_CHECKING:
    from inorder.stage.contracts import Barrier, PassItem

    from .model_forecast import ModelForecast, ModelPages


class FileForecast(msgspec.Struct, frozen=True, kw_only=True):
    """What a run would do with a file."""

    item_id: str
    file_class: FileClass = msgspec.field(name="class")
    """What it would be counted as."""
    reason: str = ""
    """Why it is not read, cannot be read, or is not tried again."""
    copy_of: str = ""
    steps: list[StepForecast] = []

    def describe(self) -> str:
        """Return why, in one line."""
        if self.copy_of:
            return f"of {self.copy_of}"
        return self.reason or join_forecasts(self.steps)


class Prediction:
    """What a run over some sources would do. Iterate over it once; then `outcome` has the counts of the run."""

    def __init__(
        self,
        sources: Sequence[str],
        settings: PipelineSettings,
        *,
        data: str,
        is_known: bool = False,
        retries: bool = False,
        force: bool = False,
    ) -> None:
        """`is_known`: nothing is walked, and what the library knows is considered, as `inorder chunk` does it. Without
        sources, all sources of the library are meant."""
        self.outcome = RunOutcome(ocr=settings.convert.ocr)
        self.model: ModelForecast | None = None
        """What a model would be asked about pages; None: no model reads them."""
        self._sources = sources
        self._settings = settings
        self._data = os.path.abspath(data)
        self._is_known = is_known
        self._rules: dict[str, Any] = {"retries": retries, "force": force}

    def __iter__(self) -> Iterator[FileForecast]:
        """Yield every file that there is something to say of. Raises as the run would."""
        library = LibraryReader(self._data) if has_library(self._data) else None
        try:
            yield from self._predict(library)
        finally:
            if library is not None:
                library.close()

    def _predict(self, library: LibraryReader | None) -> Iterator[FileForecast]:
        found: list[PlannedFile] = []
        reasons = ReasonFinder(StepTable(self._settings), library)
        plan = FilePlan(
            self._settings,
            self._find_parts(library),
            library,
            self.outcome,
            data=self._data,
            observe=found.append,
            **self._rules,
        )
        with closing(plan):
            if self._is_known:
                plan.consider_known()
            else:
                plan.compare()
            with self._count_pages(library) as pages:
                for item in plan.make_items(lambda fact: None, lambda step, digest, parts: None):
                    if pages is not None:
                        pages.look_at(item)
                    yield from self._take(found, reasons)
                yield from self._take(found, reasons)
                if pages is not None:
                    self.model = pages.forecast(self._list_asked(library))

    @contextmanager
    def _count_pages(self, library: LibraryReader | None) -> "Iterator[ModelPages | None]":
        """Open what counts the pages that a model would be asked about; None: no model reads pages."""
        if READ not in list_passes(self._settings):
            yield None
            return
        from .model_forecast import ModelPages

        with closing(ModelPages(self._settings, self._data, library)) as pages:
            yield pages

    def _list_asked(self, library: LibraryReader | None) -> "Iterator[PassItem | Barrier]":
        """The documents of the library that lack answers."""
        settings = list_passes(self._settings)[READ]
        plan = FilePlan(settings, self._find_parts(library), library, RunOutcome(), data=self._data)
        with closing(plan):
            plan.consider_known(is_counted=True)
            yield from plan.make_items(lambda fact: None, lambda step, digest, parts: None)

    def _find_parts(self, library: LibraryReader | None) -> list[SourcePart]:
        known = [] if library is None else [KnownSource(each.name, each.path) for each in library.list_sources()]
        wanted = list(self._sources) or [each.location for each in known if self._is_there(each)]
        parts = resolve_sources(wanted, known)
        for part in parts:
            if part.moved_from:
                self.outcome.notes.append(f"the source {part.name} has moved from {part.moved_from} to {part.location}")
        return parts

    def _is_there(self, source: KnownSource) -> bool:
        is_there = self._is_known or is_address(source.location) or os.path.lexists(source.location)
        if not is_there:
            self.outcome.notes.append(f"the source {source.name} is not there: {source.location}; its files stay")
        return is_there

    def _take(self, found: list[PlannedFile], reasons: ReasonFinder) -> Iterator[FileForecast]:
        for planned in found:
            if planned.due:
                self.outcome.counts.add(planned.file_class)
            if not _is_nothing_new(planned):
                yield describe_planned(planned, reasons)
        found.clear()


def _is_nothing_new(planned: PlannedFile) -> bool:
    """Whether there is nothing to say of a file: ignore files exclude it, or it is looked at again, and is what it was,
    because it was written just before the run that saw it."""
    known = planned.known
    if planned.reason == IGNORED and planned.file_class == "not read":
        return True
    is_same = known is not None and (known.reason, known.copy_of) == (planned.reason, planned.copy_of)
    return is_same and planned.file_class in ("not read", "copy")


def describe_planned(planned: PlannedFile, reasons: ReasonFinder) -> FileForecast:
    """Return what would happen to a file, in words."""
    reason = planned.reason
    if planned.file_class == "failed" and not planned.due and planned.known is not None:
        error = reasons.find_error(planned.known)
        changes = "it or the passwords change" if is_encrypted(error) else "it changes"
        reason = f"it failed before, and is not tried again until {changes}: {error}"
    steps = []
    if planned.kind is not None:
        steps = reasons.describe(planned.kind, planned.path, planned.known, planned.due)
    return FileForecast(
        item_id=planned.item_id,
        file_class=planned.file_class,
        reason=reason,
        copy_of=planned.copy_of,
        steps=steps,
    )
