"""One run of the pipeline: one plan over all sources, one run of the one runner, one library.

    sources ─▶ compare with the library ─▶ plan ─▶ visits in workers ─▶ commit: manifests, library ─▶ publish ─▶ outcome

This is the page to read first. The plan is a *remainder*: it has the files with a step to run, so it shrinks as the run
commits, and an interrupted run is planned again. `plan` decides what is to be done, `visit` does it for one file, and
`commit` says what it means for the library, the manifests and the counts.
"""

import os
import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from typing import Any

import msgspec

from inorder.host.filesystem import SystemFilesystem
from inorder.library.reader import LibraryReader
from inorder.library.rows import FileResult
from inorder.library.sink import LibrarySink, LibrarySource
from inorder.runtime.identity import new_run_id
from inorder.sinks.manifest import ManifestSink
from inorder.stage.contracts import Barrier, StageHooks, StageOutcome, StagePlan, WorkItem
from inorder.stage.data_layout import DataLayout
from inorder.stage.manifest.rows import make_config_row
from inorder.stage.options import StageOptions
from inorder.stage.run import run_stage
from inorder.stage.sources import is_address

from .commit import CommitReader
from .comparison import make_facts
from .models import NAME as MODELS
from .models import SharedProviders, needs_device, split_passes
from .outcome import RunOutcome
from .plan import FilePlan
from .remote import count_remote, fetch_remote
from .resources import ResourceHooks
from .source_names import KnownSource, resolve_sources
from .steps import CHUNK, DOCTAGS, EMBED, INDEX, PipelineSettings, StepTable
from .visit import visit

NAME = "run"
"""The name of the run in DATA: of its journal, its lock and its telemetry."""
_LISTED_BATCH = 1000


class RunRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a user asks for."""

    sources: tuple[str, ...] = ()
    """Folders, files and addresses."""
    name: str | None = None
    """The name of the source, if there is one source and it is new."""
    settings: PipelineSettings = PipelineSettings()
    options: StageOptions = msgspec.field(default_factory=StageOptions)
    retries: bool = False
    """Whether every failed step is run again."""
    origin: dict[str, Any] = {}
    """Recorded in the manifests: how to make the same run again."""


def run_pipeline(request: RunRequest) -> RunOutcome:
    """Run the pipeline. Failed files do not raise.

    Raises:
        OperatorError: A source does not exist, or a setting is invalid.
        BusyError: Another run holds DATA.
        InfrastructureError: The disk or the machine failed; repeat the call to resume.
        IntegrityError: The journal or the library is damaged.
    """
    return _PipelineRun(request).run()


class _PipelineRun:
    """One run, which has the library for itself."""

    def __init__(self, request: RunRequest) -> None:
        self._request = request
        self._settings = request.settings
        self._options = msgspec.structs.replace(request.options, data=os.path.abspath(request.options.data))
        self._data = os.fspath(self._options.data)
        self._outcome = RunOutcome(run_id=new_run_id())
        self._entries = CommitReader(self._outcome, StepTable(request.settings))
        DataLayout(self._data, NAME).create_folders(is_durable=self._options.fsync != "off")

    def run(self) -> RunOutcome:
        """Run it: the pass of what workers compute alone, and that of models, if there are any."""
        began_s = time.monotonic()
        first, second = split_passes(self._settings)
        finished = self._run_pass(NAME, first, is_last=second is None)
        if second is not None and finished.stop_kind is None:
            self._entries.begin_second()
            finished = self._run_pass(MODELS, second, is_last=True)
        self._describe(finished)
        self._outcome.wall_s = time.monotonic() - began_s
        return self._outcome

    def _run_pass(self, name: str, settings: PipelineSettings, *, is_last: bool) -> StageOutcome:
        """Run one pass, which has a plan, a journal and a run of the one runner for itself. Files whose settings have
        changed become visible with the last one."""
        run_id = self._outcome.run_id
        sink = LibrarySink(
            self._data, run_id=run_id, read_entry=self._entries.list_results, publishes=True, is_last=is_last
        )
        with (
            closing(sink),
            closing(LibraryReader(self._data)) as library,
            closing(self._compare(name, settings, library, sink)) as plan,
        ):
            return self._visit(name, settings, plan, library, sink)

    def _compare(self, name: str, settings: PipelineSettings, library: LibraryReader, sink: LibrarySink) -> FilePlan:
        """Find what is to be done, and note the sources and the files that were only touched."""
        known = [KnownSource(source.name, source.path) for source in library.list_sources()]
        parts = resolve_sources(self._request.sources, known, self._request.name)
        plan = FilePlan(
            settings,
            parts,
            library,
            self._outcome,
            data=self._data,
            add_listed=(listed := ListedRows(sink)).add,
            retries=self._request.retries,
            force=self._options.force,
        )
        if name == MODELS:
            plan.consider_known()
            return plan
        plan.compare()
        listed.write()
        for part in parts:
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

    def _visit(
        self, name: str, settings: PipelineSettings, plan: FilePlan, library: LibraryReader, sink: LibrarySink
    ) -> StageOutcome:
        """Visit every file with something to do."""
        manifests = [self._open_manifest(step) for step in self._list_steps()]
        items = PlannedItems(plan, library, sink)
        staging = DataLayout(self._data, name).staging
        has_device = name == MODELS and needs_device(settings)
        return run_stage(
            StagePlan(
                name,
                items,
                expected_items=plan.count,
                is_remainder=True,
                policy="gpu" if has_device else None,
                owns_device=False,
            ),
            partial(visit, settings),
            msgspec.structs.replace(self._options, policy="gpu") if has_device else self._options,
            SharedProviders(settings, staging).make_hooks() if name == MODELS else _make_hooks(settings, staging, plan),
            origin=self._request.origin,
            sinks=[*manifests[1:], sink],
            manifest=lambda row, head: manifests[0],
        )

    def _list_steps(self) -> list[str]:
        return [DOCTAGS, CHUNK, INDEX, *(f"{EMBED}:{family}" for family in self._settings.families)]

    def _open_manifest(self, step: str) -> ManifestSink:
        """The manifest of a step."""
        name = step.replace(":", "-")
        head = make_config_row(name, self._outcome.run_id, self._options, self._request.origin)
        path = f"{self._data}/manifests/{name}.jsonl"
        row = partial(self._entries.make_row, step)
        return ManifestSink(
            SystemFilesystem(), path, row, head=[head], name=f"manifest {name}", appends=True, is_sparse=True
        )

    def _describe(self, finished: StageOutcome) -> None:
        """Complete the outcome."""
        outcome = self._outcome
        outcome.run_id = finished.run_id
        outcome.stop_kind, outcome.stop_signal = finished.stop_kind, finished.stop_signal
        outcome.cancel_reason = finished.cancel_reason
        outcome.adopted = finished.adopted
        outcome.warnings = finished.warnings
        with closing(LibraryReader(self._data)) as library:
            counts = library.read_totals().counts
            outcome.generation = library.read_generation().number
        outcome.documents = counts.get("files/document", 0)
        outcome.source_files = counts.get("files/code", 0)


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


class PlannedItems:
    """The items of the plan, which are made while they are read."""

    def __init__(self, plan: FilePlan, library: LibraryReader, sink: LibrarySink) -> None:
        self._plan = plan
        self._library = library
        self._sink = sink

    def __iter__(self) -> Iterator[WorkItem | Barrier]:
        try:
            yield from self._plan.make_items(self._sink.add_fact, self._sink.add_settings)
        finally:
            self._library.close()  # as long as somebody reads, the library keeps its log


def _make_hooks(settings: PipelineSettings, staging: str, plan: FilePlan) -> StageHooks:
    """Return the hooks that give workers their resources, and fetch what is remote ahead of the visits."""
    resources = ResourceHooks(settings, staging)
    hooks = StageHooks(worker_setup=resources.open, before_stage=resources.open, after_stage=resources.close)
    if plan.has_remote:
        return msgspec.structs.replace(hooks, group_size=count_remote, before_group=fetch_remote)
    return hooks
