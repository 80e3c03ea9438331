"""`inorder run`: from files to a searchable index."""

from functools import partial
from typing import Annotated

import typer

from inorder.cli.option_spec import Section
from inorder.cli.output import print_json
from inorder.cli.parameters import Given, JsonOption, SourcesArgument, make_option, run_options
from inorder.cli.pipeline import RUN_OPTIONS, STEPS, describe_defaults, run_all
from inorder.cli.stage_runner import EXPORT


@run_options(partial(describe_defaults, [*STEPS, EXPORT]), [*STEPS, EXPORT], RUN_OPTIONS)
def run(
    sources: SourcesArgument,
    name: Annotated[
        str | None,
        make_option(
            Section.INPUT,
            "NAME",
            "Name of the source, if there is one SRC and it is new. Default: the last part of its path.",
            "--as",
        ),
    ] = None,
    as_json: JsonOption = False,
    *,
    given: Given,
) -> None:
    """Make documents and source code searchable: convert, chunk, index and embed every file that is new or has changed.

    `inorder run docs src` reads two folders. Each becomes a source with a name, which its files keep; other sources in
    DATA stay as they are. Search works while the first run goes on.

    Run it again after a change: only what depends on the change is processed. Run it again after an interruption: it
    resumes. Hidden files are left out, and files named in .inorderignore (.gitignore syntax); for source code, files
    named in .gitignore, too.

    With --to, the index is then exported to a database: after each run, the database equals the index.

    Exit codes: 0 done, 1 the machine failed, 2 wrong usage, 3 files of these sources have failed, 4 too many files
    failed, 5 DATA is in use, 6 DATA is damaged, 130 SIGINT, 143 SIGTERM.
    """
    outcome, code = run_all(sources, given, name=name)
    if as_json:
        print_json(outcome)
    raise typer.Exit(code)
