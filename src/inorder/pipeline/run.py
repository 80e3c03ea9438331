"""One run of the pipeline: one plan over all sources, one run of the one runner, one library.

    sources ─▶ compare with the library ─▶ plan ─▶ visits in workers ─▶ commit: manifests, library ─▶ publish ─▶ outcome

This is the page to read first. The plan is a *remainder*: it has the files with a step to run, so it shrinks as the run
commits, and an interrupted run is planned again. `plan` decides what is to be done, `visit` does it for one file, and
`commit` says what it means for the library, the manifests and the counts.
"""

import os
import shutil
import time
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any

import msgspec

from inorder.code.rules import RULE_FILES
from inorder.core.state import StopKind
from inorder.documents.readers.plugins import list_problems
from inorder.errors import OperatorError, require
from inorder.host.filesystem import SystemFilesystem
from inorder.index.rows import DOCUMENT
from inorder.journal.records import Mark
from inorder.library.connection import require_whole_library
from inorder.library.opening import read_source_roots
from inorder.library.reader import LibraryReader
from inorder.library.rows import FileResult, LibrarySource
from inorder.library.sink import NAME as LIBRARY
from inorder.library.sink import LibrarySink
from inorder.library.states import count_warnings
from inorder.runtime.identity import new_run_id
from inorder.runtime.recovery import read_final_marks, remove_temporary_files
from inorder.sinks.packed_lines import open_lines
from inorder.stage.contracts import StageOutcome
from inorder.stage.data_layout import DataLayout, require_current_data
from inorder.stage.options import StageOptions
from inorder.stage.sources import is_address, require_root

from .commit import CommitReader
from .comparison import make_facts
from .names import ASKING, DOCTAGS, EXTRACT, PASSES, READ, RUN
from .outcome import RunOutcome, encode_outcome
from .plan import FilePlan
from .resources import require_usable
from .sources.names import (
    KnownSource,
    SourcePart,
    find_failed_parts,
    find_source,
    is_own,
    narrow_parts,
    resolve_sources,
)
from .steps import PipelineSettings, StepTable, list_passes

if TYPE_CHECKING:
    from .passes import KeptBetweenRuns, PassRunner

_LISTED_BATCH = 1000


class RunRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a user asks for."""

    sources: tuple[str, ...] = ()
    """Folders, files and addresses. Without any, nothing is walked: what the library knows is considered."""
    name: str | None = None
    """The name of the source, if there is one source and it is new."""
    settings: PipelineSettings = PipelineSettings()
    options: StageOptions = msgspec.field(default_factory=StageOptions)
    hints: tuple[str, ...] | None = None
    """The paths that may have changed: a file is compared, a folder is walked, and the rest of the sources is not
    looked at. None: everything is compared. A source that is new, or has moved, is compared as a whole."""
    forgets: str = ""
    """The name of a source whose files are removed, and then the source itself. Nothing is walked."""
    retries: bool = False
    """Whether every failed step is run again. Without sources, nothing but the files that have failed is looked at."""
    origin: dict[str, Any] = {}
    """Recorded in the manifests: how to make the same run again."""


def run_pipeline(request: RunRequest, kept: "KeptBetweenRuns | None" = None) -> RunOutcome:
    """Run the pipeline. Failed files do not raise. `kept` has what an earlier run of this program has left, and gets
    what this one leaves.

    Raises:
        OperatorError: A source does not exist, or a setting is invalid.
        BusyError: Another run holds DATA.
        InfrastructureError: The disk or the machine failed; repeat the call to resume.
        IntegrityError: The journal or the library is damaged.
    """
    require_usable(request.settings)
    require(
        not list_asked_models(request.settings) or request.options.engine == "local",
        "models are asked from this machine, and its workers need the answers; leave out --engine ray",
    )
    for source in request.sources:
        if not is_address(source):
            _require_there(source, os.fspath(request.options.data))
    options = msgspec.structs.replace(request.options, data=os.path.abspath(request.options.data))
    data = os.fspath(options.data)
    require_current_data(data)
    DataLayout(data, RUN).create_folders(is_durable=options.fsync != "off")
    return _PipelineRun(msgspec.structs.replace(request, options=options), kept).run()


def _require_there(source: str, data: str) -> None:
    """Raise OperatorError if a folder or file is not there, with what would help if it was a source."""
    try:
        require_root(source)
    except OperatorError as error:
        known = read_source_roots(data).get(DOCUMENT, {})
        for name, path in known.items():
            if path == os.path.abspath(source):
                raise OperatorError(
                    f"{error}; if it is gone for good, `inorder forget {name}` removes its files"
                ) from None
        raise


class _PipelineRun:
    """One run, which has the library for itself."""

    def __init__(self, request: RunRequest, kept: "KeptBetweenRuns | None") -> None:
        self._request = request
        self._kept = kept
        self._settings = request.settings
        self._options = request.options
        self._data = os.fspath(self._options.data)
        self._outcome = RunOutcome(run_id=new_run_id(), ocr=request.settings.convert.ocr)
        self._plans = list_passes(request.settings)
        """The settings of each pass."""
        if request.forgets:  # a copy that becomes a document is read by models in the next run
            self._plans = {RUN: self._plans[RUN]}
        self._entries = CommitReader(self._outcome, StepTable(request.settings), has_more=len(self._plans) > 1)
        self._unchecked = list_asked_models(request.settings)
        """Models that nothing is known of yet."""
        self._parts: list[SourcePart] = []
        self._passes: PassRunner | None = None
        """Runs passes; None: none had anything to do."""

    def run(self) -> RunOutcome:
        """Run it: the pass of what workers compute alone, and those of models, if there are any."""
        began_s = time.monotonic()
        if self._request.hints is None:
            self._check_library()
        self._recover_passes()
        for name, settings in self._plans.items():
            if self._outcome.stop_kind is not None:
                break
            if name != RUN:
                self._entries.begin_next()
            self._run_pass(name, settings, is_last=name == list(self._plans)[-1])
        self._describe()
        self._outcome.wall_s = time.monotonic() - began_s
        if self._outcome.stop_kind == StopKind.ERROR_BUDGET:
            self._open_sink(is_last=False).close()  # its last publication did not know that the run was stopped
        return self._outcome

    def _check_library(self) -> None:
        """Raise IntegrityError if the library is damaged. Damaged files with vectors are removed, so that this run
        writes them again."""
        for path in require_whole_library(self._data):
            self._outcome.notes.append(f"{os.path.basename(path)} was damaged, and is written again")
            with suppress(FileNotFoundError):
                os.unlink(path)

    def _open_sink(self, *, is_last: bool) -> LibrarySink:
        return LibrarySink(
            self._data,
            run_id=self._outcome.run_id,
            read_entry=self._entries.list_results,
            publishes=True,
            is_last=is_last,
            describe_run=lambda: encode_outcome(self._outcome),
        )

    def _recover_passes(self) -> None:
        """Recover a pass of models that was interrupted: the first pass of this run, which comes before it, moves the
        library on, and this run may have no such pass."""
        for name in PASSES:
            journal = DataLayout(self._data, name).journal
            if name != RUN and os.path.exists(journal) and self._read_final_marks(name) is None:
                from .passes import recover_pass

                self._outcome.warnings += recover_pass(self._data, journal)

    def _run_pass(self, name: str, settings: PipelineSettings, *, is_last: bool) -> None:
        """Run one pass, which has a plan, a journal and a run of the one runner for itself, unless it has nothing to
        do. Files whose settings have changed become visible with the last one."""
        sink = self._open_sink(is_last=is_last)
        with (
            closing(sink),
            closing(LibraryReader(self._data)) as library,
            closing(self._compare(name, settings, library, sink)) as plan,
        ):
            for each in PASSES:
                remove_temporary_files(SystemFilesystem(), DataLayout(self._data, each).journal)
                if each not in self._plans:  # no pass adopts what is staged there
                    shutil.rmtree(DataLayout(self._data, each).staging, ignore_errors=True)
            if self._has_work(name, plan, library):
                if plan.has_work:
                    self._require_access()
                self._add(self._open_passes().run(name, settings, plan, library, sink, is_last=is_last))
            else:
                shutil.rmtree(DataLayout(self._data, name).staging, ignore_errors=True)

    def _require_access(self) -> None:
        """Raise OperatorError if a model that is to be asked refuses every request, once, before anything is read."""
        asked, self._unchecked = self._unchecked, []
        for model in asked:
            from inorder.models.client import require_access

            require_access(model, self._settings.find_key_file())

    def _open_passes(self) -> "PassRunner":
        if self._passes is None:
            from .passes import PassRunner

            self._passes = PassRunner(self._options, self._request.origin, self._outcome, self._entries, self._kept)
        return self._passes

    def _has_work(self, name: str, plan: FilePlan, library: LibraryReader) -> bool:
        """Whether a pass has something to do: with files, with a source that goes, or with what an interrupted run has
        left, or with a library or a manifest that was cut, lost or exchanged since. A file with metrics is written by
        every run."""
        if plan.has_work or self._request.forgets or self._options.metrics_file or library.has_leftovers():
            return True
        marks = {each: self._read_final_marks(each) for each in PASSES}
        numbers = {found[LIBRARY][2] for found in marks.values() if found is not None and LIBRARY in found}
        is_asking, journal = name in ASKING, DataLayout(self._data, name).journal
        is_unfinished = marks[name] is None and (not is_asking or os.path.exists(journal))
        if is_unfinished or library.read_run_number() not in numbers:
            return True
        return any(not self._is_manifest_whole(each, mark) for each, mark in (marks[name] or {}).items())

    def _is_manifest_whole(self, sink: str, mark: Mark) -> bool:
        """Whether a manifest is as long as the journal says, or longer, and ends with a whole line. Other sinks are not
        looked at."""
        kind, _, step = sink.partition(" ")
        if kind != "manifest":
            return True
        try:
            with open_lines(DataLayout(self._data, step).manifest) as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size - 1))
                return size >= mark[1] and file.read(1) in (b"", b"\n")
        except FileNotFoundError:
            return False

    def _read_final_marks(self, name: str) -> Mapping[str, Mark] | None:
        return read_final_marks(SystemFilesystem(), DataLayout(self._data, name).journal)

    def _compare(self, name: str, settings: PipelineSettings, library: LibraryReader, sink: LibrarySink) -> FilePlan:
        """Find what is to be done, and note the sources and the files that were only touched."""
        if name == RUN:
            self._parts = self._find_parts(library)
            self._outcome.notes += _find_data(self._parts, self._data)
        parts = self._parts
        plan = FilePlan(
            settings,
            parts,
            library,
            self._outcome,
            data=self._data,
            add_listed=(listed := ListedRows(sink)).add,
            retries=self._request.retries,
            force=name not in ASKING and (self._options.force or not self._options.resume),
        )
        if self._request.forgets:
            plan.remove_known()
            sink.remove_source(self._request.forgets)
            return plan
        if name != RUN or not (self._request.sources or self._is_retry):
            plan.consider_known(is_counted=name != RUN)
            return plan
        plan.compare()
        listed.write()
        for part in () if self._is_retry else parts:
            if self._request.hints is not None and part.below:
                continue
            if part.moved_from:
                self._outcome.notes.append(
                    f"the source {part.name} has moved from {part.moved_from} to {part.location}"
                )
            kind = "address" if is_address(part.location) else "folder"
            sink.put_source(LibrarySource(part.name, part.location, kind, walked_at=time.time()))
        if plan.touched:
            sink.write_files(
                FileResult(make_facts(file, copy_of=file.copy_of, signature=new)) for file, new in plan.touched
            )
        return plan

    @property
    def _is_retry(self) -> bool:
        return self._request.retries and not self._request.sources

    def _find_parts(self, library: LibraryReader) -> list[SourcePart]:
        """What the run looks at."""
        if self._is_retry:
            return find_failed_parts(library)
        request = self._request
        known = [KnownSource(source.name, source.path) for source in library.list_sources()]
        if request.forgets:
            return [SourcePart(*find_source(request.forgets, known))]
        if not request.sources:
            return [SourcePart(*source) for source in known]
        parts = resolve_sources(request.sources, known, request.name)
        is_new = {part.name for part in parts} - {each.name for each in known}
        if request.hints is None or is_new or any(part.moved_from for part in parts):
            return parts
        return narrow_parts(parts, request.hints, RULE_FILES)

    def _add(self, finished: StageOutcome) -> None:
        """Add how a pass has ended to the outcome."""
        outcome = self._outcome
        outcome.stop_kind, outcome.stop_signal = finished.stop_kind, finished.stop_signal
        outcome.cancel_reason = finished.cancel_reason
        outcome.adopted += finished.adopted
        outcome.warnings += finished.warnings
        outcome.errors += finished.errors

    def _describe(self) -> None:
        """Complete the outcome with what can be searched now."""
        outcome = self._outcome
        with closing(LibraryReader(self._data)) as library:
            counts = library.read_totals().counts
            outcome.generation = library.read_generation().number
            outcome.warned = dict(count_warnings(library, DOCTAGS))
        outcome.warnings += list_problems()
        outcome.documents = counts.get("files/document", 0)
        outcome.source_files = counts.get("files/code", 0)


def list_asked_models(settings: PipelineSettings) -> list[str]:
    """Return the addresses of the models that are asked about parts of documents."""
    passes = list_passes(settings)
    return [
        *([settings.convert.model] if READ in passes else []),
        *([settings.extract.model] if EXTRACT in passes else []),
    ]


def _find_data(parts: Sequence[SourcePart], data: str) -> list[str]:
    """Return what is to be said of sources that are DATA."""
    inside = [os.path.join(part.location, part.below).rstrip("/") for part in parts if is_own(part, data)]
    return [f"{path} is DATA, where inorder keeps its results: nothing in it is read" for path in inside]


class ListedRows:
    """What the library must know of archives and their members before any of them is visited. It is written in
    batches, in order: the members before their archive."""

    def __init__(self, sink: LibrarySink) -> None:
        self._sink = sink
        self._rows: list[FileResult] = []

    def add(self, row: FileResult) -> None:
        """Add a row."""
        self._rows.append(row)
        if len(self._rows) >= _LISTED_BATCH:
            self.write()

    def write(self) -> None:
        """Write what was added."""
        if self._rows:
            self._sink.write_files(self._rows)
            self._rows = []
