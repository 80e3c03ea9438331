"""`inorder stage`: run a stage of the user's own."""

from typing import Annotated

import typer

from inorder.cli.output import print_json
from inorder.cli.parameters import Given, JsonOption, make_argument, run_options
from inorder.cli.settings import describe_stage_defaults, resolve
from inorder.cli.stage_loader import ENTRY, load_job
from inorder.cli.stage_runner import check_options, report_outcome, run_job
from inorder.extensions.trust import trust_recorded


@run_options(describe_stage_defaults)
def stage(
    entry: Annotated[
        str,
        make_argument("MODULE:NAME", "The stage: a module, in the current directory or installed, and a Stage in it."),
    ],
    sources: Annotated[
        list[str] | None, make_argument("[SRC]...", "Files and directories for the plan of the stage.")
    ] = None,
    as_json: JsonOption = False,
    *,
    given: Given,
) -> None:
    """Run a stage of your own: its plan, worker and hooks.

    Items that are up to date are skipped. Run the same command again to resume an interrupted run. The stage may have
    defaults of its own: `inorder config show MODULE:NAME` shows them.

    Exit codes: 0 done, 1 the machine failed, 2 wrong usage, 3 items failed, 4 too many failed, 5 DATA is in use, 6 DATA
    is damaged.
    """
    job = load_job(entry, sources or [])
    settings = resolve(given, job.stage)
    options = check_options(settings, job.stage)
    trust_recorded(settings.data, ENTRY, entry)
    outcome = run_job(job, job.make_plan(settings.data), options)
    code = report_outcome(outcome, settings)
    if as_json:
        print_json(outcome)
    raise typer.Exit(code)
