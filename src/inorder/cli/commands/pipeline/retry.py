"""`inorder retry`: run the failed items of a stage again.

The plan of a retry is a part of the plan of the stage, so it gets a journal of its own, which replaces the previous
one. After a run that has ended, that is harmless. After an interrupted run it would lose the position to resume from,
so that run must be resumed first. An interrupted retry is repeated: items that it has completed are not failed any
more.
"""

import typer

from inorder.cli.builtin import describe_stage_defaults, sort_stages
from inorder.cli.data_dir import DataDirectory, open_data
from inorder.cli.exit_codes import Exit
from inorder.cli.output import info, pluralize, print_json
from inorder.cli.parameters import Given, JsonOption, StageOption, run_options
from inorder.cli.settings import resolve
from inorder.cli.stage_loader import StageJob, load_recorded_job
from inorder.cli.stage_runner import check_options, report_outcome, run_job
from inorder.engines.attempt import escape_surrogates
from inorder.errors import OperatorError
from inorder.stage.contracts import StageOutcome, StagePlan, WorkItem
from inorder.stage.manifest.item_status import ItemStatuses

ONLY_FAILURES = "failures"
"""`only` in the origin of a run: its plan held the failed items alone."""


@run_options(describe_stage_defaults)
def retry(stage: StageOption = None, as_json: JsonOption = False, *, given: Given) -> None:
    """Run the items again that failed the last time they were tried, and nothing else.

    Their new rows are appended to the manifest. Run it in the directory where the stage was run, so that the stage can
    be imported. Options can also be set by environment variables or in inorder.toml.

    Exit codes are those of `inorder stage`: 0 means that no failed item is left.
    """
    data = open_data(None, given)
    outcomes = []
    code = Exit.DONE
    for name in sort_stages(data.select_stages(stage)):
        outcome, code_here = _retry_stage(data, name, given)
        if outcome is not None:
            outcomes.append(outcome)
        code = max(code, code_here)
        if code not in (Exit.DONE, Exit.ITEMS_FAILED):
            break
    if as_json:
        print_json({"stages": outcomes})
    elif not outcomes:
        info("nothing to retry")
    raise typer.Exit(code)


def _retry_stage(data: DataDirectory, stage: str, given: Given) -> tuple[StageOutcome | None, Exit]:
    """Run the failed items; None: there are none."""
    data.lock(stage).release()
    failed = {status.doc_id for status in ItemStatuses.read(data.layout(stage).manifest).failures()}
    if not failed:
        return None, Exit.DONE
    _require_ended(data, stage)
    job = load_recorded_job(data, stage)
    settings = resolve(dict(given) | {"force": True}, job.stage)
    plan = _select_items(job, data, failed)
    if not plan.items:
        return None, Exit.DONE
    outcome = run_job(job, plan, check_options(settings, job.stage), {**job.origin, "only": ONLY_FAILURES})
    return outcome, report_outcome(outcome, settings)


def _require_ended(data: DataDirectory, stage: str) -> None:
    journal, config = data.read_journal(stage), data.config(stage)
    is_retry = config is not None and config.origin.get("only") == ONLY_FAILURES
    if journal is not None and journal.unfinished_at is not None and not is_retry:
        raise OperatorError(
            f"the latest run of stage {stage} was interrupted after {pluralize(journal.unfinished_at, 'item')}; "
            "run the same command again to resume it, then retry"
        )


def _select_items(job: StageJob, data: DataDirectory, failed: set[str]) -> StagePlan:
    """The failed items, as the plan has them now."""
    plan = job.make_plan(data.root)
    items = [item for item in plan.items if isinstance(item, WorkItem) and escape_surrogates(item.item_id) in failed]
    if missing := len(failed) - len(items):
        is_are = "is" if missing == 1 else "are"
        info(f"{job.stage.name}: {pluralize(missing, 'failed item')} {is_are} no longer in the plan; left unchanged")
    return StagePlan(
        job.stage.name,
        items,
        len(items),
        is_stored=plan.is_stored,
        policy=plan.policy,
        owns_device=plan.owns_device,
    )
