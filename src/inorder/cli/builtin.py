"""The stages that inorder brings along, and running them for a command."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from inorder.cli.exit_codes import Exit
from inorder.cli.options import OWN, Given
from inorder.cli.output import tell
from inorder.cli.settings import own_settings, resolve
from inorder.cli.stage_loader import Job, job_of
from inorder.cli.stage_runner import checked_options, run, tell_outcome
from inorder.errors import OperatorError
from inorder.stage.contracts import StageOutcome

ENTRIES = {
    "doctags": "inorder.documents.doctags.stage:stage",
    "chunk": "inorder.documents.chunk.stage:stage",
    "embed": "inorder.documents.embed.stage:stage",
    "index": "inorder.index.stage:stage",
}
"""In the order in which they build on each other."""
_SOURCED = ("doctags", "index")
"""Those that look at the sources; the others at what these have made."""


def our_job(stage: str, sources: Sequence[Path], given: Given) -> Job:
    """A stage of ours, with the settings that hold."""
    try:
        settings = own_settings(given, stage) if stage in OWN else {}
        return job_of(ENTRIES[stage], sources if stage in _SOURCED else [], settings)
    except ModuleNotFoundError as error:
        raise OperatorError(f"stage {stage} needs the package {error.name}: pip install 'inorder[ingest]'") from error


def run_ours(stages: Sequence[str], sources: Sequence[Path], given: Given) -> tuple[list[StageOutcome], int]:
    """Run these, one after the other. One that was stopped, or that the machine failed, is the last; items that failed
    are no reason not to go on with the others."""
    outcomes: list[StageOutcome] = []
    worst = Exit.DONE
    for number, stage in enumerate(stages, 1):
        job = our_job(stage, sources, given)
        settings = resolve(given, job.stage)
        outcome = run(job.stage, job.plan(settings.data), checked_options(settings, job.stage), job.origin)
        outcomes.append(outcome)
        code = tell_outcome(outcome, settings)
        if code not in (Exit.DONE, Exit.ITEMS_FAILED):
            if number < len(stages):
                tell(f"not begun: {', '.join(stages[number:])}")
            return outcomes, code
        worst = max(worst, code)
    return outcomes, worst


def shown(outcomes: list[StageOutcome]) -> dict[str, Any]:
    """For programs."""
    return {"stages": outcomes}
