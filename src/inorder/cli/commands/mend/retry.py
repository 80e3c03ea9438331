"""`inorder retry`: run what is failed again: the failed files of the pipeline, and the failed items of stages.

The failed files are one run of the pipeline, with the settings of the last one. It looks at no other file.

The plan of a retry of a stage is a part of the plan of the stage, so it gets a journal of its own, which replaces the
previous one. After a run that has ended, that is harmless. After an interrupted run it would lose the position to
resume from, so that run must be resumed first. An interrupted retry is repeated: items that it has completed are not
failed any more.
"""

from contextlib import closing
from typing import TYPE_CHECKING

import typer

from inorder.cli.data_dir import DataDirectory, open_data
from inorder.cli.exit_codes import Exit
from inorder.cli.output import info, pluralize, print_json
from inorder.cli.parameters import Given, JsonOption, StageOption, run_options
from inorder.cli.pipeline import STEPS, describe_defaults, read_recorded_request, run_request
from inorder.cli.settings import SettingsReader, resolve
from inorder.cli.stage_loader import StageJob, load_recorded_job
from inorder.cli.stage_runner import check_options, report_outcome, run_job
from inorder.cli.step_options import OWN
from inorder.engines.attempt import escape_surrogates
from inorder.errors import OperatorError
from inorder.library.reader import LibraryReader
from inorder.stage.contracts import StageOutcome, StagePlan, WorkItem
from inorder.stage.manifest.item_status import ItemStatuses

if TYPE_CHECKING:
    from inorder.pipeline.outcome import RunOutcome

ONLY_FAILURES = "failures"
"""`only` in the origin of a run: its plan held the failed items alone."""


def _describe_defaults() -> dict[str, str]:
    """The defaults of runs. A step has the settings of the last run."""
    own = {name for step in STEPS for name in OWN[step]}
    return describe_defaults(STEPS) | dict.fromkeys(own, "as in the last run")


@run_options(_describe_defaults, STEPS)
def retry(stage: StageOption = None, as_json: JsonOption = False, *, given: Given) -> None:
    """Run the files and items again that are failed, and nothing else.

    A failed file goes through the step that failed and those after it, with the settings of the last run, unless others
    are given. A file that is gone or excluded now is forgotten. Of your own stages, the failed items run again, with
    the options of the stage, in the directory where it can be imported.

    Exit codes are those of `inorder run`: 0 means that no failed file or item is left.
    """
    data = open_data(None, given)
    has_library, stages = data.select(stage)
    run, code = _retry_files(data, given) if has_library else (None, Exit.DONE)
    outcomes = []
    for name in stages if code in (Exit.DONE, Exit.ITEMS_FAILED) else ():
        outcome, code_here = _retry_stage(data, name, given)
        if outcome is not None:
            outcomes.append(outcome)
        code = max(code, code_here)
        if code not in (Exit.DONE, Exit.ITEMS_FAILED):
            break
    if as_json:
        print_json({"run": run, "stages": outcomes})
    elif run is None and not outcomes:
        info("nothing to retry")
    raise typer.Exit(code)


def _retry_files(data: DataDirectory, given: Given) -> tuple["RunOutcome | None", Exit]:
    """Run the failed files of the library. Return None if there are no failed files."""
    with closing(LibraryReader(data.root)) as library:
        if next(library.list_failures(), None) is None:
            return None, Exit.DONE
    reader = SettingsReader(given)
    return run_request(read_recorded_request(reader, (), retries=True), reader)


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
    return StagePlan(job.stage.name, items, len(items), policy=plan.policy)
