"""Running a stage for a command: the checks before, the words after."""

import shlex
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from inorder.cli.exit_codes import Exit, code_of
from inorder.cli.output import complain, counted, in_one_line, tell
from inorder.cli.settings import Settings
from inorder.errors import require
from inorder.stage.contracts import Stage, StageOptions, StageOutcome, StagePlan

_ERRORS_SHOWN = 3


def run(stage: Stage, plan: StagePlan, options: StageOptions, origin: dict[str, Any]) -> StageOutcome:
    """Run a stage as every command does."""
    from inorder.stage.run import run_stage

    data = Path(options.data).absolute()
    sinks = [] if stage.sinks is None else stage.sinks(data)
    finish = None if stage.finish is None else partial(stage.finish, data)
    return run_stage(plan, stage.worker, options, stage.hooks, origin=origin, sinks=sinks, finish=finish)


def checked_options(settings: Settings, stage: Stage) -> StageOptions:
    """The options of a run, if it may have them."""
    options = settings.options()
    require(
        not (stage.options.policy == "gpu" and options.policy == "cpu") or options.i_know_what_im_doing,
        f"stage {stage.name} is made for the policy gpu, and processes would each want the device for themselves; "
        "leave --policy away, or add --i-know-what-im-doing",
    )
    return options


def tell_outcome(outcome: StageOutcome, settings: Settings) -> Exit:
    """A short summary for whoever started the run, and the exit code."""
    code = code_of(outcome)
    if settings.values["quiet"].value and code == Exit.DONE:
        return code
    if settings.values["quiet"].value:
        complain(_headline(outcome))
    else:
        tell(*summary(outcome, settings))
    return code


def summary(outcome: StageOutcome, settings: Settings) -> list[str]:
    """How it went, what failed, where to look, what to do next."""
    lines = [_headline(outcome)]
    lines += [
        f"  failed: {error.item_id} ({error.category}): {in_one_line(error.message)}"
        + (f" [and {error.count - 1} more like it]" if error.count > 1 else "")
        for error in outcome.errors[:_ERRORS_SHOWN]
    ]
    lines += [f"  warning: {in_one_line(warning)}" for warning in outcome.warnings]
    lines.append(f"  manifest: {settings.data}/manifests/{outcome.stage}.jsonl")
    return lines + [f"  next: {step}" for step in _next_steps(outcome, settings)]


def _headline(outcome: StageOutcome) -> str:
    done = outcome.succeeded + outcome.skipped + outcome.failed
    counts = f"{outcome.succeeded} succeeded, {outcome.skipped} skipped, {outcome.failed} failed"
    if outcome.stop_kind is None:
        return f"{outcome.stage}: {counts} in {outcome.wall_ms / 1000:.1f} s"
    why = {"cancelled": "interrupted", "error budget": "stopped, too many failures"}.get(
        outcome.stop_kind, "stopped, the machine failed"
    )
    return f"{outcome.stage}: {why} after {counted(done, 'item')} ({counts}): {outcome.cancel_reason}"


def _next_steps(outcome: StageOutcome, settings: Settings) -> Sequence[str]:
    where = data_argument(settings)
    steps = []
    if outcome.failed:
        steps.append(f"`inorder failures{where}` lists what failed, `inorder retry{where}` runs it again")
    if outcome.stop_kind == "error budget":
        steps.append("run the same again to go on, with a larger --error-budget if you want")
    elif outcome.stop_kind is not None:
        steps.append("run the same again to go on where it stopped")
    return steps


def data_argument(settings: Settings) -> str:
    """What a further command needs to find the same DATA."""
    found = settings.values["data"]
    return f" --data {shlex.quote(settings.data)}" if found.origin == "command line" else ""
