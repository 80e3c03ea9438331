"""`inorder stage MODULE:NAME SRC...`: run a stage that somebody has written."""

from pathlib import Path
from typing import Annotated

import typer

from inorder.cli.options import Given, JsonOption, runner_options


@runner_options
def stage(
    entry: Annotated[
        str, typer.Argument(metavar="MODULE:NAME", help="The stage: a module, here or installed, and a Stage in it.")
    ],
    sources: Annotated[
        list[Path] | None, typer.Argument(metavar="[SRC]...", help="Files and folders that the stage is to work on.")
    ] = None,
    as_json: JsonOption = False,
    *,
    given: Given,
) -> None:
    """Run a stage of your own: its plan, its worker and its hooks, with everything else provided.

    What is done already is skipped, and an interrupted run goes on where it stopped: to resume, run the same again.

    Each option can also be set by a variable (INORDER_WORKERS=4) or in inorder.toml; `inorder config show` tells what
    holds and where it comes from.

    Exit codes: 0 all done, 1 the machine failed, 2 wrong usage, 3 some items failed, 4 too many failed, 5 DATA is in
    use, 6 DATA is damaged, 130 and 143 interrupted.
    """
    from inorder.cli.output import show_json
    from inorder.cli.settings import resolve
    from inorder.cli.stage_loader import job_of
    from inorder.cli.stage_runner import checked_options, run, tell_outcome

    job = job_of(entry, sources or [])
    settings = resolve(given, job.stage)
    options = checked_options(settings, job.stage)
    outcome = run(job.stage, job.plan(settings.data), options, job.origin)
    code = tell_outcome(outcome, settings)
    if as_json:
        show_json(outcome)
    raise typer.Exit(code)
