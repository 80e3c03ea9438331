"""The visits of a run: the items of each pass in the one runner, and the manifests of the steps.

A run that has nothing to do imports none of this.
"""

import os
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from inorder.documents.embed.shared.process import ProviderKeeper
from inorder.engines.base import count_callers
from inorder.engines.process.idle import IdleProcesses
from inorder.host.filesystem import SystemFilesystem
from inorder.host.os_errors import translate_os_errors
from inorder.host.temporary_folder import remove_abandoned_folders
from inorder.library.reader import LibraryReader
from inorder.library.sink import LibrarySink
from inorder.library.totals import summarize_families
from inorder.runtime.identity import new_run_id
from inorder.runtime.recovery import DISTRUST_SUFFIX, read_final_marks, settle_journal
from inorder.sinks.manifest import ManifestSink, append_row
from inorder.sinks.packed_lines import pack_lines
from inorder.stage.contracts import Barrier, PassHooks, PassItem, PassPlan, StageOutcome
from inorder.stage.manifest.rows import make_config_row
from inorder.stage.options import StageOptions
from inorder.stage.run import run_pass

from .commit import CommitReader, make_corpus_row, make_counts_row
from .models import SharedProviders
from .names import CHUNK, DOCTAGS, EMBED, FAMILIES, INDEX, MODELS, RUN, STEPS, name_manifest
from .outcome import RunOutcome
from .plan import FilePlan
from .remote import count_remote, fetch_remote
from .resources import ResourceHooks
from .steps import PipelineSettings, needs_device
from .visit import visit

if TYPE_CHECKING:
    from inorder.models.budget import ModelBudget

    from .model_feed import ModelFeed

_PROCESSES_KEPT = 2
"""Worker processes that wait for the next run. One change needs one."""


class KeptBetweenRuns:
    """What a program that runs again and again keeps between two runs: worker processes, and the process of the
    providers. To be closed at the end."""

    def __init__(self) -> None:
        self.idle = IdleProcesses(_PROCESSES_KEPT)
        self.providers = ProviderKeeper()

    def close(self) -> None:
        """End the processes."""
        self.idle.close()
        self.providers.close()


class PassRunner:
    """Runs the passes of one run that have something to do."""

    def __init__(
        self,
        options: StageOptions,
        origin: dict[str, Any],
        outcome: RunOutcome,
        entries: CommitReader,
        kept: KeptBetweenRuns | None,
    ) -> None:
        """`origin` is recorded in the manifests."""
        self._options = options
        self._data = os.fspath(options.data)
        self._origin = origin
        self._outcome = outcome
        self._entries = entries
        self._kept = kept
        self._budget: ModelBudget | None = None
        """What all models of the run may spend together."""
        self._begun: list[str] = []
        """The steps whose manifests have rows of this run."""
        remove_abandoned_folders()
        self._totals = self._read_totals()
        """The totals of each family of vectors when the run began."""

    def run(
        self,
        name: str,
        settings: PipelineSettings,
        plan: FilePlan,
        library: LibraryReader,
        sink: LibrarySink,
        *,
        is_last: bool,
    ) -> StageOutcome:
        """Visit every file with something to do. The second pass has an id of its own, as every run of the runner."""
        run_id = self._outcome.run_id if name == RUN else new_run_id()
        kept = self._kept
        steps = self._list_steps(name, settings)
        manifests = [self._open_manifest(step, name, run_id) for step in steps]

        def finish() -> None:
            if manifests[0].position().end:
                self._begun += [step for step in steps if step not in self._begun]
            if is_last:
                self._write_totals()
                self._write_counts()

        items = PlannedItems(plan, library, sink)
        feed = self._open_feed(settings, items, library, sink) if settings.asks else None
        has_device = name == MODELS and needs_device(settings)
        shared = SharedProviders(settings, None if kept is None else kept.providers)
        try:
            finished = run_pass(
                PassPlan(
                    name,
                    items if feed is None else feed,
                    expected_items=plan.count,
                    is_remainder=True,
                    unit="files",
                    count_expected=plan.count_expected,
                    describe=None if feed is None else feed.describe,
                    attach=None if feed is None else feed.begin,
                ),
                partial(visit, settings),
                _choose_device_options(self._options) if has_device else self._options,
                shared.make_hooks() if name == MODELS else _make_hooks(settings, plan),
                origin=self._origin,
                sinks=[*manifests[1:], sink],
                manifest=lambda row, head: manifests[0],
                finish=finish,
                idle=None if kept is None else kept.idle,
                run_id=run_id,
            )
            if finished.stop_kind is None and feed is not None and feed.stop is not None:
                kind, reason = feed.stop
                finished = msgspec.structs.replace(finished, stop_kind=kind, was_cancelled=True, cancel_reason=reason)
            return finished
        finally:
            if feed is not None:
                feed.close()
            shared.end()

    def _open_feed(
        self, settings: PipelineSettings, items: "PlannedItems", library: LibraryReader, sink: LibrarySink
    ) -> "ModelFeed":
        from inorder.models.budget import ModelBudget

        from .model_feed import ModelFeed, open_units  # with all that models need

        if self._budget is None:
            self._budget = ModelBudget(settings.spending)
        units = open_units(settings)
        totals = self._outcome.model if settings.asks == DOCTAGS else self._outcome.extracted
        return ModelFeed(settings, units, items, library, self._options, totals, self._budget, sink.leave_held)

    def _list_steps(self, name: str, settings: PipelineSettings) -> list[str]:
        """The steps whose manifests belong to a pass. Those of a family that has none any more are among them: an
        interrupted run may have left rows there that were not committed."""
        first = [] if name == MODELS else [DOCTAGS, CHUNK, INDEX]
        families = {f"{EMBED}:{family}": family in settings.families for family in FAMILIES}
        chosen = [step for step, is_on in families.items() if is_on or os.path.exists(self._find_manifest(step))]
        return [*first, *(step for step in chosen if step not in settings.skipped)]

    def _open_manifest(self, step: str, pass_name: str, run_id: str) -> ManifestSink:
        """The manifest of a step."""
        return ManifestSink(
            SystemFilesystem(),
            self._find_manifest(step),
            partial(self._entries.make_row, step),
            head=[self._make_head(step, pass_name, run_id)],
            name=f"manifest {name_manifest(step)}",
            appends=True,
            is_sparse=True,
        )

    def _read_totals(self) -> dict[str, dict[str, Any]]:
        """The totals of each family of vectors, as they are visible now."""
        with closing(LibraryReader(self._data)) as library:
            return summarize_families(library.read_totals().counts, [f"{EMBED}:{family}" for family in FAMILIES])

    def _write_totals(self) -> None:
        """Write the totals of each family that this run has changed, also if it has only removed files."""
        found = self._read_totals()
        for step in sorted({*found, *self._totals}):
            totals = found.get(step, {"documents": 0, "vectors": 0})
            if totals == self._totals.get(step):
                continue
            if step not in self._begun:
                self._append_row(step, self._make_head(step, RUN, self._outcome.run_id))
                self._begun.append(step)
            self._append_row(step, make_corpus_row(step.partition(":")[0], self._outcome, totals))

    def _write_counts(self) -> None:
        """End the rows of this run in each manifest. If this is interrupted, the run has ended, and the next one has
        counts of its own."""
        for step in self._begun:
            stage = step.partition(":")[0]
            self._append_row(step, make_counts_row(stage, self._outcome))
            pack_lines(SystemFilesystem(), self._find_manifest(step), stage, self._outcome.warnings.append)

    def _make_head(self, step: str, pass_name: str, run_id: str) -> dict[str, Any]:
        """The first row of a pass in the manifest of a step."""
        head = make_config_row(step.partition(":")[0], run_id, self._options, self._origin)
        return head | {"pass": pass_name}

    def _append_row(self, step: str, row: dict[str, Any]) -> None:
        append_row(SystemFilesystem(), self._find_manifest(step), row)

    def _find_manifest(self, step: str) -> str:
        return f"{self._data}/manifests/{name_manifest(step)}.jsonl"


def recover_pass(data: str, journal: str) -> list[str]:
    """Bring the library and the manifests of a pass that was interrupted to one position, and remove its journal.
    Returns warnings. Raises as `settle_journal` does."""
    filesystem = SystemFilesystem()
    with closing(LibrarySink(data)) as library:
        if filesystem.stat(journal) is None or read_final_marks(filesystem, journal) is not None:
            return []  # another run has just recovered it, or ended
        manifests = [
            ManifestSink(filesystem, path, lambda entry: None, head=[{}], name=name, appends=True, is_sparse=True)
            for name, path in _list_manifests(data)
            if os.path.exists(path)
        ]
        try:
            warning = settle_journal(filesystem, journal, [*manifests, library])
            with translate_os_errors(f"{journal} cannot be removed"):
                for path in (journal, f"{journal}{DISTRUST_SUFFIX}"):
                    if filesystem.stat(path) is not None:
                        filesystem.unlink(path)
                filesystem.sync_directory(os.path.dirname(journal))
        finally:
            for manifest in manifests:
                manifest.close()
    return [warning] if warning else []


def _list_manifests(data: str) -> list[tuple[str, str]]:
    """The manifests of all steps: the names of their sinks, and their paths."""
    names = [name_manifest(step) for step in STEPS]
    return [(f"manifest {name}", f"{data}/manifests/{name}.jsonl") for name in names]


class PlannedItems:
    """The items of the plan, which are made while they are read."""

    def __init__(self, plan: FilePlan, library: LibraryReader, sink: LibrarySink) -> None:
        self._plan = plan
        self._library = library
        self._sink = sink

    def __iter__(self) -> Iterator[PassItem | Barrier]:
        try:
            yield from self._plan.make_items(self._sink.add_fact, self._sink.add_settings)
        finally:
            self._library.close()  # as long as somebody reads, the library keeps its log


def _choose_device_options(options: StageOptions) -> StageOptions:
    """Return the options of a pass whose model is on a device. On this machine one process has the device, and the
    workers are processes that call it; on a cluster each worker has a device of its own."""
    if options.engine != "local":
        return msgspec.structs.replace(options, policy="gpu")
    return msgspec.structs.replace(options, policy="cpu", workers=count_callers(options.workers))


def _make_hooks(settings: PipelineSettings, plan: FilePlan) -> PassHooks:
    """Return the hooks that give workers their resources, and fetch what is remote ahead of the visits."""
    resources = ResourceHooks(settings)
    hooks = PassHooks(worker_setup=resources.open, before_stage=resources.open, after_stage=resources.close)
    if plan.has_remote:
        return msgspec.structs.replace(hooks, group_size=count_remote, before_group=fetch_remote)
    return hooks
