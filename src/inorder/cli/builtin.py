"""The built-in stages: loading them with the settings that hold, running them, and their defaults for help."""

import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from inorder.cli.builtin_options import OWN
from inorder.cli.data_dir import require_data
from inorder.cli.exit_codes import Exit
from inorder.cli.extras import extra_of, require_extra
from inorder.cli.options import ALL, SHARED
from inorder.cli.output import info, pluralize
from inorder.cli.parameters import Given
from inorder.cli.settings import Settings, SettingsReader, StageSettings, Value
from inorder.cli.stage_loader import StageJob, load_job
from inorder.cli.stage_runner import check_options, report_outcome, run_job
from inorder.errors import OperatorError
from inorder.files.listing import share_listings
from inorder.host.blas import limit_blas_threads
from inorder.host.memory import release_after_work
from inorder.stage.contracts import Configurable, Stage, StageOutcome
from inorder.stage.options import StageOptions
from inorder.stage.store.ahead import expect_work
from inorder.stage.store.database import close_readers
from inorder.stage.store.format import require_current_data
from inorder.stage.store.visits import StageGroup
from inorder.targets.registry import check_target, is_target

ENTRIES = {
    "doctags": "inorder.documents.doctags.stage:stage",
    "chunk": "inorder.documents.chunk.stage:stage",
    "embed": "inorder.documents.embed.stage:stage",
    "index": "inorder.index.stage:stage",
}
"""In the order in which they build on each other."""
EXPORT = "export"
BUILTIN = ENTRIES | {EXPORT: "inorder.targets.stage:stage"}
"""The same, and the stage that a run ends with if there is a target."""
UNLESS_STAGE = ", unless the stage sets another"
"""Follows a default in help and listings that are for no stage in particular."""
_SOURCED = ("doctags", "index")
"""Those that read SRC. The others read what these have made."""


def sort_stages(names: Iterable[str]) -> list[str]:
    """Built-in stages in the order in which they run, then the others."""
    return sorted(names, key=lambda name: [*BUILTIN, name].index(name))


def load_builtin(stage: str, sources: Sequence[str | Path], reader: SettingsReader) -> tuple[StageJob, Settings]:
    """A built-in stage with its sources, and all options of its run."""
    require_extra("ingest")
    found = reader.for_stage(stage)
    own = found.own_fields(stage) if stage in OWN else {}
    job = load_job(BUILTIN[stage], sources if stage in _SOURCED else [], own)
    return job, found.with_defaults(job.stage.options)


ReportOutcome = Callable[[StageOutcome, Settings], Exit]
"""Prints how a stage ended, and returns the exit code."""


def run_builtin(
    stages: Sequence[str], sources: Sequence[str | Path], given: Given, report: ReportOutcome = report_outcome
) -> tuple[list[StageOutcome], int]:
    """Run these stages in turn. Returns their outcomes and the exit code.

    The stage `export` is left out if no target is set. To an object store, the tables of DATA are exported at the end
    instead. Failed items do not keep later stages from running; a stage that was stopped does. Settings are read and
    checked for all stages before the first one runs, the target is connected to once, and directories are listed once
    for all.
    """
    limit_blas_threads()
    reader = SettingsReader(given)
    own = reader.for_stage(EXPORT).own_values(EXPORT) if EXPORT in stages else {}
    store = _find_store(own)
    stages = [stage for stage in stages if stage != EXPORT or ("to" in own and store is None)]
    jobs = [load_builtin(stage, sources, reader) for stage in stages]
    options = [check_options(settings, job.stage) for job, settings in jobs]
    if not sources:
        require_data(jobs[0][1].data, "run `inorder doctags SRC` or `inorder run SRC` first")
    require_current_data(jobs[0][1].data)
    if len(jobs) > 1 and stages[-1] == EXPORT:
        check_target(jobs[-1][0].settings["to"])
    outcomes: list[StageOutcome] = []
    worst = Exit.DONE
    with share_listings(), _open_group(jobs, options) as group:
        for (job, settings), chosen in zip(jobs, options, strict=True):
            outcome = run_job(job, job.make_plan(settings.data), chosen, group=group)
            outcomes.append(outcome)
            code = report(outcome, settings)
            close_readers()
            release_after_work(outcome.succeeded + outcome.failed)
            if code not in (Exit.DONE, Exit.ITEMS_FAILED):
                if skipped := stages[len(outcomes) :]:
                    info(f"not started: {', '.join(skipped)}")
                return outcomes, code
            worst = max(worst, code)
    if store is not None:
        _export_tables(jobs[0][1], store)
    return outcomes, worst


def _find_store(own: Mapping[str, Value]) -> str | None:
    """The object store to export to, which is checked; None: there is none."""
    to = str(own["to"].value) if "to" in own else ""
    if not to or is_target(to):
        return None
    from inorder.dataset.export.export import check_store  # with Arrow, which takes 30 MB

    for name in own.keys() - {"to"}:
        raise OperatorError(f"--{name} is for databases, and {to!r} is an object store")
    check_store(to)
    return to


def _export_tables(settings: Settings, store: str) -> None:
    from inorder.dataset.export.export import export_data
    from inorder.dataset.export.options import ExportOptions

    outcome = export_data(settings.data, ExportOptions(to=store))
    if not settings.is_quiet:
        written = sum(table.written for table in outcome.tables.values())
        info(f"exported to {store}: {pluralize(written, 'file')} written, {outcome.removed} removed")


@contextmanager
def _open_group(jobs: Sequence[tuple[StageJob, Settings]], options: Sequence[StageOptions]) -> Iterator[StageGroup]:
    """The group of stages whose workers go on with the next stage."""
    stages = [(job.stage, chosen) for (job, _), chosen in zip(jobs, options, strict=True)]
    group = StageGroup(options[0].data, stages)
    group.copy_workers()
    try:
        with expect_work(group.start_ahead):
            yield group
    finally:
        group.close()


def describe_defaults(stages: Sequence[str]) -> dict[str, str]:
    """The defaults of all options for these stages, in words, by option. Empty if an extra is missing."""
    try:
        defaults = {stage: default_values(stage) for stage in stages}
    except ModuleNotFoundError as error:
        if extra_of(error) is None:
            raise
        return {}
    found: dict[str, dict[str, list[str]]] = {}
    for stage, values in defaults.items():
        for name, value in values.items():
            found.setdefault(name, {}).setdefault(ALL[name].format_default(value), []).append(stage)
    return {name: _join_defaults(by_text) for name, by_text in found.items()}


def describe_stage_defaults() -> dict[str, str]:
    """The same for a stage that is not known yet: it may set other defaults."""
    values = StageSettings({}, None, None).with_defaults(StageOptions()).values
    return {
        name: option.format_default(values[name].value) + ("" if name == "data" else UNLESS_STAGE)
        for name, option in SHARED.items()
    }


def default_values(stage: str) -> dict[str, Any]:
    """The value of every option of a built-in stage if nothing sets it."""
    module, _, name = BUILTIN[stage].partition(":")
    loaded: Stage | Configurable = getattr(importlib.import_module(module), name)
    settings = None if isinstance(loaded, Stage) else loaded.settings()
    made = loaded if isinstance(loaded, Stage) else loaded.make(settings)
    values = StageSettings({}, None, None).with_defaults(made.options).values
    own = {name: getattr(settings, option.field) for name, option in OWN.get(stage, {}).items()}
    return {name: found.value for name, found in values.items()} | own


def _join_defaults(stages_by_text: Mapping[str, Sequence[str]]) -> str:
    if len(stages_by_text) == 1:
        return next(iter(stages_by_text))
    return "; ".join(f"{text} for {', '.join(stages)}" for text, stages in stages_by_text.items())
