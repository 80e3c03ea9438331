"""Runs a stage for a command: the checks before, the summary after."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from inorder.cli.exit_codes import Exit, exit_code_of
from inorder.cli.output import error as print_error
from inorder.cli.output import info, pluralize, to_one_line
from inorder.cli.settings import Settings, SettingsReader
from inorder.errors import OperatorError, require
from inorder.host.memory import limit_free_memory
from inorder.stage.contracts import Stage, StageOutcome, StagePlan
from inorder.stage.data_layout import require_current_data
from inorder.stage.options import StageOptions, suggest_wait
from inorder.targets.registry import check_target, is_target

if TYPE_CHECKING:
    from inorder.cli.stage_loader import StageJob

EXPORT = "export"
"""The pass that a run ends with if there is a target."""
_ERRORS_SHOWN = 3
_STOPS = {
    "cancelled": "interrupted",
    "error budget": "stopped, too many failures",
    "budget": "stopped, a limit on tokens or money is reached",
}


def run_job(
    job: "StageJob",
    plan: StagePlan,
    options: StageOptions,
    origin: dict[str, Any] | None = None,
) -> StageOutcome:
    """Run a plan of a stage. `origin` replaces what the manifest records about the job."""
    from inorder.stage.run import run_stage  # a run of the pipeline that finds nothing to do needs no runner

    limit_free_memory()
    stage, data = job.stage, Path(options.data).absolute()
    plan = msgspec.structs.replace(plan, policy=plan.policy or stage.options.policy)
    return run_stage(
        plan,
        stage.worker,
        options,
        stage.hooks,
        origin=job.origin if origin is None else origin,
        sinks=[] if stage.sinks is None else stage.sinks(data),
        finish=None if stage.finish is None else partial(stage.finish, data),
    )


def prepare_export(reader: SettingsReader) -> Callable[[], Exit] | None:
    """Return the pass that exports what was published to the target of `--to`; None: there is no target. Raises
    OperatorError if the target cannot be used, and InfrastructureError if it cannot be reached."""
    found = reader.for_stage(EXPORT)
    own = found.own_values(EXPORT)
    to = str(own["to"].value) if "to" in own else ""
    if not to:
        return None
    if not is_target(to):
        for name in own.keys() - {"to"}:
            raise OperatorError(f"{name} is for databases, and {to!r} is an object store")
        from inorder.dataset.export.export import check_store  # with Arrow, which takes 30 MB

        check_store(to)
        return partial(_export_tables, found.with_defaults(StageOptions()), to)
    check_target(to)
    return lambda: export_to_database(reader)[1]


def export_to_database(reader: SettingsReader) -> tuple[StageOutcome, Exit]:
    """Export the index to the database of `--to`, and print what was done. Returns the outcome and the exit code."""
    from inorder.targets.export import OPTIONS, ExportSettings, export_index

    limit_free_memory()
    found = reader.for_stage(EXPORT)
    target = ExportSettings(**found.own_fields(EXPORT))
    settings = found.with_defaults(OPTIONS)
    require_current_data(settings.data)
    outcome = export_index(target, settings.to_options(), {"settings": msgspec.structs.asdict(target)})
    return outcome, report_outcome(outcome, settings)


def _export_tables(settings: Settings, store: str) -> Exit:
    from inorder.dataset.export.export import export_data
    from inorder.dataset.export.options import ExportOptions

    outcome = export_data(settings.data, ExportOptions(to=store))
    if not settings.is_quiet:
        written = sum(table.written for table in outcome.tables.values())
        info(f"exported to {store}: {pluralize(written, 'file')} written, {outcome.removed} removed")
    return Exit.DONE


def check_options(settings: Settings, stage: Stage) -> StageOptions:
    """The options of a run. Raises `OperatorError` if the stage cannot be run with them."""
    options = settings.to_options()
    require(
        not (stage.options.policy == "gpu" and options.policy == "cpu") or options.i_know_what_im_doing,
        f"stage {stage.name} needs policy gpu: with policy cpu, every process would claim the device; "
        "omit --policy, or add --set i_know_what_im_doing=true",
    )
    return options


def report_outcome(outcome: StageOutcome, settings: Settings) -> Exit:
    """Print a summary on stderr. Returns the exit code."""
    code = exit_code_of(outcome)
    if not settings.is_quiet:
        info(*_summarize(outcome, settings))
    elif code != Exit.DONE:
        print_error(_format_headline(outcome))
    return code


def _summarize(outcome: StageOutcome, settings: Settings) -> list[str]:
    lines = [_format_headline(outcome)]
    if outcome.resumed_at:
        lines.append(f"  resumed after {pluralize(outcome.resumed_at, 'item')}")
    if outcome.adopted:
        lines.append(f"  adopted {pluralize(outcome.adopted, 'result')} of the interrupted run")
    shown = outcome.errors[:_ERRORS_SHOWN]
    lines += [
        f"  failed: {error.item_id} ({error.category}): {to_one_line(error.message)}"
        + (f" [and {error.count - 1} more like it]" if error.count > 1 else "")
        for error in shown
    ]
    if (left_out := outcome.failed - sum(error.count for error in shown)) > 0:
        lines.append(f"  failed: {left_out} more; see `inorder failures{settings.data_option}`")
    lines += [f"  warning: {to_one_line(warning)}" for warning in outcome.warnings]
    lines.append(f"  manifest: {settings.data}/manifests/{outcome.stage}.jsonl")
    return lines + [f"  next: {step}" for step in _list_next_steps(outcome, settings)]


def _format_headline(outcome: StageOutcome) -> str:
    done = outcome.succeeded + outcome.skipped + outcome.failed
    counts = f"{outcome.succeeded} succeeded, {outcome.skipped} skipped, {outcome.failed} failed"
    if outcome.stop_kind is None:
        return f"{outcome.stage}: {counts} in {outcome.wall_ms / 1000:.1f} s"
    why = _STOPS.get(outcome.stop_kind, "stopped, the machine or a server failed")
    return f"{outcome.stage}: {why} after {pluralize(done, 'item')} ({counts}): {outcome.cancel_reason}"


def _list_next_steps(outcome: StageOutcome, settings: Settings) -> Sequence[str]:
    where = settings.data_option
    steps = []
    if outcome.failed:
        steps.append(f"`inorder failures{where}` lists the failures, `inorder retry{where}` runs them again")
    if outcome.stop_kind == "error budget":
        steps.append("run the same command again to resume, perhaps with a larger --error-budget")
    elif outcome.stop_kind is not None:
        steps.append(f"run the same command again to resume{suggest_wait(outcome.cancel_reason)}")
    return steps
