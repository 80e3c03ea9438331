"""Running the failed items of a stage again.

The plan of a retry is a part of the plan of the stage, and so it has a journal of its own, which takes the place of the
one before. That is harmless after a run that went to its end. After one that was interrupted it would throw away what
is needed to go on with it, so that one must be gone on with first. A retry that was itself interrupted is simply
repeated: what it has done has not failed any more.
"""

from typing import Any

from inorder.cli.data_dir import Dataset
from inorder.cli.exit_codes import Exit
from inorder.cli.item_status import Standings
from inorder.cli.options import Given
from inorder.cli.output import counted, tell
from inorder.cli.settings import resolve
from inorder.cli.stage_loader import Job, recorded_job
from inorder.cli.stage_runner import checked_options, run, tell_outcome
from inorder.errors import OperatorError
from inorder.stage.contracts import StageOutcome, StagePlan, WorkItem
from inorder.stage.manifest.rows import to_printable

ONLY_FAILURES = "failures"
"""`only` in the origin of a run: its plan was no more than what had failed."""


def retry_stage(dataset: Dataset, stage: str, given: Given) -> tuple[StageOutcome | None, Exit]:
    """Run what failed; None: nothing had."""
    dataset.lock(stage).release()
    failed = {standing.doc_id for standing in Standings.of_manifest(dataset.places(stage).manifest).failures()}
    if not failed:
        return None, Exit.DONE
    _require_ended(dataset, stage)
    job = recorded_job(dataset, stage)
    settings = resolve(dict(given) | {"force": True}, job.stage)
    plan = _part(job, dataset, failed)
    if not plan.items:
        return None, Exit.DONE
    outcome = run(job.stage, plan, checked_options(settings, job.stage), _origin(job))
    return outcome, tell_outcome(outcome, settings)


def _require_ended(dataset: Dataset, stage: str) -> None:
    journal, config = dataset.journal(stage), dataset.config(stage)
    is_retry = config is not None and config.origin.get("only") == ONLY_FAILURES
    if journal is not None and journal.unfinished_at is not None and not is_retry:
        raise OperatorError(
            f"the latest run of stage {stage} was interrupted after {counted(journal.unfinished_at, 'item')}; "
            "go on with it first, by running the same again, then retry what has failed"
        )


def _part(job: Job, dataset: Dataset, failed: set[str]) -> StagePlan:
    """The failed items, as the plan has them now."""
    items = [
        item
        for item in job.plan(dataset.root).items
        if isinstance(item, WorkItem) and to_printable(item.item_id) in failed
    ]
    gone = len(failed) - len(items)
    if gone:
        is_are = "is" if gone == 1 else "are"
        tell(f"{job.stage.name}: {counted(gone, 'failed item')} {is_are} no longer in the plan, and left alone")
    return StagePlan(job.stage.name, items, len(items))


def _origin(job: Job) -> dict[str, Any]:
    return {**job.origin, "only": ONLY_FAILURES}
